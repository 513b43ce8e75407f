"""The comparison of two runs by their group tables with groups paired by key, and the choice of groups."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sparkrank.base.errors import InputError, MetricError, SpecError, itemize, quote, shorten
from sparkrank.comparison.group_moments import WEIGHT, PairedComparison, PairedMetric, compare_pairs
from sparkrank.comparison.group_pairs import ModelGroups, Pairs, common_keys, paired_groups
from sparkrank.comparison.group_tables import GroupTable, metric_among, notes_on_definitions
from sparkrank.comparison.run_comparison import GroupChoice, RunComparison
from sparkrank.comparison.run_states import RunStates
from sparkrank.comparison.whole_runs import notes_on_lone_metrics, whole_day_rows
from sparkrank.metrics import GroupMetric, Metric
from sparkrank.stats.corrections import Correction
from sparkrank.stats.paired import t_test
from sparkrank.stats.power import smallest_detectable


def validate_choice(groups: GroupChoice | None) -> None:
    """Raise :class:`SpecError` unless ``groups`` is None, ``all`` or ``common``."""
    if groups not in (None, "all", "common"):
        raise SpecError(f"groups is {quote(groups)}: all or common is allowed")


def without_states(sides: Sequence[RunStates | str], groups: GroupChoice | None) -> list[str]:
    """Return one note for each run without states: the reason why only common groups are compared.

    A string in ``sides`` is the reason why a run has no states. Raise :class:`InputError` if a run lacks states and
    ``groups`` is ``all``.
    """
    reasons = [side for side in sides if isinstance(side, str)]
    if reasons and groups == "all":
        raise InputError(f"{reasons[0]}: groups that are common to both can be compared")
    return [f"{reason}: groups that are common to both are compared" for reason in reasons]


def compare_tables(
    left: ModelGroups,
    right: ModelGroups,
    metrics: Sequence[str] | None,
    *,
    correction: Correction,
    level: float,
    other_definitions: bool,
    notes: Sequence[str] = (),
) -> RunComparison:
    """Return the comparison of two models over the groups in both tables. Its notes begin with ``notes``."""
    common_keys(left.table, right.table)
    compared, of_metrics = metrics_in_common(left.table, right.table, metrics, other_definitions)
    notes = [*notes, *of_metrics]
    pairs, results = _paired(left, right, compared)
    n_common = len(pairs.left_rows)
    if not n_common:
        raise InputError(
            f"no group of {left.model} in {left.table.place} ({pairs.n_left:,} groups) is in {right.table.place} "
            f"({pairs.n_right:,} groups of {right.model}): nothing can be paired"
        )
    alone = pairs.n_left - n_common, pairs.n_right - n_common
    notes += [
        f"{count:,} groups are on the {side.table.what} only ({side.table.place}), {n_common:,} on both sides"
        for count, side in zip(alone, (left, right), strict=True)
        if count
    ]
    clusters = sorted({side.table.cluster for side in (left, right) if side.table.cluster is not None})
    if clusters:
        results = [replace(result, stderr=math.nan) for result in results]
        notes.append(
            f"groups with the same {itemize(clusters)} depend on each other, but group tables do not say which: "
            "differences have no test and no interval"
        )
    own = {"candidate": right.model, "spec_hash": right.table.spec_hash, "run_id": right.table.run_id}
    rows = [_row(metric, result, level) for metric, result in zip(compared, results, strict=True)]
    unpaired = [f"{row['metric']} {row['n_unpaired']:,}" for row in rows if row["n_unpaired"]]
    if unpaired:
        notes.append(f"groups with a value on one side only are in no pair: {itemize(unpaired)}")
    return RunComparison(
        whole_day_rows(rows, {**own, "baseline": left.model}, correction),
        left.table.place,
        right.table.place,
        "common",
        pairs.n_left,
        pairs.n_right,
        n_common,
        *alone,
        tuple(notes),
    )


def metrics_in_common(
    left: GroupTable, right: GroupTable, texts: Sequence[str] | None, other_definitions: bool
) -> tuple[list[PairedMetric], list[str]]:
    """Return the metrics to compare, and notes on others. Raise :class:`SpecError` if ``texts`` names one of these."""
    common = [name for name in right.metrics if name in left.metrics]
    notes = notes_on_lone_metrics(left, right) if texts is None else []
    of_no_group = [name for name in right.definitions if name in left.definitions and name not in common]
    if of_no_group and texts is None:
        notes.append(f"not metrics of groups, but compared by groups=all: {itemize(of_no_group)}")
    presets = right.preset, left.preset
    chosen = common if texts is None else [metric_among(common, text, *presets, of_rows=of_no_group) for text in texts]
    chosen = list(dict.fromkeys(chosen))
    notes += definition_notes(left, right, chosen, other_definitions)
    metrics = [paired_metric(name, right.definitions.get(name) or left.definitions.get(name)) for name in chosen]
    refused = [metric for metric in metrics if isinstance(metric, str)]
    if refused and texts is not None:
        raise SpecError(refused[0])
    notes += refused
    paired_metrics = [metric for metric in metrics if not isinstance(metric, str)]
    if not paired_metrics:
        raise InputError(f"no metric of {left.place} can be compared with one of {right.place}: {itemize(notes)}")
    return paired_metrics, notes


def definition_notes(left: GroupTable, right: GroupTable, names: Sequence[str], allowed: bool) -> list[str]:
    """Return the notes from :func:`notes_on_definitions`, or a single note if a table has no definitions."""
    unknown = [side.place for side in (left, right) if not side.definitions]
    if unknown:
        return [f"no table metrics says what the metrics of {itemize(unknown)} mean: definitions are taken as equal"]
    return notes_on_definitions(left.definitions, right.definitions, names, allowed)


def paired_metric(name: str, definition: str | None) -> PairedMetric | str:
    """Return the metric in the column ``name``, or a message with the reason why it cannot be compared."""
    counted_as = counted_undefined(definition)
    try:
        metric = Metric.parse(name)
    except MetricError:  # the metric is registered only where it was evaluated
        return PairedMetric(name, definition, None, counted_as)
    declared = metric.declaration
    if not isinstance(declared, GroupMetric):
        return f"{name} is not a metric of groups, and is not compared"
    word = metric.weight_column or (metric.word("weight") if "weight" in declared.defaults else "uniform")
    if word not in ("uniform", "rows", None) or (declared.weights is not None and word is None):
        return f"the groups of {name} are weighted by {shorten(word)}, which the group table lacks: it is not compared"
    return PairedMetric(name, definition, declared.higher_is_better, counted_as, is_weighted=word == "rows")


def counted_undefined(definition: str | None) -> float | None:
    """Return the number (0 or 1) that replaces undefined values by ``definition``, or None if these are left out."""
    settings = (definition or "").rpartition("; ")[2].split(", ")
    return next((value for word, value in (("zero", 0.0), ("one", 1.0)) if f"undefined={word}" in settings), None)


def _paired(
    left: ModelGroups, right: ModelGroups, metrics: Sequence[PairedMetric]
) -> tuple[Pairs, list[PairedComparison]]:
    """Return the pairs of groups with the same key in both runs, and the comparison of each metric over the pairs."""
    weights = [WEIGHT] if any(metric.is_weighted for metric in metrics) else []
    columns = [*weights, *(metric.name for metric in metrics)]
    sides = left.here(columns), right.here(columns)
    pairs = paired_groups(*sides)
    weighing = [[side.values(WEIGHT) for side in sides]] if weights else []
    results = []
    for metric in metrics:
        own = [[side.values(metric.name) for side in sides], *(weighing if metric.is_weighted else [])]
        chunks = ([(one[rows], other[others]) for one, other in own] for rows, others in pairs.chunks())
        results.append(compare_pairs(metric, chunks))
    return pairs, results


def _row(metric: PairedMetric, result: PairedComparison, level: float) -> dict[str, Any]:
    tested = t_test(result.difference, result.stderr, result.n - 1, level, moving=result.up + result.down)
    wins, losses = (result.up, result.down) if metric.higher_is_better else (result.down, result.up)
    is_known = metric.higher_is_better is not None
    return {
        "metric": metric.name,
        "difference": result.difference,
        "relative": result.difference / abs(result.left) if result.n and result.left else None,
        "stderr": tested.stderr,
        "ci_low": tested.low,
        "ci_high": tested.high,
        # A NaN standard error means that groups have unknown clusters, for which there is no method.
        "interval": None if result.n > 1 and math.isnan(result.stderr) else tested.method,
        "degrees": tested.degrees,
        "p": tested.p,
        "wins": wins if is_known else None,
        "ties": result.ties if is_known else None,
        "losses": losses if is_known else None,
        "smallest_detectable": (
            smallest_detectable(tested.stderr, tested.degrees or 0, level) if tested.finds(level) else None
        ),
        "n_groups": result.n,
        "n_unpaired": result.n_unpaired,
        "definition": metric.definition,
    }
