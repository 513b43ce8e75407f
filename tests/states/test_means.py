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
from sparkrank.numeric.segments import Segments
from sparkrank.states.keys import SliceKey
from sparkrank.states.means import MeanRows, MeanStates, equal_sums, weighted_sums

VALUES = st.floats(0, 1) | st.floats(-1000, 1000) | st.sampled_from([0.0, 1.0, 1 / 3, math.nan, 127.9, 128.0, 1e9])


@given(st.integers(0, 12).flatmap(lambda n: st.lists(st.lists(VALUES, min_size=n, max_size=n), max_size=5)))
@pytest.mark.parametrize("counted_as", [None, 0.0, 1.0])
def test_all_metrics_at_once_have_the_sums_of_each_by_itself(
    counted_as: float | None, metrics: list[list[float]]
) -> None:
    found = equal_sums([np.array(values, float) for values in metrics], counted_as)
    assert len(found) == len(metrics)
    for sums, values in zip(found, metrics, strict=True):
        undefined = [value for value in values if math.isnan(value)]
        averaged = [counted_as if math.isnan(value) else value for value in values]
        averaged = [value for value in averaged if value is not None]
        assert (sums.undefined.tolist(), sums.averaged.tolist()) == ([len(undefined)], [len(averaged)])
        alone = weighted_sums(np.array(averaged, float), None)
        assert sums.limbs.tolist() == alone.tolist()


@given(data=st.data(), groups=st.integers(0, 12))
@pytest.mark.parametrize("counted_as", [None, 0.0, 1.0])
def test_the_sums_of_a_segment_are_those_of_its_groups_by_themselves(
    counted_as: float | None, data: st.DataObject, groups: int
) -> None:
    metrics = [np.array(data.draw(st.lists(VALUES, min_size=groups, max_size=groups)), float) for _ in range(3)]
    code = np.array(data.draw(st.lists(st.sampled_from([0, 1, 3]), min_size=groups, max_size=groups)), np.int32)
    for values, sums in zip(metrics, equal_sums(metrics, counted_as, Segments(4, code)), strict=True):
        for segment in range(4):
            (alone,) = equal_sums([values[code == segment]], counted_as)
            assert [each[segment].tolist() for each in sums] == [each[0].tolist() for each in alone]


@pytest.mark.parametrize("weight", [None, 1 / 3], ids=["equal", "weighted"])
@pytest.mark.parametrize("value", [1 / 3, 0.1, 1000.1])
@pytest.mark.parametrize("step", [0.0, 1e-12, 1e-6, 1e-3])
def test_the_standard_error_of_values_that_hardly_differ(step: float, value: float, weight: float | None) -> None:
    """Half of n groups lie by step * value above the other half: n deviations of half of that."""
    n = 10_000
    values = np.full(n, value)
    values[::2] *= 1 + step
    limbs = weighted_sums(values, None if weight is None else np.full(n, weight))
    counts = np.array([[n, 0, n, n]])
    states = MeanStates.of([MeanRows(SliceKey("m", "all", ("all",), "ap"), counts, limbs)])
    (mean,) = states.results().values()
    expected = step * value / 2 / math.sqrt(n - 1)
    if step < 4e-8:
        assert mean.stderr == 0
    else:
        assert mean.stderr == pytest.approx(expected, rel=1e-2 if step < 1e-4 else 1e-6)


@pytest.mark.parametrize(
    ("size", "spread", "within"), [(1e6, 1.0, 1e-4), (1e6, 0.1, 5e-3), (1e9, 1e3, 1e-4), (1.0, 1e-6, 1e-4)]
)
@pytest.mark.parametrize("weight", [None, 3.0])
def test_the_standard_error_of_values_that_are_large_beside_their_differences(
    size: float, spread: float, within: float, weight: float | None
) -> None:
    """What is lost is that squares are float64: up to 2^-53 of size² for each value, in both directions."""
    n = 1000
    values = size + spread * np.random.default_rng(5).random(n)
    limbs = weighted_sums(values, None if weight is None else np.full(n, weight))
    states = MeanStates.of([MeanRows(SliceKey("m", "all", ("all",), "ap"), np.array([[n, 0, n, n]]), limbs)])
    (mean,) = states.results().values()
    assert mean.stderr == pytest.approx(statistics.stdev(values.tolist()) / math.sqrt(n), rel=within)


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
