"""The report section on the share of relevant rows at each position of the lists, from the table ``positions``."""

from __future__ import annotations

from collections.abc import Iterator

from sparkrank.report.data import PositionRow, ReportData
from sparkrank.report.figures import Figure, Frame, Line, LineChart, charted, model_key
from sparkrank.report.report_tables import ReportTables, rows_of, whole_day
from sparkrank.report.section import Made, ReportSection

MOST_POSITIONS = 50  # points shown for a model; the table has all


def _made(tables: ReportTables) -> Made:
    """Return the rows about the whole day, model by model, from the first position."""
    rows = rows_of(None if tables.positions is None else whole_day(tables.positions), PositionRow)
    return tuple(row for row in rows if row.position <= MOST_POSITIONS), None


def _figures(data: ReportData) -> Iterator[Figure]:
    rows: tuple[PositionRow, ...] = data.more.get("positions", ())
    shown = charted(data.models, data.baseline)
    rates: dict[str, list[tuple[float, float]]] = {}
    for row in rows:
        rates.setdefault(row.model, []).append((row.position, row.relevant / row.rows))
    lines = [Line(model_key(data, model), tuple(rates[model])) for model in shown if model in rates]
    if lines:
        frame = Frame("position", "share of relevant rows", width=420, zero=True, marks=MOST_POSITIONS)
        about = "The share of relevant rows among the rows at each position of the lists."
        yield Figure("positions", "Rate by position", about, LineChart(lines, frame))


RATE_BY_POSITION = ReportSection(
    "positions",
    "Rate by position",
    _made,
    "Rows are not counted by position: ask for output.positions: 50.",
    "Rows are not counted by position: ask for position_depth=50.",
    figures=_figures,
)
