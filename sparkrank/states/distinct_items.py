"""The mergeable state that estimates the number of distinct items: the lowest hashes of items.

The state does not depend on the layout of the data. The k-th lowest of n hashes lies at about k / n of the range of all
hashes (Bar-Yossef et al.: RANDOM 2002).
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from sparkrank.numeric.array_types import Ints

LOWEST = 256  # hashes: the estimate is within 6 % of the number in two of three cases, and exact for fewer items
SCATTERED = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio, by which neighbouring numbers are far apart
# Items hashed at once. The first are few, as all of them are sorted; later ones are compared with what is lowest so far.
_FIRST, _AT_ONCE = 1 << 11, 1 << 15  # the hashes of so many stay in the cache


def lowest_hashes(numbers: Ints) -> tuple[int, ...]:
    """Return the lowest distinct hashes of the item ``numbers`` in ascending order, at most :data:`LOWEST` of them."""
    lowest, start, size = np.empty(0, np.uint64), 0, _FIRST
    while start < len(numbers):
        hashes = numbers[start : start + size].view(np.uint64) * SCATTERED
        start, size = start + size, min(2 * size, _AT_ONCE)
        if len(lowest) == LOWEST:
            hashes = hashes[hashes < lowest[-1]]
        if len(hashes):
            lowest = _distinct(np.concatenate([lowest, hashes]))[:LOWEST]
    return tuple(lowest.tolist())


def rows_of_lowest(numbers: Ints, lowest: tuple[int, ...]) -> Ints:
    """Return the rows whose item has one of the ``lowest`` hashes of the item ``numbers``, or all if these are few."""
    if len(lowest) < LOWEST:
        return np.arange(len(numbers))
    most = np.uint64(lowest[-1])
    starts = range(0, len(numbers), _AT_ONCE)
    parts = (numbers[start : start + _AT_ONCE].view(np.uint64) * SCATTERED <= most for start in starts)
    return np.concatenate([start + np.flatnonzero(part) for start, part in zip(starts, parts, strict=True)])


def _distinct(hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the distinct ``hashes`` in ascending order. ``np.unique`` hashes each again, which is slower."""
    ordered = np.sort(hashes)
    return ordered[np.append(True, ordered[1:] != ordered[:-1])] if len(ordered) else ordered


def merged_hashes(parts: Iterable[tuple[int, ...]]) -> tuple[int, ...]:
    return tuple(sorted({hash_ for part in parts for hash_ in part})[:LOWEST])


def distinct_items(lowest: tuple[int, ...]) -> float:
    """Estimate the number of distinct items from ``lowest``, the lowest of their hashes."""
    return float(len(lowest)) if len(lowest) < LOWEST else (LOWEST - 1) * 2.0**64 / lowest[-1]
