"""The verdicts of gates for a terminal: a line each, what stops first."""

from __future__ import annotations

from collections.abc import Sequence

from sparkrank.errors import MOST_SENTENCE, escaped, shortened
from sparkrank.gates.chance import GateRecord
from sparkrank.gates.verdicts import Judged

MOST_PASSES = 100  # lines of verdicts that stop nothing; the others are counted
_MOST_NIGHTS = 12  # that are listed by name
_UNDECIDED = {"fail": "undecided, which stops the day", "warn": "undecided", "pass": "undecided, which passes"}


def verdicts_text(judged: Sequence[Judged], head: str = "Gates") -> str:
    """Below ``head`` a line for each verdict: failures, then what is undecided, then what passes."""
    if not judged:
        return ""
    ordered = sorted(judged, key=lambda each: (not each.stops, ("fail", "undecided", "pass").index(each.verdict)))
    told = [each for each in ordered if each.verdict != "pass"]
    passes = [each for each in ordered if each.verdict == "pass"]
    lines = [f"  {_line(each)}" for each in (*told, *passes[:MOST_PASSES])]
    if len(passes) > MOST_PASSES:
        lines.append(f"  and {len(passes) - MOST_PASSES:,} more pass (table gates)")
    return "\n".join([head, *lines])


def _line(each: Judged) -> str:
    verdict = _UNDECIDED[each.policy] if each.verdict == "undecided" else each.verdict
    cell = each.key.cell
    of = ", ".join(filter(None, (cell.metric, cell.model, cell.shown_slice)))
    taken = "" if each.accepted is None else f' (accepted: "{each.accepted}")'
    return escaped(shortened(f"{verdict}: {each.key.gate}: {of}: {each.reason}{taken}", MOST_SENTENCE))


def replay_text(first: str, last: str, nights: int, days: int, records: Sequence[GateRecord]) -> str:
    """On which of the stored nights each gate would have stopped, and on how many by chance: a line each."""
    lines = [f"Gates on {nights} stored nights of {days}, {first} to {last}"]
    for each in records:
        stopped = f"stops {len(each.stopped)} of {each.nights} nights{_nights(each.stopped)}"
        undecided = f", undecided on {len(each.undecided)}" if each.undecided else ""
        chance = f"by chance, if nothing had changed, {each.by_chance:.2f}"
        unknown = f" ({each.unknown:,} verdicts without a standard error left out)" if each.unknown else ""
        lines.append(f"  {escaped(shortened(each.gate))}: {stopped}{undecided}; {chance}{unknown}{_splits(each)}")
    return "\n".join(lines)


def _splits(record: GateRecord) -> str:
    if not record.split_nights:
        return ""
    some = "" if record.split_nights == record.nights else f" of the {record.split_nights} nights with states"
    return f"; in A/A splits{some} {record.in_splits:.2f}"


def _nights(days: Sequence[str]) -> str:
    if not days:
        return ""
    more = f" and {len(days) - _MOST_NIGHTS} more" if len(days) > _MOST_NIGHTS else ""
    return f" ({', '.join(days[:_MOST_NIGHTS])}{more})"
