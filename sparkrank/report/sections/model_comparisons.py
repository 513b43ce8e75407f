"""The report section that compares each candidate with the baseline, over all rows and by slice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from sparkrank.metrics.slices import ALL
from sparkrank.report.certainty import is_sure
from sparkrank.report.data import ComparisonRow, Comparisons, ReportData
from sparkrank.report.figures import (
    MOST_ROWS,
    ChartKey,
    Figure,
    Frame,
    IntervalChart,
    IntervalMark,
    IntervalRow,
    about_metric,
    directions_of,
    isolated,
    shown_level,
    shown_name,
)
from sparkrank.report.report_tables import ReportTables, is_among, plain_texts, whole_day
from sparkrank.report.section import Made, ReportSection
from sparkrank.report.sections.slice_values import MOST_CELLS, shown_metrics

ONE_MODEL = "There is only one model: give a second score column, and name a baseline to compare with."
MOST_CANDIDATES = 8
UNSURE = ChartKey("no clear difference", 0)
_SIDES = (ChartKey("better", 2), ChartKey("worse", 4), UNSURE)  # triangles up and down, and circles
_FAR = 25  # ratio of extents above which rows do not share an axis


def _comparisons(tables: ReportTables) -> Made:
    """Return the comparisons. Those by slice cover the shown metrics only, in up to :data:`MOST_CELLS` rows."""
    table = tables.comparisons
    if table is None or not table.num_rows:
        return None, ONE_MODEL if len(tables.models) == 1 else None
    table = plain_texts(table)
    whole, sliced = whole_day(table), table.filter(pc.not_equal(table["slice"], ALL))
    kept = sliced.filter(is_among(sliced["metric"], shown_metrics(tables))).slice(0, MOST_CELLS)
    rows = tables.comparison_rows(pa.concat_tables([whole, kept]))
    return Comparisons(table["baseline"][0].as_py(), tuple(rows), sliced.num_rows - kept.num_rows), None


def side_of(row: ComparisonRow | None, directions: Mapping[str, bool | None]) -> str:
    """Return ``better`` or ``worse`` for a significant difference (:func:`is_sure`); otherwise ``""``.

    ``directions`` says whether a higher value of a metric is better (None: neither; the result is ``""``).
    """
    direction = None if row is None else directions.get(row.metric)
    if row is None or not row.difference or direction is None or not is_sure(row):
        return ""
    return "better" if (row.difference > 0) == direction else "worse"


def _figures(data: ReportData) -> Iterator[Figure]:
    if data.comparisons is None:
        return
    rows, directions = [row for row in data.comparisons.rows if row.difference is not None], directions_of(data)
    worse = Counter(row.candidate for row in rows if side_of(row, directions) == "worse")
    candidates = list(dict.fromkeys(row.candidate for row in rows))
    if len(candidates) > MOST_CANDIDATES:
        candidates.sort(key=lambda candidate: -worse[candidate])
    for candidate in candidates[:MOST_CANDIDATES]:
        own = [row for row in rows if row.candidate == candidate]
        whole = [row for row in own if row.slice == ALL]
        against = f"{isolated(candidate)} against {isolated(data.comparisons.baseline)}"
        for group in _on_one_axis(whole):
            lower = {row.metric for row in group if directions.get(row.metric) is False}
            named = [(f"{shown_name(row.metric)}{' ↓' if row.metric in lower else ''}", row) for row in group]
            metric = group[0].metric if len(group) == 1 else None
            about = f"Difference and {shown_level(data)}, all rows.{' ↓: lower is better.' if lower else ''}"
            yield _figure(data, named, against, about, candidate, metric)
        metric = whole[0].metric if whole else next((row.metric for row in own), None)
        for name in dict.fromkeys(row.slice for row in own if row.slice != ALL):
            sliced = [row for row in own if row.slice == name and row.metric == metric][:MOST_ROWS]
            if sliced:
                named = [(shown_name(row.slice_value, row.slice), row) for row in sliced]
                about = f"Difference of {shown_name(metric)} and {shown_level(data)}."
                about = about_metric(data, metric or "", about)
                yield _figure(data, named, f"{against}, by {isolated(name)}", about, candidate, metric, name)


def _figure(
    data: ReportData,
    named: Sequence[tuple[str, ComparisonRow]],
    title: str,
    about: str,
    candidate: str,
    metric: str | None,
    slice_name: str | None = None,
) -> Figure:
    directions = directions_of(data)
    names = [key.name for key in _SIDES]
    sides = [(label, row, names.index(side_of(row, directions) or UNSURE.name)) for label, row in named]
    rows = [
        IntervalRow(label, (IntervalMark(side, row.difference or 0.0, row.ci_low, row.ci_high),))
        for label, row, side in sides
    ]
    x_title = "difference" if metric is None else f"difference of {shown_name(metric)}"
    chart = IntervalChart(rows, _SIDES, Frame(x_title, width=208, zero=True))
    return Figure("comparisons", title, about, chart, metric, candidate, slice_name)


def _on_one_axis(rows: Sequence[ComparisonRow]) -> list[list[ComparisonRow]]:
    """Return the rows divided into charts, in order.

    Rows of similar extent share an axis, so all intervals are visible.
    """
    places = {id(row): place for place, row in enumerate(rows)}
    groups: list[list[ComparisonRow]] = []
    for row in sorted(rows, key=_extent, reverse=True):
        if not groups or _extent(row) * _FAR < _extent(groups[-1][0]):
            groups.append([])
        groups[-1].append(row)
    ordered = [sorted(group, key=lambda row: places[id(row)]) for group in groups]
    return sorted(ordered, key=lambda group: places[id(group[0])])


def _extent(row: ComparisonRow) -> float:
    return float(max(abs(end) for end in (row.difference, row.ci_low, row.ci_high) if end is not None))


MODEL_COMPARISONS = ReportSection(
    "comparisons",
    "Comparisons",
    _comparisons,
    "The spec names no baseline: with several models, ask for compare: {baseline: NAME}.",
    "No baseline is named: with several models, ask for compare=NAME.",
    figures=_figures,
)
