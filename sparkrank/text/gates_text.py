"""Gate verdicts for a terminal: a line each, those that stop a run first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from sparkrank.base.errors import MOST_SENTENCE, escape, shorten
from sparkrank.gates.chance import GateRecord
from sparkrank.gates.verdicts import Judged

MANY = 10  # verdicts of one gate: more are counted, and only those that do not pass are listed
MOST_LISTED = 20  # verdicts listed for such a gate
_MOST_NIGHTS = 12  # nights listed by name
_VERDICTS = ("fail", "undecided", "pass")  # the worst first
_COUNTED = {"fail": ("fails", "fail"), "undecided": ("is undecided", "are undecided"), "pass": ("passes", "pass")}
_UNDECIDED = {"fail": "undecided, which stops the day", "warn": "undecided", "pass": "undecided, which passes"}


def verdicts_text(judged: Sequence[Judged], head: str = "Gates") -> str:
    """A line below ``head`` for each verdict, the worst first. Many verdicts of one gate are counted on a line."""
    if not judged:
        return ""
    gates = defaultdict(list)
    for check in judged:
        gates[check.key.gate, check.key.kind].append(check)
    blocks: list[tuple[tuple[bool, int], list[str]]] = []
    for verdicts in gates.values():
        if len(verdicts) > MANY:
            worst_first = sorted(verdicts, key=_severity)
            blocks.append((_severity(worst_first[0]), _counted(worst_first)))
        else:
            blocks += [(_severity(check), [f"  {_line(check)}"]) for check in verdicts]
    return "\n".join([head, *(line for _, lines in sorted(blocks, key=lambda block: block[0]) for line in lines)])


def _severity(check: Judged) -> tuple[bool, int]:
    return not check.stops, _VERDICTS.index(check.verdict)


def _counted(verdicts: Sequence[Judged]) -> list[str]:
    first, gate = verdicts[0], verdicts[0].key.gate
    counts = {verdict: sum(check.verdict == verdict for check in verdicts) for verdict in _VERDICTS}
    said = ", ".join(f"{count:,} {_COUNTED[verdict][count > 1]}" for verdict, count in counts.items() if count)
    listed = [check for check in verdicts if check.verdict != "pass"]
    lines = [_sentence(first, f"{gate}: of {len(verdicts):,} checks {said}{_left_out(first)}")]
    lines += [
        _sentence(check, f"{_subject(check)}: {check.reason}{_acceptance(check)}") for check in listed[:MOST_LISTED]
    ]
    if len(listed) > MOST_LISTED:
        lines.append(f"and {len(listed) - MOST_LISTED:,} more (table gates)")
    return [f"  {lines[0]}", *(f"    {line}" for line in lines[1:])]


def _line(check: Judged) -> str:
    text = f"{check.key.gate}: {_subject(check)}: {check.reason}{_left_out(check)}{_acceptance(check)}"
    return _sentence(check, text)


def _sentence(check: Judged, text: str) -> str:
    verdict = _UNDECIDED[check.policy] if check.verdict == "undecided" else check.verdict
    return escape(shorten(f"{verdict}: {text}", MOST_SENTENCE))


def _subject(check: Judged) -> str:
    cell = check.key.cell
    return ", ".join(filter(None, (cell.metric, cell.model, cell.shown_slice)))


def _acceptance(check: Judged) -> str:
    return "" if check.accepted is None else f' (accepted: "{check.accepted}")'


def _left_out(check: Judged) -> str:
    if not check.left_out or (check.value is None and check.verdict == "undecided"):  # then the reason says so
        return ""
    values = "value has" if check.left_out == 1 else "values have"
    return f" ({check.left_out:,} slice {values} too few groups and is left out)"


def replay_text(first: str, last: str, nights: int, days: int, records: Sequence[GateRecord]) -> str:
    """The stored nights on which each gate would have stopped, and the number expected by chance, one line per gate."""
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
