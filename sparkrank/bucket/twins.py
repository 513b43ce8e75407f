"""Twins: the rows of a bucket with the same group and item as another row. Most buckets have few or no twins."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparkrank.numeric.array_types import Codes, Floats, Ints


@dataclass(frozen=True)
class Twins:
    """The rows that have the same group and item as another row.

    ``rows`` contains the ascending indices of the twins, ``code`` the number (below ``count``) of each twin's pair.
    """

    rows: Ints
    code: Codes | Ints
    count: int

    @classmethod
    def of_pairs(cls, pair: Codes | Ints) -> Twins:
        """Return the twins among n rows. ``pair`` contains the number of each row's (group, item) pair."""
        several = np.bincount(pair) > 1
        rows = np.flatnonzero(several[pair])
        return cls(rows, (np.cumsum(several) - 1)[pair[rows]], int(np.count_nonzero(several)))

    def among(self, chosen: Ints) -> Twins:
        """Return the twins among the rows ``chosen`` (ascending). The new ``rows`` are indices into ``chosen``."""
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
        """Return, for each of n ``rows``, the last row with the same group and item; None if there are no twins."""
        if not self.count:
            return None
        row = np.arange(rows)
        row[self.rows] = self.last()[self.code]
        return row

    def first_of(self, order: Floats) -> Floats:
        """Return ``order`` with the rows of the same group and item all at their lowest value.

        NaN remains only if all these rows are NaN.
        """
        if not self.count:
            return order
        first, shared = np.full(self.count, np.nan), order.copy()
        np.fmin.at(first, self.code, order[self.rows])
        shared[self.rows] = first[self.code]
        return shared
