"""Plain types: one type for all the types in which writers store the same values."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

_PLAIN = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary(), pa.date64(): pa.date32()}
_SIGNED = {pa.uint8(): pa.int16(), pa.uint16(): pa.int32(), pa.uint32(): pa.int64(), pa.uint64(): pa.int64()}
_STORED = {pa.large_string(): pa.string(), pa.large_binary(): pa.binary()}


def plain_type(kind: pa.DataType) -> pa.DataType:
    """Return the plain type for a column of type ``kind``, without dictionary encoding, views or extension types."""
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return plain_type(kind.value_type)
    if isinstance(kind, pa.BaseExtensionType):
        return plain_type(kind.storage_type)
    if pa.types.is_decimal(kind) and kind.bit_width < pa.decimal128(1).bit_width:
        return pa.decimal128(kind.precision, kind.scale)
    if pa.types.is_float16(kind):  # Arrow cannot compute with these
        return pa.float32()
    if is_list(kind):
        large = pa.types.is_large_list(kind) or pa.types.is_large_list_view(kind)
        return (pa.large_list if large else pa.list_)(plain_type(kind.value_type))
    return _PLAIN.get(kind, kind)


def is_list(kind: pa.DataType) -> bool:
    """Return whether values of ``kind`` are arrays, in any memory layout."""
    views = pa.types.is_list_view(kind) or pa.types.is_large_list_view(kind)
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind) or views)


def list_parts(arrays: pa.Array) -> tuple[NDArray[np.int64], pa.Array]:
    """Return the n + 1 offsets (from 0) of n ``arrays`` in their concatenated elements, and these elements."""
    lengths = np.asarray(pc.list_value_length(arrays).fill_null(0).to_numpy(zero_copy_only=False), np.int64)
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    if pa.types.is_fixed_size_list(arrays.type):
        starts = (np.arange(len(arrays)) + arrays.offset) * arrays.type.list_size
    else:
        starts = np.asarray(arrays.offsets.to_numpy(zero_copy_only=False), np.int64)[: len(arrays)]
    values = arrays.values
    first, last = (int(starts[0]), int(starts[0] + ends[-1])) if len(starts) else (0, 0)
    if np.array_equal(starts, first + ends[:-1]):
        return ends, values.slice(first, last - first)
    return ends, values.take(pa.array(np.repeat(starts - ends[:-1], lengths) + np.arange(ends[-1])))


def plain_array(values: pa.Array) -> pa.Array:
    """Return ``values`` in their :func:`plain_type`, with elements of arrays converted too, and structs unchanged."""
    kind = plain_type(values.type)
    if isinstance(values, pa.ExtensionArray):
        return plain_array(values.storage)
    if values.type == kind:
        return values
    if pa.types.is_dictionary(values.type):
        return plain_array(values.dictionary).take(values.indices)
    if pa.types.is_run_end_encoded(values.type):
        return plain_array(pc.run_end_decode(values))
    if not is_list(values.type):
        return values.cast(kind)
    ends, elements = list_parts(values)
    return lists(kind, ends, plain_array(elements), values)


def lists(kind: pa.DataType, ends: NDArray[np.int64], elements: pa.Array, like: pa.Array) -> pa.Array:
    """Return arrays of ``elements`` with the offsets ``ends`` (the first is 0) and the nulls of the array ``like``."""
    wide = pa.types.is_large_list(kind)
    offsets = pa.array(ends, pa.int64() if wide else pa.int32())
    mask = like.is_null() if like.null_count else None
    return (pa.LargeListArray if wide else pa.ListArray).from_arrays(offsets, elements, kind, mask=mask)


def stored_type(kind: pa.DataType) -> pa.DataType:
    """Return the type of a Parquet column for other readers, if Arrow reads the column as ``kind``."""
    kind = plain_type(kind)
    if is_list(kind):
        return pa.list_(stored_type(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(stored_type(field.type)) for field in kind])
    if pa.types.is_fixed_size_binary(kind):
        return pa.binary()
    return pa.int64() if pa.types.is_duration(kind) else _STORED.get(kind, kind)


def plain(rows: pa.Table) -> pa.Table:
    """Convert every column of ``rows`` to its plain type."""
    schema = plain_schema(rows.schema)
    columns = [
        column if column.type == kind else pa.chunked_array(list(map(plain_array, column.chunks)), kind)
        for column, kind in zip(rows.columns, schema.types, strict=True)
    ]
    return pa.table(columns, schema)


def signed(rows: pa.Table) -> pa.Table:
    """Return ``rows`` with signed integers in place of unsigned, for Spark. Raise for a value beyond 64 signed bits."""
    return rows.cast(pa.schema([field.with_type(signed_type(field.type)) for field in rows.schema]))


def signed_type(kind: pa.DataType) -> pa.DataType:
    """Return the signed type for the values of an unsigned ``kind``, also in arrays; other types are unchanged."""
    return pa.list_(signed_type(kind.value_type)) if pa.types.is_list(kind) else _SIGNED.get(kind, kind)


def plain_schema(schema: pa.Schema) -> pa.Schema:
    """Return ``schema`` with each type replaced by its :func:`plain_type`."""
    return pa.schema([field.with_type(plain_type(field.type)) for field in schema])


def stored_schema(schema: pa.Schema) -> pa.Schema:
    """Return the ``schema`` of a Parquet file with each type replaced by its :func:`stored_type`."""
    return pa.schema([field.with_type(stored_type(field.type)) for field in schema])
