"""Plain text for a terminal: what became of each day of a backfill."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sparkrank.base import checks
from sparkrank.base.errors import escaped
from sparkrank.inputs.window import spans
from sparkrank.text.gates_text import verdicts_text
from sparkrank.text.text import quality_text, warnings_text

if TYPE_CHECKING:
    from sparkrank.jobs.backfill import BackfilledDay


def backfilled_text(day: BackfilledDay) -> str:
    """A line for ``day``, and below it what a person must hear of it: limits that are not kept, and warnings."""
    result = day.result
    if result is None:
        if day.state == "there":
            return (
                f"{day.day}  there already, by the same spec (run {escaped(day.told)}): skipped, --again evaluates it"
            )
        return f"{day.day}  no input: {escaped(day.told)}"
    checked = result.quality.to_pylist()
    rows = next((row["count"] for row in checked if row["check"] == checks.ROWS_READ), 0)
    line = f"{day.day}  evaluated: {rows:,.0f} rows in {day.seconds:.1f} s, lane {result.lane}"
    verdicts = "" if result.judgment is None else verdicts_text(result.judgment.judged)
    below = filter(None, (quality_text(result.quality), warnings_text(result.warnings), verdicts))
    return "\n".join([line, *(f"  {each}" for text in below for each in text.splitlines())])


def backfill_text(days: Sequence[BackfilledDay]) -> str:
    """How many days were evaluated, which were there, and which have no input."""
    of = {state: [day.day for day in days if day.state == state] for state in ("evaluated", "there", "no input")}
    lines = [f"Evaluated: {_told(of['evaluated'])}", f"There already: {_told(of['there'])}"]
    if of["no input"]:
        lines.append(f"Without input: {_told(of['no input'])}")
    return "\n".join(lines)


def _told(days: Sequence[str]) -> str:
    count = f"{len(days)} day" if len(days) == 1 else f"{len(days)} days"
    return f"{count} ({spans(days)})" if days else count
