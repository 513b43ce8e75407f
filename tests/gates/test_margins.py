"""Gates that compare models: margins that are shares, equivalence, and groups in which one model alone is defined."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from scipy import stats

from sparkrank.gates.facts import Facts, IntervalEstimate
from sparkrank.gates.judge import Judge
from sparkrank.gates.rules import Cell, Margin, Rule
from sparkrank.gates.verdicts import GateVerdict
from tests.extent import IS_LONG

CELL = Cell("m", "c")
NIGHTS, GROUPS = 4_000 if IS_LONG else 1_000, 40


@lru_cache
def quantile(degrees: float) -> float:
    return float(stats.t.ppf(0.975, degrees))


def rule(kind: str, margin: Margin = Margin(), **more: Any) -> Rule:  # noqa: B008 - it is frozen
    """A rule on the candidate c against the baseline b."""
    return Rule("g", kind, "m", ("m",), ("c",), "c", against="b", margin=margin, **more)


def number(value: float, stderr: float | None, degrees: float = 100, **more: Any) -> IntervalEstimate:
    """A number with its interval of Student's t."""
    half = None if stderr is None else quantile(degrees) * stderr
    ends = (None, None) if half is None else (value - half, value + half)
    return IntervalEstimate(value, *ends, stderr, interval="t", degrees=degrees)._replace(**more)


def verdict(
    asked: Rule, difference: IntervalEstimate, candidate: IntervalEstimate, baseline: IntervalEstimate, **judge: Any
) -> GateVerdict:
    facts = Facts("d", {CELL: candidate, CELL._replace(model="b"): baseline}, {(CELL, "b"): difference})
    (judged,) = Judge([asked], **{"better": {"m": True}, **judge}).verdicts(facts, "d")
    return judged


def test_a_share_of_the_baseline_has_its_error() -> None:
    """What is tested is c - 0.98 b, whose variance is var(c) + 0.98² var(b) - 2 · 0.98 cov(c, b), of 100 degrees."""
    d, b, c = 0.004, 0.02, 0.0205
    covariance = (c**2 + b**2 - d**2) / 2
    stderr = math.sqrt(c**2 + 0.98**2 * b**2 - 2 * 0.98 * covariance)
    share = rule("not_worse_than", Margin(0.02, True))
    judged = verdict(share, number(-0.02, d), number(0.48, c), number(0.5, b))
    assert judged.p == pytest.approx(stats.t.cdf((0.48 - 0.98 * 0.5) / stderr, 100), rel=1e-12)
    assert judged.bound == pytest.approx(-0.01)
    assert judged.high == pytest.approx(-0.02 + stats.t.ppf(0.975, 100) * stderr)
    few = verdict(share, number(-0.02, d, 9), number(0.48, c), number(0.5, b))  # no more degrees than the fewest
    assert few.high == pytest.approx(-0.02 + stats.t.ppf(0.975, 9) * stderr)
    lower = verdict(share, number(0.02, d), number(0.52, c), number(0.5, b), better={"m": False})
    stderr = math.sqrt(c**2 + 1.02**2 * b**2 - 2 * 1.02 * covariance)
    assert lower.p == pytest.approx(stats.t.sf((0.52 - 1.02 * 0.5) / stderr, 100), rel=1e-9)


@pytest.mark.parametrize("kind", ["not_worse_than", "equivalent_to"])
@pytest.mark.parametrize(("pairs", "verdicts"), [(5, ["undecided", "undecided"]), (6, ["pass", "fail"])])
def test_pairs_that_agree_decide_as_coins_do(kind: str, pairs: int, verdicts: list[str]) -> None:
    """Both are many standard errors from the margin. Five coins fall alike in 1 of 32 throws, six in 1 of 64."""
    differences = [number(value, 0.001, pairs - 1, n_groups=pairs) for value in (0.0, -0.5)]
    judged = [verdict(rule(kind, Margin(0.1)), each, number(0.5, 0.1), number(0.5, 0.1)) for each in differences]
    assert [each.verdict for each in judged] == verdicts


@pytest.mark.parametrize("kind", ["not_worse_than", "equivalent_to"])
def test_a_margin_that_is_a_share_fails_for_no_fewer_groups_than_a_number(kind: str) -> None:
    """Of five users no difference excludes 0, so its interval is drawn to 0, whichever way the margin is given."""
    few = number(-0.7, 0.09, 4, high=0.0)
    asked = [rule(kind, Margin(0.1, relative)) for relative in (False, True)]
    judged = [verdict(each, few, number(0.2, 0.01, 4), number(0.9, 0.09, 4)) for each in asked]
    assert [each.verdict for each in judged] == ["undecided", "undecided"]
    assert [each.high for each in judged] == [0.0, 0.0]


def test_of_a_negative_baseline_the_margin_lies_below_it() -> None:
    """10 % of -0.4 is 0.04, so that -0.44 is the bound: of the negated values, 0.44 against 0.4 by 10 %."""
    asked = rule("not_worse_than", Margin(0.1, True))
    judged = verdict(asked, number(-0.06, 0.004), number(-0.46, 0.02), number(-0.4, 0.02))
    negated = verdict(asked, number(0.06, 0.004), number(0.46, 0.02), number(0.4, 0.02), better={"m": False})
    assert judged.bound == pytest.approx(-0.04)
    assert (judged.verdict, judged.p) == ("fail", pytest.approx(negated.p, rel=1e-12))


def test_of_a_baseline_that_could_be_0_there_is_no_share() -> None:
    asked = rule("not_worse_than", Margin(0.1, True))
    judged = verdict(asked, number(0.3, 0.01), number(0.31, 0.02), number(0.01, 0.02))
    assert judged.verdict == "undecided"
    assert "b, 0.01 (-0.0297 to 0.0497), could be 0, and a share of 0 is no margin" in judged.reason


@pytest.mark.parametrize(("margin", "noise", "higher"), [(0.1, 0.03, True), (0.01, 0.003, False)])
def test_a_loss_of_the_whole_share_passes_and_fails_in_2_5_percent(margin: float, noise: float, higher: bool) -> None:
    """The candidate is the baseline less the margin of its mean, and a little noise."""
    draw, asked = np.random.default_rng(19), rule("not_worse_than", Margin(margin, True))
    b = 0.5 + draw.normal(0, 0.27, (NIGHTS, GROUPS))
    c = b - (1 if higher else -1) * margin * 0.5 + draw.normal(0, noise, b.shape)
    found = {"pass": 0, "fail": 0, "undecided": 0}
    means, errors = ([f(each, axis=1) for each in (c - b, c, b)] for f in (np.mean, stats.sem))
    for values in zip(*means, *errors, strict=True):
        pairs = zip(values[:3], values[3:], strict=True)
        numbers = [number(float(value), float(stderr), GROUPS - 1) for value, stderr in pairs]
        found[verdict(asked, *numbers, better={"m": higher}).verdict] += 1
    for each in ("pass", "fail"):
        assert found[each] / NIGHTS == pytest.approx(0.025, abs=4 * math.sqrt(0.025 * 0.975 / NIGHTS))


def test_a_share_needs_the_standard_errors_of_both() -> None:
    asked = rule("not_worse_than", Margin(0.1, True))
    judged = verdict(asked, number(0.0, 0.001), number(0.4, 0.01), number(0.4, None))
    assert judged.verdict == "undecided"
    assert "needs the standard errors of both models: give by as a number" in judged.reason
    # Wilson's at a bound, where no group varies, is 0
    at_bound = IntervalEstimate(1.0, 0.99, 1.0, None, interval="wilson", degrees=399, n_effective=400)
    assert verdict(asked, number(0.0, 0.001), number(1.0, 0.001), at_bound).verdict == "pass"
    perfect = IntervalEstimate(1.0, None, None, None, interval="too few", n_groups=400)
    assert verdict(asked, number(-0.5, 0.01), number(0.5, 0.01), perfect).verdict == "fail"
    assert verdict(rule("not_worse_than", Margin(0.04)), number(0.0, 0.001), number(0.4, 0.01), number(0.4, None)).p


EQUIVALENT = {0.0: "pass", 0.005: "pass", -0.005: "pass", 0.008: "undecided", -0.012: "undecided"}


@pytest.mark.parametrize("better", [True, False, None])
def test_equivalence_is_two_one_sided_tests(better: bool | None) -> None:
    """With a standard error of 0.002 and 30 degrees the interval is 0.0041 to either side; the margin is 0.01."""
    for difference, expected in {**EQUIVALENT, 0.02: "fail", -0.02: "fail"}.items():
        numbers = number(difference, 0.002, 30), number(0.5, 0.01), number(0.5, 0.01)
        judged = verdict(rule("equivalent_to", Margin(0.01)), *numbers, better={"m": better})
        assert judged.verdict == expected
        tails = [stats.t.cdf((difference + 0.01) / 0.002, 30), stats.t.sf((difference - 0.01) / 0.002, 30)]
        assert judged.p == pytest.approx(min(tails), rel=1e-6)
        passing = max(1 - tail for tail in tails)  # the larger p of the two tests against being as far as the margin
        assert (judged.verdict == "pass") == (passing <= 0.025)


def test_equivalence_to_a_share_tests_each_side_with_its_own_error() -> None:
    asked = rule("equivalent_to", Margin(0.1, True))
    judged = verdict(asked, number(0.0, 0.004), number(0.5, 0.0205), number(0.5, 0.02))
    covariance = (0.0205**2 - 0.02**2 - 0.004**2) / 2  # of the difference with the baseline
    errors = [math.sqrt(0.004**2 + 2 * share * covariance + share**2 * 0.02**2) for share in (0.1, -0.1)]
    ends = (-quantile(100) * errors[0], quantile(100) * errors[1])
    assert (judged.low, judged.high) == pytest.approx(ends, rel=1e-12)
    assert judged.verdict == "pass"


@pytest.mark.parametrize("kind", ["not_worse_than", "equivalent_to"])
def test_many_groups_in_which_one_model_alone_is_defined_leave_it_open(kind: str) -> None:
    """1 % of 200 groups are 2; a third is more."""
    asked, others = rule(kind, Margin(0.05)), (number(0.5, 0.01), number(0.5, 0.01))
    assert verdict(asked, number(0.0, 0.001, n_groups=198, n_unpaired=2), *others).verdict == "pass"
    assert verdict(asked, number(-0.2, 0.001, n_groups=198, n_unpaired=2), *others).verdict == "fail"
    for difference in (0.0, -0.2):
        judged = verdict(asked, number(difference, 0.001, n_groups=197, n_unpaired=3), *others)
        assert judged.verdict == "undecided"
        assert "in 3 of 200 groups (1.5%) only one of c and b has a value" in judged.reason
        assert judged.p is None
    more = verdict(asked, number(0.0, 0.001, n_groups=100, n_unpaired=100), *others, most_unpaired=0.5)
    assert more.verdict == "pass"


def test_the_share_is_of_the_groups_that_some_model_has() -> None:
    """Of 500 groups 100 and 98 are defined, in 4 of which one alone is: 101 are in some."""
    others = number(0.5, 0.01, n_groups=500, n_undefined=400), number(0.5, 0.01, n_groups=500, n_undefined=402)
    judged = verdict(rule("not_worse_than", Margin(0.05)), number(0.0, 0.001, n_groups=500, n_unpaired=4), *others)
    assert judged.verdict == "undecided"
    assert "in 4 of 101 groups (4%)" in judged.reason
