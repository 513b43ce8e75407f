"""The verdict on a whole day or window: the verdicts of all gates as one sentence and one exit code."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from sparkrank.gates.verdicts import WORST_FIRST, CheckVerdict, VerdictWord, exit_code

DayState: TypeAlias = Literal["fail", "undecided", "warning", "pass"]
# The symbol and the word for each state in titles, headings and terminal output.
HEADS: Mapping[DayState, str] = {
    "fail": "✕ Fail",
    "undecided": "? Undecided",
    "warning": "! Warning",
    "pass": "✓ Pass",
}


@dataclass(frozen=True)
class DayVerdict:
    """The verdict on a day. ``is_accepted`` is true if a person has accepted every check that would stop the day."""

    state: DayState
    exit_code: int
    is_accepted: bool
    sentence: str

    @property
    def head(self) -> str:
        """The symbol and the word at the start of a title, such as ``✕ Fail``."""
        return head_of(self.state, is_accepted=self.is_accepted)

    def title(self, *names: str | None) -> str:
        """Return the head and ``names``, such as a spec and a day, joined: ``✕ Fail - home feed - 2026-11-19``."""
        return " - ".join([self.head, *filter(None, names)])


def head_of(state: DayState, *, is_accepted: bool = False) -> str:
    """Return the symbol and the word at the start of a title, such as ``✕ Fail``, for ``state``."""
    return f"{HEADS[state]}{', and accepted' if is_accepted else ''}"


def day_verdict(checks: Iterable[CheckVerdict], n_warnings: int = 0) -> DayVerdict:
    """Return the verdict on a day from its gates' ``checks`` and its number of warnings and exceeded limits.

    An undecided check with the policy ``pass`` counts as passed.

    Examples
    --------
    >>> checks = [CheckVerdict("few", "pass", "warn", False), CheckVerdict("new", "undecided", "warn", False)]
    >>> day_verdict(checks).sentence
    'No gate fails, and 1 of 2 gates is undecided: passes with a warning (exit 0).'
    """
    rows = [check._replace(verdict="pass") if check[1:3] == ("undecided", "pass") else check for check in checks]
    worst: VerdictWord = min((check.verdict for check in rows), key=WORST_FIRST.index, default="pass")
    code = exit_code(rows)
    is_accepted = not code and any(check.is_accepted for check in rows)
    open_gates = {check.gate for check in rows if check.verdict == "undecided" and not check.is_accepted}
    n_all = n_warnings + len(open_gates)
    warned = f" with {'a warning' if n_all == 1 else f'{n_all:,} warnings'}" if n_all else ""
    follows = f"{'does not pass' if code else 'passes'}{'' if code else warned}"
    if is_accepted:
        follows = f"a person has accepted it, and it {follows}"
    subject = _subject(rows, worst)
    is_good = worst == "pass" and (bool(rows) or not n_all)
    ends = f"{subject}{',' * bool(warned)}{warned}" if is_good else f"{subject}: {follows}"
    return DayVerdict("warning" if worst == "pass" and n_all else worst, code, is_accepted, f"{ends} (exit {code}).")


def _subject(rows: Sequence[CheckVerdict], worst: VerdictWord) -> str:
    if not rows:
        return "No gate is requested"
    if worst == "pass":
        return "The gate passes" if len(rows) == 1 else f"All {len(rows):,} gate checks pass"
    verbs = ("fails", "fail") if worst == "fail" else ("is undecided", "are undecided")
    names, concerned = {row.gate for row in rows}, {row.gate for row in rows if row.verdict == worst}
    subject = "the gate" if len(names) == 1 else f"{len(concerned):,} of {len(names):,} gates"
    count = sum(row.verdict == worst for row in rows)
    where = f", in {count:,} of {len(rows):,} checks" if len(rows) > len(names) else ""
    sentence = f"{subject} {verbs[len(concerned) > 1]}{where}"
    return f"No gate fails, and {sentence}" if worst == "undecided" else sentence[:1].upper() + sentence[1:]
