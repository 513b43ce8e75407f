"""Values pickled on their way between workers, tables as Arrow streams."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from sparkrank.states.pickling import pickled, unpickled


def test_values_come_back() -> None:
    for value in (None, {"a": [1, (2.5, "text")]}, b"", b"bytes"):
        packed = pickled(value)
        assert unpickled(packed) == unpickled(pa.py_buffer(packed)) == value


def test_a_table_takes_little_beside_its_numbers() -> None:
    """As an Arrow stream of a few hundred bytes a column; pickled by Arrow itself, each array has a frame."""
    table = pa.table({f"column_{each}": np.arange(100.0) for each in range(50)})
    assert len(pickled([table])) < 1.3 * table.nbytes


def test_tables_come_back() -> None:
    """With nulls, in several chunks, a part of a larger one, or without rows."""
    table = pa.table({"model": ["m", None, "n"], "sum": [0.5, -0.0, float("inf")], "count": pa.array([1, 2, 3])})
    tables = [table, pa.concat_tables([table, table]), table.slice(1, 1), table.schema.empty_table()]
    found = unpickled(pickled(tables))
    for back, given in zip(found, tables, strict=True):
        assert back.schema == given.schema
        assert back.equals(given)
