"""The verdict on a whole day: the gates that do not pass, in how many checks, and what follows."""

from __future__ import annotations

import pytest

from sparkrank.gates.day_verdict import day_verdict
from sparkrank.gates.verdicts import CheckVerdict, shown_number

FAILS, HOLDS = CheckVerdict("a", "fail", "warn", False), CheckVerdict("b", "pass", "warn", False)
OPEN, LET_IN = CheckVerdict("c", "undecided", "warn", False), FAILS._replace(is_accepted=True)
FAILS_TOO, STOPS, PASSES = FAILS._replace(gate="d"), OPEN._replace(policy="fail"), OPEN._replace(policy="pass")

# The checks, the number of warnings, the title, the exit code and the end of the sentence.
DAYS: list[tuple[list[CheckVerdict], int, str, int, str]] = [
    ([HOLDS], 0, "✓ Pass", 0, "The gate passes (exit 0)."),
    ([HOLDS, HOLDS], 1, "! Warning", 0, "All 2 gate checks pass, with a warning (exit 0)."),
    ([OPEN, HOLDS], 0, "? Undecided", 0, "1 of 2 gates is undecided: passes with a warning (exit 0)."),
    ([OPEN, OPEN, HOLDS], 1, "? Undecided", 0, ", in 2 of 3 checks: passes with 2 warnings (exit 0)."),
    ([STOPS, HOLDS], 0, "? Undecided", 5, "No gate fails, and 1 of 2 gates is undecided: does not pass (exit 5)."),
    ([PASSES, HOLDS], 0, "✓ Pass", 0, "All 2 gate checks pass (exit 0)."),
    ([FAILS, FAILS, OPEN, HOLDS], 3, "✕ Fail", 3, "1 of 3 gates fails, in 2 of 4 checks: does not pass (exit 3)."),
    ([LET_IN, HOLDS], 0, "✕ Fail, and accepted", 0, "a person has accepted it, and it passes (exit 0)."),
    ([LET_IN, FAILS_TOO], 0, "✕ Fail", 3, "2 of 2 gates fail: does not pass (exit 3)."),  # one of them alone is let in
    ([LET_IN, STOPS], 0, "✕ Fail", 5, "1 of 2 gates fails: does not pass (exit 5)."),
    ([], 0, "✓ Pass", 0, "No gate is requested (exit 0)."),
    ([], 2, "! Warning", 0, "No gate is requested: passes with 2 warnings (exit 0)."),
]


@pytest.mark.parametrize(("checks", "warnings", "head", "code", "end"), DAYS)
def test_what_follows(checks: list[CheckVerdict], warnings: int, head: str, code: int, end: str) -> None:
    verdict = day_verdict(checks, warnings)
    assert (verdict.title("home", None, "2026-11-19"), verdict.exit_code) == (f"{head} - home - 2026-11-19", code)
    assert verdict.sentence.endswith(end)
    assert verdict.is_accepted == ("accepted" in head)


def test_no_number_is_rounded_onto_the_line_that_it_is_compared_with() -> None:
    """0.49996 is not 0.5; what is equal needs no more digits."""
    for number, line, text in (
        (0.49996, 0.5, "0.49996"),
        (0.5, 0.5, "0.5"),
        (0.4321, 0.5, "0.432"),
        (1e-9, 0, "1e-09"),
    ):
        assert shown_number(number, line) == text
