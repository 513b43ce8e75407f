"""Mean differences over pairs of groups, from exact sums.

These sums are the same for every order and division of the pairs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import TypeAlias

import numpy as np

from sparkrank.numeric.array_types import Floats, Ints
from sparkrank.numeric.exact_sums import exact_sum
from sparkrank.numeric.whole_units import TIED

WEIGHT = "n_retrieved"  # the weight of a group for metrics with weight=rows
# The left and the right values of the pairs, followed by their left and right weights for a weighted metric.
PairValues: TypeAlias = Sequence[tuple[Floats, Floats]]
# The relative rounding error of d², and the number of such errors in a sum of products of weights and values.
_ROUNDING, _WEIGHTED_ROUNDINGS = Fraction(1, 2**53), 8


@dataclass(frozen=True)
class PairedMetric:
    """A metric with a value for each group in the left and the right run. ``higher_is_better`` may be None (unknown).

    Undefined values count as ``counted_as``; if ``counted_as`` is None, pairs with an undefined value are left out. If
    ``is_weighted`` is true, a group is weighted by its number of scored rows.
    """

    name: str
    definition: str | None = None
    higher_is_better: bool | None = None
    counted_as: float | None = None
    is_weighted: bool = False


@dataclass(frozen=True)
class PairedComparison:
    """The comparison of one metric over ``n`` pairs of groups.

    ``left`` is the mean left value, and ``difference`` the mean of right - left, with its standard error ``stderr``.
    ``up``, ``ties`` and ``down`` count the pairs whose right value is above, equal to or below the left value.
    ``n_unpaired`` counts the groups of both runs with a defined value in only one run.
    """

    n: int
    n_unpaired: int
    up: int
    ties: int
    down: int
    left: float = math.nan
    difference: float = math.nan
    stderr: float = math.nan


def with_counted(values: Floats, counted_as: float | None) -> Floats:
    """Return the ``values`` with NaN replaced by ``counted_as``, or unchanged if ``counted_as`` is None."""
    return values if counted_as is None else np.where(np.isnan(values), counted_as, values)


def compare_pairs(metric: PairedMetric, chunks: Iterable[PairValues]) -> PairedComparison:
    """Return the comparison by ``metric`` over all pairs of groups.

    ``chunks`` yields the values of the pairs, some at a time.
    """
    counts: Ints = np.zeros(5, np.int64)
    limbs: Floats = np.zeros(())
    for part in chunks:
        own, sums = _counts_and_sums(metric, part)
        counts, limbs = counts + own, limbs + sums
    n, n_unpaired, up, ties, down = counts.tolist()
    if not n:
        return PairedComparison(n, n_unpaired, up, ties, down)
    means = _of_weighted if metric.is_weighted else _of_equal
    left, difference, stderr = means([sum(map(Fraction, row), Fraction()) for row in limbs.tolist()], n)
    return PairedComparison(n, n_unpaired, up, ties, down, left, difference, stderr)


def _counts_and_sums(metric: PairedMetric, part: PairValues) -> tuple[list[int], Floats]:
    """Return the five counts of :class:`PairedComparison`, and the exact sums behind the means, as limbs (floats)."""
    ours, theirs = (with_counted(values, metric.counted_as) for values in part[0])
    difference = theirs - ours
    is_pair = ~np.isnan(difference)
    n, unpaired = int(np.count_nonzero(is_pair)), int(np.count_nonzero(np.isnan(ours) != np.isnan(theirs)))
    if n < len(is_pair):
        ours, theirs, difference = ours[is_pair], theirs[is_pair], difference[is_pair]
    up, down = (int(np.count_nonzero(side)) for side in (difference > TIED, difference < -TIED))
    if metric.is_weighted:
        w, u = (weights[is_pair] for weights in part[1])
        four = (w, w * ours, u, u * theirs)
        terms = [*four, *(one * other for one, other in combinations_with_replacement(four, 2))]
    else:
        terms = [difference, difference * difference, ours]
    return [n, unpaired, up, n - up - down, down], np.array([exact_sum(values) for values in terms])


def _of_equal(sums: Sequence[Fraction], n: int) -> tuple[float, float, float]:
    """Return the mean of the left values, the mean difference and its standard error, each exact and rounded once."""
    first, second, left = sums
    squares = second - first**2 / n
    squares = squares if squares >= _ROUNDING * second else Fraction()
    return float(left / n), float(first / n), math.sqrt(squares / (n * (n - 1))) if n > 1 else math.nan


def _of_weighted(sums: Sequence[Fraction], n: int) -> tuple[float, float, float]:
    """Return the left weighted mean, and the difference of the weighted means with its delta-method standard error."""
    w, wv, u, uv = sums[:4]
    if not w or not u:
        return math.nan, math.nan, math.nan
    left, right = wv / w, uv / u
    # A pair contributes (uv - right·u) / Σu - (wv - left·w) / Σw; these sum to 0 over all pairs.
    factors = (left / w, -1 / w, -right / u, 1 / u)
    squares = size = Fraction()
    for (one, other), product in zip(combinations_with_replacement(range(4), 2), sums[4:], strict=True):
        term = factors[one] * factors[other] * (1 if one == other else 2) * product
        squares, size = squares + term, size + abs(term)
    squares = squares if squares >= _WEIGHTED_ROUNDINGS * _ROUNDING * size else Fraction()
    return float(left), float(right - left), math.sqrt(squares * n / (n - 1)) if n > 1 else math.nan
