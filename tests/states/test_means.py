"""Means and their intervals; sums of all metrics at once are those of each by itself, the undefined as they count."""

from __future__ import annotations

import math
import statistics

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sparkrank as sr
from sparkrank.numeric.array_types import Floats
from sparkrank.numeric.segments import Segments
from sparkrank.states.keys import SliceKey
from sparkrank.states.means import MeanRows, MeanStates, equal_sums, weighted_sums
from tests.support.states import means_of

VALUES = st.floats(0, 1) | st.floats(-1000, 1000) | st.sampled_from([0.0, 1.0, 1 / 3, math.nan, 127.9, 128.0, 1e9])


@given(data=st.data(), groups=st.integers(0, 12), n_metrics=st.integers(0, 5))
@pytest.mark.parametrize("counted_as", [None, 0.0, 1.0])
def test_the_sums_of_many_metrics_and_segments_are_those_of_each_by_itself(
    counted_as: float | None, data: st.DataObject, groups: int, n_metrics: int
) -> None:
    metrics = [np.array(data.draw(st.lists(VALUES, min_size=groups, max_size=groups)), float) for _ in range(n_metrics)]
    code = np.array(data.draw(st.lists(st.sampled_from([0, 1, 3]), min_size=groups, max_size=groups)), np.int32)
    together, by_segment = (equal_sums(metrics, counted_as, *more) for more in ((), (Segments(4, code),)))
    for values, sums, segments in zip(metrics, together, by_segment, strict=True):
        undefined = np.isnan(values)
        averaged = values[~undefined] if counted_as is None else np.where(undefined, counted_as, values)
        assert (sums.undefined.tolist(), sums.averaged.tolist()) == ([undefined.sum()], [len(averaged)])
        assert sums.limbs.tolist() == weighted_sums(averaged, None).tolist()
        for segment in range(4):
            (alone,) = equal_sums([values[code == segment]], counted_as)
            assert [numbers[segment].tolist() for numbers in segments] == [numbers[0].tolist() for numbers in alone]


def test_a_mean_and_its_standard_error() -> None:
    """Without weights, that of a textbook; with weights, sqrt(sum w²(v - mean)² · m/(m-1)) / sum w, m = 10² / 30."""
    values = [0.5, 0.25, 1.0, 0.0, 0.75]
    (plain,) = means_of([(value, 1.0) for value in values]).results().values()
    assert (plain.value, plain.weight, plain.n_groups, plain.n_rows) == (2.5 / 5, 5, 5, 15)
    assert plain.stderr == pytest.approx(statistics.stdev(values) / math.sqrt(5), rel=1e-12)
    weights = [1.0, 2.0, 3.0, 4.0, 0.0]
    (weighted,) = means_of(list(zip(values, weights, strict=True))).results().values()
    mean = (1 * 0.5 + 2 * 0.25 + 3 * 1.0 + 4 * 0.0 + 0 * 0.75) / (1 + 2 + 3 + 4 + 0)
    squares = sum((w * (v - mean)) ** 2 for w, v in zip(weights, values, strict=True))
    assert weighted.value == pytest.approx(mean, rel=1e-15)
    assert weighted.stderr == pytest.approx(math.sqrt(squares * (10 / 3) / (7 / 3)) / 10, rel=1e-12)
    for groups, value in (([], math.nan), ([(0.5, 1.0)], 0.5), ([(0.5, 0.0)], math.nan)):  # too few
        (mean_of_few,) = means_of(groups).results().values()
        assert [mean_of_few.value, mean_of_few.stderr] == pytest.approx([value, math.nan], nan_ok=True)


def stderr_of(values: Floats, weight: float | None) -> float:
    n = len(values)
    limbs = weighted_sums(values, None if weight is None else np.full(n, weight))
    states = MeanStates.of([MeanRows(SliceKey("m", "all", ("all",), "ap"), np.array([[n, 0, n, n]]), limbs)])
    (mean,) = states.results().values()
    return float(mean.stderr)


@pytest.mark.parametrize("weight", [None, 1 / 3], ids=["equal", "weighted"])
@pytest.mark.parametrize("value", [1 / 3, 0.1, 1000.1])
def test_the_standard_error_of_values_that_hardly_differ(value: float, weight: float | None) -> None:
    """Half of n groups lie by step * value above the other half: n deviations of half of that."""
    n = 10_000
    for step, within in ((0.0, 0.0), (1e-12, 0.0), (1e-6, 1e-2), (1e-3, 1e-6)):
        values = np.full(n, value)
        values[::2] *= 1 + step
        expected = step * value / 2 / math.sqrt(n - 1) if within else 0.0
        assert stderr_of(values, weight) == pytest.approx(expected, rel=within, abs=0.0), step


@pytest.mark.parametrize("weight", [None, 3.0])
def test_the_standard_error_of_values_that_are_large_beside_their_differences(weight: float | None) -> None:
    """What is lost is that squares are float64: up to 2^-53 of size² for each value, in both directions."""
    for size, spread, within in ((1e6, 1.0, 1e-4), (1e6, 0.1, 5e-3), (1e9, 1e3, 1e-4), (1.0, 1e-6, 1e-4)):
        values = size + spread * np.random.default_rng(5).random(1000)
        expected = statistics.stdev(values.tolist()) / math.sqrt(1000)
        assert stderr_of(values, weight) == pytest.approx(expected, rel=within), size


def test_the_interval_is_that_of_students_t_around_the_mean() -> None:
    """dcg@1 is 1 and 0: two squared deviations of 1/4 make a standard error of sqrt((1/4 + 1/4)·2/1) / 2 = 1/2. The
    lower end is cut at 0, the lowest value that there is.
    """
    log = pa.table({"user": ["a", "a", "b", "b"], "score": [0.5, 0.25, 0.5, 0.25], "label": [1, 0, 0, 1]})
    asked = {"group": "user", "score": "score", "label": "label"}
    (row,) = sr.evaluate(log, ["dcg@1"], **asked).to_pandas().to_dict("records")
    t = math.tan(math.pi * 0.475)  # of one degree of freedom, which is Cauchy's distribution: 2.5 % on each side
    assert (row["value"], row["stderr"]) == (0.5, 0.5)
    assert (row["ci_low"], row["ci_high"]) == pytest.approx((0.0, 0.5 + t / 2), rel=1e-9)
    assert (row["interval"], row["degrees"], row["n_effective"]) == ("t", 1.0, 2.0)
    (alone,) = sr.evaluate(log.slice(0, 2), ["dcg@1"], **asked).metrics.to_pylist()
    assert [alone[name] for name in ("value", "stderr", "ci_low", "ci_high")] == [1.0, None, None, None]
    assert alone["interval"] == "too few"
