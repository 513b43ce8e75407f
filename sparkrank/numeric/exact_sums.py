"""Exact sums of float64 values. They have the same bits for any order of the values and any layout of the data.

Each value is split into six floats (its limbs). The limbs are whole multiples of fixed units, so their sums are exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sparkrank import native
from sparkrank.numeric.array_types import Floats, Ints
from sparkrank.numeric.segments import WHOLE, Segments

UNITS = (2.0**26, 2.0**4, 2.0**-18, 2.0**-40, 2.0**-62, 2.0**-84)
UNIT_ARRAY = np.array(UNITS)  # for the compiled loops
LIMBS = len(UNITS)

# Rows that one pass takes at a time: an intermediate array of so many rows has 256 KB and stays in the cache.
PART_ROWS = 2**15


Amounts: TypeAlias = NDArray[Any]  # whole numbers (n), or limbs (n, 6)


def row_slices(rows: int, size: int = PART_ROWS) -> Iterator[slice]:
    """Yield slices of at most ``size`` rows that together cover ``rows`` rows in order."""
    return (slice(start, min(start + size, rows)) for start in range(0, rows, size))


def whole_limbs(counts: NDArray[np.integer[Any]]) -> Floats:
    limbs = np.zeros((len(counts), LIMBS))
    for index, limb in limbs_of(counts.astype(np.float64)):
        limbs[:, index] = limb
    return limbs


def limbs_of(values: Floats) -> Iterator[tuple[int, Floats]]:
    """Yield the index and the values of each limb (one of six floats) of ``values``. Limbs of only 0 may be skipped."""
    largest = _largest(values)
    rest, limb = values, np.empty_like(values)
    for index, unit in enumerate(UNITS):
        if largest < unit / 2:
            continue  # all of these limbs are 0; metrics rarely exceed 8, which saves two of the six
        yield index, _rounded_to(rest, unit, limb)
        rest = np.subtract(rest, limb, out=None if rest is values else rest)
        if not rest.any():
            return  # whole numbers and short fractions need no finer limbs


def _rounded_to(values: Floats, unit: float, out: Floats) -> Floats:
    anchor = 1.5 * 2.0**52 * unit  # adding it to a value rounds the value to the unit
    np.add(values, anchor, out=out)
    return np.subtract(out, anchor, out=out)


def _largest(values: Floats) -> float:
    return max(abs(float(values.max())), abs(float(values.min()))) if values.size else 0.0


def first_limb(values: Floats) -> int:
    """Return the index of the first of six limbs (floats) that may be nonzero for ``values``; the last if all are 0."""
    largest = _largest(values)
    return sum(largest < unit / 2 for unit in UNITS[:-1])


def limbs_used(values: Floats) -> slice:
    """Return a slice, never empty, of the six limbs (floats) that may be nonzero for ``values``.

    ``values`` must not be empty, and the compiled loops must be in use.
    """
    first = first_limb(values)
    return slice(first, native.sums.last_of(values, first, UNIT_ARRAY))


def total(limbs: NDArray[np.float64]) -> float:
    return math.fsum(limbs)


def rounded(amounts: Amounts) -> Floats:
    """Return each of ``amounts`` (whole numbers or limbs) as a float64. Limbs are added from the finest up."""
    if amounts.ndim == 1:
        return amounts.astype(np.float64)
    values = amounts[:, -1].copy()
    for index in range(LIMBS - 2, -1, -1):
        values += amounts[:, index]
    return values


def carried(limbs: Floats) -> Floats:
    """Return the normal form of ``limbs`` (floats), equal for all limbs with the same sum. Shape: (..., 6).

    Every limb except the first becomes at least -1/2 and less than 1/2 of the unit of the limb before it. Limbs are
    stored in this form so that stored numbers do not depend on the number of steps in which limbs were added.

    Examples
    --------
    >>> half, whole = np.zeros((2, 6))
    >>> half[3], whole[2], whole[3] = 2.0**-19, 2.0**-18, -(2.0**-19)
    >>> carried(half).tolist() == carried(whole).tolist() == whole.tolist()
    True
    """
    form: Floats = limbs + 0.0  # a copy, in which zeros have no sign
    for index in range(LIMBS - 1, 0, -1):
        above = UNITS[index - 1]
        more = np.floor(form[..., index] / above + 0.5) * above
        form[..., index] -= more
        form[..., index - 1] += more
    return form


# Compiled loops add only values below this limit, so that sums of up to 2^32 values are exact.
LOOP_LIMIT = 2.0**40
_EACH_ONCE = np.empty(0)


def exact_sum(values: Floats) -> Floats:
    limbs: Floats = exact_sums(values.reshape(-1))[0]
    return limbs


def exact_sums(values: Floats, segments: Segments = WHOLE) -> Floats:
    """Return the exact sum of ``values`` (no NaN) in each segment, as six floats (limbs). Shape: (segments, 6)."""
    added = _sums_by_loops(values, segments)
    if added is not None:
        return added
    if segments.times is not None:
        return exact_sums(segments.repeated(values), segments.each_once())
    return exact_sums_of(lambda part: values[part], len(values), segments)


def exact_sums_of(values: Callable[[slice], Floats], rows: int, segments: Segments = WHOLE) -> Floats:
    limbs = np.zeros((segments.count, LIMBS))
    for part in row_slices(rows, max(PART_ROWS, segments.count)):
        inside, numbers = segments.of(part), values(part)
        added = _sums_by_loops(numbers) if inside.code is None else None
        limbs += _part_sums(numbers[np.newaxis], inside)[0] if added is None else added
    return limbs


def _sums_by_loops(values: Floats, segments: Segments = WHOLE) -> Floats | None:
    if not native.runs("sums"):
        return None
    if segments.code is not None and segments.times is None and segments.code.dtype == np.int32:
        limbs, first = np.zeros((segments.count, LIMBS)), first_limb(values)
        codes, inside = np.ascontiguousarray(segments.code), np.ascontiguousarray(values)
        fits = native.sums.add_scattered_values(inside, codes, first, UNIT_ARRAY, LOOP_LIMIT, limbs)
        return limbs if fits else None
    limbs, inside = np.zeros((segments.count, LIMBS)), np.ascontiguousarray(segments.by_segment(values))
    starts, times = segments.starts(len(values)), _times(segments)
    return limbs if native.sums.add(inside, starts, times, UNIT_ARRAY, LOOP_LIMIT, limbs) else None


def _times(segments: Segments) -> Floats:
    return _EACH_ONCE if segments.times is None else segments.by_segment(segments.times).astype(np.float64)


def sums_with_squares(
    values: Sequence[Floats], counted_as: float, segments: Segments = WHOLE
) -> tuple[Ints, Floats, Floats]:
    """Return the numbers of NaN, the sums and the sums of squares, by array and segment; sums as six floats (limbs).

    For m arrays and s segments, the shapes are (m, s), (m, s, 6) and (m, s, 6). A NaN is summed as ``counted_as``.
    """
    undefined = np.zeros((len(values), segments.count), np.int64)
    first, second = np.zeros((2, len(values), segments.count, LIMBS))
    starts, times = segments.starts(len(values[0])), _times(segments)
    if native.runs("sums with squares") and all(
        native.sums.add_with_squares(
            segments.by_segment(array), starts, times, counted_as, UNIT_ARRAY, LOOP_LIMIT, *sums
        )
        for array, *sums in zip(values, undefined, first, second, strict=True)
    ):
        return undefined, first, second
    if segments.times is not None:
        return sums_with_squares([segments.repeated(array) for array in values], counted_as, segments.each_once())
    undefined[:], first[:], second[:] = 0, 0.0, 0.0
    for part in row_slices(len(values[0]), max(PART_ROWS // len(values), segments.count)):
        stacked = np.stack([array[part] for array in values])
        missing = np.isnan(stacked)
        stacked[missing] = counted_as
        inside = segments.of(part)
        undefined += [inside.count_flagged(flags) for flags in missing]
        first += _part_sums(stacked, inside)
        second += _part_sums(np.multiply(stacked, stacked, out=stacked), inside)
    return undefined, first, second


def _part_sums(values: Floats, segments: Segments) -> Floats:
    limbs = np.zeros((len(values), segments.count, LIMBS))
    for index, limb in limbs_of(values):
        limbs[:, :, index] = [segments.sum(row) for row in limb]
    return limbs
