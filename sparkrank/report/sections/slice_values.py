"""Slices: the metrics in each slice value, side by side for all models."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from sparkrank.metrics.slices import ALL
from sparkrank.report.data import MetricValue, ReportData, SliceRow, SliceTable
from sparkrank.report.figures import (
    MOST_ROWS,
    MOST_SERIES,
    Figure,
    Frame,
    IntervalChart,
    IntervalMark,
    IntervalRow,
    charted,
    model_key,
    shown_level,
    shown_name,
)
from sparkrank.report.report_tables import ReportTables, is_among, names_of, plain_texts, rows_of
from sparkrank.report.section import Made, ReportSection

MOST_CELLS = 20_000  # rows for slices, and comparisons in slices: 20 models and 1,000 slice values of one metric
SLICED_METRICS = 2  # metrics with slice charts on the page
_BY_NAME = [(name, "ascending") for name in ("slice", "slice_value", "metric", "model")]


def _of_slices(tables: ReportTables) -> pa.Table:
    table = plain_texts(tables.metrics)
    return table.filter(pc.not_equal(table["slice"], ALL))


def shown_metrics(tables: ReportTables) -> list[str]:
    """The metrics shown: as many as fit into :data:`MOST_CELLS` values, in the order of the spec, but at least one."""
    table = _of_slices(tables)
    shown: list[str] = []
    cells = 0
    for name in tables.metric_names if table.num_rows else ():
        cells += pc.sum(pc.equal(table["metric"], name)).as_py() or 0
        if shown and cells > MOST_CELLS:
            break
        shown.append(name)
    return shown


def _slices(tables: ReportTables) -> Made:
    table = _of_slices(tables)
    if not table.num_rows:
        return None, None
    metrics = shown_metrics(tables)
    shown = table.filter(is_among(table["metric"], metrics))
    if shown.num_rows > MOST_CELLS:  # keep the slice values with the most rows
        shown = shown.take(pc.sort_indices(shown, [("n_rows", "descending"), *_BY_NAME])[:MOST_CELLS])
    by_value: dict[tuple[str, str | None, str], dict[str, MetricValue]] = {}
    for row in rows_of(shown, MetricValue):
        by_value.setdefault((row.slice, row.slice_value, row.metric), {})[row.model] = row
    rows = []
    for key, cells in by_value.items():
        in_order = tuple(map(cells.get, tables.models))
        first = next(filter(None, in_order))
        rows.append(SliceRow(*key, first.n_groups, first.n_rows, in_order))
    slices = names_of(table, "slice")
    rows.sort(key=lambda row: (slices.index(row.slice), metrics.index(row.metric), -(row.n_rows or 0), *_by_text(row)))
    return SliceTable(tables.models, tuple(metrics), tuple(rows), table.num_rows - shown.num_rows), None


def _by_text(row: SliceRow) -> tuple[bool, str]:
    return row.slice_value is None, row.slice_value or ""


def slice_figures(data: ReportData, metrics: Sequence[str] | None = None) -> Iterator[Figure]:
    """A chart for each slice and each of ``metrics``, which defaults to the first two."""
    if data.slices is None:
        return
    for name in dict.fromkeys(row.slice for row in data.slices.rows):
        for metric in data.slices.metrics[:SLICED_METRICS] if metrics is None else metrics:
            rows = [row for row in data.slices.rows if row.slice == name and row.metric == metric]
            if rows:
                yield _figure(data, data.slices.models, name, metric, rows)


def _figure(data: ReportData, models: Sequence[str], name: str, metric: str, rows: Sequence[SliceRow]) -> Figure:
    shown = charted(models, data.baseline)[: MOST_SERIES // 2 if len(rows) > 12 else MOST_SERIES]
    largest = rows[:MOST_ROWS]
    lines = []
    for row in largest:
        marks = [
            IntervalMark(shown.index(model), cell.value, cell.ci_low, cell.ci_high)
            for model, cell in zip(models, row.cells, strict=True)
            if model in shown and cell is not None and cell.value is not None
        ]
        lines.append(IntervalRow(shown_name(row.slice_value, row.slice), tuple(marks)))
    lines.sort(key=lambda line: -line.intervals[0].value if line.intervals else 0.0)
    chart = IntervalChart(lines, [model_key(data, model) for model in shown], Frame(shown_name(metric), width=208))
    count = f"The {len(largest)} largest of {len(rows)} values" if len(rows) > len(largest) else f"{len(rows)} values"
    about = f"{count}, the highest first, with {shown_level(data)}."
    return Figure("slices", f"{shown_name(metric)} by {shown_name(name)}", about, chart, metric, slice=name)


SLICE_VALUES = ReportSection(
    "slices",
    "Slices",
    _slices,
    "No slice is evaluated: ask for slices: [COLUMN].",
    "No slice is evaluated: ask for slices=[COLUMN].",
    figures=slice_figures,
)
