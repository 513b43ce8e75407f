"""The report section on the trend of the metrics by stored day, with history bands, verdicts and acceptances."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import pyarrow as pa

from sparkrank.gates.day_verdict import day_verdict
from sparkrank.gates.register import KINDS
from sparkrank.report.data import GateRow, ReportData, Trend, TrendPoint, TrendSeries
from sparkrank.report.figures import Figure, Frame, Line, LineChart, about_metric, charted, model_key, shown_name
from sparkrank.report.report_tables import by_cell, defined, definitions_of, plain_texts, rows_of, whole_day, worst
from sparkrank.report.section import ReportSection

# How the table `gates` stores a history band: as text, with the deciding end also as the number `bound`.
_BAND = re.compile(r"band (\S+) to (\S+)$")


@dataclass(frozen=True)
class TrendDay:
    """The tables of one day in the trend. ``reason`` is why they cannot be read, or None if they can.

    ``verdict`` is the combined verdict of the day's gates, including those on slices, or ``""`` without gates.
    """

    name: str
    state: Literal["stored", "missing", "unreadable"] = "missing"
    metrics: pa.Table | None = None
    gates: pa.Table | None = None
    reason: str | None = None
    verdict: str = ""


def verdict_of(gates: pa.Table) -> str:
    """Return the combined verdict of a table ``gates``: a state, or ``accepted``, or an empty string without rows."""
    names = [name for name in ("gate", "verdict", "accepted", "policy") if name in gates.column_names]
    checks = rows_of(plain_texts(gates.select(names)).group_by(names).aggregate([]), GateRow)
    verdict = day_verdict(row.check for row in checks)
    return "accepted" if verdict.is_accepted else verdict.state if checks else ""


def trend_of(days: Sequence[TrendDay], keys: Sequence[tuple[str, str]]) -> Trend | None:
    """Return the trend of the (metric, model) pairs ``keys`` from the first stored day on; None for a single day."""
    stored = [place for place, day in enumerate(days) if day.state == "stored"]
    if len(stored) < 2:
        return None
    days = days[stored[0] :]
    cells = [_cells(day) for day in days]
    last = next(cell for cell in reversed(cells) if cell is not None)
    series = []
    for key in keys:
        definition = last[key].definition if key in last else None
        points = tuple(_point(day, own, key, definition) for day, own in zip(days, cells, strict=True))
        series.append(TrendSeries(*key, points))
    verdicts = tuple(day.verdict if day.state == "stored" else _STATES[day.state] for day in days)
    return Trend(tuple(day.name for day in days), tuple(series), verdicts)


_STATES = {"missing": "not evaluated", "unreadable": "unreadable"}


@dataclass(frozen=True)
class _DayCell:
    row: dict[str, Any]
    definition: str | None
    gates: tuple[GateRow, ...]


def _cells(day: TrendDay) -> dict[tuple[str, str], _DayCell] | None:
    """Return a day's cells by metric and model, or None if the day has no readable tables."""
    if day.metrics is None:
        return None
    metrics = plain_texts(whole_day(day.metrics))
    definitions = definitions_of(metrics)
    verdicts = by_cell(rows_of(day.gates, GateRow))
    names = [name for name in ("metric", "model", "value", "ci_low", "ci_high") if name in metrics.column_names]
    rows = {(row["metric"], row["model"]): row for row in metrics.select(names).to_pylist()}
    return {key: _DayCell(row, definitions.get(key), verdicts.get(key, ())) for key, row in rows.items()}


def _point(
    day: TrendDay, cells: Mapping[tuple[str, str], _DayCell] | None, key: tuple[str, str], definition: str | None
) -> TrendPoint:
    cell = None if cells is None else cells.get(key)
    if cell is None:
        state = "absent" if cells is not None else "unreadable" if day.state == "unreadable" else "missing"
        return TrendPoint(day.name, state, reason=day.reason)  # type: ignore[arg-type]
    value, low, high = (defined(cell.row.get(name)) for name in ("value", "ci_low", "ci_high"))
    bands = (band for gate in cell.gates if (band := band_of_gate(gate)) is not None)
    ends: tuple[float | None, float | None] = next(bands, (None, None))
    accepted = [gate for gate in cell.gates if gate.accepted]
    return TrendPoint(
        day.name,
        "undefined" if value is None else "value",
        value,
        low,
        high,
        *ends,
        worst(gate.verdict for gate in cell.gates),
        bool(accepted),
        accepted[0].accepted_reason if accepted else None,
        definition is None or cell.definition == definition,
        begins_anew=any(gate.from_now_on for gate in cell.gates),
    )


def band_of_gate(gate: GateRow) -> tuple[float, float] | None:
    """Return the ends of a ``history`` gate's band (the expected range), or None without a band.

    The end that serves as the gate's bound is exact; the other end is rounded to six digits.
    """
    kind = KINDS.get(gate.kind)
    match = _BAND.search(gate.against or "") if kind is not None and kind.reads_history else None
    if match is None:
        return None
    try:
        low, high = float(match[1]), float(match[2])
    except ValueError:
        return None
    if gate.bound is None:
        return low, high
    return (gate.bound, high) if abs(gate.bound - low) <= abs(gate.bound - high) else (low, gate.bound)


def _figures(data: ReportData) -> Iterator[Figure]:
    if data.trend is None:
        return
    shown = charted(data.models, data.baseline)
    days = tuple(map(_date, data.trend.days))
    for metric in dict.fromkeys(series.metric for series in data.trend.series):
        own = [series for series in data.trend.series if series.metric == metric and series.model in shown]
        if max((sum(point.value is not None for point in series.points) for series in own), default=0) < 2:
            continue
        changed = dict.fromkeys(_date(point.day) for series in own for point in _changes(series))
        frame = Frame(height=150, days=days, marks=10, noted=tuple(changed))
        chart = LineChart([_line(data, series) for series in own], frame)
        about = about_metric(data, metric, f"By day, {data.trend.days[0]} to {data.trend.days[-1]}.")
        yield Figure("trend", shown_name(metric), about, chart, metric)


def _line(data: ReportData, series: TrendSeries) -> Line:
    dated = [(_date(point.day), point) for point in series.points]

    def ends(low: str, high: str) -> tuple[tuple[str, float, float], ...]:
        pairs = ((day, getattr(point, low), getattr(point, high)) for day, point in dated)
        return tuple(pair for pair in pairs if None not in pair)

    return Line(
        model_key(data, series.model),
        tuple((day, point.value) for day, point in dated),
        band=ends("ci_low", "ci_high"),
        limits=ends("band_low", "band_high"),
        flags=tuple((day, point.value) for day, point in dated if point.is_accepted and point.value is not None),
    )


def _changes(series: TrendSeries) -> Iterator[TrendPoint]:
    """Yield the points on whose days the definition changed or a person restarted the history."""
    for before, point in pairwise(point for point in series.points if point.value is not None):
        if before.is_same_definition != point.is_same_definition or point.begins_anew:
            yield point


def _date(day: str) -> str:
    """Return the date of a day, or of the last day of a window."""
    return day.rpartition("..")[2]


TREND = ReportSection(
    "trend",
    "Trend",
    lambda tables: (tables.trend, None),
    "Only one day is stored: a trend needs a second one.",
    "An evaluation in memory belongs to no day: sparkrank report shows the trend of stored days.",
    figures=_figures,
)
