"""Confidence sequences: false alarms of all looks together, in simulations of a fixed seed."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, stats

from sparkrank.stats.intervals import NONE, jackknife
from sparkrank.stats.sequential import TIGHTEST_AT, always_valid_p, confidence_sequence, radius

TRIALS, NIGHTS, GROUPS = 2000, 30, 100
COUNTS = GROUPS * np.arange(1, NIGHTS + 1)


def looks(draws: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The mean of all groups so far and its standard error, at each night: (t, nights)."""
    nights = (len(draws), NIGHTS, GROUPS)
    sums, squares = (np.cumsum(each.reshape(nights).sum(axis=-1), axis=1) for each in (draws, draws**2))
    means = sums / COUNTS
    return means, np.sqrt((squares / COUNTS - means**2) / (COUNTS - 1))


def alarms(distances: np.ndarray, counts: np.ndarray, tightest_at: float = TIGHTEST_AT, level: float = 0.95) -> float:
    """The share of trials where any look is farther from 0 than the radius, in standard errors: (t, looks)."""
    bounds = np.array([radius(1.0, float(n), level, tightest_at) for n in counts])
    return float(np.mean((np.abs(distances) > bounds).any(axis=1)))


@pytest.mark.parametrize("tightest_at", [300, 1000, TIGHTEST_AT])
def test_thirty_looks_at_nothing_give_an_alarm_in_less_than_5_percent(tightest_at: float) -> None:
    """Of skewed differences of mean 0. The interval of a single look gives one in some 30 %."""
    means, stderr = looks(np.random.default_rng(11).exponential(size=(TRIALS, NIGHTS * GROUPS)) - 1)
    assert alarms(means / stderr, COUNTS, tightest_at) < 0.05
    single = np.mean((np.abs(means / stderr) > stats.t.ppf(0.975, COUNTS - 1)).any(axis=1))
    assert 0.2 < single < 0.35


def test_the_sequence_is_no_wider_than_it_needs_to_be() -> None:
    """Thousands of looks spend what is allowed: at a level of 0.8 no less than a third of 20 %, and no more than it."""
    rng, counts = np.random.default_rng(12), np.unique(np.geomspace(20, 200_000, 3000).astype(int))
    steps = rng.normal(size=(TRIALS, len(counts))) * np.sqrt(np.diff(counts, prepend=0))
    distances = np.cumsum(steps, axis=1) / np.sqrt(counts)
    assert 0.07 < alarms(distances, counts, 1000, level=0.8) < 0.2
    assert alarms(distances / 0.8, counts, 1000, level=0.8) > 0.2


def test_looks_at_the_same_users_every_night() -> None:
    """200 users with an effect come every night; errors are by parts of users, and each night of a user counts."""
    rng, users, parts = np.random.default_rng(13), 200, 64
    part = np.arange(users) % parts
    sizes = np.bincount(part, minlength=parts)
    values = rng.normal(size=(TRIALS, 1, users)) + rng.normal(0, 2, (TRIALS, NIGHTS, users))
    sums = np.cumsum(values @ np.eye(parts)[part], axis=1)
    pairs = users * np.arange(1, NIGHTS + 1)
    total = sums.sum(axis=-1)
    held = sizes * np.arange(1, NIGHTS + 1)[:, None]
    without = (total[..., None] - sums) / (pairs[:, None] - held)
    stderr, degrees = jackknife((total / pairs).ravel(), without.reshape(-1, parts), np.tile(held, (TRIALS, 1)))
    distances = total / pairs / stderr.reshape(total.shape)
    assert set(degrees) == {parts - 1}
    assert alarms(distances, pairs, 1000) < 0.05
    assert np.mean((np.abs(distances) > 2).any(axis=1)) > 0.12


def test_a_radius_by_hand() -> None:
    """With n r² = 1 it is √(2·2/1·log(√2/a)). For a = √2/e² the logarithm is 2, and the radius √8."""
    a = math.sqrt(2) / math.e**2
    spent = -2 * math.log(a)
    n = 1000 / (spent + math.log(1 + spent))
    assert radius(3.0, n, 1 - a, 1000) == pytest.approx(3 * math.sqrt(8), rel=1e-12)


@pytest.mark.parametrize("level", [0.9, 0.95, 0.99])
def test_it_is_narrowest_where_told(level: float) -> None:
    """Of the errors of groups, so of √n standard errors of a look: another r² is wider at that n."""
    at = 500.0
    found = optimize.minimize_scalar(
        lambda log: radius(1.0, at, level, math.exp(log)), bounds=(0, 14), method="bounded", options={"xatol": 1e-6}
    )
    assert math.exp(found.x) == pytest.approx(at, rel=0.06)  # the paper's r² is an approximation
    assert radius(1.0, at, level, at) == pytest.approx(found.fun, rel=1e-4)


@given(st.floats(0.1, 8), st.integers(1, 10**9), st.sampled_from([0.8, 0.95, 0.99]), st.sampled_from([100, 10_000]))
def test_the_interval_excludes_0_where_p_is_small(distance: float, n: int, level: float, tightest_at: float) -> None:
    p = always_valid_p(distance * 0.25, 0.25, n, level, tightest_at)
    interval = confidence_sequence(distance * 0.25, 0.25, n, level, tightest_at)
    if abs(p - (1 - level)) > 1e-9:
        assert (p < 1 - level) == (interval.low > 0)
    assert always_valid_p(-distance * 0.25, 0.25, n, level, tightest_at) == p <= 1


def test_two_copies_of_a_model_differ_by_exactly_0() -> None:
    assert confidence_sequence(0.0, 0.0, 500)[:3] == (0.0, 0.0, 0.0)
    assert always_valid_p(0.0, 0.0, 500) == 1
    assert always_valid_p(0.1, 0.0, 500) == 0
    assert always_valid_p(0.0, 1.0, 500) == 1


@pytest.mark.parametrize(("value", "stderr", "n"), [(math.nan, 1, 9), (0, math.nan, 9), (0, math.inf, 9), (0, 1, 0)])
def test_what_is_undefined_has_no_sequence(value: float, stderr: float, n: float) -> None:
    assert confidence_sequence(value, stderr, n) == NONE
    assert math.isnan(always_valid_p(value, stderr, n))
