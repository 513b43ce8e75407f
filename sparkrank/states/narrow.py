"""Whole numbers in few bytes, for the way between workers: score blocks are most of what a bucket sends."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sparkrank.kernels.judgments import Floats
from sparkrank.kernels.limbs import LIMBS, Amounts
from sparkrank.kernels.order import Ints

_PART_BITS = 32
_KINDS = (np.uint8, np.uint16, np.uint32)


class Narrow(NamedTuple):
    """Whole numbers (n) as what they are above the ``least``, 32 bits at a time, the lowest ``parts`` first.

    The last part is of the narrowest type that holds it: numbers below 2^40 take five bytes each.
    """

    least: int
    parts: list[NDArray[np.unsignedinteger[Any]]]


class UsedLimbs(NamedTuple):
    """Limbs (n, 6) of sums without those that are 0 for all: ``values`` (n, used)."""

    used: Ints
    values: Floats


NarrowAmounts: TypeAlias = Narrow | UsedLimbs


def narrow(values: Ints) -> Narrow:
    """``values`` (n) in the fewest bytes."""
    if len(values) == 0:
        return Narrow(0, [np.empty(0, np.uint8)])
    least = int(values.min())
    rest = values.view(np.uint64) - np.int64(least).view(np.uint64)  # modulo 2^64, where it is right
    parts: list[NDArray[np.unsignedinteger[Any]]] = []
    while (most := int(rest.max())) >> _PART_BITS:
        parts.append(rest.astype(np.uint32))  # the lowest bits
        rest >>= np.uint64(_PART_BITS)
    kind = next(kind for kind in _KINDS if most <= np.iinfo(kind).max)
    return Narrow(least, [*parts, rest.astype(kind)])


def widen(narrow: Narrow) -> Ints:
    """The whole numbers that ``narrow`` stands for."""
    lowest, *others = narrow.parts
    values = lowest.astype(np.uint64)
    for index, part in enumerate(others, 1):
        values += part.astype(np.uint64) << np.uint64(_PART_BITS * index)
    values += np.int64(narrow.least).view(np.uint64)
    return values.view(np.int64)


def narrow_ascending(values: Ints) -> tuple[int, Narrow]:
    """The first of ``values`` (n, ascending; 0 of none) and the steps from each to the next."""
    first = int(values[0]) if len(values) else 0
    return first, narrow(np.diff(values))


def widen_ascending(first: int, steps: Narrow) -> Ints:
    """The values, at least one, that begin with ``first`` and go on in ``steps``."""
    return np.cumsum(np.concatenate([[np.int64(first)], widen(steps)]))


def narrow_amounts(amounts: Amounts) -> NarrowAmounts:
    """``amounts`` in few bytes, be they whole numbers or limbs."""
    if amounts.ndim == 1:
        return narrow(amounts)
    used = np.array([limb for limb in range(LIMBS) if amounts[:, limb].any()], np.int64)
    return UsedLimbs(used, amounts[:, used])


def widen_amounts(amounts: NarrowAmounts) -> Amounts:
    """What :func:`narrow_amounts` was given."""
    if isinstance(amounts, Narrow):
        return widen(amounts)
    limbs = np.zeros((len(amounts.values), LIMBS))
    limbs[:, amounts.used] = amounts.values
    return limbs
