"""Whole numbers in few bytes: what comes out is what went in."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sparkrank.numeric.narrow_integers import narrow, narrow_ascending, widen, widen_ascending

INT64 = st.integers(-(2**63), 2**63 - 1)
NUMBERS = st.lists(INT64 | st.integers(-300, 300) | st.integers(2**40 - 2, 2**40 + 2), max_size=20)


@given(NUMBERS)
@example([-(2**63), 2**63 - 1])
@example([0, 255])
@example([0, 256])
@example([-1, 2**32 - 2])
@example([-1, 2**32 - 1])
def test_whole_numbers_come_back(values: list[int]) -> None:
    assert widen(narrow(np.array(values, np.int64))).tolist() == values


@given(st.lists(INT64, min_size=1, max_size=20).map(sorted))
@example([-(2**63), 2**63 - 1])
def test_ascending_numbers_come_back(values: list[int]) -> None:
    assert widen_ascending(*narrow_ascending(np.array(values, np.int64))).tolist() == values


@pytest.mark.parametrize(("most", "size"), [(255, 1), (2**16 - 1, 2), (2**32 - 1, 4), (2**40 - 1, 5), (2**48 - 1, 6)])
def test_the_bytes_of_a_number_are_those_that_the_largest_needs(most: int, size: int) -> None:
    parts = narrow(np.array([7, 7 + most], np.int64)).parts
    assert sum(part.itemsize for part in parts) == size


@pytest.mark.parametrize("value", [0, -7, 2**63 - 1])
def test_equal_numbers_take_no_bytes(value: int) -> None:
    equal = narrow(np.full(5, value, np.int64))
    assert equal.parts == []
    assert widen(equal).tolist() == [value] * 5
