"""Sums of float64 that come out the same in any order and by any layout, for they are sums of limbs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from sparkrank import loops
from sparkrank.kernels.judgments import Floats
from sparkrank.kernels.limbs import LIMBS, PART_ROWS, UNITS, limbs_of, parts, row_sums
from sparkrank.kernels.order import Ints
from sparkrank.kernels.segments import WHOLE, Segments

# Values below this are added up by compiled loops, whose sums are exact for 2^32 of them.
MOST = 2.0**40
_UNITS = np.array(UNITS)
_ONCE = np.empty(0)


def exact_sum(values: Floats) -> Floats:
    """The limbs (6) of the sum of ``values`` (any shape, no NaN)."""
    limbs: Floats = exact_sums(values.reshape(-1))[0]
    return limbs


def exact_sums(values: Floats, segments: Segments = WHOLE) -> Floats:
    """The limbs (count, 6) of the sum of ``values`` (n, no NaN) over each segment."""
    added = _added_up(values, segments)
    if added is not None:
        return added
    if segments.times is not None:
        return exact_sums(segments.repeated(values))
    return exact_sums_of(lambda part: values[part], len(values), segments)


def exact_sums_of(values: Callable[[slice], Floats], rows: int, segments: Segments = WHOLE) -> Floats:
    """The same of ``rows`` values that ``values`` gives stretch by stretch."""
    limbs = np.zeros((segments.count, LIMBS))
    for part in parts(rows, max(PART_ROWS, segments.count)):
        inside, found = segments.of(part), values(part)
        added = _added_up(found) if inside.code is None else None
        limbs += _part_sums(found[np.newaxis], inside)[0] if added is None else added
    return limbs


def _added_up(values: Floats, segments: Segments = WHOLE) -> Floats | None:
    """What :func:`exact_sums` gives, by compiled loops, or nothing where they do not serve."""
    if not loops.COMPILED:
        return None
    limbs, inside = np.zeros((segments.count, LIMBS)), np.ascontiguousarray(segments.in_turn(values))
    starts, times = segments.starts(len(values)), _times(segments)
    return limbs if loops.sums.add(inside, starts, times, _UNITS, MOST, limbs) else None


def _times(segments: Segments) -> Floats:
    """How often each item counts (n), or nothing (0) where that is once."""
    return _ONCE if segments.times is None else segments.times.astype(np.float64)


def sums_with_squares(
    values: Sequence[Floats], counted_as: float, segments: Segments = WHOLE
) -> tuple[Ints, Floats, Floats]:
    """Of each of m arrays of ``values`` (n) over each of s segments: how many are NaN (m, s), and two arrays of limbs
    (m, s, 6), those of the sum and those of the sum of squares.

    NaN is ``counted_as`` that. All arrays are added up in one walk.
    """
    undefined = np.zeros((len(values), segments.count), np.int64)
    first, second = np.zeros((2, len(values), segments.count, LIMBS))
    starts, times = segments.starts(len(values[0])), _times(segments)
    if loops.COMPILED and all(
        loops.sums.add_with_squares(segments.in_turn(each), starts, times, counted_as, _UNITS, MOST, *sums)
        for each, *sums in zip(values, undefined, first, second, strict=True)
    ):
        return undefined, first, second
    if segments.times is not None:
        return sums_with_squares([segments.repeated(each) for each in values], counted_as)
    undefined[:], first[:], second[:] = 0, 0.0, 0.0
    for part in parts(len(values[0]), max(PART_ROWS // len(values), segments.count)):
        found = np.stack([each[part] for each in values])
        missing = np.isnan(found)
        found[missing] = counted_as
        inside = segments.of(part)
        undefined += [inside.tally(each) for each in missing]
        first += _part_sums(found, inside)
        second += _part_sums(np.multiply(found, found, out=found), inside)
    return undefined, first, second


def _part_sums(values: Floats, segments: Segments) -> Floats:
    """The limbs (m, s, 6) of the sums of the rows of ``values`` (m, n) over each of s segments."""
    if segments.code is None:
        return row_sums(values)[:, np.newaxis]
    limbs = np.zeros((len(values), segments.count, LIMBS))
    for index, limb in limbs_of(values):
        limbs[:, :, index] = [segments.sum(each) for each in limb]
    return limbs
