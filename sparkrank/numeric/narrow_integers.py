"""Conversion of arrays of integers to a form of few bytes, for transfer between workers."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sparkrank import native
from sparkrank.numeric.array_types import Floats, Ints
from sparkrank.numeric.exact_sums import LIMBS, Amounts

_PART_BITS = 32
_WIDTHS = (np.uint8, np.uint16, np.uint32)


class Narrow(NamedTuple):
    """An array of ``size`` integers, stored as differences from the smallest integer (``least``).

    The first array of ``parts`` has the lowest 32 bits of all differences, the next array the next 32 bits. The type of
    the last array is the narrowest that fits. If all integers are equal, ``parts`` is empty.
    """

    least: int
    size: int
    parts: list[NDArray[np.unsignedinteger[Any]]]


class UsedLimbs(NamedTuple):
    """The limbs (floats of an exact sum) of n sums, without limbs that are 0 in every sum.

    ``used`` contains the indices of the m other limbs, and ``values`` these limbs. Shape of ``values``: (n, m).
    """

    used: Ints
    values: Floats


NarrowAmounts: TypeAlias = Narrow | UsedLimbs


def narrow(values: Ints) -> Narrow:
    if len(values) == 0:
        return Narrow(0, 0, [])
    least, most = int(values.min()), int(values.max())
    if least == most:
        return Narrow(least, len(values), [])
    parts: list[NDArray[np.unsignedinteger[Any]]] = []
    above, rest = most - least, values.view(np.uint64) - np.int64(least).view(np.uint64)
    while above >> _PART_BITS:
        parts.append(rest.astype(np.uint32))
        above, rest = above >> _PART_BITS, rest >> np.uint64(_PART_BITS)
    kind = next(kind for kind in _WIDTHS if above <= np.iinfo(kind).max)
    return Narrow(least, len(values), [*parts, rest.astype(kind)])


def widen(narrow: Narrow) -> Ints:
    if not narrow.parts:
        return np.full(narrow.size, narrow.least, np.int64)
    lowest, *others = narrow.parts
    values = lowest.astype(np.uint64)
    for index, part in enumerate(others, 1):
        values += part.astype(np.uint64) << np.uint64(_PART_BITS * index)
    values += np.int64(narrow.least).view(np.uint64)
    return values.view(np.int64)


def narrow_ascending(values: Ints) -> tuple[int, Narrow]:
    """Return the first of the ascending ``values`` (0 if empty) and the differences between neighbours."""
    first = int(values[0]) if len(values) else 0
    return first, narrow(np.diff(values))


def widen_ascending(first: int, steps: Narrow) -> Ints:
    values = np.empty(steps.size + 1, np.int64)
    fill_ascending(first, steps, values)
    return values


def fill_ascending(first: int, steps: Narrow, values: Ints) -> None:
    if native.runs("ascending", len(steps.parts) == 1):
        native.blocks.ascend(first, steps.least, steps.parts[0], values)
        return
    values[0] = first
    values[1:] = widen(steps)
    np.cumsum(values, out=values)


def narrow_amounts(amounts: Amounts) -> NarrowAmounts:
    if amounts.ndim == 1:
        return narrow(amounts)
    used = np.array([limb for limb in range(LIMBS) if amounts[:, limb].any()], np.int64)
    return UsedLimbs(used, amounts[:, used])


def widen_amounts(amounts: NarrowAmounts) -> Amounts:
    if isinstance(amounts, Narrow):
        return widen(amounts)
    limbs = np.zeros((len(amounts.values), LIMBS))
    limbs[:, amounts.used] = amounts.values
    return limbs
