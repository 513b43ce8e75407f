"""The delete-a-part jackknife: worked by hand, a slow oracle, recomputation, and laws."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparkrank.stats.intervals import jackknife, jackknife_degrees
from tests.extent import examples
from tests.oracles.jackknife import standard_error
from tests.support.strategies import PATIENT

NAN = math.nan
# Squares of numbers nearer to 0 have few digits, or none.
finite = st.floats(-1e6, 1e6).map(lambda value: value if abs(value) > 1e-100 else 0.0)


@st.composite
def parted(draw: st.DrawFn, least_parts: int = 0) -> tuple[float, list[float], list[int]]:
    parts = draw(st.lists(st.tuples(finite, st.integers(0, 5)), min_size=least_parts, max_size=8))
    return draw(finite), [without for without, _ in parts], [size for _, size in parts]


def stderr_of(value: float, without: Sequence[float], sizes: Sequence[int]) -> float:
    stderr, _ = jackknife([value], [without], sizes)
    return float(stderr[0])


def test_parts_of_one_two_and_three_groups_by_hand() -> None:
    """The mean of 3 | 1 5 | 2 4 9, whose sum is 24 and whose value is 4.

    Without a part it is 21/5 = 4.2, 18/4 = 4.5 and 9/3 = 3. With h = 6, 3, 2 the pseudo-values are
    6·4 - 5·4.2 = 3, 3·4 - 2·4.5 = 3, 2·4 - 1·3 = 5: the means of the parts, as for every mean.
    The jackknife estimate is 3·4 - (5/6·4.2 + 2/3·4.5 + 1/2·3) = 12 - (3.5 + 3 + 1.5) = 4, and the variance
    1/3·((3-4)²/5 + (3-4)²/2 + (5-4)²/1) = 1/3·(0.2 + 0.5 + 1) = 17/30.
    The values without a part have the mean 3.9, and as of alike parts the variance
    2/3·(0.3² + 0.6² + 0.9²) = 2/3·1.26 = 0.84, which is larger.
    """
    stderr, degrees = jackknife([4.0], [[4.2, 4.5, 3.0]], [1, 2, 3])
    assert stderr == pytest.approx([math.sqrt(0.84)], rel=1e-14)
    assert degrees.tolist() == [2]


def test_a_small_part_that_changes_much_by_hand() -> None:
    """The mean of 8 | 1 3 | 0 2 4, whose sum is 18 and whose value is 3.

    Without a part it is 10/5 = 2, 14/4 = 3.5 and 12/3 = 4, and the pseudo-values are the means 8, 2, 2. The estimate is
    3·3 - (5/6·2 + 2/3·3.5 + 1/2·4) = 9 - 6 = 3, the variance 1/3·(5²/5 + 1²/2 + 1²/1) = 6.5/3 = 2.1666.
    As of alike parts, about the mean 19/6, it is 2/3·(7² + 2² + 5²)/36 = 2/3·78/36 = 1.4444.
    """
    assert stderr_of(3.0, [2.0, 3.5, 4.0], [1, 2, 3]) == pytest.approx(math.sqrt(6.5 / 3), rel=1e-14)


def test_degrees_are_of_the_terms_of_the_larger_error_by_hand() -> None:
    """One part of 15 groups that changes the value by 16, and 15 of one group that do not change it.

    As of alike parts, about the mean 1, the terms are 15·15² and fifteen times 15·1², with (Σ)² / Σ² = 240² / 50640.
    By sizes, they would be 64 and fifteen times 64/29, much less. The factor of 16 parts is 3.16 - 2.77/4 = 2.4675.
    """
    given_parts = [0.0], [[16.0] + [0.0] * 15], [15] + [1] * 15
    assert jackknife(*given_parts)[0] == pytest.approx([math.sqrt(15 * 240 / 16)], rel=1e-14)
    assert jackknife_degrees(*given_parts) == pytest.approx([2.4675 * 240**2 / 50640], rel=1e-12)


@settings(PATIENT, max_examples=examples(300))
@given(parted())
def test_it_is_the_formula_of_the_papers(given_parts: tuple[float, list[float], list[int]]) -> None:
    value, without, sizes = given_parts
    scale = max(map(abs, [value, *without]))  # the oracle subtracts numbers of this size
    expected = standard_error(value, without, sizes)
    assert stderr_of(value, without, sizes) == pytest.approx(expected, rel=1e-9, abs=1e-13 * scale, nan_ok=True)


@given(st.lists(st.integers(-50, 50), min_size=2, max_size=30))
def test_a_mean_whose_groups_are_each_a_part_has_its_usual_error(values: list[int]) -> None:
    n, total = len(values), sum(values)
    expected = np.std(values, ddof=1) / math.sqrt(n)
    found = stderr_of(total / n, [(total - value) / (n - 1) for value in values], [1] * n)
    assert found == pytest.approx(expected, rel=1e-10, abs=1e-12)


@given(finite, st.lists(st.integers(0, 9), min_size=2, max_size=8))
def test_a_value_that_no_part_changes_has_an_error_of_exactly_0(value: float, sizes: list[int]) -> None:
    found = stderr_of(value, [value] * len(sizes), sizes)
    assert found == 0 if sum(size > 0 for size in sizes) > 1 else math.isnan(found)


@pytest.mark.parametrize("unknown", [NAN, math.inf, -math.inf])
def test_what_is_needed_and_undefined_leaves_no_error(unknown: float) -> None:
    assert math.isnan(stderr_of(unknown, [1.0, 2.0, 3.0], [1, 1, 1]))
    assert math.isnan(stderr_of(1.0, [1.0, unknown, 3.0], [1, 1, 1]))
    assert math.isnan(stderr_of(unknown, [unknown, unknown, unknown], [1, 1, 1]))
    assert stderr_of(2.0, [2.5, unknown, 0.5], [1, 0, 3]) == pytest.approx(1.0)  # of a part with no group


def test_an_error_beyond_the_largest_float_is_none() -> None:
    assert math.isnan(stderr_of(0.0, [1e200, -1e200], [1, 1]))


@pytest.mark.parametrize("sizes", [[], [7], [0, 0, 0], [0, 7, 0]])
def test_fewer_than_two_parts_leave_no_error(sizes: list[int]) -> None:
    found, degrees = jackknife([1.0], [[1.0, 2.0, 3.0][: len(sizes)]], sizes)
    assert (math.isnan(found[0]), degrees.tolist()) == (True, [0])


@settings(PATIENT)
@given(st.lists(parted(4), min_size=1, max_size=6))
def test_rows_are_computed_as_if_alone_to_the_last_bit(rows: list[tuple[float, list[float], list[int]]]) -> None:
    """Beside others, in another layout in memory, and with the parts that hold no group left out."""
    g = min(len(without) for _, without, _ in rows)
    values = [value for value, _, _ in rows]
    without = np.array([without[:g] for _, without, _ in rows])
    sizes = np.array([sizes[:g] for _, _, sizes in rows])
    together, degrees = jackknife(values, without, sizes)
    columns, _ = jackknife(values, np.asfortranarray(without), np.asfortranarray(sizes))
    assert together.tobytes() == columns.tobytes()
    for row, value in enumerate(values):
        held = sizes[row] > 0
        alone, left = jackknife([value], without[row : row + 1, held], sizes[row, held])
        assert alone.tobytes() == together[row : row + 1].tobytes()
        assert left[0] == degrees[row]
