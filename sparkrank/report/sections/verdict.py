"""The verdict: the overall result of the gates, and the table of their checks."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any

from sparkrank.report.data import GateRow, OverallVerdict, State
from sparkrank.report.report_tables import WORST_FIRST, ReportTables, worst
from sparkrank.report.section import Made, ReportSection

MOST_GATES = 100  # verdicts shown, those that do not pass first
_ASK = "The spec has no gates: add some, for example gates: [{metric: ndcg@10, min: 0.3}]."
_ASK_IN_MEMORY = "Gates judge stored days: add gates to a spec, and run sparkrank evaluate."


def _verdict(tables: ReportTables) -> Made:
    rows = tables.verdicts
    state = worst(row.verdict for row in rows)
    if state is None:
        return None, None
    counts = {verdict: sum(row.verdict == verdict for row in rows) for verdict in WORST_FIRST}
    sentence = {
        "fail": _counted(rows, "fail", "fails", "fail"),
        "undecided": f"No gate fails, and {_counted(rows, 'undecided', 'is undecided', 'are undecided')}",
        "pass": "The gate passes" if counts["pass"] == 1 else f"All {counts['pass']:,} gate checks pass",
    }[state]
    run = tables.run if any(row.accepted for row in rows) else {}
    reason = run.get("accepted_reason")
    at, is_accepted = None if reason is None else instant(run.get("accepted_at")), reason is not None
    whole = f"{sentence}{', but a person has accepted the day' if is_accepted else ''}."
    numbers = counts["pass"], counts["fail"], counts["undecided"]
    return OverallVerdict(state, *numbers, is_accepted, at, reason, whole), None


def _counted(rows: Sequence[GateRow], state: State, one: str, several: str) -> str:
    names, concerned = {row.gate for row in rows}, {row.gate for row in rows if row.verdict == state}
    subject = "the gate" if len(names) == 1 else f"{len(concerned):,} of {len(names):,} gates"
    checks = sum(row.verdict == state for row in rows)
    where = f", in {checks:,} of {len(rows):,} checks" if len(rows) > len(names) else ""
    sentence = f"{subject} {one if len(concerned) == 1 else several}{where}"
    return sentence if state == "undecided" else sentence[:1].upper() + sentence[1:]


def instant(value: Any) -> str | None:
    """A timestamp as ISO 8601 in UTC, to the second. One without a time zone is taken as UTC."""
    if not isinstance(value, dt.datetime):
        return None if value is None else str(value)
    in_utc = value.replace(tzinfo=dt.timezone.utc) if value.tzinfo is None else value.astimezone(dt.timezone.utc)
    return in_utc.isoformat(timespec="seconds").replace("+00:00", "Z")


VERDICT = ReportSection("verdict", "Verdict", _verdict, _ASK, _ASK_IN_MEMORY)
GATE_CHECKS = ReportSection("gates", "Gates", lambda tables: (tables.verdicts[:MOST_GATES], None), _ASK, _ASK_IN_MEMORY)
