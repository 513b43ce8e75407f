"""Rows in the order of their codes, the highest row of each code, and items in the order of their texts."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkrank import native
from sparkrank.bucket.encoding import FEW_OF_ALL, TextOrder
from sparkrank.numeric.segments import highest_of_each, order_by_code

ROWS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2), st.integers(0, 2)), max_size=20)


@pytest.mark.parametrize("compiled", [True, False])
def test_rows_of_equal_codes_keep_their_order(compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Codes of 16 bits and of more, of which each digit is sorted by itself."""
    monkeypatch.setattr(native, "COMPILED", native.COMPILED and compiled)
    codes = np.random.default_rng(3).choice(np.array([0, 1, 7, 2**16, 2**16 + 1, 2**17], np.int32), 200)
    assert order_by_code(codes, 2**17 + 1).tolist() == sorted(range(200), key=codes.tolist().__getitem__)


@given(ROWS)
def test_of_several_rows_of_a_code_the_highest_holds(rows: list[tuple[int, int, int]]) -> None:
    """By the last array first; of rows alike in both the last one. The sixth code has no row."""
    codes, second, first = np.array(rows, np.int32).reshape(-1, 3).T
    expected = [-1] * 6
    for code in {code for code, _, _ in rows}:
        expected[code] = max((b, a, row) for row, (other, a, b) in enumerate(rows) if other == code)[-1]
    assert highest_of_each(codes, 6, second, first).tolist() == expected


ITEMS = ["b", "a", None, "B", "ü", "", "ab", "a", None, "10", "9"]  # by bytes: "", 10, 9, B, a, ab, b, ü
PLACES = {item: place for place, item in enumerate([None, "", "10", "9", "B", "a", "ab", "b", "ü"])}


@pytest.mark.parametrize("kind", ["string", "large_string"])
@pytest.mark.parametrize("others", [0, 100])
@given(rows=st.lists(st.integers(0, len(ITEMS) - 1)))
def test_items_stand_by_the_bytes_of_their_texts(others: int, kind: str, rows: list[int]) -> None:
    """Among some rows of many or of all, also where rows are asked for twice; no item stands below all."""
    order = TextOrder(pa.chunked_array([ITEMS, ["z"] * others], kind))
    found = order(np.array(rows, np.int64)).tolist()
    expected = [PLACES[ITEMS[row]] for row in rows]
    assert [[one < other for other in found] for one in found] == [[o < p for p in expected] for o in expected]
    assert [[one == other for other in found] for one in found] == [[o == p for p in expected] for o in expected]


def test_few_rows_are_ordered_among_themselves() -> None:
    """c and b are the second and the first of two, and of all four."""
    order = TextOrder(pa.chunked_array([["d", "c", "b", "a"] * FEW_OF_ALL]))
    assert order(np.array([1, 2])).tolist() == [1, 0]
    assert order(np.array([1, 2] * 2)).tolist() == [2, 1] * 2
