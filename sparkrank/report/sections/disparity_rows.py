"""The report section on the distance between the values of a slice."""

from __future__ import annotations

from collections.abc import Iterator

from sparkrank.report.data import DisparityRow, ReportData
from sparkrank.report.figures import Figure, Frame, interval_figures, shown_name
from sparkrank.report.report_tables import ReportTables, rows_of
from sparkrank.report.section import Made, ReportSection


def _made(tables: ReportTables) -> Made:
    return tuple(rows_of(tables.disparities, DisparityRow)), None


def _figures(data: ReportData) -> Iterator[Figure]:
    """Return an iterator over charts, one for each metric, with the slices as rows."""
    return interval_figures(
        data,
        "disparities",
        "slice",
        "difference",
        "The highest value of a slice less its lowest",
        lambda metric: Frame(f"difference of {shown_name(metric)}", width=208, zero=True),
    )


DISPARITY_ROWS = ReportSection(
    "disparities",
    "Disparities",
    _made,
    "Values of slices are not compared with one another: name slices in disparities: [COLUMN].",
    "Values of slices are not compared with one another: ask for disparities=[COLUMN].",
    figures=_figures,
)
