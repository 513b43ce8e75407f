"""Discounts: the factors of gains, by position."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sparkrank.numeric.array_types import Floats
from sparkrank.numeric.elementary import log2, powers

TABLED_POSITIONS = 1 << 22  # a table of at most 64 MB; ranks in the input may be much larger


@dataclass(frozen=True)
class Discount:
    """A discount: 1 / log2(position + 1) for ``log2`` (Järvelin and Kekäläinen, TOIS 2002), 1 / position for ``zipf``.

    The discount is 1 for ``none``. If ``listed`` is not empty, it contains the discounts of the first positions, and
    later discounts are 0. If ``persistence`` p is given, the discount is (1 - p) p^(position - 1). Both override
    ``kind``.
    """

    kind: str = "log2"
    listed: tuple[float, ...] = ()
    persistence: float | None = None

    def at(self, position: NDArray[np.int32]) -> Floats:
        furthest = int(position.max(initial=1))
        return self.table(furthest)[position] if furthest < TABLED_POSITIONS else self.of(position.astype(np.float64))

    def table(self, longest: int) -> Floats:
        """Return the discounts of at least the first ``longest`` positions, indexed by position. Index 0 is unused."""
        if self.listed or self.persistence is not None:  # not cached: metrics may name any number of these
            return self.of(np.arange(max(longest, 1) + 1, dtype=np.float64))
        return _table(self, max(longest, 1).bit_length())

    def of(self, position: Floats) -> Floats:
        if self.listed:
            ends = len(self.listed) + 1
            return np.array([0.0, *self.listed, 0.0])[np.minimum(position, ends).astype(np.int64)]
        if self.persistence is not None:
            exponents = np.maximum(position - 1, 0).astype(np.int64)  # index 0 of a table is unused
            return (1 - self.persistence) * powers(self.persistence, exponents)
        if self.kind == "none":
            return np.ones(len(position))
        discounts: Floats = 1.0 / (position if self.kind == "zipf" else log2(position + 1.0))
        return discounts


LOG2 = Discount()


@functools.cache
def _table(discount: Discount, bits: int) -> Floats:
    position = np.arange(2**bits, dtype=np.float64)
    position[0] = 1.0
    table = discount.of(position)
    table.flags.writeable = False
    return table
