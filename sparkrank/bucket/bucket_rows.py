"""The rows of a bucket, with columns available as numpy arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sparkrank.bucket.encoding import encode
from sparkrank.bucket.impressions import ITEM, LABEL, TRUTH, key_columns, one_array, score_columns
from sparkrank.numeric.array_types import Codes, Flags, Floats, Ints
from sparkrank.numeric.cached import cached
from sparkrank.ranking.value_columns import SEPARATOR, Arrays


class BucketRows:
    """The rows of a bucket. The first read of a column of ``table`` converts the column to a numpy array.

    ``items`` contains the items of the rows as a dictionary array (None: not encoded yet). The dictionary may contain
    other items too.
    """

    def __init__(self, table: pa.Table, items: pa.DictionaryArray | None = None) -> None:
        self.table = table
        self._items = items

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def __contains__(self, name: str) -> bool:
        return name in self.table.column_names

    @property
    def keys(self) -> pa.Table:
        return self.table.select(key_columns(self.table))

    @property
    def models(self) -> int:
        return len(score_columns(self.table))

    def filter(self, kept: Flags) -> BucketRows:
        flags = pa.array(kept)
        return BucketRows(self.table.filter(flags), None if self._items is None else self._items.filter(flags))

    def take(self, rows: Ints) -> BucketRows:
        places = pa.array(rows)
        return BucketRows(self.table.take(places), None if self._items is None else self._items.take(places))

    def appended(self, columns: Mapping[str, pa.Array | pa.ChunkedArray]) -> BucketRows:
        if not columns:
            return self
        table = self.table
        for name, values in columns.items():
            table = table.append_column(name, values)
        return BucketRows(table, self._items)

    @cached
    def values(self, name: str) -> NDArray[np.generic]:
        return as_numpy(self.table[name])

    @cached
    def floats(self, name: str) -> Floats:
        """Return the numeric column ``name`` as float64, with NaN for nulls."""
        column = self.table[name]
        return np.asarray(as_numpy(column.cast(pa.float64(), safe=False)), np.float64)

    @cached
    def valid(self, name: str) -> Flags | None:
        """Return flags of the rows with a value in the column ``name``; None if all rows have one."""
        column = self.table[name]
        return flags_of(column.is_valid()) if column.null_count else None

    @cached
    def missing(self, name: str) -> Flags | None:
        """Return flags of the rows with a null or NaN in the column ``name``; None if the column cannot contain any."""
        column = self.table[name]
        if column.null_count == 0 and not pa.types.is_floating(column.type):
            return None
        return flags_of(pc.is_null(column, nan_is_null=True))

    @property
    def truth(self) -> Flags:
        """Flags of the rows of the truth, all false if lists and truth are not joined."""
        return np.asarray(self.values(TRUTH), np.bool_) if TRUTH in self else np.zeros(len(self), np.bool_)

    @cached
    def labels(self, name: str = LABEL) -> NDArray[np.generic]:
        """Return the label of each row, or 0 if the row was not judged."""
        return as_labels(self.table[name])

    @cached
    def items(self) -> tuple[Codes, pa.Array]:
        """Return the index of each row's item among the distinct items, and the distinct items."""
        codes, distinct = encode(self.table[ITEM] if self._items is None else pa.chunked_array([self._items]))
        if self._items is None:  # rows that are left of these need not encode their items again
            self._items = pa.DictionaryArray.from_arrays(codes, distinct)
        return codes, distinct

    @cached
    def present(self, name: str) -> NDArray[np.floating[Any]]:
        """Return the non-null values of the float column ``name``, in the float type of the input."""
        column = self.table[name]
        chunks = [  # drop_null copies even without nulls
            chunk.drop_null() if chunk.null_count else chunk for chunk in column.chunks if chunk.null_count < len(chunk)
        ]
        values: NDArray[np.floating[Any]] = as_numpy(pa.chunked_array(chunks, column.type))
        return values

    @cached
    def rows_with(self, name: str) -> Ints | None:
        """Return the indices of the rows that have a value in the column ``name``, or None if all rows have one."""
        column = self.table[name]
        if not column.null_count:
            return None
        parts, start = [np.empty(0, np.int64)], 0
        for chunk in column.chunks:  # most chunks are either all null or without nulls
            if not chunk.null_count:
                parts.append(np.arange(start, start + len(chunk)))
            elif chunk.null_count < len(chunk):
                parts.append(start + np.flatnonzero(flags_of(chunk.is_valid())))
            start += len(chunk)
        filled = [part for part in parts if len(part)]
        return filled[0] if len(filled) == 1 else np.concatenate(filled or parts)

    def equal(self, name: str, text: str) -> Floats:
        """Return 1 for ``text`` in the column ``name`` of texts, 0 for another text, and NaN for a null."""
        return np.asarray(as_numpy(pc.equal(self.table[name], text).cast(pa.float64())), np.float64)

    @cached
    def names(self, column: str) -> Codes:
        """Return the index of each row's value among the distinct values of ``column``, or -1 for a null."""
        codes, valid = encode(self.table[column])[0], self.valid(column)
        return codes if valid is None else np.where(valid, codes, np.int32(-1))

    @cached
    def categories(self, column: str) -> Codes:
        """Return the rank (from 0) of each row's value among the distinct values of ``column``, or -1 for a null."""
        return self._ascending(column)[0]

    @cached
    def arrays(self, column: str) -> Arrays:
        """Return the distinct arrays of ``column``, indexed by the numbers of :meth:`categories`."""
        _, distinct = self._ascending(column)
        if pa.types.is_large_binary(distinct.type):
            lengths = pc.binary_length(distinct).to_numpy() // DOUBLE
            values = np.frombuffer(b"".join(distinct.to_pylist()), np.float64)
            return Arrays(np.append(0, np.cumsum(lengths)), values)
        split = pc.split_pattern(distinct, SEPARATOR)
        ends = np.append(0, np.cumsum(split.value_lengths().to_numpy()))
        return Arrays(ends, encode(pa.chunked_array([split.flatten()]))[0])

    @cached
    def _ascending(self, column: str) -> tuple[Codes, pa.Array]:
        """Return the rank (from 0) of each row's value, or -1 for a null, and the distinct values, ascending."""
        values = self.table[column]
        codes, distinct = encode(vectors(values) if pa.types.is_list(values.type) else values)
        order, place = pc.array_sort_indices(distinct), np.empty(len(distinct), np.int32)
        place[order.to_numpy()] = np.arange(len(distinct), dtype=np.int32)
        valid, ascending = self.valid(column), place[codes]
        codes = ascending if valid is None else np.where(valid, ascending, np.int32(-1))
        return codes, distinct.take(order).drop_null()

    def order_of(self, column: str) -> Codes | Floats:
        """Return numbers that ascend as the values of ``column`` do, whatever the order of rows. Nulls are lowest."""
        if not pa.types.is_floating(self.table[column].type):
            return self.categories(column)
        numbers = self.floats(column)
        return np.where(np.isnan(numbers), -np.inf, numbers)


DOUBLE = 8  # bytes


def vectors(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return each array of doubles as its bytes, so that equal arrays are equal values. A null element becomes NaN."""
    arrays = one_array(column)
    ends = np.append(0, np.cumsum(arrays.value_lengths().fill_null(0).to_numpy())) * DOUBLE
    numbers = np.ascontiguousarray(arrays.flatten().to_numpy(zero_copy_only=False), np.float64)
    valid = np.packbits(arrays.is_valid().to_numpy(zero_copy_only=False), bitorder="little")
    buffers = [pa.py_buffer(part) for part in (valid, ends.astype(np.int64), numbers)]
    return pa.chunked_array([pa.Array.from_buffers(pa.large_binary(), len(arrays), buffers)])


def as_labels(column: pa.ChunkedArray) -> NDArray[np.generic]:
    """Return a column of labels as one array, with 0 for nulls."""
    return as_numpy(column.fill_null(0) if column.null_count else column)


def as_numpy(column: pa.ChunkedArray) -> NDArray[Any]:
    """Return the values of a column as one array. Only numeric columns may have nulls, which become NaN."""
    if pa.types.is_boolean(column.type) and not column.null_count:
        return flags_of(column)
    values: NDArray[Any] = one_array(column).to_numpy(zero_copy_only=False)
    return values


def flags_of(column: pa.Array | pa.ChunkedArray) -> Flags:
    """Return a boolean column without nulls as one array."""  # Arrow's own conversion takes 10 ns per value
    values = one_array(column) if isinstance(column, pa.ChunkedArray) else column
    bits = np.frombuffer(values.buffers()[1] or b"", np.uint8)
    first = values.offset // 8
    inside = bits[first : first + (values.offset % 8 + len(values) + 7) // 8]
    flags = np.unpackbits(inside, count=values.offset % 8 + len(values), bitorder="little")[values.offset % 8 :]
    return flags.view(np.bool_)
