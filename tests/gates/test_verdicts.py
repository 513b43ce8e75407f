"""The verdicts of a gate of many cells: one family, of which chance fails as often as one test does."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from sparkrank.gates.facts import Facts, IntervalEstimate
from sparkrank.gates.judge import Judge
from sparkrank.gates.rules import Cell, Rule
from sparkrank.gates.verdicts import Judged, VerdictKey, VerdictWord, corrected
from tests.extent import IS_LONG


def alone(p: float | None, verdict: VerdictWord = "fail") -> Judged:
    return Judged(VerdictKey("g", "min", Cell("m", "c")), verdict, "0.2 is below 0.3", p=p)


def test_holm_by_hand() -> None:
    """Of four p, 4 · 0.004 = 0.016 and 3 · 0.008 = 0.024 fail; 2 · 0.02 = 0.04 is above 0.025, and all after it."""
    found = corrected([alone(0.02), alone(0.004), alone(0.024), alone(0.008)], "holm")
    assert [each.verdict for each in found] == ["undecided", "fail", "undecided", "fail"]
    assert [each.p_adjusted for each in found] == pytest.approx([0.04, 0.016, 0.04, 0.024])
    among = "alone it would fail, but among 4 checks chance does as much (p 0.02, adjusted 0.04)"
    assert found[0].reason == f"0.2 is below 0.3; {among}"
    assert found[1].reason == "0.2 is below 0.3"


def test_other_corrections_are_words() -> None:
    """Benjamini and Hochberg: 0.02 · 4 / 3 and 0.024 · 4 / 4 are at most 0.024 together, which is not above 0.025."""
    tests = [alone(0.02), alone(0.004), alone(0.024), alone(0.008)]
    assert {each.verdict for each in corrected(tests, "benjamini-hochberg")} == {"fail"}
    assert {each.verdict for each in corrected(tests, "none")} == {"fail"}
    assert [each.p_adjusted for each in corrected(tests, "none")] == [0.02, 0.004, 0.024, 0.008]


def test_what_was_not_tested_stays_as_it_is_and_does_not_count() -> None:
    """A row that has vanished, one that too few data leave open, and what passes, which needs no correction."""
    others = [alone(None), alone(None, "undecided"), alone(None, "pass")]
    found = corrected([*others, alone(0.012), alone(0.99, "pass")], "holm")
    assert [replace(each, tests=1) for each in found[:3]] == others
    assert [each.verdict for each in found[3:]] == ["fail", "pass"]
    assert (found[3].p_adjusted, found[3].tests) == (pytest.approx(0.024), 2)


def test_one_cell_needs_no_correction() -> None:
    """It fails at its interval's end, whatever the rounding of p."""
    assert corrected([alone(0.0250000001)], "holm")[0].verdict == "fail"


@pytest.mark.parametrize("cells", [1, 20, 200])
def test_equal_models_stop_2_5_percent_of_nights_whatever_the_number_of_cells(cells: int) -> None:
    """By Holm, of independent cells 1 - (1 - 0.025 / n)^n of nights, a little less than 2.5 %."""
    draw, degrees = np.random.default_rng(14), 59
    nights = (40_000 if IS_LONG else 5_000) // cells + (500 if IS_LONG else 100)
    metric, places = "m", [Cell("m", "c", "s", str(place)) for place in range(cells)]
    rule = Rule("g", "not_worse_than", metric, (metric,), ("c",), "c", (("s", "*"),), (("s",),), against="b")
    judge, quantile = Judge([rule], better={metric: True}), stats.t.ppf(0.975, degrees)
    values = {cell._replace(model=model): IntervalEstimate(0.5, 0.4, 0.6, 0.05) for cell in places for model in "cb"}
    stopped = 0
    for differences in draw.standard_t(degrees, (nights, cells)):
        compared = {
            (cell, "b"): IntervalEstimate(d, d - quantile, d + quantile, 1.0, interval="paired t", degrees=degrees)
            for cell, d in zip(places, differences.tolist(), strict=True)
        }
        stopped += any(each.verdict == "fail" for each in judge.verdicts(Facts("d", values, compared), "d"))
    share = 1 - (1 - 0.025 / cells) ** cells
    assert stopped / nights == pytest.approx(share, abs=4 * math.sqrt(share / nights))
