"""The joining of many rows, one record batch at a time. At most one batch is then in memory twice."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sparkrank.bucket.impressions import key_columns, labels_of
from sparkrank.engines.shuffle.packing import join_pieces


def joined_in_turn(pieces: Iterable[pa.RecordBatch], rows: int, schema: pa.Schema) -> pa.Table:
    """Return ``pieces`` as one table, like ``join_pieces``, but copy one piece at a time.

    A key column with one integer uses one byte per row. Memory for ``rows``, the number of all rows, is allocated in
    advance.
    """
    keys = key_columns(schema.empty_table())
    columns = [_column(field, rows, field.name in keys) for field in schema]
    for piece in pieces:
        for column, values in zip(columns, piece.columns, strict=True):
            column.add(values)
    del piece, values
    return pa.table([column.joined() for column in columns], schema.names)


def _column(field: pa.Field, rows: int, is_key: bool) -> _Column:
    kind = field.type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return _Numbers(field, rows, may_be_constant=is_key and pa.types.is_signed_integer(kind))
    return _Column(field)


class _Column:
    """A column of any type, whose values are joined only after all pieces have been added."""

    def __init__(self, field: pa.Field) -> None:
        self._field = field
        self._pieces: list[pa.RecordBatch] = []

    def add(self, values: pa.Array) -> None:
        self._pieces.append(pa.RecordBatch.from_arrays([values], [self._field.name]))

    def joined(self) -> pa.ChunkedArray:
        return join_pieces(self._pieces, pa.schema([self._field])).column(0)


class _Numbers(_Column):
    """A column of numbers, ``rows`` in all. Values are copied to their final position as each piece is added."""

    def __init__(self, field: pa.Field, rows: int, *, may_be_constant: bool) -> None:
        super().__init__(field)
        self._kind: Any = None if field.name in labels_of([field.name]) else np.dtype(field.type.to_pandas_dtype())
        self._rows, self._end = rows, 0
        self._values: NDArray[Any] | None = None
        self._valid: NDArray[np.bool_] | None = None
        self._constant = may_be_constant

    def add(self, values: pa.Array) -> None:
        """Copy ``values``, the values of this column in the next piece, to their final position."""
        if pa.types.is_dictionary(values.type):
            values = values.cast(values.type.value_type)
        if pa.types.is_null(values.type):
            values = values.cast(self._field.type)
        if pa.types.is_boolean(values.type):  # clicks
            values = values.cast(pa.int8())
        valid = None
        if values.null_count:
            valid = values.is_valid().to_numpy(zero_copy_only=False)
            values = values.fill_null(0)
        self._add(values.to_numpy(zero_copy_only=False), valid)

    def _add(self, values: NDArray[Any], valid: NDArray[np.bool_] | None) -> None:
        start, self._end = self._end, self._end + len(values)
        if self._values is None:
            kind = self._kind or values.dtype
            self._constant &= len(values) > 0
            self._values = np.full(1, values[0], kind) if self._constant else np.empty(self._rows, kind)
        if self._constant and (valid is not None or not (values == self._values[0]).all()):
            self._constant, first = False, self._values[0]
            self._values = np.empty(self._rows, self._values.dtype)
            self._values[:start] = first
        if valid is not None and self._valid is None:
            self._valid = np.ones(self._rows, np.bool_)
        if self._constant:
            return
        if self._kind is None and values.dtype != self._values.dtype:  # labels keep the narrow type of the pieces
            self._values = self._values.astype(np.promote_types(self._values.dtype, values.dtype), copy=False)
        self._values[start : self._end] = values
        if valid is not None and self._valid is not None:
            self._valid[start : self._end] = valid

    def joined(self) -> pa.ChunkedArray:
        if self._values is None:
            return pa.chunked_array([], self._field.type)
        if self._constant:
            indices = pa.array(np.zeros(self._rows, np.int8))
            values = pa.array(self._values).cast(self._field.type)
            return pa.chunked_array([pa.DictionaryArray.from_arrays(indices, values)])
        mask = None if self._valid is None else ~self._valid
        return pa.chunked_array([pa.array(self._values, mask=mask)])
