"""The items of a bucket, groups or rows, by the value of a slice: what is summed over each value by itself."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from sparkrank.kernels.order import Codes, Flags, Ints, stable_order

T = TypeVar("T", bound=np.generic)


@dataclass(frozen=True, eq=False)
class Segments:
    """Which of ``count`` segments each of n items is in: ``code`` (n), absent where all are in the only one.

    In the only one, an item may stand for several that are the same: for as many as its ``times`` (n).
    """

    count: int = 1
    code: Codes | None = None
    times: Ints | None = None

    def of(self, items: NDArray[np.integer] | Flags | slice | None) -> Segments:
        """The segments of the items that ``items`` picks, by number (as often as it is there), by flag or stretch."""
        if items is None or self.code is self.times is None:
            return self
        code = None if self.code is None else self.code[items]
        return Segments(self.count, code, None if self.times is None else self.times[items])

    def sizes(self, items: int) -> Ints:
        """The number of items in each segment (count), of ``items`` in all."""
        if self.code is None:
            return np.array([items if self.times is None else self.times.sum()])
        return np.bincount(self.code, minlength=self.count)

    def repeated(self, items: NDArray[T]) -> NDArray[T]:
        """The ``items`` (n), each as often as it counts."""
        return items if self.times is None else np.repeat(items, self.times)

    def in_turn(self, items: NDArray[T]) -> NDArray[T]:
        """The ``items`` (n), segment after segment."""
        return items[self._order]

    def starts(self, items: int) -> Ints:
        """Where each segment begins in turn (count + 1), of ``items`` in all; behind the last, where it ends."""
        return np.array([0, items], np.int64) if self.code is None else self._starts

    @cached_property
    def _starts(self) -> Ints:
        return np.concatenate([[0], np.cumsum(self.sizes(0))])

    @cached_property
    def _order(self) -> Ints | slice:
        return slice(None) if self.code is None else stable_order(self.code, np.arange(len(self.code)))

    def tally(self, flags: Flags) -> Ints:
        """The number of items with ``flags`` (n) in each segment (count)."""
        if self.code is None:
            return np.array([np.count_nonzero(flags) if self.times is None else self.times[flags].sum()])
        return np.bincount(self.code[flags], minlength=self.count)

    def sum(self, amounts: NDArray[np.generic]) -> NDArray[np.float64]:
        """The sum of ``amounts`` (n) over each segment (count)."""
        if self.code is None:
            return np.array([self.repeated(amounts).sum()], np.float64)
        # of no item at all, numpy counts in whole numbers
        return np.bincount(self.code, weights=amounts, minlength=self.count).astype(np.float64, copy=False)


WHOLE = Segments()
