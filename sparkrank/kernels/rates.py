"""Blocks in the order of their empirical rates, the best order that they could stand in.

Only the rate of a block decides where it goes, and blocks of equal rate give the same area in any order among
themselves, so they are held as one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparkrank.kernels.judgments import Floats
from sparkrank.kernels.limbs import Amounts, rounded
from sparkrank.kernels.order import Ints, run_starts
from sparkrank.kernels.walk import Steps

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
