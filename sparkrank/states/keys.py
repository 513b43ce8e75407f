"""The key of a state: for all values of a slice at once, and the rows of a table that have it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sparkrank.kernels.order import Ints, run_starts


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
    together, rows = pa.array(numbers.ravel()), numbers.shape[1]  # an array for each column takes twice as long
    for index, kind in enumerate(schema.types[len(columns) :]):
        column = together.slice(index * rows, rows)
        columns.append(column if column.type == kind else column.cast(kind))
    return pa.Table.from_arrays(columns, schema=schema)


def rows_by_key(rows: pa.Table, names: Sequence[str]) -> Iterator[tuple[tuple[str, ...], Ints]]:
    """Each key that ``rows`` have in the columns of texts ``names``, and the places of its rows, ascending.

    It takes one pass for all keys: a slice may have thousands.
    """
    code = np.zeros(rows.num_rows, np.int64)
    for name in names:
        texts = rows[name].combine_chunks().dictionary_encode()
        code = code * len(texts.dictionary) + texts.indices.to_numpy()
    found = pa.array(code).dictionary_encode()
    numbers = found.indices.to_numpy()
    if len(found.dictionary) <= 2**16:  # which numpy sorts by their digits
        numbers = numbers.astype(np.uint16)
    order = np.argsort(numbers, kind="stable")
    starts = run_starts(numbers[order])
    keys = zip(*(rows[name].take(pa.array(order[starts])).to_pylist() for name in names), strict=True)
    for key, (start, end) in zip(keys, itertools.pairwise([*starts, len(order)]), strict=True):
        yield key, order[start:end]
