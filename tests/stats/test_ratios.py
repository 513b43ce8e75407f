"""Fieller's interval and the error of a relative margin, by their definitions, by hand and by simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sparkrank.stats.ratios import StandardErrors, fieller, margin_stderr

ERRORS = st.builds(StandardErrors, *[st.floats(0.01, 0.1)] * 3).filter(
    lambda each: abs(each.candidate - each.baseline) <= each.difference <= each.candidate + each.baseline
)


@given(st.floats(-0.5, 0.5), st.floats(0.5, 2) | st.floats(-2, -0.5), ERRORS, st.integers(3, 200))
def test_ends_are_tested_at_the_level(difference: float, baseline: float, errors: StandardErrors, degrees: int) -> None:
    """By definition: t of difference - r·|baseline|, whose variance is that of a sum, is the quantile."""
    ends = fieller(difference, baseline, errors, degrees, 0.9)
    quantile = stats.t.ppf(0.95, degrees)
    if ends is None:
        assert abs(baseline) <= quantile * errors.baseline * (1 + 1e-9)
        return
    assert ends[0] <= difference / abs(baseline) <= ends[1]
    for end in ends:
        t = (difference - end * abs(baseline)) / margin_stderr(-end, baseline, errors)
        assert abs(t) == pytest.approx(quantile, rel=1e-5)


def test_by_hand() -> None:
    """d = 1, b = 2, variances 1 and 1 with covariance 0, t = 1 (one degree, level 1/2): 3r² - 4r + 0 = 0."""
    errors = StandardErrors(1.0, 1.0, math.sqrt(2))
    assert fieller(1.0, 2.0, errors, 1, 0.5) == pytest.approx((0.0, 4 / 3), abs=1e-12)


def test_the_sign_of_the_baseline_turns_nothing_but_the_covariance() -> None:
    """Of the negated values, candidate -c and baseline -b, the difference is -d and its share of |b| is, too."""
    errors = StandardErrors(0.05, 0.08, 0.07)
    low, high = fieller(0.1, 0.9, errors, 20)
    assert fieller(-0.1, -0.9, errors, 20) == pytest.approx((-high, -low), rel=1e-12)


@pytest.mark.parametrize(
    ("baseline", "of_candidate", "degrees"),
    [(0.0, 0.1, 9), (0.2, 0.1, 9), (math.nan, 0.1, 9), (0.5, math.nan, 9), (0.5, 0.1, 0)],
)
def test_no_interval_if_the_baseline_may_be_0_or_is_unknown(baseline: float, of_candidate: float, degrees: int) -> None:
    assert fieller(0.1, baseline, StandardErrors(0.1, of_candidate, 0.1), degrees) is None


def test_the_margin_of_paired_groups_is_the_error_of_the_mean_that_it_tests() -> None:
    draw = np.random.default_rng(5)
    baseline = draw.gamma(2.0, size=50)
    candidate = 0.5 * baseline + draw.gamma(1.0, size=50)
    errors = StandardErrors(*(stats.sem(each) for each in (candidate - baseline, baseline, candidate)))
    for share in (0.02, -0.3, 0.0):
        tested = stats.sem(candidate - (1 - share) * baseline)
        assert margin_stderr(share, float(baseline.mean()), errors) == pytest.approx(tested, rel=1e-12)
