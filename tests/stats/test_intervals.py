"""Student's t and order statistics, against scipy, exact probabilities, and hand arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats

from sparkrank.stats.intervals import NONE, TOO_FEW, logit_interval, order_statistics, t_interval, wilson_interval
from tests.extent import examples
from tests.support.quantiles import RELATIVE
from tests.support.strategies import PATIENT

LEVELS = [0.5, 0.8, 0.9, 0.95, 0.99, 0.999]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("values", [[1.0, 2.0], [0.1, 0.2, 0.7], list(range(30)), [3.0, -1.0, 4.0, 1.0, 5.0] * 40])
def test_it_is_the_interval_of_a_t_test(values: list[float], level: float) -> None:
    expected = stats.ttest_1samp(values, 0).confidence_interval(level)
    stderr = np.std(values, ddof=1) / math.sqrt(len(values))
    found = t_interval(float(np.mean(values)), stderr, len(values) - 1, level)
    assert found[1:3] == pytest.approx(tuple(expected), rel=RELATIVE, abs=RELATIVE)
    assert (found.stderr, found.method, found.degrees) == (stderr, "t", len(values) - 1)


def test_one_degree_by_hand() -> None:
    """Student's t of one degree is Cauchy's distribution: its quantile 0.75 is tan(π/4) = 1."""
    assert t_interval(5.0, 2.0, 1, 0.5)[1:3] == pytest.approx((3.0, 7.0), rel=1e-12)


def test_an_error_of_0_or_of_rounding_and_less_than_one_degree_are_too_little_to_know() -> None:
    errors = [(stderr, 7) for stderr in (0.0, 0.24e-12, math.nan, math.inf)]
    for stderr, degrees in (*errors, (1.0, 0), (1.0, 0.99), (1.0, math.nan)):
        assert t_interval(0.25, stderr, degrees) == TOO_FEW == (None, None, None, "too few", None)


@pytest.mark.parametrize("unknown", [math.nan, math.inf])
def test_an_undefined_value_has_no_interval(unknown: float) -> None:
    for interval in (t_interval(unknown, 1.0, 10), logit_interval(unknown, 1.0, 10)):
        assert interval == NONE == (None,) * 5
    assert wilson_interval(unknown, 1.0, 10, 10) == NONE


def test_it_is_cut_at_the_ends_of_the_range() -> None:
    assert t_interval(0.9, 0.1, 9, ends=(0.0, 1.0))[1:3] == (t_interval(0.9, 0.1, 9).low, 1.0)
    assert t_interval(0.1, 0.1, 9, ends=(0.0, math.inf))[1:3] == (0.0, t_interval(0.1, 0.1, 9).high)


def at_most(n: int, share: Fraction, most: int) -> Fraction:
    """The probability of at most ``most`` successes among n, without rounding."""
    return sum((math.comb(n, k) * share**k * (1 - share) ** (n - k) for k in range(most + 1)), Fraction())


def ranks(n: int, share: Fraction, level: Fraction) -> tuple[int, int] | None:
    """The narrowest ranks that each miss with less than half of 1 - level, looked for one by one."""
    tail = (1 - level) / 2
    low = max((rank for rank in range(1, n + 1) if at_most(n, share, rank - 1) < tail), default=None)
    high = min((rank for rank in range(1, n + 1) if 1 - at_most(n, share, rank - 1) < tail), default=None)
    return None if low is None or high is None else (low, high)


@settings(PATIENT, max_examples=examples(200))
@given(st.integers(1, 60), st.sampled_from([1, 5, 10, 25, 50, 75, 90, 99]), st.sampled_from([50, 80, 90, 95, 99]))
@example(5, 50, 95)
@example(6, 50, 95)
def test_ranks_are_those_of_exact_probabilities(n: int, percent: int, level: int) -> None:
    found = order_statistics(np.arange(1.0, n + 1), np.ones(n, int), percent / 100, level / 100)
    assert found == ranks(n, Fraction(percent, 100), Fraction(level, 100))


def test_the_median_of_six_lies_between_the_least_and_the_most() -> None:
    """Each end is missed where all six fall on one side: 1/64 < 0.025. With five it would be 1/32 > 0.025."""
    assert order_statistics([1, 2, 3, 4, 5, 6], [1] * 6, 0.5) == (1.0, 6.0)
    assert order_statistics([1, 2, 3, 4, 5], [1] * 5, 0.5) is None


@settings(PATIENT)
@given(
    st.lists(st.tuples(st.integers(-9, 9), st.integers(0, 9)), min_size=1, max_size=12, unique_by=lambda row: row[0]),
    st.sampled_from([0.1, 0.25, 0.5, 0.9]),
    st.sampled_from(LEVELS),
)
def test_counts_are_values_written_once(rows: list[tuple[int, int]], share: float, level: float) -> None:
    """The same with each value as often as it occurs, and mirrored: low is -high of the other quantile."""
    values, counts = map(list, zip(*sorted(rows), strict=True))
    found = order_statistics(values, counts, share, level)
    written = np.repeat(values, counts)
    assert found == order_statistics(written, np.ones(len(written), int), share, level)
    mirrored = order_statistics([-each for each in values[::-1]], counts[::-1], 1 - share, level)
    assert mirrored == (None if found is None else (-found[1], -found[0]))


def test_no_groups_and_the_least_and_the_most_value_have_no_interval() -> None:
    assert order_statistics([], [], 0.5) is order_statistics([1.0], [0], 0.5) is None
    assert order_statistics([1.0, 2.0], [500, 500], 0.0) is order_statistics([1.0, 2.0], [500, 500], 1.0) is None
