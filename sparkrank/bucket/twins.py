"""The rows of a bucket that share their item with another row of the same group. Usually there are few or none."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparkrank.numeric.array_types import Codes, Floats, Ints


@dataclass(frozen=True)
class Twins:
    """The ``rows`` (ascending) that share group and item with others. ``code`` numbers the ``count`` shared pairs."""

    rows: Ints
    code: Codes | Ints
    count: int

    @classmethod
    def of_pairs(cls, pair: Codes | Ints) -> Twins:
        """The twins among n rows. ``pair`` numbers the group and item of each row."""
        several = np.bincount(pair) > 1
        rows = np.flatnonzero(several[pair])
        return cls(rows, (np.cumsum(several) - 1)[pair[rows]], int(np.count_nonzero(several)))

    def among(self, chosen: Ints) -> Twins:
        """The twins among the rows ``chosen`` (ascending). Their ``rows`` are indices into ``chosen``."""
        place = np.searchsorted(chosen, self.rows)
        there = place < len(chosen)
        there[there] = chosen[place[there]] == self.rows[there]
        left = Twins.of_pairs(self.code[there])
        return Twins(place[there][left.rows], left.code, left.count)

    def last(self) -> Ints:
        last = np.empty(self.count, np.int64)
        last[self.code] = self.rows
        return last

    def one_of_each(self, rows: int) -> Ints | None:
        """The row that represents each row: its last twin, or the row itself; None if no row has a twin."""
        if not self.count:
            return None
        row = np.arange(rows)
        row[self.rows] = self.last()[self.code]
        return row

    def first_of(self, order: Floats) -> Floats:
        """``order`` (lowest first, NaN for rows without a value), with each row given the lowest value of its twins."""
        if not self.count:
            return order
        first, shared = np.full(self.count, np.nan), order.copy()
        np.fmin.at(first, self.code, order[self.rows])
        shared[self.rows] = first[self.code]
        return shared
