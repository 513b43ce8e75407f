"""Values of many metrics as whole multiples of 2^-40, which one pass sums or compares without rounding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sparkrank import native
from sparkrank.numeric.array_types import Codes, Flags, Floats, Ints
from sparkrank.numeric.exact_sums import LIMBS, UNITS

UNIT_BITS = 40
LARGEST = 8.0  # a value below this has less than 2^43 units, and a difference of two values less than 2^44
UNDEFINED = np.int64(-(2**62))  # in place of the units of an undefined value
TIED = 2.0**-UNIT_BITS  # values that differ by no more are tied: the rounding of a million terms of 1 errs by less
_TIED_UNITS = 1
LOW_BITS = 22  # the low bits of a value: below 2^-18, the unit of the last limb used but one
_LOW = (1 << LOW_BITS) - 1
# Groups at a time: sums of values of 2^43, and of squares of 2^22, over so many groups are below 2^62.
_AT_ONCE = 1 << 17
COUNTS, SUMS = 5, 5  # per pair of models: see compare_rows in units.pyx


@dataclass(frozen=True)
class UnitTable:
    """The values of m metrics in n distinct lists or groups, as whole multiples of 2^-40.

    ``units`` has the shape (n, m), and ``code`` contains the row of each group (-1: not evaluated).
    """

    units: Ints
    code: Codes

    def of(self, metrics: Sequence[int]) -> UnitTable:
        if list(metrics) == list(range(self.units.shape[1])):
            return self
        return UnitTable(np.ascontiguousarray(self.units[:, metrics]), self.code)

    @classmethod
    def of_values(cls, values: Floats, code: Codes, counted_as: float | None) -> UnitTable:
        undefined = np.isnan(values)
        filled = np.where(undefined, counted_as or 0.0, values)
        units = np.rint(filled * 2.0**UNIT_BITS).astype(np.int64)
        if counted_as is None and undefined.any():
            units[undefined] = UNDEFINED
        return cls(np.ascontiguousarray(units), code)


def sums_by_segment(table: UnitTable, segment: Codes, count: int) -> tuple[Ints, Floats]:
    """Return the number and the sum of defined values for each of ``count`` segments (sets of groups) and m metrics.

    ``segment`` contains the segment of each group. Shapes: (count, m), and (count, m, 6): six floats (limbs) a sum.
    """
    there = table.units != UNDEFINED
    units = np.where(there, table.units, 0)
    # Metrics that are undefined in the same groups share one count.
    masks = {column.tobytes(): column for column in there.T}
    place = {key: index for index, key in enumerate(masks)}
    mask_of = [place[column.tobytes()] for column in there.T]
    wide = np.column_stack([units, *masks.values()])
    width = units.shape[1]
    counts = np.zeros((count, len(masks)), np.int64)
    limbs = np.zeros((count, width, LIMBS))
    for start in range(0, len(segment), _AT_ONCE):
        code, of_segment = table.code[start : start + _AT_ONCE], segment[start : start + _AT_ONCE]
        if code.min() < 0:
            code, of_segment = code[code >= 0], of_segment[code >= 0]
        added = np.zeros((count, wide.shape[1]), np.int64)
        if native.runs("units"):
            native.units.add_rows(wide, code, of_segment, added)
        else:
            np.add.at(added, of_segment, wide[code])
        counts += added[:, width:]
        _split(limbs, 2, added[:, :width], LOW_BITS, 1)
    return counts[:, mask_of], limbs


def compared(ours: UnitTable, theirs: UnitTable, segment: Codes, count: int) -> tuple[Ints, Floats]:
    """Return counts and limbs (floats of exact sums) of the differences ``ours`` - ``theirs``, by segment.

    Shapes: (segments, m, 5), (segments, m, 12). The counts are those of pairs, of differences above, equal to and below
    0, and of values without a partner. The limbs are six of the sum of the differences and six of the sum of their
    squares.
    """
    width = ours.units.shape[1]
    counts = np.zeros((count, COUNTS, width), np.int64)
    limbs = np.zeros((count, width, 2 * LIMBS))
    for start in range(0, len(segment), _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        sums = np.zeros((count, SUMS, width), np.int64)
        pair = UnitTable(ours.units, ours.code[part]), UnitTable(theirs.units, theirs.code[part])
        if native.runs("units"):
            native.units.compare_rows(
                pair[0].units,
                pair[0].code,
                pair[1].units,
                pair[1].code,
                segment[part],
                int(UNDEFINED),
                _TIED_UNITS,
                counts,
                sums,
            )
        else:
            _compare(*pair, segment[part], counts, sums)
        _fold(sums, limbs)
    return counts.swapaxes(1, 2), limbs


def _compare(ours: UnitTable, theirs: UnitTable, segment: Codes, counts: Ints, sums: Ints) -> None:
    none = np.full((1, ours.units.shape[1]), UNDEFINED)  # for a code of -1
    one, other = (np.append(table.units, none, axis=0)[table.code] for table in (ours, theirs))
    defined, other_defined = one != UNDEFINED, other != UNDEFINED
    both: Flags = defined & other_defined
    difference = np.where(both, one - other, 0)
    above, below = difference > _TIED_UNITS, difference < -_TIED_UNITS
    high, low = difference >> LOW_BITS, difference & _LOW
    counted = np.stack([both, above, both & ~above & ~below, below, defined != other_defined], axis=1)
    np.add.at(counts, segment, counted.astype(np.int64))
    np.add.at(sums, segment, np.stack([high, low, high * high, high * low, low * low], axis=1))


def _fold(sums: Ints, limbs: Floats) -> None:
    """Add sums of differences and of their products to ``limbs``, in place.

    Shapes: ``sums`` (segments, 5, m), ``limbs`` (segments, m, 12).
    """
    high, low, high_square, product, low_square = sums.swapaxes(0, 1)
    limbs[:, :, 2] += high * UNITS[2]
    limbs[:, :, 3] += low * UNITS[3]
    squares = limbs[:, :, LIMBS:]
    # (high 2^22 + low)^2 in units of 2^-80: parts in units of 2^-36, 2^-57 and 2^-80
    _split(squares, 2, high_square, 18, 16)
    _split(squares, 3, product, 17, 32)
    _split(squares, 4, low_square, 18, 16)


def _split(limbs: Floats, index: int, sums: Ints, bits: int, times: int) -> None:
    """Add ``sums`` / 2^``bits``, rounded down, to limb ``index`` of ``limbs``, in place.

    ``times`` the remainder is added to the next limb.
    """
    upper = sums >> bits
    limbs[:, :, index] += upper * UNITS[index]
    limbs[:, :, index + 1] += (sums - (upper << bits)) * times * UNITS[index + 1]
