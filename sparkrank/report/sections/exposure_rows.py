"""The report section on the attention to values of a column, such as providers, and on the attention due to them."""

from __future__ import annotations

from collections.abc import Iterator

from sparkrank.report.data import ExposureRow, ReportData
from sparkrank.report.figures import Figure, Frame, interval_figures
from sparkrank.report.report_tables import ReportTables, rows_of, whole_day
from sparkrank.report.section import Made, ReportSection

MOST_VALUES = 20  # values shown for a metric and model, by descending attention; the table has all


def _made(tables: ReportTables) -> Made:
    """Return the rows about the whole day, by descending attention, as in the table."""
    kept: list[ExposureRow] = []
    counts: dict[tuple[str, str], int] = {}
    for row in rows_of(None if tables.exposures is None else whole_day(tables.exposures), ExposureRow):
        counts[row.metric, row.model] = counts.get((row.metric, row.model), 0) + 1
        if counts[row.metric, row.model] <= MOST_VALUES:
            kept.append(row)
    return tuple(kept), None


def _figures(data: ReportData) -> Iterator[Figure]:
    """Return an iterator over charts, one for each metric, with the values of its column as rows."""
    return interval_figures(
        data,
        "exposures",
        "value",
        "ratio",
        "The attention that a value gets as a multiple of what it is due",
        lambda metric: Frame("attention / due", width=208),
    )


EXPOSURE_ROWS = ReportSection(
    "exposures",
    "Exposure",
    _made,
    "The attention that items get is not divided by a column: ask for the metric exposure_gap(by=COLUMN)@10.",
    figures=_figures,
)
