"""Compiled loops that add up values exactly."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from sparkrank import native
from sparkrank.numeric.exact_sums import (
    LOOP_LIMIT,
    UNIT_ARRAY,
    UNITS,
    exact_sum,
    exact_sums,
    limbs_used,
    sums_with_squares,
)
from sparkrank.numeric.segments import Segments
from sparkrank.numeric.whole_units import UnitTable, compared
from tests.native.with_and_without import array_bits, both, calls

LENGTHS = (0, 1, 7, 8, 9, 511, 512, 513, 520, 1031)
ONCE = np.empty(0)  # how often each value counts
UNIT = 2.0**-60  # of values below 2^-7: they are exact


def small_values(rows: int) -> NDArray[np.float64]:
    return np.random.default_rng(rows).integers(-(2**53), 2**53, rows) * UNIT


def fractions(values: NDArray[np.float64]) -> Fraction:
    return sum(map(Fraction, values.tolist()), Fraction())


def limbs_of(values: NDArray[np.float64]) -> NDArray[np.float64]:
    with calls() as called:
        found = exact_sum(values)
    assert called["sums.add"] == 1
    return found


@pytest.mark.parametrize("rows", LENGTHS)
def test_limbs_are_the_sum_of_all_values(rows: int) -> None:
    """Whatever the order of magnitude: each limb is a whole number of its unit, and together they are the sum."""
    values = small_values(rows) * 2.0 ** np.random.default_rng(1).choice([-20, 0, 7, 20, 40], rows)
    limbs = limbs_of(values)
    assert fractions(limbs) == fractions(values)
    assert all((limbs / UNITS) % 1 == 0)
    assert array_bits(limbs) == array_bits(both(lambda: exact_sum(values))[1])


def test_a_value_is_cut_at_each_unit_to_the_nearest() -> None:
    """0.75 of a unit is one of it less 0.25, a half is none of it, for that is even, and more than a half is one."""
    for index, unit in enumerate(UNITS[:-1]):
        finer = UNITS[index + 1]
        three_quarters, half, more = np.zeros((3, 6))
        three_quarters[index : index + 2] = unit, -0.25 * unit
        half[index + 1] = 0.5 * unit
        more[index : index + 2] = -unit, 0.5 * unit - finer
        assert limbs_of(np.array([0.75 * unit])).tolist() == three_quarters.tolist()
        assert limbs_of(np.array([0.5 * unit])).tolist() == half.tolist()
        assert limbs_of(np.array([-0.5 * unit - finer])).tolist() == more.tolist()


@pytest.mark.parametrize("place", [0, 511, 512, 700])
@pytest.mark.parametrize("value", [LOOP_LIMIT, -LOOP_LIMIT, math.inf, -math.inf])
def test_values_that_are_too_large_are_refused(place: int, value: float) -> None:
    """The sum comes from numpy then; the largest value below still comes from the loop."""
    values = small_values(701)
    values[place] = math.copysign(math.nextafter(LOOP_LIMIT, 0.0), value)
    assert fractions(limbs_of(values)) == fractions(values)
    assert add(values) == fractions(values)
    values[place] = value
    assert add(values) is None
    if math.isfinite(value):
        assert fractions(exact_sum(values)) == fractions(values)


def add(values: NDArray[np.float64]) -> Fraction | None:
    """What the loop sums up, or nothing where it refuses to."""
    limbs = np.zeros((1, 6))
    fits = native.sums.add(values, np.array([0, len(values)]), ONCE, UNIT_ARRAY, LOOP_LIMIT, limbs)
    return fractions(limbs[0]) if fits else None


def add_with_squares(values: NDArray[np.float64]) -> tuple[int, Fraction, Fraction] | None:
    """How many values are undefined, the sum of the others and that of their squares, or nothing."""
    undefined, (first, second) = np.zeros(1, np.int64), np.zeros((2, 1, 6))
    starts = np.array([0, len(values)])
    if not native.sums.add_with_squares(values, starts, ONCE, 0.0, UNIT_ARRAY, LOOP_LIMIT, undefined, first, second):
        return None
    return int(undefined[0]), fractions(first[0]), fractions(second[0])


@pytest.mark.parametrize("rows", range(1, 10))
def test_values_that_were_refused_leave_nothing_behind(rows: int) -> None:
    """Sums go on in eight lanes: those that no value fills must hold zeros, whatever was there before."""
    refused, ones = np.array([1.5] * 20 + [LOOP_LIMIT]), np.ones(rows)
    assert (add(refused), add(ones)) == (None, rows)
    assert add_with_squares(refused) is None
    assert add_with_squares(ones) == (0, rows, rows)


@pytest.mark.parametrize("rows", LENGTHS[1:])
@pytest.mark.parametrize("counted_as", [0.0, 0.5, 1.0])
def test_sums_of_values_and_squares_count_what_is_undefined(counted_as: float, rows: int) -> None:
    """Values of 20 bits, whose squares have 40; every third is undefined, and another array has its own sums."""
    values = np.random.default_rng(rows).integers(-(2**20), 2**20, rows) * 2.0**-18
    holes = np.arange(rows) % 3 == 0
    filled, values[holes] = np.where(holes, counted_as, values), np.nan
    ones = np.ones(rows)
    with calls() as called:
        undefined, first, second = sums_with_squares([values, ones], counted_as)
    assert called["sums.add_with_squares"] == 2
    assert undefined.tolist() == [[np.count_nonzero(holes)], [0]]
    assert [fractions(limbs) for (limbs,) in first] == [fractions(filled), rows]
    assert [fractions(limbs) for (limbs,) in second] == [fractions(filled * filled), rows]
    plain = both(lambda: sums_with_squares([values, ones], counted_as))[1]
    assert [array_bits(each) for each in (undefined, first, second)] == [array_bits(each) for each in plain]


@pytest.mark.parametrize("place", [0, 511, 512, 700])
@pytest.mark.parametrize("value", [2.0**20, -(2.0**20), 2.0**40, math.inf])
def test_squares_that_are_too_large_are_refused(place: int, value: float) -> None:
    """2^20 has the square 2^40; numpy sums up both arrays then, of which one would have served."""
    values, ones = np.full(1100, 0.25), np.ones(1100)
    values[1090:], ones[0] = math.nan, math.nan  # values far behind the one that is refused
    values[place] = math.nextafter(2.0**20, 0.0)
    assert (add_with_squares(values) or [None])[0] == 10
    values[place] = value
    assert add_with_squares(values) is None
    if math.isfinite(value):
        undefined, first, second = sums_with_squares([ones, values], 0.0)
        assert undefined.tolist() == [[1], [10]]
        assert [fractions(limbs) for (limbs,) in first] == [1099, 1089 * Fraction(1, 4) + Fraction(value)]
        assert [fractions(limbs) for (limbs,) in second] == [1099, 1089 * Fraction(1, 16) + Fraction(value) ** 2]


SEGMENTS = Segments(4, np.array([3, 0, 3, 1, 1, 3, 0], np.int32))


@pytest.mark.parametrize("compiled", [True, False])
def test_each_segment_has_sums_of_its_own(compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The third has none. Of the undefined values one is in the first segment and one in the last."""
    monkeypatch.setattr(native, "COMPILED", compiled)
    values = np.array([0.5, np.nan, 2.0, 4.0, 8.0, np.nan, 32.0])
    undefined, first, second = sums_with_squares([values, values - 1], 0.0, SEGMENTS)
    assert undefined.tolist() == [[1, 0, 0, 1]] * 2
    assert [list(map(fractions, each)) for each in first] == [[32, 12, 0, 2.5], [31, 10, 0, 0.5]]
    assert [list(map(fractions, each)) for each in second] == [[1024, 80, 0, 4.25], [961, 58, 0, 1.25]]
    with calls() as called:
        sums = exact_sums(np.nan_to_num(values), SEGMENTS)
    assert called["sums.add_scattered_values"] == compiled
    assert list(map(fractions, sums)) == [32, 12, 0, 2.5]


@pytest.mark.parametrize("compiled", [True, False])
def test_pairs_are_of_groups_where_both_are_defined(compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of seven groups, the fifth was not evaluated by the second model; two others have one value, and one has none."""
    monkeypatch.setattr(native, "COMPILED", compiled)
    every = np.arange(7, dtype=np.int32)
    ours = UnitTable.of_values(np.array([[0.5], [0.25], [np.nan], [1.0], [1.0], [0.75], [np.nan]]), every, None)
    others = np.array([[0.25], [0.25], [0.5], [np.nan], [0.0], [1.0], [np.nan]])
    theirs = UnitTable.of_values(others, np.where(every == 4, -1, every).astype(np.int32), None)
    with calls() as called:
        counts, limbs = compared(ours, theirs, np.array([0, 0, 0, 0, 0, 1, 1], np.int32), 2)
    assert called["units.compare_rows"] == compiled
    assert counts.tolist() == [[[2, 1, 1, 0, 3]], [[1, 0, 0, 1, 0]]]
    assert [[fractions(part) for part in np.split(each, 2)] for (each,) in limbs] == [[0.25, 0.0625], [-0.25, 0.0625]]


@pytest.mark.parametrize("place", [0, 4, 6])
@pytest.mark.parametrize("value", [LOOP_LIMIT, -LOOP_LIMIT, math.inf])
def test_scattered_values_that_are_too_large_are_refused(place: int, value: float) -> None:
    """The largest below still comes from the loop."""
    values, codes = np.full(7, 0.25), np.array([3, 0, 3, 1, 1, 3, 0], np.int32)
    for large, fits in ((math.copysign(math.nextafter(LOOP_LIMIT, 0.0), value), True), (value, False)):
        values[place] = large
        limbs = np.zeros((4, 6))
        assert native.sums.add_scattered_values(values, codes, 0, UNIT_ARRAY, LOOP_LIMIT, limbs) is fits
        if fits:
            expected = [fractions(values[codes == each]) for each in range(4)]
            assert list(map(fractions, limbs)) == expected


@pytest.mark.parametrize("rows", LENGTHS[1:])
@pytest.mark.parametrize(
    ("value", "used"),
    [(0.0, slice(5, 6)), (1.0, slice(2, 3)), (2.0**-19, slice(2, 4)), (1 / 3, slice(2, 5)), (2.0**-90, slice(5, 6))],
)
def test_limbs_of_which_none_is_needed_are_left_out(rows: int, value: float, used: slice) -> None:
    """Wherever the value is that needs them: all others are 0, and one limb stays in any case. A half of 2^-18 might be
    one of it; a third is cut at 2^-18, 2^-40 and 2^-62, where its last bit is 2^-54.
    """
    for place in {0, rows // 2, rows - 1}:
        values = np.zeros(rows)
        values[place] = value
        assert limbs_used(values) == used
