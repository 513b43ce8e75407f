"""Intervals of proportions and on the logit scale, and the tails that belong to intervals."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from sparkrank.stats.intervals import (
    TOO_FEW,
    jackknife_degrees,
    log_intervals,
    logit_interval,
    t_interval,
    tail,
    wilson_interval,
)

LEVELS = [0.5, 0.9, 0.95, 0.999]
TRIALS = [(0, 2), (0, 50), (1, 50), (5, 5), (8, 10), (29, 30), (500, 1000)]


def of_trials(hits: int, n: int) -> tuple[float, float, float, float]:
    """The arguments of independent trials of 0 and 1."""
    share = hits / n
    return share, math.sqrt(share * (1 - share) / (n - 1)), n - 1, n


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(("hits", "n"), TRIALS)
def test_of_independent_trials_it_is_wilsons(hits: int, n: int, level: float) -> None:
    expected = stats.binomtest(hits, n).proportion_ci(level, method="wilson")
    interval = wilson_interval(*of_trials(hits, n), level)
    assert interval[1:3] == pytest.approx((expected.low, expected.high), abs=1e-7)
    assert interval.method == "wilson"
    assert (interval.stderr is None) == (hits in (0, n))


def test_half_of_the_design_effect_is_twice_the_trials() -> None:
    """Clusters whose variance is twice that of 101 trials are 51: 1 + 100 / 2. So many degrees need no more."""
    share, stderr, _, _ = of_trials(40, 101)
    twice = wilson_interval(share, stderr * math.sqrt(2), 50, 101)
    n, z = 51, stats.norm.ppf(0.975)
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    assert twice[1:3] == pytest.approx((centre - half, centre + half), abs=1e-7)


def test_few_degrees_make_it_longer_and_with_many_trials_it_has_the_quantile_of_t() -> None:
    n = 10**6
    few = wilson_interval(0.5, math.sqrt(0.25 / (n - 1)), 9, n)
    assert few.high - 0.5 == pytest.approx(stats.t.ppf(0.975, 9) * math.sqrt(0.25 / n), rel=1e-4)
    lengths = [wilson_interval(0.9, 0.05, df, 36).high for df in (35, 10, 3, 1)]
    assert lengths == sorted(lengths)
    assert lengths[-1] < 1


@pytest.mark.parametrize("n", [None, 0, 1, 1.99])
def test_fewer_than_two_effective_groups_are_too_few_at_a_bound(n: float | None) -> None:
    assert wilson_interval(1.0, 0.0, 40, n) == TOO_FEW
    assert math.isnan(tail(1.0, 0.5, None, None, "wilson", n))


def test_groups_that_are_all_alike_between_the_bounds_say_nothing() -> None:
    assert wilson_interval(0.2, 0.0, 40, 41) == logit_interval(0.2, 0.0, 40) == TOO_FEW
    assert logit_interval(1.0, 0.0, 40) == logit_interval(0.0, 0.0, 40) == TOO_FEW
    assert all(math.isnan(tail(0.2, 0.1, 0.0, 40, method, 41)) for method in ("t", "wilson", "logit", "log"))


def test_the_logit_interval_is_students_of_log_odds_and_mirrors() -> None:
    value, stderr, degrees = 0.97, 0.02, 12
    odds, half = math.log(value / (1 - value)), stats.t.ppf(0.975, degrees) * stderr / (value * (1 - value))
    ends = [1 / (1 + math.exp(-end)) for end in (odds - half, odds + half)]
    interval, mirror = logit_interval(value, stderr, degrees), logit_interval(1 - value, stderr, degrees)
    assert interval[1:3] == pytest.approx(ends, rel=1e-9)
    assert (1 - mirror.high, 1 - mirror.low) == pytest.approx(ends, rel=1e-9)
    wide = logit_interval(1e-300, 0.5, 1)  # nothing overflows
    assert (wide.low, wide.high) == (pytest.approx(0.0), pytest.approx(1.0))


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    ("value", "stderr", "degrees", "n"),
    [(0.3, 0.04, 7.5, 80.0), (0.98, 0.01, 30, 100.0), (0.02, 0.02, 2.2, 12.0), (0.5, 0.2, 40, 4.0)],
)
def test_a_tail_agrees_with_its_interval(value: float, stderr: float, degrees: float, n: float, level: float) -> None:
    intervals = [make(value, stderr, degrees, level) for make in (t_interval, logit_interval)]
    own, error, df = (np.array([number]) for number in (value, stderr, degrees))
    intervals += [log_intervals(own, error, df, level).one(), wilson_interval(value, stderr, degrees, n, level)]
    for error, low, high, method, df in intervals:
        assert tail(value, low, error, df, method, n) == pytest.approx((1 + level) / 2, abs=1e-6), method
        assert tail(value, high, error, df, method, n) == pytest.approx((1 - level) / 2, abs=1e-6), method


@pytest.mark.parametrize("level", LEVELS)
def test_a_tail_agrees_with_the_interval_at_a_bound(level: float) -> None:
    low, high = wilson_interval(1.0, 0.0, 4, 5, level).low, wilson_interval(0.0, 0.0, 49, 50, level).high
    assert tail(1.0, low, None, 4, "wilson", 5) == pytest.approx((1 + level) / 2, abs=1e-6)
    assert tail(0.0, high, None, 49, "wilson", 50) == pytest.approx((1 - level) / 2, abs=1e-6)


def test_a_truth_at_the_end_of_the_range_has_no_other_value() -> None:
    for method in ("wilson", "logit"):
        assert tail(0.9, 0.0, 0.01, 9, method, 30) == 1
        assert tail(0.9, 1.0, 0.01, 9, method, 30) == 0
    assert tail(0.9, 0.0, 0.01, 9, "log") == pytest.approx(1)
    assert tail(1.0, 1.0, None, None, "wilson", 30) == 0.5  # the value is the truth: neither side is surprising


def test_other_methods_have_the_tail_of_student() -> None:
    for method in ("t", "jackknife", "paired t"):
        assert tail(0.02, 0.05, 0.01, 20, method) == pytest.approx(stats.t.cdf(-3, 20), rel=1e-6)


@pytest.mark.parametrize("method", ["t", "logit", "log", "wilson"])
def test_what_is_undefined_has_no_tail(method: str) -> None:
    assert math.isnan(tail(math.nan, 0.5, 0.1, 9, method, 10))
    assert math.isnan(tail(0.5, math.nan, 0.1, 9, method, 10))
    assert math.isnan(tail(0.5, 0.5, None, None, method, 10))


def test_degrees_of_parts_by_hand() -> None:
    """Deviations of 3, -1, -1, -1, 0 from 0: squares 9, 1, 1, 1, 0, so 12² / 84 = 12/7, times 3.16 - 2.77/√5."""
    without = [[-3.0, 1.0, 1.0, 1.0, 0.0]]
    (degrees,) = jackknife_degrees([0.0], without, [2] * 5)
    assert degrees == pytest.approx((3.16 - 2.77 / math.sqrt(5)) * 12 / 7, rel=1e-12)


def test_alike_parts_have_all_degrees_but_one_and_none_without_variation() -> None:
    alike = np.where(np.arange(64) % 2, 1.01, 0.99)
    assert jackknife_degrees([1.0, 1.0], [alike, np.ones(64)], [3] * 64).tolist() == [63.0, 0.0]
    assert jackknife_degrees([1.0], [[1.0, 0.0]], [5, 0]).tolist() == [0.0]  # one part holds all groups
