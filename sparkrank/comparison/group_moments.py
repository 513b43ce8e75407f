"""Exact sums over pairs of groups: differences, their squares and products, merged in any order. Pure numpy.

A sum is six limbs (:mod:`sparkrank.numeric.exact_sums`), counts are whole numbers below 2^53 in the same six places. So
moments of parts add up to the same bits wherever the pairs were made, and in whatever order.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import TypeAlias

import numpy as np

from sparkrank.numeric.array_types import Floats
from sparkrank.numeric.exact_sums import LIMBS, exact_sum
from sparkrank.numeric.whole_units import TIED

# By the place of the metric and of the sum. Those of all pairs have the place PAIRS instead of that of a metric.
Moments: TypeAlias = dict[tuple[int, int], Floats]
PAIRS = -1
# The places of sums: counts first, then those of differences, or of weights and weighted values.
COUNTS, DIFFERENCE, SQUARE, LEFT = range(4)
_WEIGHTED = 4  # from here on: four sums, and those of their products
_PRODUCTS = tuple(combinations_with_replacement(range(4), 2))
WEIGHT = "n_retrieved"  # by which groups weigh where a metric has weight=rows
# How often d² was rounded, and in a sum of products of weights and values.
_ROUNDING, _WEIGHTED_ROUNDINGS = Fraction(1, 2**53), 8


@dataclass(frozen=True)
class PairedMetric:
    """A metric of groups on both sides. An undefined value counts as ``counted_as``, or leaves the pair out.

    ``is_weighted``: groups weigh by their rows with a score. ``higher_is_better`` is None where nobody knows.
    """

    name: str
    definition: str | None = None
    higher_is_better: bool | None = None
    counted_as: float | None = None
    is_weighted: bool = False


@dataclass(frozen=True)
class Paired:
    """The comparison of one metric: n pairs, and the mean ``difference`` (right - left) with its standard error.

    ``up``, ``ties`` and ``down`` are the pairs whose right value is above, at and below the left one, and
    ``n_unpaired`` the groups of both sides in which one side alone is undefined.
    """

    n: int
    n_unpaired: int
    up: int
    ties: int
    down: int
    left: float
    difference: float
    stderr: float


def columns_of(metrics: Sequence[PairedMetric]) -> list[str]:
    """The columns that both sides give for ``metrics``."""
    weights = [WEIGHT] if any(metric.is_weighted for metric in metrics) else []
    return [*weights, *(metric.name for metric in metrics)]


def moments_of(place: int, metric: PairedMetric, left: Mapping[str, Floats], right: Mapping[str, Floats]) -> Moments:
    """The moments of the metric at ``place``, of pairs whose values stand in ``left`` and ``right`` by column."""
    ours, theirs = (_values(side[metric.name], metric) for side in (left, right))
    difference = theirs - ours
    is_pair = ~np.isnan(difference)
    n, unpaired = int(np.count_nonzero(is_pair)), int(np.count_nonzero(np.isnan(ours) != np.isnan(theirs)))
    if n < len(is_pair):
        ours, theirs, difference = ours[is_pair], theirs[is_pair], difference[is_pair]
    up, down = (int(np.count_nonzero(side)) for side in (difference > TIED, difference < -TIED))
    counts = np.array([n, unpaired, up, n - up - down, down, 0], np.float64)
    if metric.is_weighted:
        w, u = (side[WEIGHT][is_pair] for side in (left, right))
        return {(place, COUNTS): counts, **_weighted(place, (w, w * ours, u, u * theirs))}
    sums = {DIFFERENCE: difference, SQUARE: difference * difference, LEFT: ours}
    return {(place, COUNTS): counts, **{(place, what): exact_sum(values) for what, values in sums.items()}}


def _weighted(place: int, four: Sequence[Floats]) -> Moments:
    """The sums of weights and weighted values of both sides, and of their products."""
    moments = {(place, _WEIGHTED + index): exact_sum(values) for index, values in enumerate(four)}
    for index, (one, other) in enumerate(_PRODUCTS):
        moments[place, _WEIGHTED + len(four) + index] = exact_sum(four[one] * four[other])
    return moments


def _values(values: Floats, metric: PairedMetric) -> Floats:
    return values if metric.counted_as is None else np.where(np.isnan(values), metric.counted_as, values)


def added(parts: Iterable[Moments]) -> Moments:
    """The moments of all ``parts`` together."""
    together: Moments = {}
    for part in parts:
        for place, sums in part.items():
            together[place] = together[place] + sums if place in together else sums
    return together


def paired(moments: Moments, place: int, metric: PairedMetric) -> Paired:
    """The comparison of the metric at ``place``."""
    counts = moments.get((place, COUNTS), np.zeros(LIMBS))
    n, n_unpaired, up, ties, down = map(int, counts[:5])
    left = difference = stderr = math.nan
    if n:
        means = _of_weighted if metric.is_weighted else _of_equal
        left, difference, stderr = means(moments, place, n)
    return Paired(n, n_unpaired, up, ties, down, left, difference, stderr)


def _sum(moments: Moments, place: int, what: int) -> Fraction:
    return sum(map(Fraction, moments[place, what].tolist()), Fraction())


def _of_equal(moments: Moments, place: int, n: int) -> tuple[float, float, float]:
    """The left mean, the mean difference and its standard error, without further rounding."""
    first, second, left = (_sum(moments, place, what) for what in (DIFFERENCE, SQUARE, LEFT))
    squares = second - first**2 / n
    squares = squares if squares >= _ROUNDING * second else Fraction()
    stderr = math.sqrt(squares / (n * (n - 1))) if n > 1 else math.nan
    return float(left / n), float(first / n), stderr


def _of_weighted(moments: Moments, place: int, n: int) -> tuple[float, float, float]:
    """The same of weighted means, by the delta method: of each pair what it adds to one mean less the other."""
    w, wv, u, uv = (_sum(moments, place, _WEIGHTED + index) for index in range(4))
    if not w or not u:
        return math.nan, math.nan, math.nan
    left, right = wv / w, uv / u
    # a pair adds (uv - right·u) / Σu - (wv - left·w) / Σw, whose sum over all pairs is 0
    factors = (left / w, -1 / w, -right / u, 1 / u)
    squares = size = Fraction()
    for index, (one, other) in enumerate(_PRODUCTS):
        times = factors[one] * factors[other] * (1 if one == other else 2)
        term = times * _sum(moments, place, _WEIGHTED + 4 + index)
        squares, size = squares + term, size + abs(term)
    squares = squares if squares >= _WEIGHTED_ROUNDINGS * _ROUNDING * size else Fraction()
    stderr = math.sqrt(squares * n / (n - 1)) if n > 1 else math.nan
    return float(left), float(right - left), stderr
