"""The paired t test, against scipy's."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from sparkrank.stats.paired import Difference, paired_t, t_test
from tests.extent import examples
from tests.support.quantiles import RELATIVE
from tests.support.strategies import PATIENT

CLOSE = {"rel": 1e-12, "abs": 1e-15}


def sums(differences: np.ndarray | list[float]) -> tuple[int, Fraction, Fraction]:
    """n, Σd and Σd² as states hold them: each square rounded once, the sums exact."""
    values = [float(each) for each in differences]
    return len(values), sum(map(Fraction, values), Fraction()), sum((Fraction(v * v) for v in values), Fraction())


def assert_equal_to(found: Difference, expected: object, level: float) -> None:
    """But that no p is below 2^(1-n) of n pairs, and that an interval with such a p reaches 0."""
    ends, least = expected.confidence_interval(level), 2.0**-expected.df
    low, high = (ends.low, ends.high) if least < 1 - level else (min(ends.low, 0.0), max(ends.high, 0.0))
    assert found.difference / found.stderr == pytest.approx(expected.statistic, **CLOSE)
    assert found.p == pytest.approx(max(expected.pvalue, least), **CLOSE)
    close = CLOSE if RELATIVE < 1e-9 else {"rel": RELATIVE, "abs": RELATIVE * (ends.high - ends.low)}
    assert (found.low, found.high) == pytest.approx((low, high), **close)
    assert (found.degrees, found.method) == (expected.df, "paired t")


@pytest.mark.parametrize("level", [0.8, 0.99])
@pytest.mark.parametrize("n", [2, 3, 30, 10_000])
@pytest.mark.parametrize("shift", [0.0, 0.01, 3.0])
def test_it_is_scipy_s(n: int, shift: float, level: float) -> None:
    """Differences of two models of 1/128 steps, so that they are exact, and means of them in any bits."""
    rng = np.random.default_rng(n)
    candidate = rng.integers(0, 129, n) / 128
    baseline = np.clip(np.round((candidate - shift + rng.normal(0, 0.2, n)) * 128) / 128, -4, 4)
    found = paired_t(*sums(candidate - baseline), level)
    assert_equal_to(found, stats.ttest_rel(candidate, baseline), level)
    assert_equal_to(found, stats.ttest_1samp(candidate - baseline, 0), level)
    assert found.difference == pytest.approx(np.mean(candidate - baseline), **CLOSE)
    assert found.stderr == pytest.approx(stats.sem(candidate - baseline), **CLOSE)


@settings(PATIENT, max_examples=examples(300))
@given(st.lists(st.floats(-1, 1), min_size=2, max_size=40))
def test_any_differences_give_what_scipy_gives(values: list[float]) -> None:
    """Unless nearly alike, or so near to 0 that squares are not floats: there both have few digits."""
    if np.std(values) > max(1e-2 * np.abs(values).max(), 1e-100):
        assert_equal_to(paired_t(*sums(values)), stats.ttest_1samp(values, 0), 0.95)


@given(st.lists(st.sampled_from([-0.5, 0.0, 0.25, 1.0]), min_size=2, max_size=12))
def test_signs_alone_allow_no_smaller_p(values: list[float]) -> None:
    """By all ways of signs of what differs: p is at least the share of those that are as far from 0 as can be."""
    moving = [value for value in values if value]
    found = paired_t(*sums(values), moving=len(moving))
    if len(moving) < 2 or len(set(values)) == 1:
        assert found == Difference(float(np.mean(values)), method="too few")
        return
    ways = np.array(np.meshgrid(*[[-1, 1]] * len(moving))).reshape(len(moving), -1)
    totals = np.abs(np.abs(moving) @ ways)
    assert found.p >= np.mean(totals >= totals.max() - 1e-12) - 1e-12
    if found.p >= 0.05:
        assert found.low <= 0 <= found.high


def test_p_values_far_out_are_not_0() -> None:
    """The density of 4 degrees is 3/8·(1 + t²/4)^(-5/2), for large t 12/t⁵: each tail is 3/t⁴."""
    found = t_test(1e9, 1.0, 4)
    assert found.p == pytest.approx(6e-36, rel=1e-9)


@pytest.mark.parametrize("n", [2, 5, 1_000_000])
def test_two_copies_of_a_model_differ_by_exactly_0_and_are_not_tested(n: int) -> None:
    assert paired_t(n, 0, 0) == Difference(0.0, method="too few")


@given(st.floats(1e-9, 1e3) | st.floats(-1e3, -1e-9), st.integers(2, 2000))
def test_differences_that_are_all_alike_are_not_tested(value: float, n: int) -> None:
    """Also where their squares were rounded, up or down."""
    found = paired_t(n, n * Fraction(value), n * Fraction(value * value))
    assert found == Difference(value, method="too few")


@pytest.mark.parametrize("moving", [0, 1])
def test_fewer_than_two_groups_that_differ_are_not_tested(moving: int) -> None:
    """One of 100 groups differs by 1: its standard error is as large as the difference, whatever it were."""
    assert paired_t(100, 1, 1, moving=moving) == Difference(0.01, method="too few")


def test_one_pair_or_none_and_what_is_undefined_have_no_test() -> None:
    assert paired_t(1, 0.5, 0.25) == t_test(0.5, math.nan, 9) == t_test(0.5, math.inf, 9)
    assert paired_t(1, 0.5, 0.25) == Difference(0.5, method="too few")
    assert paired_t(0, 0, 0) == t_test(math.nan, 0.5, 9) == t_test(math.inf, 0.5, 9) == Difference(None)


def test_cancellation_costs_no_digit() -> None:
    """A million differences of 1000 ± 2^-10, whose squares are exact: Σ(d - mean)² is n·2^-20."""
    n, half = 1_000_000, Fraction(1, 2**10)
    total = n * Fraction(1000)
    squares = n // 2 * ((1000 - half) ** 2 + (1000 + half) ** 2)
    found = paired_t(n, total, squares)
    assert found.stderr == pytest.approx(2**-10 / math.sqrt(n - 1), rel=1e-15)


@given(st.floats(-5, 5), st.floats(0.01, 3), st.integers(1, 500), st.sampled_from([0.8, 0.95, 0.99]))
def test_the_interval_excludes_0_where_p_is_small(difference: float, stderr: float, degrees: int, level: float) -> None:
    found = t_test(difference, stderr, degrees, level)
    if abs(found.p - (1 - level)) > 1e-9:
        assert (found.p < 1 - level) == (not found.low <= 0 <= found.high)
    mirrored = t_test(-difference, stderr, degrees, level)
    assert (mirrored.p, mirrored.low, mirrored.high) == (found.p, -found.high, -found.low)
