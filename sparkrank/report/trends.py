"""The trend over stored days: the metrics over all rows, with their bands and with what a person has accepted."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import pyarrow as pa

from sparkrank.gates.register import KINDS
from sparkrank.metrics.slices import ALL
from sparkrank.report.collect import defined, definitions_of, gate_rows, of_all, plain_texts, worst
from sparkrank.report.data import GateRow, Trend, TrendPoint, TrendSeries

# How the table `gates` has the band of a history: as text, the end that decides also as the number `bound`.
_BAND = re.compile(r"band (\S+) to (\S+)$")
_Key = tuple[str, str]


@dataclass(frozen=True)
class TrendDay:
    """What the tables of a day say of its metrics over all rows.

    Parameters
    ----------
    name : str
        The day.
    state : {"stored", "missing", "unreadable"}
        Whether it has tables that can be read.
    metrics, gates : pyarrow.Table, optional
        The tables of these names; ``gates`` is None where the day has none.
    run : mapping
        When and why a person let it in.
    told : str, optional
        Why it cannot be read.
    """

    name: str
    state: Literal["stored", "missing", "unreadable"] = "missing"
    metrics: pa.Table | None = None
    gates: pa.Table | None = None
    run: Mapping[str, Any] = field(default_factory=dict)
    told: str | None = None


def trend_of(days: Sequence[TrendDay], keys: Sequence[_Key]) -> Trend | None:
    """The trend of the metrics and models ``keys`` over ``days``.

    Parameters
    ----------
    days : sequence of TrendDay
        All days from the first to the last, those without tables among them.
    keys : sequence of (str, str)
        The metrics and models, in the order of the series.

    Returns
    -------
    Trend or None
        None where fewer than two days are stored. Days before the first that is are left out.
    """
    stored = [index for index, day in enumerate(days) if day.state == "stored"]
    if len(stored) < 2:
        return None
    days = days[stored[0] :]
    of_days = [_of_day(day) for day in days]
    last = next(each for each in reversed(of_days) if each is not None)
    series = []
    for metric, model in keys:
        definition = last[(metric, model)].definition if (metric, model) in last else None
        points = tuple(
            _point(day, None if each is None else each.get((metric, model)), definition, in_tables=each is not None)
            for day, each in zip(days, of_days, strict=True)
        )
        series.append(TrendSeries(metric, model, points))
    return Trend(tuple(day.name for day in days), tuple(series))


@dataclass(frozen=True)
class _Cell:
    row: dict[str, Any]
    definition: str | None
    gates: tuple[GateRow, ...]
    run: Mapping[str, Any]


def _of_day(day: TrendDay) -> dict[_Key, _Cell] | None:
    """What a day says by metric and model; None where it says nothing."""
    if day.metrics is None:
        return None
    metrics = plain_texts(of_all(day.metrics))
    definitions = definitions_of(metrics)
    judged: dict[tuple[str, str | None], list[GateRow]] = {}
    for gate in gate_rows(day.gates):
        if gate.slice == ALL:
            judged.setdefault((gate.metric, gate.model), []).append(gate)
    names = [name for name in ("metric", "model", "value", "ci_low", "ci_high") if name in metrics.column_names]
    found = {}
    for row in metrics.select(names).to_pylist():
        key = (row["metric"], row["model"])
        found[key] = _Cell(row, definitions.get(key), tuple(judged.get(key, ())), day.run)
    return found


def _point(day: TrendDay, cell: _Cell | None, definition: str | None, *, in_tables: bool) -> TrendPoint:
    if cell is None:
        state: Literal["absent", "missing", "unreadable"] = "absent"
        if not in_tables:
            state = "unreadable" if day.state == "unreadable" else "missing"
        return TrendPoint(day.name, state, told=day.told)
    value, low, high = (defined(cell.row.get(name)) for name in ("value", "ci_low", "ci_high"))
    bands = (found for gate in cell.gates if (found := band_of_gate(gate)) is not None)
    ends: tuple[float | None, float | None] = next(bands, (None, None))
    stopped = [gate for gate in cell.gates if gate.accepted]
    return TrendPoint(
        day.name,
        "undefined" if value is None else "value",
        value,
        low,
        high,
        *ends,
        worst(gate.verdict for gate in cell.gates),
        bool(stopped),
        stopped[0].accepted_reason if stopped else None,
        definition is None or cell.definition == definition,
        begins_anew=any(gate.from_now_on for gate in cell.gates),
    )


def band_of_gate(gate: GateRow) -> tuple[float, float] | None:
    """The ends of the band of a gate of the kind ``history``; None where it had no band.

    The table has both ends as text, of six digits, and the worse one as a number: that is taken as it is.
    """
    kind = KINDS.get(gate.kind)
    found = _BAND.search(gate.against or "") if kind is not None and kind.reads_history else None
    if found is None:
        return None
    try:
        low, high = float(found[1]), float(found[2])
    except ValueError:
        return None
    if gate.bound is None:
        return low, high
    return (gate.bound, high) if abs(gate.bound - low) <= abs(gate.bound - high) else (low, gate.bound)
