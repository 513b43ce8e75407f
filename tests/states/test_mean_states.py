"""Means and their standard errors from exact sums, which no order and no layout shows in."""

from __future__ import annotations

import math
import statistics

import pytest

from sparkrank.states.means import Mean
from tests.support.states import means_of


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
