"""On which side of a bound a number is: by hand, by scipy, and as the interval of the same method says."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sparkrank.gates.bounds import BoundVerdict, side_of, too_few_pairs
from sparkrank.gates.facts import IntervalEstimate
from sparkrank.stats.intervals import logit_interval, t_interval, wilson_interval


def measured(value: float, low: float | None, high: float | None, **more: object) -> IntervalEstimate:
    return IntervalEstimate(value, low, high, None)._replace(**more)


def test_the_p_of_a_mean_is_that_of_student() -> None:
    """0.35 with a standard error of 0.02 and 20 degrees is 2.5 of these below 0.4, and above 0.3."""
    half = stats.t.ppf(0.975, 20) * 0.02
    mean = measured(0.35, 0.35 - half, 0.35 + half, stderr=0.02, degrees=20, interval="t")
    tail = stats.t.sf(2.5, 20)
    for bound, sign in ((0.4, 1), (0.3, -1)):
        side = side_of(mean, bound, sign)
        assert (side.verdict, side.p) == ("fail", pytest.approx(tail, rel=1e-12))
    for bound, sign in ((0.3, 1), (0.4, -1)):
        side = side_of(mean, bound, sign)
        assert (side.verdict, side.p) == ("pass", pytest.approx(1 - tail, rel=1e-12))
    assert side_of(mean, 0.36, 1).verdict == side_of(mean, 0.36, -1).verdict == "undecided"


def test_the_far_tail_has_all_of_its_digits_on_both_sides() -> None:
    """1 - p would be 0 there, and Holm reads such tails."""
    mean = measured(0.5, 0.48, 0.52, stderr=0.01, degrees=1000, interval="t")
    assert side_of(mean, 0.6, 1).p == side_of(mean, 0.4, -1).p == pytest.approx(stats.t.sf(10, 1000), rel=1e-9)
    share = wilson_interval(0.5, 0.005, 10_000.0, 9_999.0)
    of_half = measured(0.5, share.low, share.high, stderr=0.005, degrees=9_999, n_effective=10_000, interval="wilson")
    assert side_of(of_half, 0.6, 1).p == pytest.approx(side_of(of_half, 0.4, -1).p, rel=1e-9)


def test_proportions_at_their_bounds_are_tested_by_the_score() -> None:
    """From 10 of 10, 0.95 is 0.05 / √(0.95 · 0.05 / 10) = 0.725 away, and from 0 of 50 0.1 is 0.1 / √(0.09 / 50)."""
    all_of_10 = measured(1.0, 0.7225, 1.0, degrees=9, n_effective=10, interval="wilson")
    p = pytest.approx(stats.norm.cdf(0.05 / math.sqrt(0.00475)))
    assert side_of(all_of_10, 0.95, 1) == BoundVerdict("undecided", p)
    none_of_50 = measured(0.0, 0.0, 0.0713, degrees=49, n_effective=50, interval="wilson")
    assert side_of(none_of_50, 0.1, -1) == BoundVerdict("pass", pytest.approx(stats.norm.cdf(0.1 / math.sqrt(0.0018))))
    assert side_of(none_of_50, 0.1, 1) == BoundVerdict("fail", pytest.approx(stats.norm.sf(0.1 / math.sqrt(0.0018))))


def test_what_too_few_data_say_is_undecided_with_the_reason() -> None:
    for row, why in (
        ({}, "it has no interval"),
        ({"interval": "off"}, "uncertainty.off has turned its interval off"),
        ({"interval": "too few"}, "its groups are too few to say"),
        ({"interval": "too few", "n_groups": 1}, "1 group is too few to say"),
        ({"interval": "too few", "n_groups": 60, "n_undefined": 55}, "5 groups are too few to say"),
        ({"interval": "too few", "n_groups": 60, "n_effective": 2.2}, "2 groups are too few to say"),
        ({"interval": "too few", "n_groups": 4000}, "4,000 groups show too little variation to say"),
        ({"low": 0.35, "high": 0.35, "n_groups": 5}, "its interval has no width, and 5 groups are too few to say"),
    ):
        for bound, sign in ((0.3, 1), (0.4, 1), (0.3, -1), (0.4, -1)):
            side = side_of(measured(0.35, None, None)._replace(**row), bound, sign)
            assert side == BoundVerdict("undecided", None, why)


@pytest.mark.parametrize(("groups", "effective", "decides"), [(5, None, False), (6, None, True), (40, 5.0, False)])
def test_few_pairs_decide_nothing_however_alike_they_are(groups: int, effective: float | None, decides: bool) -> None:
    """Five coins fall alike in one of 32 throws, above 2.5 %; six in one of 64."""
    alike = measured(0.5, 0.45, 0.55, stderr=0.01, degrees=4, n_groups=groups, n_effective=effective)
    assert too_few_pairs(alike, 0.95) == (None if decides else "5 groups are too few to say")


@given(
    st.sampled_from(["t", "logit"]),
    st.floats(0.2, 0.8),
    st.floats(0.01, 0.09),
    st.floats(0.05, 0.95),
    st.integers(2, 300),
)
def test_interval_and_test_say_the_same(method: str, value: float, stderr: float, bound: float, degrees: int) -> None:
    """All of the interval is beyond where p is below 0.025, and on the good side where 1 - p is."""
    made = (t_interval if method == "t" else logit_interval)(value, stderr, degrees)
    number = IntervalEstimate(value, made.low, made.high, stderr, interval=method, degrees=degrees)
    for sign in (1, -1):
        side = side_of(number, bound, sign)
        assert side.p is not None
        for beyond, verdict in ((side.p, "fail"), (1 - side.p, "pass")):
            if abs(beyond - 0.025) > 1e-9:
                assert (side.verdict == verdict) == (beyond < 0.025)


def test_without_degrees_a_normal_distribution_goes_through_the_ends() -> None:
    """As of a percentile, or of a row of an older run. At an end it is 1.96 away, half a width further 3.92."""
    ranks = measured(0.4, 0.2, 0.8, interval="order statistics")
    assert side_of(ranks, 0.2, -1).p == pytest.approx(0.025)
    assert side_of(ranks, 1.1, 1) == BoundVerdict("fail", pytest.approx(stats.norm.sf(2 * stats.norm.ppf(0.975))))
    old = measured(0.5, 0.5 - 1.96 * 0.01, 0.5 + 1.96 * 0.01, stderr=0.01)
    assert side_of(old, 0.53, 1).p == pytest.approx(stats.norm.sf(3), rel=1e-3)


def test_an_interval_of_one_end_decides_by_that() -> None:
    """``ece`` and ``ks`` near their noise floor are at most something."""
    at_most = measured(0.01, None, 0.03, interval="upper bound")
    assert side_of(at_most, 0.03, -1) == BoundVerdict("pass")
    assert side_of(at_most, 0.02, -1) == BoundVerdict("undecided")
    assert side_of(at_most, 0.005, 1).verdict == "undecided"
    assert side_of(at_most, 0.05, 1).verdict == "fail"  # nor can it be as much as that


def test_a_sequence_decides_by_its_ends_and_has_no_p() -> None:
    looks = measured(0.5, 0.46, 0.54, stderr=0.01, interval="confidence sequence")
    assert side_of(looks, 0.55, 1) == BoundVerdict("fail")
    assert side_of(looks, 0.53, 1) == BoundVerdict("undecided")
    assert side_of(looks, 0.46, 1) == BoundVerdict("pass")


def test_the_level_is_that_of_the_ends() -> None:
    old = measured(0.5, 0.48, 0.52)
    assert side_of(old, 0.52, 1, 0.8).p == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("bound", "sign", "verdict"),
    [(0.39, 1, "undecided"), (0.31, 1, "pass"), (0.31, -1, "undecided"), (0.39, -1, "pass")],
)
def test_a_bound_at_an_end_of_the_interval_is_not_beyond_it(bound: float, sign: int, verdict: str) -> None:
    """At its worse end the whole interval is good, and at its better end the bound itself may be the true value."""
    assert side_of(IntervalEstimate(0.35, 0.31, 0.39, 0.02), bound, sign).verdict == verdict
