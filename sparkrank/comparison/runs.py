"""Two runs compared: as they are, or through their group tables, whose groups are paired by key."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import pyarrow as pa

from sparkrank.base.errors import InputError, MetricError, SpecError, listed, shortened, shown, without_secrets
from sparkrank.comparison.group_moments import (
    COUNTS,
    PAIRS,
    WEIGHT,
    Moments,
    Paired,
    PairedMetric,
    added,
    moments_of,
    paired,
)
from sparkrank.comparison.group_pairs import Side, common_keys, paired_groups
from sparkrank.comparison.group_tables import GroupTable, asked_among, chosen_models, told_of_definitions
from sparkrank.comparison.run_comparison import Groups, RunComparison
from sparkrank.comparison.run_states import RunStates
from sparkrank.comparison.whole_runs import compare_states, whole_day_rows
from sparkrank.metrics import Metric
from sparkrank.metrics.definitions import Definitions
from sparkrank.metrics.kinds import GroupMetric
from sparkrank.metrics.uncertainty import Correction
from sparkrank.numeric.exact_sums import LIMBS
from sparkrank.results.evaluation import Evaluation
from sparkrank.sources.in_memory import is_path
from sparkrank.stats.corrections import adjusted
from sparkrank.stats.intervals import checked_share
from sparkrank.stats.paired import t_test
from sparkrank.stats.power import smallest_detectable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkrank.comparison.group_tables import GroupRows

CompareLane: TypeAlias = Literal["auto", "local", "frame"]
# Groups of a model on the larger side from which on Spark is faster, with its session up, than one process.
SPARK_FROM = 20_000_000


@without_secrets()
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
    groups: Groups | None = None,
    spark: SparkSession | None = None,
    lane: CompareLane = "auto",
) -> RunComparison:
    """Compare two runs: other days, other jobs, other models.

    With ``groups="all"`` the runs are compared as they are, in every metric: the difference is that of the two values,
    tested by what both are without each part of the groups, in which users who come again cancel. With
    ``groups="common"`` groups are paired by their key, and each metric of groups is tested by a paired t test over the
    pairs in which both sides define it. A mean whose groups weigh by their rows (``gauc``) is then compared by the
    delta method, and where groups have clusters there is no test: group tables do not say who stands behind a group.
    The numbers are the same bits in either lane, and for any order of the rows.

    Parameters
    ----------
    left : Evaluation, pyarrow Table or Dataset, Spark DataFrame, or path
        The baseline: results, a group table, or a path. A path is the folder of a day's group table
        (``.../groups/day=2026-01-31``), an ``output.path`` with ``left_day``, or a folder of Parquet files alone.
    right : Evaluation, pyarrow Table or Dataset, Spark DataFrame, or path
        What is compared with it: differences are right less left.
    left_model, right_model : str, optional
        The model of each side. Where a side has one, or both have one name in common, it may be left out.
    metrics : sequence of str, optional
        Those to compare, by their columns; all that both sides have where it is left out.
    left_day, right_day : str, optional
        The day, YYYY-MM-DD, where a path has many; with all groups also a window, 2026-01-25..2026-01-31.
    correction : str
        How p is adjusted over all metrics: ``holm``, ``benjamini-hochberg`` or ``none``.
    level : float
        That of the intervals.
    other_definitions : bool
        Whether to compare metrics of one text that the two runs define otherwise.
    groups : {"all", "common"}, optional
        What is compared: all groups of each side, which needs results or stored states on both, or the groups of both.
        All where that is possible, if left out.
    spark : SparkSession, optional
        Pairs the groups where there are very many, and reads where Arrow cannot.
    lane : str
        ``local`` pairs the groups in this process, ``frame`` by Spark; ``auto`` chooses by size. Only common groups are
        paired.

    Returns
    -------
    RunComparison
        The rows, and what did not match.

    Raises
    ------
    SpecError
        Where a model, a metric or a day is not there or left open.
    InputError
        Where there is no group table, the keys of the two differ, a key stands on several rows, no metric or no group
        is on both sides, or a metric is defined otherwise.

    Examples
    --------
    >>> import pyarrow as pa
    >>> import sparkrank as sr
    >>> log = pa.table({"user": ["a", "a", "b", "b"], "old": [0.9, 0.5, 0.7, 0.1], "new": [0.1, 0.5, 0.7, 0.1],
    ...                 "click": [0, 1, 1, 0]})
    >>> old, new = (sr.evaluate(log, ["rr"], group="user", score=each, label="click") for each in ("old", "new"))
    >>> found = sr.compare_runs(old, new, groups="common")
    >>> found.table.select(["difference", "wins", "ties", "losses", "n_groups"]).to_pylist()
    [{'difference': 0.25, 'wins': 1, 'ties': 1, 'losses': 0, 'n_groups': 2}]
    """
    checked_share("level", level)
    adjusted((), correction)  # refuses one that there is not, before anything is read
    told: list[str] = []
    if not pairs_groups(groups, lane):
        before, after = RunStates.of("left", left, left_day, spark), RunStates.of("right", right, right_day, spark)
        told = without_states((before, after), groups)
        if not (isinstance(before, str) or isinstance(after, str)):
            return compare_states(
                before,
                after,
                (left_model, right_model),
                metrics,
                correction=correction,
                level=level,
                other_definitions=other_definitions,
            )
        told = told if any(isinstance(each, Evaluation) or is_path(each) for each in (left, right)) else []
    tables = (GroupTable.of("left", left, left_day, spark), GroupTable.of("right", right, right_day, spark))
    models = chosen_models(*tables, left_model, right_model)
    session = None if spark is None else lambda: spark
    return compare_tables(
        Side(tables[0], models[0]),
        Side(tables[1], models[1]),
        metrics,
        correction=correction,
        level=level,
        other_definitions=other_definitions,
        session=session,
        lane=lane,
        told=told,
    )


def pairs_groups(groups: Groups | None, lane: CompareLane) -> bool:
    """Whether groups are paired whatever states there are. Raises :class:`SpecError` for words that make no sense."""
    if groups not in (None, "all", "common"):
        raise SpecError(f"groups is {shown(groups)}: all or common is allowed")
    if groups == "all" and lane != "auto":
        raise SpecError(f"lane is {lane}, but groups is all: a lane pairs the groups that are common to both")
    return groups == "common" or lane != "auto"


def without_states(sides: Sequence[RunStates | str], groups: Groups | None) -> list[str]:
    """Sentences about the ``sides`` that have no states, whose groups can only be paired.

    Raises :class:`InputError` where all groups are asked for.
    """
    lacking = [each for each in sides if isinstance(each, str)]
    if lacking and groups == "all":
        raise InputError(f"{lacking[0]}: groups that are common to both can be compared")
    return [f"{each}: groups that are common to both are compared" for each in lacking]


def compare_tables(
    left: Side,
    right: Side,
    metrics: Sequence[str] | None,
    *,
    correction: Correction,
    level: float,
    other_definitions: bool,
    session: Callable[[], SparkSession] | None,
    lane: CompareLane,
    told: Sequence[str] = (),
) -> RunComparison:
    """Compare two sides. ``session`` gives the Spark session where one is needed; None where there is none."""
    common_keys(left.table, right.table)
    asked, of_metrics = metrics_in_common(left.table, right.table, metrics, other_definitions)
    told = [*told, *of_metrics]
    by_spark = is_for_spark(left, right, session, lane)
    moments = _by_spark(left, right, asked, session) if by_spark else _in_process(left, right, asked)
    n_common, n_left, n_right = map(int, moments.get((PAIRS, COUNTS), np.zeros(LIMBS))[:3])
    if not n_common:
        raise InputError(
            f"no group of {left.model} in {left.table.place} ({n_left:,} groups) is in {right.table.place} "
            f"({n_right:,} groups of {right.model}): nothing can be paired"
        )
    for count, side in ((n_left, left), (n_right, right)):
        if count:
            told.append(
                f"{count:,} groups are on the {side.what} only ({side.table.place}), {n_common:,} on both sides"
            )
    found = [paired(moments, place, each) for place, each in enumerate(asked)]
    clusters = sorted({side.table.cluster for side in (left, right) if side.table.cluster is not None})
    if clusters:
        found = [replace(each, stderr=math.nan) for each in found]
        told.append(
            f"groups of one {listed(clusters)} go together, and group tables do not say which those are: differences "
            f"have no test and no interval"
        )
    table = _table(left, right, asked, found, correction, level)
    unpaired = {row["metric"]: row["n_unpaired"] for row in table.to_pylist() if row["n_unpaired"]}
    if unpaired:
        counts = listed(f"{metric} {count:,}" for metric, count in unpaired.items())
        told.append(f"groups in which one side alone is undefined are in no pair: {counts}")
    return RunComparison(
        table,
        left.table.place,
        right.table.place,
        "common",
        n_common + n_left,
        n_common + n_right,
        n_common,
        n_left,
        n_right,
        tuple(told),
        "frame" if by_spark else "local",
    )


def metrics_in_common(
    left: GroupTable, right: GroupTable, asked: Sequence[str] | None, other_definitions: bool
) -> tuple[list[PairedMetric], list[str]]:
    """The metrics to compare, and sentences about those that are not.

    Raises :class:`SpecError` for one that is asked for and not on both sides, and :class:`InputError` where none is
    left, or one is defined otherwise and that is not allowed.
    """
    common = [name for name in right.metrics if name in left.metrics]
    told = []
    for side, other in ((left, right), (right, left)):
        alone = [name for name in side.metrics if name not in other.metrics]
        if alone and asked is None:
            told.append(f"metrics on the {side.what} only: {listed(alone)}")
    of_no_group = [name for name in right.definitions if name in left.definitions and name not in common]
    if of_no_group and asked is None:
        told.append(f"no metrics of groups, which groups=all compares: {listed(of_no_group)}")
    chosen = common if asked is None else list(dict.fromkeys(asked_metric(left, right, text) for text in asked))
    told += definitions_told(left, right, chosen, other_definitions)
    found = []
    for name in chosen:
        metric = paired_metric(name, right.definitions.get(name) or left.definitions.get(name))
        if isinstance(metric, str):
            told.append(metric)
            if asked is not None:
                raise SpecError(metric)
        else:
            found.append(metric)
    if not found:
        raise InputError(f"no metric of {left.place} can be compared with one of {right.place}: {listed(told)}")
    return found, told


def asked_metric(left: GroupTable, right: GroupTable, text: str) -> str:
    """The column of the metric that ``text`` means. Raises :class:`SpecError` where a side has none."""
    return asked_among([each for each in right.metrics if each in left.metrics], text)


def definitions_told(left: GroupTable, right: GroupTable, names: Sequence[str], allowed: bool) -> list[str]:
    """Sentences about metrics that the two sides define otherwise, or whose definitions nobody knows.

    Raises :class:`InputError` where some are defined otherwise and that is not ``allowed``.
    """
    unknown = [side.place for side in (left, right) if not side.definitions]
    if unknown:
        return [f"no table metrics says what the metrics of {listed(unknown)} mean: definitions are taken as equal"]
    return told_of_definitions(left.definitions, right.definitions, names, allowed)


def paired_metric(name: str, definition: str | None) -> PairedMetric | str:
    """The metric of this column, or the sentence that says why it cannot be compared."""
    counted_as = counted_undefined(definition)
    try:
        metric = Metric.parse(name)
    except MetricError:  # registered where it was evaluated
        return PairedMetric(name, definition, None, counted_as)
    declared = metric.declaration
    if not isinstance(declared, GroupMetric):
        return f"{name} is no metric of groups, and is not compared"
    word = metric.weight_column or (metric.word("weight") if "weight" in declared.defaults else "uniform")
    if word not in ("uniform", "rows", None) or (declared.weights is not None and word is None):
        return f"the groups of {name} weigh by {shortened(word)}, which the group table has not: it is not compared"
    return PairedMetric(name, definition, declared.higher_is_better, counted_as, is_weighted=word == "rows")


def counted_undefined(definition: str | None) -> float | None:
    """What an undefined value counts as, by the settings that a definition tells."""
    settings = (definition or "").rpartition("; ")[2].split(", ")
    words = {"undefined=zero": "zero", "undefined=one": "one"}
    for setting in settings:
        if setting in words:
            return Definitions(undefined=words[setting]).counts_undefined_as  # type: ignore[arg-type]
    return None


def is_for_spark(left: Side, right: Side, session: Callable[[], SparkSession] | None, lane: CompareLane) -> bool:
    """Whether Spark pairs the groups: where it is asked for, one side is a DataFrame, or there are very many."""
    frames = [side for side in (left, right) if side.table.is_frame]
    if lane == "local" and frames:
        raise SpecError(f"lane is local, but {frames[0].table.place} is read by Spark: auto or frame is allowed")
    if lane != "auto" or frames:
        return lane == "frame" or bool(frames)
    is_read = all(side.table.spark_paths is not None for side in (left, right))
    return session is not None and is_read and max(left.groups(), right.groups()) >= SPARK_FROM


def _by_spark(
    left: Side, right: Side, metrics: Sequence[PairedMetric], session: Callable[[], SparkSession] | None
) -> Moments:
    from sparkrank.comparison.spark_pairs import session_of, spark_moments

    return spark_moments(left, right, metrics, session_of(left, right, session))


def _in_process(left: Side, right: Side, metrics: Sequence[PairedMetric]) -> Moments:
    pairs = paired_groups(left, right)
    counts = np.array([len(pairs.of_left), pairs.left_only, pairs.right_only, 0, 0, 0], np.float64)
    found: Moments = {(PAIRS, COUNTS): counts}
    weights = [side.values(WEIGHT) for side in (left, right)] if any(each.is_weighted for each in metrics) else []
    for place, metric in enumerate(metrics):
        values = [side.values(metric.name) for side in (left, right)]
        for numbers in pairs.parts():
            ours, theirs = (
                {metric.name: values[side][rows], **({WEIGHT: weights[side][rows]} if metric.is_weighted else {})}
                for side, rows in enumerate(numbers)
            )
            found = added([found, moments_of(place, metric, ours, theirs)])
    return found


def _table(
    left: Side,
    right: Side,
    metrics: Sequence[PairedMetric],
    found: Sequence[Paired],
    correction: Correction,
    level: float,
) -> pa.Table:
    """The rows of the table ``comparisons``."""
    rows = [_row(metric, each, level) for metric, each in zip(metrics, found, strict=True)]
    common = {
        "candidate": right.model,
        "baseline": left.model,
        "spec_hash": right.table.spec_hash,
        "run_id": right.table.run_id,
    }
    return whole_day_rows(rows, common, correction)


def _row(metric: PairedMetric, found: Paired, level: float) -> dict[str, Any]:
    tested = t_test(found.difference, found.stderr, found.n - 1, level, moving=found.up + found.down)
    wins, losses = (found.up, found.down) if metric.higher_is_better else (found.down, found.up)
    is_known = metric.higher_is_better is not None
    return {
        "metric": metric.name,
        "difference": found.difference,
        "relative": found.difference / abs(found.left) if found.n and found.left else None,
        "stderr": tested.stderr,
        "ci_low": tested.low,
        "ci_high": tested.high,
        "interval": None if found.n > 1 and math.isnan(found.stderr) else tested.method,  # of clusters none is known
        "degrees": tested.degrees,
        "p": tested.p,
        "wins": wins if is_known else None,
        "ties": found.ties if is_known else None,
        "losses": losses if is_known else None,
        "smallest_detectable": (
            smallest_detectable(tested.stderr, tested.degrees or 0, level) if tested.finds(level) else None
        ),
        "n_groups": found.n,
        "n_unpaired": found.n_unpaired,
        "definition": metric.definition,
    }
