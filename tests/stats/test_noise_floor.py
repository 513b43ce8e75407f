"""Values that chance alone makes larger: their noise floor, their interval near it, and the test of differences."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy import linalg, stats
from scipy.special import ndtr

import sparkrank as sr
from sparkrank.numeric.binomial import mean_deviation
from sparkrank.numeric.signed_parts import mixtures, walsh_hadamard
from sparkrank.stats.noise_floor import bias_of_halves, interval_above_noise
from sparkrank.stats.swapped_parts import error_of_halves, swap_test
from tests.extent import examples

ROLES: dict[str, Any] = {"group": "user", "label": "y", "group_table": False}


@pytest.mark.parametrize("trials", [1, 2, 3, 7, 60, 5000])
@pytest.mark.parametrize("probability", [0.0, 1e-300, 1e-9, 0.004, 0.2, 0.5, 0.83, 1 - 1e-9, 1.0])
def test_the_deviation_of_a_binomial_is_that_of_all_its_outcomes(trials: int, probability: float) -> None:
    hits = np.arange(trials + 1)
    chance = stats.binom.pmf(hits, trials, probability)
    expected = float(np.sum(np.abs(hits - trials * probability) * chance))
    assert mean_deviation(np.array([trials]), np.array([probability]))[0] == pytest.approx(expected, rel=1e-3)


def test_the_floor_of_a_calibration_error_by_hand() -> None:
    """Two rows of 0.5 share a bin, whose hits are off by 1 in half of all cases; one row of 0.2 is off by 0.32."""
    rows = pa.table({"user": [1, 2, 3], "s": [0.5, 0.5, 0.2], "y": [1, 1, 0]})
    (row,) = sr.evaluate(rows, ["ece"], **ROLES, score="s").table.to_pylist()
    assert row["value"] == pytest.approx((1 + 0.2) / 3)
    assert row["noise_floor"] == pytest.approx((0.5 + 0.32) / 3, rel=1e-3)


def test_the_floor_of_a_separation_is_what_scores_without_information_have() -> None:
    draw = np.random.default_rng(1)
    clicks = (np.arange(3000) < 600).astype(np.int32)
    values = []
    for _ in range(examples(120)):
        rows = pa.table({"user": np.arange(3000), "s": draw.random(3000), "y": clicks})
        (row,) = sr.evaluate(rows, ["ks(exact)"], **ROLES, score="s", uncertainty=False).table.to_pylist()
        values.append(row["value"])
    assert row["noise_floor"] == pytest.approx(math.sqrt(math.pi / 8 * (1 / 600 + 1 / 2400)))
    spread = np.std(values) / math.sqrt(len(values))
    assert abs(np.mean(values) - row["noise_floor"]) < 4 * spread


def test_other_metrics_have_no_floor_and_auc_up_no_interval() -> None:
    rows = day(np.random.default_rng(2), 60)
    metrics = ["auc", "auc_up", "auc_up(bits=6,min_rows=20)", "logloss"]
    ev = sr.evaluate(rows, metrics, **ROLES, score={"a": "a", "b": "b"})
    for row in ev.table.to_pylist():
        assert row["noise_floor"] is None
        has = not row["metric"].startswith("auc_up")
        assert all((row[name] is not None) == has for name in ("stderr", "ci_low", "ci_high", "interval", "degrees"))
    for row in ev.compare("a").to_pylist():
        assert (row["p"] is not None) == (not row["metric"].startswith("auc_up"))
        assert not math.isnan(row["difference"])


@pytest.mark.parametrize("order", [1, 2, 16, 64])
def test_signs_are_those_of_a_hadamard_matrix(order: int) -> None:
    numbers = np.random.default_rng(order).integers(-50, 50, (order, 3)).astype(np.float64)
    np.testing.assert_array_equal(walsh_hadamard(numbers), linalg.hadamard(order) @ numbers)


def test_exchanged_parts_are_paired_differences_where_the_metric_is_linear() -> None:
    """Of 6 parts of 9 that hold a group: the mean square over all signs is (8 Σd² - (Σd)²) / 7."""
    draw = np.random.default_rng(3)
    ours, theirs = draw.normal(size=(2, 9))
    filled = np.array([0, 1, 3, 4, 7, 8])
    d = (ours - theirs)[filled]
    sides = [mixtures(filled, *each).reshape(2, 8) for each in ((ours, theirs), (ours,), (theirs,))]
    test = swap_test(float(d.sum()), sides[0], sides[1], sides[2], len(filled))
    variance = (8 * float(d @ d) - d.sum() ** 2) / 7
    assert test.stderr is not None
    assert test.stderr**2 == pytest.approx(variance)
    assert error_of_halves(2 * (sides[1] - sides[2])) ** 2 == pytest.approx(variance)  # a half sums up to half as much
    assert test.p == pytest.approx(max(2 * stats.t.sf(abs(d.sum()) / test.stderr, test.degrees), 2.0**-5))


def test_equal_sides_have_no_test() -> None:
    same = mixtures(np.arange(4), np.arange(4.0), np.arange(4.0)).reshape(2, 4)
    assert swap_test(0.0, same, same, same, 4).method == "too few"


def test_the_bias_of_a_distance_from_0_is_that_distance() -> None:
    """The mean distance of sums of n signs from 0 is the noise itself, √(2n/π): halves of the parts tell of it."""
    draw = np.random.default_rng(4)
    biases, distances = [], []
    for _ in range(400):
        parts = draw.normal(size=(64, 200))  # of 200 bins
        values = np.abs(mixtures(np.arange(64), parts)).reshape(2, 64, 200).sum(axis=2) / 32
        values[0, 0] /= 2  # which is of all 64
        biases.append(bias_of_halves(values))
        distances.append(values[0, 0])
    assert np.mean(biases) == pytest.approx(np.mean(distances), rel=0.05)


def test_an_interval_near_the_floor_has_one_end() -> None:
    near, above = (interval_above_noise(value, 0.01, 20, 0.02, 0.0, (0.0, 1.0)) for value in (0.0399, 0.0401))
    assert (near.low, near.method, above.method) == (0.0, "upper bound", "jackknife")
    assert near.high == pytest.approx(0.0399 + stats.t.ppf(0.95, 20) * 0.01)
    assert (above.low, above.high) == pytest.approx([0.0401 + sign * stats.t.ppf(0.975, 20) * 0.01 for sign in (-1, 1)])
    assert interval_above_noise(0.0401, 0.01, 20, 0.02, 0.021, (0.0, 1.0)).method == "upper bound"
    assert interval_above_noise(0.001, 1e-5, 20, 0.02, 0.0, (0.0, 1.0)).high == 0.02
    assert interval_above_noise(0.5, 0.0, 20, 0.02, 0.0, (0.0, 1.0)).method == "too few"


def day(draw: np.random.Generator, users: int, steepness: float = 1.0, noise: float = 0.3) -> pa.Table:
    """Clicks that are as likely as a score says, alike within a user; both models see that score through noise."""
    rows = np.maximum(1, np.round(draw.lognormal(2.0, 0.8, users))).astype(np.int64)
    user = np.repeat(np.arange(users), rows)
    chance = draw.beta(2, 5, len(user))
    latent = math.sqrt(0.3) * draw.normal(size=users)[user] + math.sqrt(0.7) * draw.normal(size=len(user))
    logit = np.log(chance / (1 - chance))
    a, b = (1 / (1 + np.exp(-steepness * logit - noise * draw.normal(size=len(user)))) for _ in range(2))
    return pa.table({"user": user, "exact": chance, "a": a, "b": b, "y": (ndtr(latent) < chance).astype(np.int32)})
