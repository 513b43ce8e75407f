"""The smallest difference that a comparison could have found is found as often as told."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from sparkrank.stats.power import smallest_detectable
from sparkrank.stats.sequential import always_valid_p, radius

TRIALS = 4000  # the standard error of a rate of 80 % is 0.6 percentage points
SD = 0.3


def test_a_planted_difference_is_found_by_a_sequence_at_the_rate_told() -> None:
    """A sequence is wider than the interval of a t test, and finds what the latter tells much more rarely."""
    rng, groups = np.random.default_rng(7), 400
    stderr = SD / math.sqrt(groups)
    planted = smallest_detectable(stderr, groups - 1, half=radius(stderr, groups))
    draws = rng.normal(0, SD, (TRIALS, groups))
    means, stderrs = draws.mean(axis=1), draws.std(axis=1, ddof=1) / math.sqrt(groups)

    def found(difference: float) -> float:
        tests = zip(means + difference, stderrs, strict=True)
        return np.mean([always_valid_p(mean, own, groups) < 0.05 for mean, own in tests])

    assert found(planted) == pytest.approx(0.8, abs=0.03)
    assert found(smallest_detectable(stderr, groups - 1)) < 0.4


@pytest.mark.parametrize(("degrees", "rate", "close"), [(1, 0.731, 5e-4), (4, 0.791, 5e-4), (9, 0.8, 1.1e-3)])
@pytest.mark.parametrize("times", [1, 10, 1000])
def test_the_power_of_few_degrees_is_as_documented(degrees: int, rate: float, close: float, times: int) -> None:
    """By the noncentral t distribution. From 9 degrees on it is 79.9 to 80.1 %."""
    degrees = degrees * times if degrees == 9 else degrees
    critical = stats.t.ppf(0.975, degrees)
    distance = smallest_detectable(1.0, degrees)
    found = 1 - stats.nct.cdf(critical, degrees, distance) + stats.nct.cdf(-critical, degrees, distance)
    assert found == pytest.approx(rate, abs=close)


def test_by_hand_for_one_degree() -> None:
    """Student's t of one degree is Cauchy's: tan(π(q - 1/2)). At level 0.5 and power 0.75: 2·tan(π/4)."""
    assert smallest_detectable(3.0, 1, 0.5, 0.75) == pytest.approx(6.0, rel=1e-12)
    assert smallest_detectable(0.0, 63) == 0


@pytest.mark.parametrize(("stderr", "degrees"), [(None, 9), (math.nan, 9), (math.inf, 9), (1.0, 0), (1.0, math.nan)])
def test_without_an_error_or_degrees_there_is_none(stderr: float | None, degrees: float) -> None:
    assert smallest_detectable(stderr, degrees) is None
