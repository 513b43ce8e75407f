"""A value as limbs, whole multiples of fixed units: sums of limbs are exact, so they come out the same in any order.

A value is cut into six limbs, each a whole multiple of its unit (the extraction by adding and subtracting a large
constant of Demmel and Nguyen, "Parallel reproducible summation", 2015). Limbs add up without rounding while a limb's
sum stays below 2^53 units, which holds for 2^32 values up to 8, and for totals up to 2^78; beyond, the sums stay as
good as float64's and only their independence of order is lost. What lies below 2^-85 of a value is dropped.

An array of sums, such as the positives of score blocks, is held as :data:`Amounts`: whole numbers (n), which need no
limbs, or limbs (n, 6) where rows have weights.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sparkrank.kernels.judgments import Floats
from sparkrank.kernels.order import Ints

UNITS = (2.0**26, 2.0**4, 2.0**-18, 2.0**-40, 2.0**-62, 2.0**-84)
LIMBS = len(UNITS)

FIRST = 64  # so many values say of most arrays that they need finer limbs
# Rows that one pass takes at a time: what it makes of them, 256 KB an array, stays in the cache.
PART_ROWS = 2**15

# Values below this are summed in 1.4 ns each, others in up to 4.5: 2^15 of them are fewer than 2^62 units of 2^-40.
SMALL = 2.0**7
_CUT_AT = 3  # the limb of 2^-40: in the finest unit, what is left of values then is below 2^43
_RATIO = 2**22  # of a unit to the next

Amounts: TypeAlias = NDArray[Any]  # whole numbers (n), or limbs (n, 6)


def parts(rows: int, size: int = PART_ROWS) -> Iterator[slice]:
    """Stretches of ``size`` rows, one after the other."""
    return (slice(start, min(start + size, rows)) for start in range(0, rows, size))


def row_sums(values: Floats) -> Floats:
    """The limbs (m, 6) of the sums of the rows of ``values`` (m, n, no NaN), at most :data:`PART_ROWS` values."""
    if (largest := _largest(values)) < SMALL:
        return _sums_of_small(values, largest)
    limbs = np.zeros((len(values), LIMBS))
    for index, limb in limbs_of(values):
        limbs[:, index] = limb.sum(axis=1)
    return limbs


def _sums_of_small(values: Floats, largest: float) -> Floats:
    """The limbs (m, 6) of the sums of the rows of ``values`` (m, n), the ``largest`` of them below :data:`SMALL`.

    A limb is what a unit keeps of a value beyond the coarser one, so the sums of limbs are differences of the sums of
    the values rounded to each unit: values are cut once instead of once for each limb.
    """
    limbs, room = np.zeros((len(values), LIMBS)), np.empty_like(values)
    rest, multiples = values, np.zeros(len(values), np.int64)
    for index, unit in enumerate(UNITS):
        if largest < unit / 2:
            continue
        coarser, multiples = multiples, _multiples(rest, unit, room)
        limbs[:, index] = (multiples - coarser * _RATIO) * unit
        if index == _CUT_AT:
            rest, multiples = values - _cut(values, unit, room), np.zeros_like(multiples)
            if not _any(rest):
                break
    return limbs


def _multiples(values: Floats, unit: float, room: Floats) -> Ints:
    """The sums (m) of the rows of ``values`` in whole ``unit``, each rounded to the nearest; ``room`` is written over.

    With the anchor added, the last bit of a value is worth a unit, so that its bits as a whole number count units.
    """
    anchor = np.array([_anchor(unit)])
    bits = np.add(values, anchor, out=room).view(np.int64)
    multiples: Ints = bits.sum(axis=1) - values.shape[1] * anchor.view(np.int64)  # arrays count modulo 2^64
    return multiples


def whole_limbs(counts: NDArray[np.integer[Any]]) -> Floats:
    """The limbs (n, 6) of whole numbers (n)."""
    limbs = np.zeros((len(counts), LIMBS))
    for index, limb in limbs_of(counts.astype(np.float64)):
        limbs[:, index] = limb
    return limbs


def limbs_in_turn(values: Floats, room: Floats) -> Iterator[tuple[int, Floats]]:
    """The limbs (n) of ``values`` (no NaN) with their index, without those that are 0 for all.

    Each is written to ``room`` (n), to be read before the next is asked for. ``values`` are used up.
    """
    largest = _largest(values)
    for index, unit in enumerate(UNITS):
        if largest < unit / 2:
            continue
        for part in parts(len(values)):
            rest, limb = values[part], room[part]
            _cut(rest, unit, limb)
            rest -= limb
        yield index, room
        if not _any(values):
            return


def limbs_of(values: Floats) -> Iterator[tuple[int, Floats]]:
    """The limbs of each value that are not 0 by the size of the largest."""
    largest = _largest(values)
    rest, limb = values, np.empty_like(values)
    for index, unit in enumerate(UNITS):
        if largest < unit / 2:
            continue  # all of these limbs are 0; metrics rarely pass 8, so this spares two of the six
        yield index, _cut(rest, unit, limb)
        rest = np.subtract(rest, limb, out=None if rest is values else rest)
        if not _any(rest):
            return  # whole numbers and short fractions need no finer limbs


def _cut(values: Floats, unit: float, out: Floats) -> Floats:
    """Each value to the nearest multiple of ``unit``."""
    anchor = _anchor(unit)
    np.add(values, anchor, out=out)
    return np.subtract(out, anchor, out=out)


def _anchor(unit: float) -> float:
    """What leaves no bit below ``unit`` when it is added."""
    return 1.5 * 2.0**52 * unit


def _largest(values: Floats) -> float:
    return max(abs(float(values.max())), abs(float(values.min()))) if values.size else 0.0


def _any(values: Floats) -> bool:
    return bool(values[..., :FIRST].any() or values.any())


def total(limbs: NDArray[np.float64]) -> float:
    """The float64 nearest to the sum that ``limbs`` hold."""
    return math.fsum(limbs)


def rounded(amounts: Amounts) -> Floats:
    """Each of ``amounts`` (n) as a float64; limbs are added from the finest, so that equal limbs give equal bits."""
    if amounts.ndim == 1:
        return amounts.astype(np.float64)
    values = amounts[:, -1].copy()
    for index in range(LIMBS - 2, -1, -1):
        values += amounts[:, index]
    return values
