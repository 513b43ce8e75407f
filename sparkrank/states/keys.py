"""The key of a state, for all values of a slice at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


class SliceKey(NamedTuple):
    """The states of ``model``, of the ``values`` (v) of ``slice``, by the ``name`` of what is measured."""

    model: str
    slice: str
    values: Sequence[str]
    name: str


def keyed_table(schema: pa.Schema, parts: Sequence[tuple[SliceKey, NDArray[np.generic]]]) -> pa.Table:
    """A row for every value of every part: its key, and its row of the part's numbers (v, columns)."""
    lengths = [len(key.values) for key, _ in parts]
    texts = [
        np.repeat(np.array([key.model for key, _ in parts], object), lengths),
        np.repeat(np.array([key.slice for key, _ in parts], object), lengths),
        [value for key, _ in parts for value in key.values],
        np.repeat(np.array([key.name for key, _ in parts], object), lengths),
    ]
    columns = [pa.array(column, pa.string()) for column in texts]
    if not parts:
        return schema.empty_table()
    numbers = np.concatenate([of for _, of in parts]).T
    kinds = schema.types[len(columns) :]
    columns += [pa.array(column, kind) for column, kind in zip(map(np.ascontiguousarray, numbers), kinds, strict=True)]
    return pa.Table.from_arrays(columns, schema=schema)
