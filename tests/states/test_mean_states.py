"""Means and their standard errors from exact sums, which no order and no layout shows in."""

from __future__ import annotations

import math
import statistics

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparkrank.numeric.exact_sums import exact_sum, total
from sparkrank.states.means import Mean
from tests.extent import examples
from tests.support.states import means_of
from tests.support.strategies import PATIENT


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


@pytest.mark.parametrize(("groups", "value"), [([], math.nan), ([(0.5, 1.0)], 0.5), ([(0.5, 0.0)], math.nan)])
def test_too_few_groups_for_a_standard_error(groups: list[tuple[float, float]], value: float) -> None:
    (found,) = means_of(groups).results().values()
    assert isinstance(found, Mean)
    assert [found.value, found.stderr] == pytest.approx([value, math.nan], nan_ok=True)


@settings(PATIENT, max_examples=examples(200))
@given(
    st.lists(
        st.floats(-8, 8) | st.floats(-1e6, 1e6) | st.sampled_from([8.0, -8.0, 1 / 3, 1e-18, 2.0**50]), max_size=40
    ),
    st.randoms(),
)
def test_exact_sums_do_not_know_the_order(values: list[float], shuffle) -> None:
    whole = exact_sum(np.array(values, dtype=float))
    shuffle.shuffle(values)
    at = len(values) // 2
    halves = exact_sum(np.array(values[at:], dtype=float)) + exact_sum(np.array(values[:at], dtype=float))
    assert halves.tolist() == whole.tolist()
    assert total(whole) == pytest.approx(math.fsum(values), rel=2**-52, abs=2**-62 * max(len(values), 1))
