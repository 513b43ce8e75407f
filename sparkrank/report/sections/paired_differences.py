"""The report section on the differences of single groups between each candidate and the baseline."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sparkrank.base.errors import InputError
from sparkrank.comparison.group_pairs import ModelGroups, paired_groups
from sparkrank.comparison.group_tables import GroupTable
from sparkrank.numeric.array_types import Floats
from sparkrank.numeric.whole_units import TIED
from sparkrank.report.data import ComparisonRow, PairedDistribution, ReportData
from sparkrank.report.figures import ChartKey, Figure, Frame, Line, LineChart, about_metric, isolated, shown_name, steps
from sparkrank.report.report_tables import ReportTables
from sparkrank.report.section import Made, ReportSection
from sparkrank.report.sections.group_distributions import GROUPS_PART, MOST_METRICS, binned, most
from sparkrank.report.sections.model_comparisons import MOST_CANDIDATES, ONE_MODEL
from sparkrank.report.sections.score_histograms import edges_between

MOST_PAIRS = 5_000_000  # the most groups per model: pairing more takes too long for a report


def _paired(tables: ReportTables) -> Made:
    table = tables.groups
    if table is None or not tables.compared:
        return (), ONE_MODEL if len(tables.models) == 1 else None
    if table.is_frame:
        return (), "The group table is a Spark DataFrame: the report of a stored day pairs its groups."
    return _of_table(table, tables)


def _of_table(table: GroupTable, tables: ReportTables) -> Made:
    baseline, models = tables.compared[0].baseline, tables.models
    candidates = [model for model in models if model != baseline][:MOST_CANDIDATES]
    rows = table.count()
    if baseline not in models or not candidates or not rows:
        return (), None
    metrics = table.metrics[: most(MOST_METRICS, 2 * rows * len(candidates))]
    if rows // len(models) > MOST_PAIRS:
        return (), f"There are more than {MOST_PAIRS:,} groups to pair: sparkrank movers shows those that differ most."
    comparisons = {(row.metric, row.candidate): row for row in tables.compared}
    distributions = {}
    for candidate in candidates:
        left, right = ModelGroups(table, baseline), ModelGroups(table, candidate)
        try:
            pairs = paired_groups(left, right)
        except InputError as error:
            return (), f"Groups are not paired: {error}."
        for metric in metrics:
            values = (right.values(metric)[pairs.right_rows], left.values(metric)[pairs.left_rows])
            own = comparisons.get((metric, candidate))
            distributions[metric, candidate] = _distribution(metric, candidate, baseline, values, own)
    return tuple(distributions[metric, candidate] for metric in metrics for candidate in candidates), None


def _distribution(
    metric: str, candidate: str, baseline: str, values: tuple[Floats, Floats], comparison: ComparisonRow | None
) -> PairedDistribution:
    difference = values[0] - values[1]
    alone = np.count_nonzero(
        np.isnan(values[0]) != np.isnan(values[1])
    )  # groups with a value for only one of the two models
    there = difference[~np.isnan(difference)]
    differing = there[np.abs(there) > TIED]
    largest = float(np.abs(differing).max()) if len(differing) else 0.0
    edges = edges_between(-largest, largest)
    counts = tuple(binned(differing, edges).tolist()), len(there) - len(differing), int(alone)
    return PairedDistribution(metric, candidate, baseline, tuple(edges.tolist()), *counts, comparison)


def _figures(data: ReportData) -> Iterator[Figure]:
    for own in data.paired:
        counts = steps(list(zip(own.edges, own.counts, strict=False)), own.edges[-1]) if own.counts else ()
        frame = Frame(f"difference of {shown_name(own.metric)}", "groups", height=150, steps=True, zero=True)
        chart = LineChart([Line(ChartKey("groups"), counts)], frame)
        about = (
            f"Groups by their difference; {own.n_equal:,} more have none, and {own.n_unpaired:,} have a value for one "
            "model only."
        )
        title = f"{shown_name(own.metric)}: {isolated(own.candidate)} against {isolated(own.baseline)}"
        yield Figure("paired", title, about_metric(data, own.metric, about), chart, own.metric, own.candidate)


PAIRED_DIFFERENCES = ReportSection(
    "paired",
    "Paired differences of groups",
    _paired,
    "There are no pairs of groups: with several models, a group key and output.groups: true, ask for "
    "compare: {baseline: NAME}.",
    "There are no pairs of groups: with several models and a group key, ask for compare=NAME.",
    "A window has no group table: see the reports of its days.",
    part=GROUPS_PART,
    figures=_figures,
)
