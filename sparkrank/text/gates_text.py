"""The verdicts of gates for a terminal: a line each, what stops first."""

from __future__ import annotations

from collections.abc import Sequence

from sparkrank.base.errors import MOST_SENTENCE, escaped, shortened
from sparkrank.gates.chance import GateRecord
from sparkrank.gates.verdicts import Judged

MANY = 10  # verdicts of one gate: more of them are counted, and those that do not pass listed below
MOST_LISTED = 20  # of them
_MOST_NIGHTS = 12  # that are listed by name
_VERDICTS = ("fail", "undecided", "pass")  # the worst first
_COUNTED = {"fail": ("fails", "fail"), "undecided": ("is undecided", "are undecided"), "pass": ("passes", "pass")}
_UNDECIDED = {"fail": "undecided, which stops the day", "warn": "undecided", "pass": "undecided, which passes"}


def verdicts_text(judged: Sequence[Judged], head: str = "Gates") -> str:
    """Below ``head`` a line for each verdict: failures, then what is undecided, then what passes.

    A gate of many verdicts has one line that counts them, and below it those that do not pass.
    """
    if not judged:
        return ""
    gates: dict[tuple[str, str], list[Judged]] = {}
    for each in judged:
        gates.setdefault((each.key.gate, each.key.kind), []).append(each)
    blocks: list[tuple[tuple[bool, int], list[str]]] = []
    for verdicts in gates.values():
        if len(verdicts) > MANY:
            worst_first = sorted(verdicts, key=_severity)
            blocks.append((_severity(worst_first[0]), _counted(worst_first)))
        else:
            blocks += [(_severity(each), [f"  {_line(each)}"]) for each in verdicts]
    return "\n".join([head, *(line for _, lines in sorted(blocks, key=lambda block: block[0]) for line in lines)])


def _severity(each: Judged) -> tuple[bool, int]:
    return not each.stops, _VERDICTS.index(each.verdict)


def _counted(verdicts: Sequence[Judged]) -> list[str]:
    """The lines of a gate with many verdicts, the worst first."""
    first, gate = verdicts[0], verdicts[0].key.gate
    counts = {verdict: sum(each.verdict == verdict for each in verdicts) for verdict in _VERDICTS}
    said = ", ".join(f"{count:,} {_COUNTED[verdict][count > 1]}" for verdict, count in counts.items() if count)
    listed = [each for each in verdicts if each.verdict != "pass"]
    lines = [_sentence(first, f"{gate}: of {len(verdicts):,} checks {said}{_left_out(first)}")]
    lines += [_sentence(each, f"{_subject(each)}: {each.reason}{_acceptance(each)}") for each in listed[:MOST_LISTED]]
    if len(listed) > MOST_LISTED:
        lines.append(f"and {len(listed) - MOST_LISTED:,} more (table gates)")
    return [f"  {lines[0]}", *(f"    {line}" for line in lines[1:])]


def _line(each: Judged) -> str:
    text = f"{each.key.gate}: {_subject(each)}: {each.reason}{_left_out(each)}{_acceptance(each)}"
    return _sentence(each, text)


def _sentence(each: Judged, text: str) -> str:
    verdict = _UNDECIDED[each.policy] if each.verdict == "undecided" else each.verdict
    return escaped(shortened(f"{verdict}: {text}", MOST_SENTENCE))


def _subject(each: Judged) -> str:
    cell = each.key.cell
    return ", ".join(filter(None, (cell.metric, cell.model, cell.shown_slice)))


def _acceptance(each: Judged) -> str:
    return "" if each.accepted is None else f' (accepted: "{each.accepted}")'


def _left_out(each: Judged) -> str:
    if not each.left_out or (each.value is None and each.verdict == "undecided"):  # whose reason says so
        return ""
    values = "value has" if each.left_out == 1 else "values have"
    return f" ({each.left_out:,} slice {values} too few groups and is left out)"


def replay_text(first: str, last: str, nights: int, days: int, records: Sequence[GateRecord]) -> str:
    """On which of the stored nights each gate would have stopped, and on how many by chance: a line each."""
    lines = [f"Gates on {nights} stored nights of {days}, {first} to {last}"]
    for each in records:
        stopped = f"stops {len(each.stopped)} of {each.nights} nights{_nights(each.stopped)}"
        undecided = f", undecided on {len(each.undecided)}" if each.undecided else ""
        chance = "by chance, if nothing had changed, nobody knows"
        if each.by_chance is not None:
            chance = f"by chance, if nothing had changed, {each.by_chance:.2f}"
        unknown = f" (without {each.unknown:,} verdicts of which nobody knows)" if each.unknown else ""
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
