"""Ranks among all items, estimated from the ranks of relevant items among a few items drawn at random.

Products of matrices use einsum, which adds up in the same order with any processor, BLAS and number of threads.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from sparkrank.numeric.array_types import Floats, Ints
from sparkrank.numeric.elementary import exp2, log2
from sparkrank.numeric.segments import run_starts

MOST_ITEMS = 100_000  # with more items, ranks above LAST_SINGLE are grouped into ranges
LAST_SINGLE, GROWTH = 10_000, 1.001  # a range ends at 1.001 times the rank at which it begins
STEPS = 300  # of EM, as in Li et al.
LEAST_EXPONENT, LEAST = -400.0, 2.0**-500  # lower probabilities count as 0, so that no product is subnormal
ROWS_AT_ONCE = 4096  # bounds the memory of intermediate arrays
KEPT = 64  # distributions cached for the next metric, of at most 0.8 MB each


class Ranks(NamedTuple):
    """The ranks among all items in n ranges. ``middle`` is the middle of each range, ``size`` its number of ranks."""

    middle: Floats
    size: Floats


@lru_cache(maxsize=KEPT)
def ranks_of(items: int) -> Ranks:
    """Return the ranks from 1 to ``items`` as ranges. If there are at most :data:`MOST_ITEMS`, each is a range.

    With more items, only the first :data:`LAST_SINGLE` ranks are ranges of their own. A later range has one
    rank or about a thousandth as many as precede it, which all count as the middle one.
    """
    if items <= MOST_ITEMS:
        return Ranks(np.arange(1.0, items + 1), np.ones(items))
    starts = [*range(1, LAST_SINGLE + 1)]
    start = LAST_SINGLE + 1
    while start <= items:
        starts.append(start)
        start = max(start + 1, int(start * GROWTH))
    edges = np.array([*starts, items + 1], np.float64)
    return Ranks((edges[:-1] + edges[1:] - 1) / 2, np.diff(edges))


@lru_cache(maxsize=2)
def chances(sampled: int, items: int) -> Floats:
    """Return P(r|R), the probability that an item of rank R among ``items`` has rank r among ``sampled`` others.

    r - 1 is binomial, with ``sampled`` trials of probability (R-1) / (items-1). Shape: (ranges of R, sampled + 1).
    """
    above = (ranks_of(items).middle - 1) / (items - 1)
    counts = np.arange(sampled + 1.0)
    factorials = np.concatenate([np.zeros(1), np.cumsum(log2(np.arange(1.0, sampled + 1)))])
    ways = factorials[-1] - factorials - factorials[::-1]
    table = np.empty((len(above), sampled + 1))
    for start in range(0, len(above), ROWS_AT_ONCE):
        own = above[start : start + ROWS_AT_ONCE, None]
        inside = (own > 0) & (own < 1)
        share = np.where(inside, own, 0.5)
        exponent = ways + counts * log2(share) + (sampled - counts) * log2(1 - share)
        power = exp2(np.maximum(exponent, LEAST_EXPONENT).ravel()).reshape(exponent.shape)
        certain = counts == np.where(own > 0, sampled, 0)
        table[start : start + ROWS_AT_ONCE] = np.where(inside, np.where(exponent > LEAST_EXPONENT, power, 0.0), certain)
    table.flags.writeable = False
    return table


class Model(NamedTuple):
    """The probabilities of sampled ranks, for true ranks in n ranges.

    ``size`` contains the number of ranks in each range, and ``table`` P(r|range) for each rank r of an item beside m
    sampled ones. Each range joins adjacent ranges of :func:`ranks_of`; ``starts`` contains the index of the first of
    them. Shapes: (n,), (n,), and (n, m + 1).
    """

    starts: Ints
    size: Floats
    table: Floats


@lru_cache(maxsize=2)
def _coarse(sampled: int, items: int) -> Model:
    """Return wider ranges of ranks. Their width is a tenth of the error of a rank that one sampled rank estimates.

    Among m of I items, about x = m·R / I are above rank R, with a standard deviation of sqrt(x). Values and their
    differences change by a few percent at most if ranks are joined.
    """
    middle, size = ranks_of(items)
    place = np.floor(20 * np.sqrt(middle * (sampled / items)))
    starts = run_starts(place)
    sizes = np.add.reduceat(size, starts)
    table = np.add.reduceat(chances(sampled, items) * size[:, None], starts) / sizes[:, None]
    return Model(starts, sizes, table)


def estimates(counts: Floats, gains: Floats, items: int) -> Floats:
    """Return Σ p_R·gain_R for each row of ``counts``, where p is the most likely distribution of ranks among ``items``.

    ``counts`` contains the number of groups with each sampled rank, and each row has at least one group. Shapes: (n,
    sampled + 1) for ``counts``, and (ranges of :func:`ranks_of`,) for ``gains``. Jin et al.: On Estimating
    Recommendation Evaluation Metrics under Sampling, AAAI 2021.
    """
    rows = (_most_likely(own.tobytes(), items) for own in np.ascontiguousarray(counts, np.float64))
    return np.array([float((p * gains).sum()) for p in rows])


def rough_estimates(counts: Floats, gains: Floats, items: int) -> Floats:
    """Return an approximation of :func:`estimates`, in a time that does not depend on ``items``.

    This is enough for a jackknife, which uses only the differences between values.
    """
    model, size = _coarse(counts.shape[1] - 1, items), ranks_of(items).size
    own = np.add.reduceat(gains * size, model.starts) / model.size
    values: Floats = np.einsum("nr,r->n", _expected(counts, model), own)
    return values


@lru_cache(maxsize=KEPT)
def _most_likely(counts: bytes, items: int) -> Floats:
    groups = np.frombuffer(counts, np.float64)[None]
    size = ranks_of(items).size
    (own,) = _expected(groups, Model(np.arange(len(size)), size, chances(groups.shape[1] - 1, items)))
    return np.asarray(own, np.float64)


def _expected(counts: Floats, model: Model) -> Floats:
    """Return p after 300 steps of p_R <- p_R · Σ_r P(r|R)·share_r / Σ_S p_S·P(r|S), from the uniform distribution."""
    seen = np.flatnonzero(counts.any(axis=0))
    shares = counts[:, seen] / counts.sum(axis=1, keepdims=True)
    table = model.table[:, seen]
    turned = np.ascontiguousarray(table.T)
    p: Floats = np.repeat((model.size / model.size.sum())[None], len(shares), axis=0)
    for _ in range(STEPS):
        chance = np.einsum("nR,Rr->nr", p, table)
        ratio = np.divide(shares, chance, out=np.zeros_like(shares), where=shares > 0)
        p *= np.einsum("nr,rR->nR", ratio, turned)
        p[p < LEAST] = 0.0
    return p


def least_error(gains: Floats, sampled: int, items: int, gamma: float) -> Floats:
    """Return a gain for each sampled rank, so that their mean estimates the mean of ``gains`` by true rank.

    The gains have the least (1 - gamma)·bias² + gamma·(bias² + variance) for one group, if all ranks are equally
    likely. Krichene, Rendle: On Sampled Metrics for Item Recommendation, KDD 2020. Shapes: (ranges,) for ``gains``, and
    (sampled + 1,) for the result.
    """
    weighted, products = _products(sampled, items)
    squares = (1 - gamma) * products + gamma * np.diag(weighted.sum(axis=0))
    return _solved(squares, np.einsum("Rr,R->r", weighted, gains))


def _solved(squares: Floats, right: Floats) -> Floats:
    """Return x of ``squares`` x = ``right``, by elimination. A symmetric positive definite matrix needs no pivots."""
    rows = np.column_stack([squares, right])
    for place, row in enumerate(rows):
        rows[place + 1 :, place:] -= rows[place + 1 :, place, None] / row[place] * row[place:]
    for place in reversed(range(len(rows))):
        rows[place, -1] /= rows[place, place]
        rows[:place, -1] -= rows[:place, place] * rows[place, -1]
    return rows[:, -1]


@lru_cache(maxsize=2)
def _products(sampled: int, items: int) -> tuple[Floats, Floats]:
    table = chances(sampled, items)
    weighted = table * (ranks_of(items).size / items)[:, None]
    return weighted, np.einsum("Rr,Rs->rs", weighted, table)
