"""The report section with the metrics in each slice value, side by side for all models."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

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
    about_metric,
    charted,
    isolated,
    model_key,
    shown_level,
    shown_name,
)
from sparkrank.report.report_tables import ReportTables, is_among, names_of, parsed, plain_texts, rows_of
from sparkrank.report.section import Made, ReportSection

MOST_CELLS = 6_000  # the most rows about slices in each table: 20 models times 300 values for one metric
SLICED_METRICS = 2  # metrics with slice charts on the page
_COMPARED = ["slice", "slice_value", "metric", "difference", "stderr"]
_BY_NAME = [(name, "ascending") for name in ("slice", "slice_value", "metric", "model")]


def _of_slices(tables: ReportTables) -> pa.Table:
    table = plain_texts(tables.metrics)
    return table.filter(pc.not_equal(table["slice"], ALL))


def shown_metrics(tables: ReportTables) -> list[str]:
    """Return the first metrics of the spec with values, up to :data:`MOST_CELLS` values together, but at least one."""
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
    badness = _badness(tables, metrics)
    rows.sort(key=lambda row: (-(row.n_rows or 0), row.slice_value is None, row.slice_value or ""))
    rows.sort(key=lambda row: (slices.index(row.slice), metrics.index(row.metric), badness(row)))
    return SliceTable(tables.models, tuple(metrics), tuple(rows), table.num_rows - shown.num_rows), None


def _badness(tables: ReportTables, metrics: Sequence[str]) -> Callable[[SliceRow], float]:
    """Return the sort key that puts the worst slice values first.

    With a baseline, the key is the worst difference of any candidate in standard errors, so that small slice values do
    not come first by chance. Otherwise, it is the worst value of any model.
    """
    directions = {text: metric.declaration.higher_is_better for text in metrics if (metric := parsed(text)) is not None}
    worst: dict[tuple[str, str | None, str], float] = {}
    if tables.comparisons is not None:
        table = plain_texts(tables.comparisons.select(_COMPARED))
        for row in table.filter(is_among(table["metric"], metrics)).to_pylist():
            if row["stderr"]:
                sign = -1.0 if directions.get(row["metric"]) is False else 1.0
                key = (row["slice"], row["slice_value"], row["metric"])
                worst[key] = min(worst.get(key, math.inf), sign * row["difference"] / row["stderr"])

    def key_of(row: SliceRow) -> float:
        if tables.comparisons is not None:
            return worst.get((row.slice, row.slice_value, row.metric), math.inf)
        sign = -1.0 if directions.get(row.metric) is False else 1.0
        values = [sign * cell.value for cell in row.cells if cell is not None and cell.value is not None]
        return min(values, default=math.inf)

    return key_of


def slice_figures(data: ReportData, metrics: Sequence[str] | None = None) -> Iterator[Figure]:
    """Yield a chart for each slice and each metric (by default, the first :data:`SLICED_METRICS` metrics).

    A slice value has no line if the metric is undefined for all models, and a chart without lines is left out.
    """
    if data.slices is None:
        return
    for name in dict.fromkeys(row.slice for row in data.slices.rows):
        for metric in data.slices.metrics[:SLICED_METRICS] if metrics is None else metrics:
            rows = [row for row in data.slices.rows if row.slice == name and row.metric == metric and _is_defined(row)]
            if rows:
                yield _figure(data, data.slices.models, name, metric, rows)


def _is_defined(row: SliceRow) -> bool:
    return any(cell is not None and cell.value is not None for cell in row.cells)


def _figure(data: ReportData, models: Sequence[str], name: str, metric: str, rows: Sequence[SliceRow]) -> Figure:
    shown = charted(models, data.baseline)[: MOST_SERIES // 2 if len(rows) > 12 else MOST_SERIES]
    worst = rows if len(rows) <= MOST_ROWS else rows[: MOST_ROWS // 2]
    by_size = sorted(rows[len(worst) :], key=lambda row: -(row.n_rows or 0))
    largest = [*worst, *by_size[: MOST_ROWS - len(worst)]]
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
    of_all = f"The {len(worst)} worst and the {len(largest) - len(worst)} largest of {len(rows)} values"
    count = of_all if len(rows) > len(largest) else f"{len(rows)} values"
    about = about_metric(data, metric, f"{count}, the highest first, with {shown_level(data)}.")
    return Figure("slices", f"{shown_name(metric)} by {isolated(name)}", about, chart, metric, slice=name)


SLICE_VALUES = ReportSection(
    "slices",
    "Slices",
    _slices,
    "No slice is evaluated: ask for slices: [COLUMN].",
    "No slice is evaluated: ask for slices=[COLUMN].",
    figures=slice_figures,
)
