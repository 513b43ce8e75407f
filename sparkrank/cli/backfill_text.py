"""Write the days of a backfill as plain text for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from sparkrank.base import checks
from sparkrank.base.errors import escape
from sparkrank.inputs.window import spans
from sparkrank.results.run_results import BackfilledDay
from sparkrank.text.gates_text import verdicts_text
from sparkrank.text.text import quality_text, warnings_text


def backfilled_text(day: BackfilledDay, *, is_whole: bool = False) -> str:
    """Return a line for ``day`` and, indented below it, its exceeded quality limits, warnings and verdicts."""
    result = day.result
    if result is not None:
        checked = result.quality.to_pylist()
        rows = next((row["count"] for row in checked if row["check"] == checks.ROWS_READ), 0)
        line = f"{day.day}  evaluated: {rows:,.0f} rows in {day.seconds:.1f} s, lane {result.lane}"
        verdicts = "" if result.judgment is None else verdicts_text(result.judgment.judged, is_whole=is_whole)
        below = [quality_text(result.quality), warnings_text(result.warnings), verdicts]
    elif day.state == "there":
        line = f"{day.day}  there already, by the same spec (run {day.run_id}): skipped, --again evaluates it"
        stopped = [] if day.stored is None else [verdict for verdict in day.stored.judged if verdict.stops]
        verdicts = verdicts_text(stopped, "Gates that stop it, until it is accepted or evaluated again")
        below = [warnings_text(day.warnings), verdicts]
    else:
        line, below = f"{day.day}  no input: {escape(day.reason)}", []
    return "\n".join([line, *(f"  {indented}" for text in below for indented in text.splitlines())])


def backfill_text(days: Sequence[BackfilledDay]) -> str:
    """Return one line each for the days that were evaluated, were stored already, or have no input."""
    names = {state: [day.day for day in days if day.state == state] for state in ("evaluated", "there", "no input")}
    lines = [f"Evaluated: {_days_text(names['evaluated'])}", f"There already: {_days_text(names['there'])}"]
    if names["no input"]:
        lines.append(f"Without input: {_days_text(names['no input'])}")
    return "\n".join(lines)


def _days_text(days: Sequence[str]) -> str:
    count = f"{len(days)} day" if len(days) == 1 else f"{len(days)} days"
    return f"{count} ({spans(days)})" if days else count
