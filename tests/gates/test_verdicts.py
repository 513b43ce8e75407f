"""The verdicts of a gate of many cells: one family, of which chance fails as often as one test does."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sparkrank.gates.rules import Cell
from sparkrank.gates.verdicts import GateVerdict, VerdictKey, VerdictWord, correct


def alone(p: float | None, verdict: VerdictWord = "fail") -> GateVerdict:
    return GateVerdict(VerdictKey("g", "min", Cell("m", "c")), verdict, "0.2 is below 0.3", p=p)


def test_holm_by_hand() -> None:
    """Of four p, 4 · 0.004 = 0.016 and 3 · 0.008 = 0.024 fail; 2 · 0.02 = 0.04 is above 0.025, and all after it."""
    found = correct([alone(0.02), alone(0.004), alone(0.024), alone(0.008)], "holm")
    assert [each.verdict for each in found] == ["undecided", "fail", "undecided", "fail"]
    assert [each.p_adjusted for each in found] == pytest.approx([0.04, 0.016, 0.04, 0.024])
    among = "alone it would fail, but among 4 checks chance does as much (p 0.02, adjusted 0.04)"
    assert found[0].reason == f"0.2 is below 0.3; {among}"
    assert found[1].reason == "0.2 is below 0.3"


def test_other_corrections_are_words() -> None:
    """Benjamini and Hochberg: 0.02 · 4 / 3 and 0.024 · 4 / 4 are at most 0.024 together, which is not above 0.025."""
    tests = [alone(0.02), alone(0.004), alone(0.024), alone(0.008)]
    assert {each.verdict for each in correct(tests, "benjamini-hochberg")} == {"fail"}
    assert {each.verdict for each in correct(tests, "none")} == {"fail"}
    assert [each.p_adjusted for each in correct(tests, "none")] == [0.02, 0.004, 0.024, 0.008]


def test_what_was_not_tested_stays_as_it_is_and_does_not_count() -> None:
    """A row that has vanished, one that too few data leave open, and what passes, which needs no correction."""
    others = [alone(None), alone(None, "undecided"), alone(None, "pass")]
    found = correct([*others, alone(0.012), alone(0.99, "pass")], "holm")
    assert [replace(each, tests=1) for each in found[:3]] == others
    assert [each.verdict for each in found[3:]] == ["fail", "pass"]
    assert (found[3].p_adjusted, found[3].tests) == (pytest.approx(0.024), 2)


def test_one_cell_needs_no_correction() -> None:
    """It fails at its interval's end, whatever the rounding of p."""
    assert correct([alone(0.0250000001)], "holm")[0].verdict == "fail"
