"""A threshold that falls through the score bins of a day: what each bin adds to the areas under its curves.

Bins are swept in the order of their scores, or of their empirical rates, which is the best order that they could stand
in. Neighbouring bins may be joined until each holds enough rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparkrank.numeric.exact_sums import LIMBS, Amounts, exact_sum, rounded, total
from sparkrank.numeric.segments import run_starts
from sparkrank.numeric.types import Floats, Ints

MOST_EXPONENT = 1023  # of a power of two that a float64 holds
Amount = NDArray[Any]  # one sum: a whole number, or its limbs (6)


def value_of(amount: Amount) -> float:
    """``amount`` as a float64."""
    return float(rounded(np.asarray(amount)[None])[0])


@dataclass(frozen=True)
class Steps:
    """Blocks in the order of a sweep, the first to be taken first: amounts of positives and negatives, and rows.

    ``score_sum`` are the sums of scores, where a metric reads them.
    """

    pos: Amounts
    neg: Amounts
    rows: Ints
    score_sum: Floats | None = None


@dataclass(frozen=True)
class Extent:
    """Positives, negatives, rows and blocks of a day, or of the part of it above a range of scores."""

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


class Sweep:
    """A sweep over ``steps``, with ``above`` before them, through a day of ``day``.

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


def roc_terms(sweep: Sweep) -> Terms:
    """Pairs in the right order, a pair inside a block counting 1/2; and all pairs inside blocks.

    Both classes are :func:`magnified`.
    """
    in_pos, in_neg = magnified(sweep.positives), magnified(sweep.negatives)
    pos, neg = sweep.pos * in_pos, sweep.neg * in_neg
    return Terms.of((neg * (sweep.tp * in_pos - pos / 2), pos * neg))


def magnified(amount: float) -> float:
    """The power of two that brings ``amount`` to between 1/2 and 1: of terms of a class that weighs next to nothing,
    exact sums would not see the last bits, or any.
    """
    return math.ldexp(1.0, min(-math.frexp(amount)[1], MOST_EXPONENT))


def average_precision_terms(sweep: Sweep) -> Terms:
    """Positives times the precision at their block; and the same with the best and the worst precision inside it.

    Precision rises with the positives taken and falls with the negatives; so inside a block, whatever its order, no
    precision is above that with all its positives and none of its negatives, or below that of its first positive
    behind all its negatives. Positives are :func:`magnified`.
    """
    pos = sweep.pos * magnified(sweep.positives)
    precision = _share(sweep.tp, sweep.tp + sweep.fp)
    best = _share(sweep.tp, sweep.tp + sweep.fp_above)
    fewest = sweep.tp_above + sweep.least
    worst = np.where((sweep.rows == 1) | (sweep.fp == 0), precision, _share(fewest, fewest + sweep.fp))
    return Terms.of([pos * each for each in (precision, best, worst)])


def separation_terms(sweep: Sweep) -> Terms:
    """TPR - FPR after each block, and the most it can be inside: after the block's positives, before its negatives."""
    tpr = _share(sweep.tp, sweep.positives)
    return Terms.of(highest=(tpr - _share(sweep.fp, sweep.negatives), tpr - _share(sweep.fp_above, sweep.negatives)))


def break_even_terms(sweep: Sweep) -> Terms:
    """The positives among as many rows as there are positives: taken above the block where that number is reached,
    by the block's share of positives inside it; and the most and fewest that an order of the block allows. All are
    :func:`magnified`.
    """
    before, after = sweep.tp_above + sweep.fp_above, sweep.tp + sweep.fp
    here = np.flatnonzero((before < sweep.positives) & (sweep.positives <= after))
    left = sweep.positives - before[here]
    pos, neg, above = sweep.pos[here], sweep.neg[here], sweep.tp_above[here]
    inside = (left * _share(pos, pos + neg), np.minimum(pos, left), np.maximum(left - neg, 0.0))
    return Terms.of([(above + part) * magnified(sweep.positives) for part in inside])


def calibration_terms(sweep: Sweep) -> Terms:
    """How far the positives of each block are from the sum of its scores.

    With probabilities that is the block's rows at most; other scores, which leave the metric undefined, are cut there.
    """
    if sweep.score_sum is None:
        raise ValueError("calibration needs the sums of scores")
    return Terms.of((np.minimum(np.abs(sweep.pos - sweep.score_sum), sweep.pos + sweep.neg),))


def _share(part: Floats, whole: Floats | float) -> Floats:
    """``part / whole``, 0 where there is no whole."""
    return np.divide(part, whole, out=np.zeros(len(part)), where=np.asarray(whole) > 0)


HALF = 31  # bits of the positives, and of the negatives


@dataclass(frozen=True)
class Rates:
    """Amounts of positives and negatives by empirical rate, the highest first.

    ``rate`` is pos / neg, which orders them as pos / (pos + neg) does, but tells rates near 1 apart, too.
    """

    rate: Floats
    pos: Amounts
    neg: Amounts
    rows: Ints

    @classmethod
    def of(cls, steps: Steps) -> Rates:
        """The rates of ``steps``; blocks of no weight have rate 0, and add nothing there."""
        steps = _alike_together(steps)
        pos, neg = rounded(steps.pos), rounded(steps.neg)
        with np.errstate(over="ignore"):  # what no float64 holds is as good as no negative
            rate = np.divide(pos, neg, out=np.where(pos > 0, np.inf, 0.0), where=neg > 0)
        return cls(rate, steps.pos, steps.neg, steps.rows).merged()

    def merged(self, *others: Rates) -> Rates:
        """All amounts together, those of equal rate as one."""
        parts = [part for part in (self, *others) if len(part.rate)]
        if not parts:
            return self
        rate = np.concatenate([part.rate for part in parts])
        order = np.argsort(-rate)
        first = run_starts(rate[order])
        pos, neg, rows = (
            np.add.reduceat(np.concatenate([getattr(part, name) for part in parts])[order], first)
            for name in ("pos", "neg", "rows")
        )
        return Rates(rate[order][first], pos, neg, rows)

    @property
    def steps(self) -> Steps:
        return Steps(self.pos, self.neg, self.rows)


def _alike_together(steps: Steps) -> Steps:
    """``steps`` with those as one that have as many positives and as many negatives, where rows have no weights.

    Most of a day's blocks have a few hundred rows, so that few of them are unlike all others: whole numbers are sorted
    in a quarter of the time of rates.
    """
    if steps.pos.ndim > 1 or max(steps.pos.max(initial=0), steps.neg.max(initial=0)) >> HALF:
        return steps
    both, count = np.unique(steps.pos << HALF | steps.neg, return_counts=True)
    pos, neg = (both >> HALF) * count, (both & (1 << HALF) - 1) * count
    return Steps(pos, neg, pos + neg)


def joined(steps: Steps, min_rows: int) -> Steps:
    """``steps`` with neighbours joined from the first on, each until it holds ``min_rows`` rows.

    What is left at the end goes to the step before; where that is all, it stays one step.
    """
    if min_rows <= 1 or len(steps.rows) == 0:
        return steps
    first = joined_starts(steps.rows, min_rows)
    short = len(first) > 1 and steps.rows[first[-1] :].sum() < min_rows
    return _summed(steps, first[:-1] if short else first)


def joined_starts(rows: Ints, min_rows: int) -> Ints:
    """The first of each run of neighbours that are joined; the last run may be short.

    Which blocks begin a run is found by following, from the first block, the links from each block to the block after
    a run that begins there, in strides that double: log2(blocks) passes, no loop over runs.
    """
    count = len(rows)
    begins = np.zeros(count + 1, np.bool_)
    begins[0] = True
    stride = np.minimum(_links(rows, min_rows), count)
    for _ in range(count.bit_length()):
        begins[stride[begins]] = True
        stride = stride[stride]
    return np.flatnonzero(begins[:-1])


def _links(rows: Ints, min_rows: int) -> Ints:
    """For a run that begins at each block: the block after its end; beyond ``len(rows)`` where it has no end."""
    taken = np.cumsum(rows)
    return np.append(np.searchsorted(taken, taken - rows + min_rows) + 1, len(rows))


def _summed(steps: Steps, first: Ints) -> Steps:
    pos, neg, rows = (np.add.reduceat(each, first) for each in (steps.pos, steps.neg, steps.rows))
    return Steps(pos, neg, rows)
