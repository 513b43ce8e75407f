"""A table of items finds each of its items, by equality and not by hash alone."""

from __future__ import annotations

import pickle

import numpy as np
import pyarrow as pa
import pytest

from sparkrank.states import item_table
from sparkrank.states.item_table import ItemTable, repeated_items

KINDS = [
    (pa.array(["b", "a", "ü", ""]), pa.array(["a", "none", None, "", "ü"], pa.large_string()), [1, -1, -1, 3, 2]),
    (pa.array([7, -1, 300], pa.int64()), pa.array([300, 8, None, -1], pa.int16()), [2, -1, -1, 1]),
    (pa.array([0.5, 2.0]), pa.array([2.0, 0.25]), [1, -1]),
    (pa.array(["7"]), pa.array([7]), [-1]),
]


@pytest.mark.parametrize("alike", [False, True])
@pytest.mark.parametrize(("items", "asked", "rows"), KINDS)
def test_items_are_found(
    items: pa.Array, asked: pa.Array, rows: list[int], alike: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even if all hashes are equal."""
    if alike:
        monkeypatch.setattr(item_table, "hash_keys", lambda keys: np.zeros(len(keys[0]), np.uint64))
    numbers = pa.array(np.arange(len(items)))
    table = pickle.loads(pickle.dumps(ItemTable.of(items, {"value": numbers})))  # noqa: S301 - as workers get it
    place = table.find(asked)
    found = [table.columns["value"][int(row)].as_py() if row >= 0 else -1 for row in place]
    assert found == rows


def test_items_of_a_table_without_rows() -> None:
    assert ItemTable.of(pa.array([], pa.string()), {}).find(pa.array(["a"])).tolist() == [-1]


def test_repeated_items_are_named_in_order() -> None:
    assert repeated_items(pa.array(["b", "a", "c", "a", "b", "b"])) == ["a", "b"]
