"""The discount of a position: 1 / log2(position + 1) (Järvelin and Kekäläinen, TOIS 2002)."""

from __future__ import annotations

import functools

import numpy as np

from sparkrank.numeric.types import Floats

TABLED_POSITIONS = 1 << 22  # a table of 64 MB at most; given ranks may lie far beyond


def discounts(longest: int) -> Floats:
    """1 / log2(position + 1), indexed by position; index 0 is unused. At least ``longest`` positions."""
    return _discounts(max(longest, 1).bit_length())


@functools.cache
def _discounts(bits: int) -> Floats:
    position = np.arange(2**bits, dtype=np.float64)
    position[0] = 1.0
    table = 1.0 / np.log2(position + 1.0)
    table.flags.writeable = False
    return table
