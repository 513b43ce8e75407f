"""The report section on how far apart the values of a slice are."""

from __future__ import annotations

from collections.abc import Iterator

from sparkrank.report.data import DisparityRow, ReportData
from sparkrank.report.figures import (
    MOST_ROWS,
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
from sparkrank.report.report_tables import ReportTables, rows_of
from sparkrank.report.section import Made, ReportSection


def _made(tables: ReportTables) -> Made:
    return tuple(rows_of(tables.disparities, DisparityRow)), None


def _figures(data: ReportData) -> Iterator[Figure]:
    """Yield a chart for each metric, with the slices as rows."""
    rows: tuple[DisparityRow, ...] = data.more.get("disparities", ())
    shown = charted(data.models, data.baseline)
    for metric in dict.fromkeys(row.metric for row in rows):
        lines = []
        for name in dict.fromkeys(row.slice for row in rows if row.metric == metric):
            marks = [
                IntervalMark(shown.index(row.model), row.difference, row.ci_low, row.ci_high)
                for row in rows
                if (row.metric, row.slice) == (metric, name) and row.model in shown and row.difference is not None
            ]
            lines += [IntervalRow(shown_name(name), tuple(marks))] if marks else []
        if lines:
            keys = [model_key(data, model) for model in shown]
            frame = Frame(f"difference of {shown_name(metric)}", width=208, zero=True)
            about = f"The highest value of a slice less its lowest, with {shown_level(data)}."
            chart = IntervalChart(lines[:MOST_ROWS], keys, frame)
            yield Figure("disparities", shown_name(metric), about, chart, metric)


DISPARITY_ROWS = ReportSection(
    "disparities",
    "Disparities",
    _made,
    "Values of slices are not compared with one another: name slices in disparities: [COLUMN].",
    "Values of slices are not compared with one another: ask for disparities=[COLUMN].",
    figures=_figures,
)
