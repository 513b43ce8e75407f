"""The items of a bucket, groups or rows, by the value of a slice: what is summed over each value by itself."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from sparkrank.kernels.order import Codes, Flags, Ints, stable_order

T = TypeVar("T", bound=np.generic)


@dataclass(frozen=True)
class Segments:
    """Which of ``count`` segments each of n items is in: ``code`` (n), absent where all are in the only one."""

    count: int = 1
    code: Codes | None = None

    def of(self, items: NDArray[np.integer] | Flags | slice | None) -> Segments:
        """The segments of the items that ``items`` picks, by number (as often as it is there), by flag or stretch."""
        return self if self.code is None or items is None else Segments(self.count, self.code[items])

    def sizes(self, items: int) -> Ints:
        """The number of items in each segment (count), of ``items`` in all."""
        return np.array([items]) if self.code is None else np.bincount(self.code, minlength=self.count)

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
            return np.array([np.count_nonzero(flags)])
        return np.bincount(self.code[flags], minlength=self.count)

    def sum(self, amounts: NDArray[np.generic]) -> NDArray[np.float64]:
        """The sum of ``amounts`` (n) over each segment (count)."""
        if self.code is None:
            return np.array([amounts.sum()], np.float64)
        # of no item at all, numpy counts in whole numbers
        return np.bincount(self.code, weights=amounts, minlength=self.count).astype(np.float64, copy=False)


WHOLE = Segments()
