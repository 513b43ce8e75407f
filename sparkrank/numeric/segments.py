"""Functions on segments (sets of rows, such as groups or slices): order, runs of equal values, counts and sums."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from sparkrank import native
from sparkrank.numeric.array_types import Codes, Flags, Ints

RADIX_BITS = 16  # numpy sorts 16-bit integers stably by counting, wider ones by merging (25 times slower)


T = TypeVar("T", bound=np.generic)


def taken(values: NDArray[T], rows: Ints | None) -> NDArray[T]:
    """Return the ``values`` at ``rows`` (ascending; None: all), without a copy if ``rows`` are the first rows."""
    if rows is None:
        return values
    return values[: len(rows)] if len(rows) and rows[-1] == len(rows) - 1 else values[rows]


def stable_order(codes: Codes, rows: Ints) -> Ints:
    """Return ``rows`` sorted by ``codes[rows]``, ascending. Rows with equal codes keep their order."""
    highest = int(codes.max(initial=0))
    for shift in range(0, max(highest.bit_length(), 1), RADIX_BITS):
        digit = (codes[rows] >> shift).astype(np.uint16)  # the cast keeps the low 16 bits
        rows = rows[np.argsort(digit, kind="stable")]
    return rows


def order_by_code(codes: Codes, count: int) -> Ints:
    """Return the indices that sort ``codes`` (all below ``count``). Equal codes keep their order."""
    if not native.runs("order of groups", codes.dtype == np.int32):
        return stable_order(codes, np.arange(len(codes)))
    order = np.empty(len(codes), np.int64)
    native.keys.in_turn(codes, count, order)
    return order


def highest_of_each(codes: Codes | Ints, count: int, *by: NDArray[np.generic]) -> Ints:
    """Return the highest row of each of ``count`` codes, by the last array in ``by``, then the array before, and so on.

    Among equal rows, the last row is chosen. The result for a code without rows is -1.
    """
    rows = np.arange(len(codes))
    highest = np.full(count, -1, np.int64)
    highest[codes] = rows
    before = highest[codes] != rows  # the last row of its code
    if before.any():
        is_on_several = np.zeros(count, np.bool_)
        is_on_several[codes[before]] = True
        rows = np.flatnonzero(is_on_several[codes])
        rows = rows[np.lexsort([array[rows] for array in by])]
        highest[codes[rows]] = rows
    return highest


def run_starts(values: NDArray[np.generic], *more: NDArray[np.generic]) -> Ints:
    """Return the index of the first row of every run of adjacent rows that are equal in all arrays."""
    if len(values) == 0:
        return np.empty(0, np.int64)
    changed = np.empty(len(values), np.bool_)
    changed[0] = True
    np.not_equal(values[1:], values[:-1], out=changed[1:])
    for array in more:
        changed[1:] |= array[1:] != array[:-1]
    return np.flatnonzero(changed)


def sum_by(groups: NDArray[np.integer], amounts: NDArray[np.generic], count: int) -> NDArray[np.float64]:
    """Return the sum of ``amounts`` (one per row) in each of ``count`` groups, added in row order."""
    return np.bincount(groups, weights=amounts, minlength=count).astype(np.float64, copy=False)


def running_product(factors: NDArray[np.float64], place: Ints) -> NDArray[np.float64]:
    """Return, for each row, the product of ``factors`` from the second row of its run (``place`` 2) to this row."""
    product = np.where(place == 1, 1.0, factors)
    step = 1  # it doubles: the number of passes is the binary logarithm of the longest run
    longest = int(place.max(initial=0))
    while step < longest:
        earlier = np.flatnonzero(place > step)
        product[earlier] *= product[earlier - step]
        step *= 2
    return product


def count_by(groups: Codes, count: int, flags: Flags | None = None) -> Ints:
    """Return the number of rows in each of ``count`` groups, or of flagged rows if ``flags`` are given."""
    if native.runs("rows of groups", groups.dtype == np.int32):
        counts = np.zeros(count, np.int64)
        native.keys.count_rows(groups, np.empty(0, np.uint8) if flags is None else flags.view(np.uint8), counts)
        return counts
    return np.bincount(groups if flags is None else groups[np.flatnonzero(flags)], minlength=count)


def count_both(groups: Codes, count: int, flags: Flags) -> tuple[Ints, Ints]:
    if not native.runs("rows of groups", groups.dtype == np.int32):
        return count_by(groups, count), count_by(groups, count, flags)
    rows, flagged = np.empty(count, np.int64), np.empty(count, np.int64)
    native.keys.count_rows_and_flagged(groups, flags.view(np.uint8), rows, flagged)
    return rows, flagged


def place_in_group(groups: Codes, count: int) -> tuple[NDArray[np.int32], Ints]:
    """Return each row's 1-based position in its group, and the size of each group. Rows must be sorted by group."""
    sizes = np.bincount(groups, minlength=count)
    first = np.cumsum(sizes) - sizes
    place = np.arange(1, len(groups) + 1, dtype=np.int32)
    place -= first.astype(np.int32)[groups]
    return place, sizes


@dataclass(frozen=True, eq=False)
class Segments:
    """A division of n items into ``count`` segments, such as rows into groups.

    ``code`` contains the segment of each item, or is None if all items are in one segment. ``times`` contains the
    number of times that each item counts, or is None if each item counts once.
    """

    count: int = 1
    code: Codes | None = None
    times: Ints | None = None

    def of(self, items: NDArray[np.integer] | Flags | slice | None) -> Segments:
        """Return the segments of only ``items``, given as indices (repeats allowed), flags or a slice."""
        if items is None or self.code is self.times is None:
            return self
        code = None if self.code is None else self.code[items]
        return Segments(self.count, code, None if self.times is None else self.times[items])

    def sizes(self, items: int) -> Ints:
        if self.code is None:
            return np.array([items if self.times is None else self.times.sum()])
        return self._counted(self.code, self.times)

    def _counted(self, code: Codes, times: Ints | None) -> Ints:
        if times is None:
            return count_by(code, self.count)
        counts = np.bincount(code, weights=times, minlength=self.count)  # whole numbers, which are exact as float64
        return counts.astype(np.int64, copy=False)

    def repeated(self, items: NDArray[T]) -> NDArray[T]:
        """Return ``items``, each repeated as often as it counts (``times``)."""
        return items if self.times is None else np.repeat(items, self.times)

    def each_once(self) -> Segments:
        return Segments(self.count, None if self.code is None else self.repeated(self.code))

    def by_segment(self, items: NDArray[T]) -> NDArray[T]:
        return items[self._order]

    def starts(self, items: int) -> Ints:
        """Return the start of each segment in the order of :meth:`by_segment`, and the end of the last segment."""
        return np.array([0, items], np.int64) if self.code is None else self._starts

    @cached_property
    def _starts(self) -> Ints:
        return np.concatenate([[0], np.cumsum(np.bincount(codes_of(self, 0), minlength=self.count))])

    @cached_property
    def _order(self) -> Ints | slice:
        if self.code is None or (self.code[1:] >= self.code[:-1]).all():
            return slice(None)
        return order_by_code(self.code, self.count)

    def count_flagged(self, flags: Flags) -> Ints:
        if self.code is None:
            return np.array([np.count_nonzero(flags) if self.times is None else self.times[flags].sum()])
        return self._counted(self.code[flags], None if self.times is None else self.times[flags])

    def sum(self, amounts: NDArray[np.generic]) -> NDArray[np.float64]:
        if self.code is None:
            return np.array([self.repeated(amounts).sum()], np.float64)
        weights = amounts if self.times is None else amounts.astype(np.float64) * self.times
        # without any item, numpy returns whole numbers
        return np.bincount(self.code, weights=weights, minlength=self.count).astype(np.float64, copy=False)


WHOLE = Segments()


def codes_of(segments: Segments, items: int) -> Codes:
    return np.zeros(items, np.int32) if segments.code is None else segments.code
