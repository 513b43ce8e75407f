"""The functions ``sr.compare_runs``, ``sr.movers`` and ``sr.decompose`` of two runs (results, tables or paths)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa
import pyarrow.dataset as ds

from sparkrank.base.errors import short_traceback
from sparkrank.comparison.group_pairs import ModelGroups
from sparkrank.comparison.group_tables import GroupTable, chosen_models
from sparkrank.comparison.largest_changes import TOP, largest_changes
from sparkrank.comparison.mix_and_rate import MetricRows, decomposition
from sparkrank.comparison.run_comparison import GroupChoice, RunComparison
from sparkrank.comparison.run_states import RunStates
from sparkrank.comparison.runs import compare_tables, validate_choice, without_states
from sparkrank.comparison.whole_runs import compare_states
from sparkrank.doors.stored_states import stored_states
from sparkrank.results.evaluation import Evaluation
from sparkrank.sources.in_memory import is_path
from sparkrank.stats.corrections import Correction, adjusted
from sparkrank.stats.intervals import checked_share

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    GroupRows: TypeAlias = Evaluation | pa.Table | ds.Dataset | DataFrame | str | os.PathLike[str]


@short_traceback
def compare_runs(
    left: GroupRows,
    right: GroupRows,
    *,
    left_model: str | None = None,
    right_model: str | None = None,
    metrics: Sequence[str] | None = None,
    left_day: str | None = None,
    right_day: str | None = None,
    correction: Correction = "holm",
    level: float = 0.95,
    other_definitions: bool = False,
    groups: GroupChoice | None = None,
    spark: SparkSession | None = None,
) -> RunComparison:
    """Compare two runs of different days, jobs or models.

    With ``groups="all"``, each metric is compared over all groups of each run. The test of a difference uses the values
    of each run without one part (one of 64 fixed subsets of groups) at a time. With ``groups="common"``, this process
    pairs groups by key, and tests each metric of groups by a paired t test over the pairs with a defined value in both
    runs. A mean with groups weighted by their rows (``gauc``) is then compared by the delta method. Groups with
    clusters are not tested, because group tables lack the clusters.

    Parameters
    ----------
    left : Evaluation, pyarrow Table or Dataset, Spark DataFrame, or path
        The baseline, as results, a group table, or a path. A path is the folder of a day's group table
        (``.../groups/day=2026-01-31``), an ``output.path`` with ``left_day``, or a folder of only Parquet files. Only
        the files of a day are checked against their list in the table ``runs``.
    right : Evaluation, pyarrow Table or Dataset, Spark DataFrame, or path
        The run to compare with the baseline. Differences are right minus left.
    left_model, right_model : str, optional
        The model of each run. It may be left out if the run has one model, or if the runs have one model in common.
    metrics : sequence of str, optional
        The metrics to compare, in any spelling allowed by the preset of the runs. By default, all metrics of both.
    left_day, right_day : str, optional
        The day, YYYY-MM-DD, if a path has several days. With ``groups="all"``, also a window: 2026-01-25..2026-01-31.
    correction : {"holm", "benjamini-hochberg", "none"}
        The correction of p-values over all metrics.
    level : float
        The level of the intervals.
    other_definitions : bool
        Whether to compare metrics with the same text but different definitions in the two runs.
    groups : {"all", "common"}, optional
        Compare all groups of each run (the default if both have results or stored states), or only common groups.
    spark : SparkSession, optional
        The session for paths that Arrow cannot read.

    Returns
    -------
    RunComparison
        The comparisons, and notes on mismatches between the runs.

    Raises
    ------
    SpecError
        If a model, a metric or a day does not exist or is ambiguous.
    InputError
        If a group table is missing, if the runs have different key columns or no metric or group in common, or if the
        definitions of a metric differ.

    Examples
    --------
    >>> import pyarrow as pa
    >>> import sparkrank as sr
    >>> log = pa.table({"user": ["a", "a", "b", "b"], "old": [0.9, 0.5, 0.7, 0.1], "new": [0.1, 0.5, 0.7, 0.1],
    ...                 "click": [0, 1, 1, 0]})
    >>> old, new = (sr.evaluate(log, ["rr"], group="user", score=name, label="click") for name in ("old", "new"))
    >>> comparison = sr.compare_runs(old, new, groups="common")
    >>> comparison.table.select(["difference", "wins", "ties", "losses", "n_groups"]).to_pylist()
    [{'difference': 0.25, 'wins': 1, 'ties': 1, 'losses': 0, 'n_groups': 2}]
    """
    checked_share("level", level)
    adjusted((), correction)  # refuses an unknown correction before anything is read
    validate_choice(groups)
    how: Any = {"correction": correction, "level": level, "other_definitions": other_definitions}
    notes: list[str] = []
    if groups != "common":
        before, after = states_of("left", left, left_day, spark), states_of("right", right, right_day, spark)
        notes = without_states((before, after), groups)
        if not (isinstance(before, str) or isinstance(after, str)):
            return compare_states(before, after, (left_model, right_model), metrics, **how)
        notes = notes if any(isinstance(side, Evaluation) or is_path(side) for side in (left, right)) else []
    sides = _sides((left, right), (left_day, right_day), (left_model, right_model), spark)
    return compare_tables(*sides, metrics, **how, notes=notes)


@short_traceback
def movers(
    left: GroupRows,
    right: GroupRows,
    metric: str,
    *,
    left_model: str | None = None,
    right_model: str | None = None,
    left_day: str | None = None,
    right_day: str | None = None,
    top: int = TOP,
    other_definitions: bool = False,
    spark: SparkSession | None = None,
) -> pa.Table:
    """Return the groups whose value of ``metric`` changed most from left to right, gains and losses apart.

    Groups with equal differences are sorted by key.

    Parameters
    ----------
    left, right : Evaluation, pyarrow Table or Dataset, Spark DataFrame, or path
        As in :func:`sparkrank.compare_runs`. To compare two models of one run, give the run twice.
    metric : str
        The metric, in any spelling that the preset of the runs allows.
    left_model, right_model, left_day, right_day, spark : optional
        As in :func:`sparkrank.compare_runs`.
    top : int
        The number of gains, and also the number of losses.
    other_definitions : bool
        Whether to compare a metric with different definitions in the two runs.

    Returns
    -------
    pyarrow.Table
        The columns ``change`` (a ``gain`` is a better value or, for a metric without a direction, a higher value), the
        columns of the key, ``baseline_value``, ``value``, ``difference``, and ``n_rows``, ``n_retrieved`` and
        ``n_relevant`` of both runs: a group with ``n_retrieved`` 0 has no list. The largest changes are first.

    Raises
    ------
    SpecError
        If a model, the metric or a day does not exist or is ambiguous.
    InputError
        If a group table is missing, the runs have different key columns, or several rows have the same key.

    Examples
    --------
    >>> import pyarrow as pa
    >>> import sparkrank as sr
    >>> log = pa.table({"user": ["a", "a", "b", "b"], "old": [0.9, 0.5, 0.7, 0.1], "new": [0.1, 0.5, 0.7, 0.1],
    ...                 "click": [0, 1, 1, 0]})
    >>> ev = sr.evaluate(log, ["rr"], group="user", score={"old": "old", "new": "new"}, label="click")
    >>> table = sr.movers(ev, ev, "rr", left_model="old", right_model="new")
    >>> table.select(["change", "user", "baseline_value", "value", "n_rows"]).to_pylist()
    [{'change': 'gain', 'user': 'a', 'baseline_value': 0.5, 'value': 1.0, 'n_rows': 2}]
    """
    sides = _sides((left, right), (left_day, right_day), (left_model, right_model), spark)
    return largest_changes(*sides, metric, top, other_definitions=other_definitions)


@short_traceback
def decompose(
    left: Evaluation | pa.Table,
    right: Evaluation | pa.Table,
    by: str,
    metrics: Sequence[str] | None = None,
    *,
    left_model: str | None = None,
    right_model: str | None = None,
    other_definitions: bool = False,
) -> pa.Table:
    """Split the difference of two means, right minus left, into mix and rate for each slice value.

    Mix is due to changed shares of the slice values, rate to their changed means. All effects add up to the difference.

    Parameters
    ----------
    left, right : Evaluation or pyarrow Table
        The baseline, and another day or model, each as results or as a table ``metrics``.
    by : str
        The slice, by its name in the tables: ``country``, or ``country,device``.
    metrics : sequence of str, optional
        The metrics, which must be means. By default, all means of both runs.
    left_model, right_model : str, optional
        The model of each run. It may be left out if the run has one model.
    other_definitions : bool
        Whether to split the difference of metrics with different definitions in the two runs.

    Returns
    -------
    pyarrow.Table
        A row per metric and slice value, with the columns of the table ``decomposition``. For two evaluations, mix and
        rate have intervals, computed from the values without one part (one of 64 subsets of groups) at a time.

    Raises
    ------
    SpecError
        If a metric is not a mean, or a model, a slice or a metric does not exist.
    InputError
        If a mean is undefined, if the definitions of a metric differ, or if the slice values do not add up to the mean
        because some groups have rows with several slice values.

    Examples
    --------
    >>> import pyarrow as pa
    >>> import sparkrank as sr
    >>> def day(countries):
    ...     users = range(len(countries))
    ...     log = pa.table({"user": users, "country": countries, "score": [0.5] * len(countries),
    ...                     "label": [int(country == "de") for country in countries]})
    ...     return sr.evaluate(log, ["p@1"], group="user", score="score", label="label", slices=["country"])
    >>> table = sr.decompose(day(["de", "fr", "fr", "fr"]), day(["de", "de", "fr", "fr"]), "country")
    >>> table.select(["slice_value", "mix", "rate", "difference"]).to_pylist() # doctest: +NORMALIZE_WHITESPACE
    [{'slice_value': 'de', 'mix': 0.15625, 'rate': 0.0, 'difference': 0.25},
     {'slice_value': 'fr', 'mix': 0.09375, 'rate': 0.0, 'difference': 0.25}]
    """
    ours, theirs = (
        MetricRows.of(what, side.table if isinstance(side, Evaluation) else side, model, f"{what}_model")
        for what, side, model in (("left", left, left_model), ("right", right, right_model))
    )
    states = states_of("left", left, None, None), states_of("right", right, None, None)
    return decomposition(ours, theirs, by, metrics, states, other_definitions=other_definitions)[0]


def states_of(what: str, rows: GroupRows, day: str | None, spark: SparkSession | None) -> RunStates | str:
    """Return the states of ``rows`` or, without states, the reason as a text."""
    if isinstance(rows, Evaluation):
        own = {"spec_hash": rows.origin.spec_hash, "preset": rows.preset}
        return RunStates(what, f"the {what} evaluation", rows.plan, rows.solved.merged, **own)  # type: ignore[arg-type]
    if not is_path(rows):
        return f"the {what} rows are a group table, which has no states"
    return stored_states(what, os.fspath(rows), day, spark)  # type: ignore[arg-type]


def _sides(
    rows: tuple[GroupRows, GroupRows],
    days: tuple[str | None, str | None],
    models: tuple[str | None, str | None],
    spark: SparkSession | None,
) -> tuple[ModelGroups, ModelGroups]:
    left, right = (
        GroupTable.of_evaluation(what, side.groups, side.plan, side.preset)
        if isinstance(side, Evaluation)
        else GroupTable.of(what, side, day, spark)
        for what, side, day in zip(("left", "right"), rows, days, strict=True)
    )
    left_model, right_model = chosen_models(left, right, *models)
    return ModelGroups(left, left_model), ModelGroups(right, right_model)
