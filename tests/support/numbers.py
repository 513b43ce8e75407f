"""The hash of whole numbers, and what a table says of the rows alone."""

from __future__ import annotations

import pyarrow as pa

STEP = 0x9E3779B97F4A7C15


def mixed(word: int) -> int:
    """The finalizer of SplitMix64, in Python's own numbers."""
    word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    word = (word ^ word >> 27) * 0x94D049BB133111EB % 2**64
    return word ^ word >> 31


def bits(table: pa.Table) -> tuple[pa.Schema, dict[str, list[object]]]:
    """The schema of a table and its columns, floats as the text of their bits."""
    columns = {name: table[name].to_pylist() for name in table.column_names}
    hexed = {name: [one.hex() if isinstance(one, float) else one for one in rows] for name, rows in columns.items()}
    return table.schema, hexed


def without_hash(table: pa.Table) -> pa.Table:
    """``table`` but for the hash of what was asked, which the names of columns change, and no number depends on."""
    return table.drop_columns([name for name in table.column_names if name == "spec_hash"])
