"""Blocks in the order of their empirical rates, the best order that they could stand in; and neighbours joined before.

Only the rate of a block decides where it goes, and blocks of equal rate give the same area in any order among
themselves, so they are held as one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparkrank.kernels.exact import Amounts, rounded
from sparkrank.kernels.judgments import Floats
from sparkrank.kernels.order import Ints, run_starts
from sparkrank.kernels.walk import Steps


@dataclass(frozen=True)
class Rates:
    """Amounts of positives and negatives by empirical ``rate`` pos / (pos + neg), the highest first."""

    rate: Floats
    pos: Amounts
    neg: Amounts
    rows: Ints

    @classmethod
    def of(cls, steps: Steps) -> Rates:
        """The rates of ``steps``; blocks of no weight have rate 0, and add nothing there."""
        pos = rounded(steps.pos)
        weight = pos + rounded(steps.neg)
        rate = np.divide(pos, weight, out=np.zeros(len(pos)), where=weight > 0)
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


def joined(steps: Steps, min_rows: int) -> Steps:
    """``steps`` with neighbours joined from the first on, each until it holds ``min_rows`` rows.

    What is left at the end goes to the step before; where that is all, it stays one step.
    """
    if min_rows <= 1 or len(steps.rows) == 0:
        return steps
    first = joined_starts(steps.rows, min_rows)
    return Steps(*(np.add.reduceat(amounts, first) for amounts in (steps.pos, steps.neg, steps.rows)))


def joined_starts(rows: Ints, min_rows: int) -> Ints:
    """The first of each run of neighbours that are joined.

    Where the run that begins at a block ends is found for every block at once; which blocks begin a run, by following
    these links from the first block in strides that double: log2(blocks) passes, no loop over runs.
    """
    count = len(rows)
    taken = np.cumsum(rows)
    after = np.append(np.searchsorted(taken, taken - rows + min_rows) + 1, count)  # where the next run begins
    np.minimum(after, count, out=after)
    begins = np.zeros(count + 1, np.bool_)
    begins[0] = True
    stride = after
    for _ in range(count.bit_length()):
        begins[stride[begins]] = True
        stride = stride[stride]
    first = np.flatnonzero(begins[:-1])
    short = len(first) > 1 and taken[-1] - (taken[first[-1]] - rows[first[-1]]) < min_rows
    return first[:-1] if short else first
