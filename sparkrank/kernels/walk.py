"""A threshold that falls through the score blocks of a day: what each block adds to the areas under its curves.

Every metric of blocks is made of terms, one a block, which are added up exactly or of which the largest counts. A term
depends on its block and on what stands above it; so a stretch of blocks may be walked apart from the others, given
the amounts above it, and the terms of all stretches give the same bits as one walk.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparkrank.kernels.exact import exact_sum
from sparkrank.kernels.judgments import Floats
from sparkrank.kernels.limbs import LIMBS, Amounts, rounded, total
from sparkrank.kernels.order import Ints

MOST_EXPONENT = 1023  # of a power of two that a float64 holds
Amount = NDArray[Any]  # one sum: a whole number, or its limbs (6)


def value_of(amount: Amount) -> float:
    """``amount`` as a float64."""
    return float(rounded(np.asarray(amount)[None])[0])


@dataclass(frozen=True)
class Steps:
    """Blocks in the order of a walk, the first to be taken first: amounts of positives and negatives, and rows.

    ``score_sum`` are the sums of scores, where a metric reads them.
    """

    pos: Amounts
    neg: Amounts
    rows: Ints
    score_sum: Floats | None = None


@dataclass(frozen=True)
class Extent:
    """Positives, negatives, rows and blocks of a day, or of the part of it above a stretch."""

    pos: Amount
    neg: Amount
    rows: int
    blocks: int

    @classmethod
    def of(cls, steps: Steps) -> Extent:
        return cls(steps.pos.sum(axis=0), steps.neg.sum(axis=0), int(steps.rows.sum()), len(steps.rows))

    @property
    def scale(self) -> float:
        """The power of two that brings positives and negatives together to between 1/2 and 1."""
        return math.ldexp(1.0, -math.frexp(value_of(self.pos) + value_of(self.neg))[1])

    def __add__(self, other: Extent) -> Extent:
        return Extent(self.pos + other.pos, self.neg + other.neg, self.rows + other.rows, self.blocks + other.blocks)


class Walk:
    """A walk over ``steps``, with ``above`` before them, through a day of ``day``.

    ``pos``, ``neg`` (n) are the amounts of each block; ``tp``, ``fp`` (n) those of it and all before, that is of the
    rows that a threshold at the block's score takes; ``positives``, ``negatives`` those of the day. All of them are
    divided by a power of two, which rounds nothing, so that the day lies between 1/2 and 1: exact sums know no scale.
    """

    def __init__(self, steps: Steps, day: Extent, above: Extent | None = None) -> None:
        scale = day.scale
        self.pos, self.neg = rounded(steps.pos) * scale, rounded(steps.neg) * scale
        self.tp = _taken(steps.pos, None if above is None else above.pos) * scale
        self.fp = _taken(steps.neg, None if above is None else above.neg) * scale
        self.tp_above = _shifted(self.tp, 0.0 if above is None else value_of(above.pos) * scale)
        self.fp_above = _shifted(self.fp, 0.0 if above is None else value_of(above.neg) * scale)
        self.rows = steps.rows
        self.least = scale if steps.pos.ndim == 1 else 0.0  # what a positive weighs at least
        self.score_sum = None if steps.score_sum is None else steps.score_sum * scale
        self.positives, self.negatives = value_of(day.pos) * scale, value_of(day.neg) * scale


def _taken(amounts: Amounts, above: Amount | None) -> Floats:
    sums = np.cumsum(amounts, axis=0)  # exact: whole numbers, or limbs each in its own
    return rounded(sums if above is None else sums + above)


def _shifted(taken: Floats, above: float) -> Floats:
    before = np.empty(len(taken))
    before[:1] = above
    before[1:] = taken[:-1]
    return before


@dataclass(frozen=True)
class Terms:
    """Terms of some blocks, added up exactly (``limbs``: sums, 6), or the ``highest`` of them (-inf of none)."""

    limbs: Floats
    highest: Floats

    @classmethod
    def of(cls, sums: Sequence[Floats] = (), highest: Sequence[Floats] = ()) -> Terms:
        limbs = np.array([exact_sum(each) for each in sums]).reshape(len(sums), LIMBS)
        return cls(limbs, np.array([each.max(initial=-np.inf) for each in highest]))

    @classmethod
    def merged(cls, parts: Sequence[Terms]) -> Terms:
        return cls(np.sum([part.limbs for part in parts], axis=0), np.max([part.highest for part in parts], axis=0))

    @property
    def sums(self) -> list[float]:
        return [total(limbs) for limbs in self.limbs]


def roc_terms(walk: Walk) -> Terms:
    """Pairs in the right order, a pair inside a block counting 1/2; and all pairs inside blocks.

    Both classes are :func:`magnified`.
    """
    in_pos, in_neg = magnified(walk.positives), magnified(walk.negatives)
    pos, neg = walk.pos * in_pos, walk.neg * in_neg
    return Terms.of((neg * (walk.tp * in_pos - pos / 2), pos * neg))


def magnified(amount: float) -> float:
    """The power of two that brings ``amount`` to between 1/2 and 1: of terms of a class that weighs next to nothing,
    exact sums would not see the last bits, or any.
    """
    return math.ldexp(1.0, min(-math.frexp(amount)[1], MOST_EXPONENT))


def average_precision_terms(walk: Walk) -> Terms:
    """Positives times the precision at their block; and the same with the best and the worst precision inside it.

    Precision rises with the positives taken and falls with the negatives; so inside a block, whatever its order, no
    precision is above that with all its positives and none of its negatives, or below that of its first positive
    behind all its negatives. Positives are :func:`magnified`.
    """
    pos = walk.pos * magnified(walk.positives)
    precision = _share(walk.tp, walk.tp + walk.fp)
    best = _share(walk.tp, walk.tp + walk.fp_above)
    fewest = walk.tp_above + walk.least
    worst = np.where((walk.rows == 1) | (walk.fp == 0), precision, _share(fewest, fewest + walk.fp))
    return Terms.of([pos * each for each in (precision, best, worst)])


def separation_terms(walk: Walk) -> Terms:
    """TPR - FPR after each block, and the most it can be inside: after the block's positives, before its negatives."""
    tpr = _share(walk.tp, walk.positives)
    return Terms.of(highest=(tpr - _share(walk.fp, walk.negatives), tpr - _share(walk.fp_above, walk.negatives)))


def break_even_terms(walk: Walk) -> Terms:
    """The positives among as many rows as there are positives: taken above the block where that number is reached,
    by the block's share of positives inside it; and the most and fewest that an order of the block allows. All are
    :func:`magnified`.
    """
    before, after = walk.tp_above + walk.fp_above, walk.tp + walk.fp
    here = np.flatnonzero((before < walk.positives) & (walk.positives <= after))
    left = walk.positives - before[here]
    pos, neg, above = walk.pos[here], walk.neg[here], walk.tp_above[here]
    inside = (left * _share(pos, pos + neg), np.minimum(pos, left), np.maximum(left - neg, 0.0))
    return Terms.of([(above + part) * magnified(walk.positives) for part in inside])


def calibration_terms(walk: Walk) -> Terms:
    """How far the positives of each block are from the sum of its scores.

    With probabilities that is the block's rows at most; other scores, which leave the metric undefined, are cut there.
    """
    if walk.score_sum is None:
        raise ValueError("calibration needs the sums of scores")
    return Terms.of((np.minimum(np.abs(walk.pos - walk.score_sum), walk.pos + walk.neg),))


def _share(part: Floats, whole: Floats | float) -> Floats:
    """``part / whole``, 0 where there is no whole."""
    return np.divide(part, whole, out=np.zeros(len(part)), where=np.asarray(whole) > 0)
