"""The report section with the verdict from gates, warnings and limits, and the section with the gates' checks."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from typing import Any

from sparkrank.gates.day_verdict import day_verdict
from sparkrank.report.data import GateRow, OverallVerdict, QualityRow, StoppedGate
from sparkrank.report.report_tables import ReportTables, names_of, rows_of
from sparkrank.report.section import Made, ReportSection
from sparkrank.text.gates_text import MOST_LISTED
from sparkrank.text.text import check_text

MOST_GATES = 100  # verdicts shown, those that do not pass first
_ASK = "The spec has no gates: add some, for example gates: [{metric: ndcg@10, min: 0.3}]."
_ASK_IN_MEMORY = "Gates judge stored days: add gates to a spec, and run sparkrank evaluate."


def _verdict(tables: ReportTables) -> Made:
    rows = tables.verdicts
    checks = (vars(row) for row in rows_of(tables.quality, QualityRow) if row.ok is False)
    exceeded = (f"Not within its limit: {check_text(check)}" for check in checks)
    warnings = (*tables.warnings, *exceeded)
    if not rows and not warnings:
        return None, None
    whole = day_verdict((row.check for row in rows), len(warnings))
    run = tables.run if whole.is_accepted else {}
    n_pass, n_fail, n_undecided = (sum(row.verdict == word for row in rows) for word in ("pass", "fail", "undecided"))
    accepted = whole.is_accepted, instant(run.get("accepted_at")), run.get("accepted_reason")
    # an evaluation in memory has no exit code, because it is no command
    warned = "There is a warning." if len(warnings) == 1 else f"There are {len(warnings):,} warnings."
    sentence = warned if tables.kind == "evaluation" else whole.sentence
    names = () if tables.gates is None else names_of(tables.gates, "gate")
    numbers, stopped = (n_pass, n_fail, n_undecided), stopped_gates(rows, names)
    return OverallVerdict(whole.state, *numbers, *accepted, sentence, whole.exit_code, warnings, stopped), None


def stopped_gates(rows: Iterable[GateRow], names: Sequence[str]) -> tuple[StoppedGate, ...]:
    """Return the gates that do not pass, with their worst checks.

    ``names`` contains the names of all gates. ``rows`` are sorted, worst first.
    """
    by_gate: dict[str, list[GateRow]] = {}
    for row in rows:
        by_gate.setdefault(row.gate, []).append(row)
    return tuple(_counted(gate, names, own) for gate, own in by_gate.items() if own[0].verdict != "pass")


def _counted(gate: str, names: Sequence[str], rows: Sequence[GateRow]) -> StoppedGate:
    listed = tuple(row for row in rows if row.verdict != "pass")
    worst = rows[0].verdict
    counts = sum(row.verdict == worst for row in rows), len(rows)
    number = names.index(gate) + 1
    return StoppedGate(gate, number, len(names), worst, *counts, listed[:MOST_LISTED], len(listed[MOST_LISTED:]))


def instant(value: Any) -> str | None:
    """Return a timestamp as ISO 8601 in UTC, to the second. A timestamp without a time zone means UTC."""
    if not isinstance(value, dt.datetime):
        return None if value is None else str(value)
    in_utc = value.replace(tzinfo=dt.timezone.utc) if value.tzinfo is None else value.astimezone(dt.timezone.utc)
    return in_utc.isoformat(timespec="seconds").replace("+00:00", "Z")


VERDICT = ReportSection("verdict", "Verdict", _verdict, _ASK, _ASK_IN_MEMORY)
GATE_CHECKS = ReportSection("gates", "Gates", lambda tables: (tables.verdicts[:MOST_GATES], None), _ASK, _ASK_IN_MEMORY)
