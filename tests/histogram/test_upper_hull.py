"""The isotonic fit of bins against pooling of adjacent violators, one by one, in fractions."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparkrank.histogram import upper_hull
from sparkrank.histogram.upper_hull import UpperHull
from tests.extent import examples
from tests.support.strategies import PATIENT

Bins = list[tuple[int, int]]  # positives and negatives, the highest score first
bins = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=24)


def pooled_error(of_bins: Bins) -> float:
    pools: list[tuple[int, int]] = []
    for pos, neg in of_bins:
        pools.append((pos, neg))
        while len(pools) > 1 and pools[-2][0] * sum(pools[-1]) <= pools[-1][0] * sum(pools[-2]):
            last, other = pools.pop(), pools.pop()
            pools.append((last[0] + other[0], last[1] + other[1]))
    return float(sum(Fraction(pos * neg, pos + neg) for pos, neg in pools if pos + neg))


def curve(of_bins: Bins, unit: float) -> tuple[np.ndarray, np.ndarray]:
    pos, neg = np.array(of_bins, np.float64).reshape(-1, 2).T
    return np.cumsum(neg) * unit, np.cumsum(pos) * unit


@settings(PATIENT, max_examples=examples(200))
@given(bins, st.lists(st.integers(0, 24), max_size=3), st.sampled_from([2.0**-8, 2.0**-40, 0.1, 1 / 3]))
def test_pools_one_by_one(of_bins: Bins, cuts: list[int], unit: float) -> None:
    """Units of which products are not exact leave points for the last step; pieces of a curve are the curve."""
    fp, tp = curve(of_bins, unit)
    whole = UpperHull.of(fp, tp).squared_error()
    assert whole == pytest.approx(pooled_error(of_bins) * unit, rel=1e-12, abs=1e-15)
    ends = [0, *sorted(min(cut, len(fp)) for cut in cuts), len(fp)]
    parts = [UpperHull.of(fp[low:high], tp[low:high]) for low, high in itertools.pairwise(ends)]
    assert UpperHull.merged(parts).squared_error() == whole


def test_points_that_go_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Below a first bin without positives, each next point is a corner until the ones before have gone."""
    of_bins = [(0, 400), *((400 - place, place) for place in range(1, 400))]
    expected = pooled_error(of_bins) * 2.0**-18
    for most in (0, 1, 64):
        monkeypatch.setattr(upper_hull, "MOST_PASSES", most)
        assert UpperHull.of(*curve(of_bins, 2.0**-18)).squared_error() == pytest.approx(expected, rel=1e-13)
