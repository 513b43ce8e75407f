"""Gate verdicts as text for a terminal, grouped by gate. Gates that stop a run come first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from sparkrank.base.errors import MOST_SENTENCE, escape, shorten
from sparkrank.gates.chance import GateRecord
from sparkrank.gates.verdicts import WORST_FIRST, GateVerdict, worst_first

MOST_LISTED = 5  # the most checks of one gate that are listed, unless all are requested
_MOST_NIGHTS = 12  # the most nights (daily runs) that are listed by name
_COUNTED = {"fail": ("fails", "fail"), "undecided": ("is undecided", "are undecided"), "pass": ("passes", "pass")}
_UNDECIDED = {"fail": "undecided, which stops the day", "warn": "undecided", "pass": "undecided, which passes"}


def verdicts_text(verdicts: Sequence[GateVerdict], head: str = "Gates", *, is_whole: bool = False) -> str:
    """Format the gates below the line ``head``, with the worst gates first.

    For a gate with several checks, the text contains counts and the worst checks, or all checks if ``is_whole``.
    """
    if not verdicts:
        return ""
    by_gate: defaultdict[str, list[GateVerdict]] = defaultdict(list)
    for check in verdicts:
        by_gate[check.key.gate].append(check)
    blocks = []
    for number, (gate, checks) in enumerate(by_gate.items(), start=1):
        worst_first = sorted(checks, key=_severity)
        title = f"gate {number} of {len(by_gate)}" if len(by_gate) > 1 else "the gate"
        lines = [_line(*checks)] if len(checks) == 1 else _counted(f"{gate}: {title}", worst_first, is_whole=is_whole)
        blocks.append((_severity(worst_first[0]), lines))
    blocks.sort(key=lambda block: block[0][:2])
    return "\n".join([head, *(f"  {line}" for _, lines in blocks for line in lines)])


def _severity(check: GateVerdict) -> tuple[bool, int, float]:
    return not check.stops, *worst_first(check)


def _counted(title: str, checks: Sequence[GateVerdict], *, is_whole: bool) -> list[str]:
    """Return a line that counts a gate's checks, then lines for the checks that do not pass, worst first."""
    first = checks[0]
    counts = {verdict: sum(check.verdict == verdict for check in checks) for verdict in WORST_FIRST}
    others = [
        f"{count:,} {_COUNTED[verdict][count > 1]}"
        for verdict, count in counts.items()
        if count and verdict not in (first.verdict, "pass")
    ]
    where = f"in {counts[first.verdict]:,} of {len(checks):,} checks"
    listed = [check for check in checks if is_whole or check.verdict != "pass"]
    shown = listed if is_whole else listed[:MOST_LISTED]
    worst = "; the worst are" if len(listed) > len(shown) else ""
    also = f" ({', '.join(others)})" if others else ""
    counted = f"{title} {_COUNTED[first.verdict][0]}, {where}{also}"
    lines = [_sentence(first, f"{counted}{_left_out(first)}{worst}")]
    lines += [f"  {_sentence(check, f'{_subject(check)}: {check.reason}{_acceptance(check)}')}" for check in shown]
    if len(listed) > len(shown):
        lines.append(f"  and {len(listed) - len(shown):,} more (table gates, or --verbose)")
    return lines


def _line(check: GateVerdict) -> str:
    text = f"{check.key.gate}: {_subject(check)}: {check.reason}{_left_out(check)}{_acceptance(check)}"
    return _sentence(check, text)


def _sentence(check: GateVerdict, text: str) -> str:
    verdict = _UNDECIDED[check.policy] if check.verdict == "undecided" else check.verdict
    return escape(shorten(f"{verdict}: {text}", MOST_SENTENCE))


def _subject(check: GateVerdict) -> str:
    cell = check.key.cell
    return ", ".join(filter(None, (cell.metric, cell.model, cell.shown_slice)))


def _acceptance(check: GateVerdict) -> str:
    return "" if check.accepted is None else f' (accepted: "{check.accepted}")'


def _left_out(check: GateVerdict) -> str:
    if not check.left_out or (check.value is None and check.verdict == "undecided"):  # then the reason says so
        return ""
    values = "value has" if check.left_out == 1 else "values have"
    return f" ({check.left_out:,} slice {values} too few groups and is left out)"


def replay_text(first: str, last: str, nights: int, days: int, records: Sequence[GateRecord]) -> str:
    """Format a line per gate: the nights (stored daily runs) that it would stop, and stops expected by chance."""
    chance = "by chance, if nothing had changed, "
    lines = [f"Gates on {nights} stored nights of {days}, {first} to {last}"]
    for record in records:
        stopped = f"stops {len(record.stopped)} of {record.nights} nights{_nights(record.stopped)}"
        undecided = f", undecided on {len(record.undecided)}" if record.undecided else ""
        expected = "nobody knows" if record.by_chance is None else f"{record.by_chance:.2f}"
        unknown = f" (without {record.unknown:,} verdicts of which nobody knows)" if record.unknown else ""
        lines.append(f"  {escape(shorten(record.gate))}: {stopped}{undecided}; {chance}{expected}{unknown}")
    return "\n".join(lines)


def _nights(days: Sequence[str]) -> str:
    if not days:
        return ""
    more = f" and {len(days) - _MOST_NIGHTS} more" if len(days) > _MOST_NIGHTS else ""
    return f" ({', '.join(days[:_MOST_NIGHTS])}{more})"
