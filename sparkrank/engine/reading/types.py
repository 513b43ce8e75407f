"""One type for values that writers hold in several ways: what follows knows the plain ones.

Dictionaries, views and large texts say how values lie in memory, and Parquet knows none of them: a file only remembers
which one its writer had.
"""

from __future__ import annotations

import pyarrow as pa

_PLAIN = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary(), pa.date64(): pa.date32()}
_SIGNED = {pa.uint8(): pa.int16(), pa.uint16(): pa.int32(), pa.uint32(): pa.int64(), pa.uint64(): pa.int64()}
_STORED = {pa.large_string(): pa.string(), pa.large_binary(): pa.binary()}


def plain_type(kind: pa.DataType) -> pa.DataType:
    """The type of the values that a column of type ``kind`` holds, be they in a dictionary or not."""
    if pa.types.is_dictionary(kind) or isinstance(kind, pa.BaseExtensionType):
        return plain_type(kind.value_type if pa.types.is_dictionary(kind) else kind.storage_type)
    if pa.types.is_decimal(kind) and kind.bit_width < pa.decimal128(1).bit_width:
        return pa.decimal128(kind.precision, kind.scale)
    if pa.types.is_float16(kind):  # Arrow computes with none
        return pa.float32()
    if pa.types.is_fixed_size_list(kind):  # not views of lists: of these Arrow makes lists that lack an offset
        return pa.list_(kind.value_type)
    return _PLAIN.get(kind, kind)


def stored_type(kind: pa.DataType) -> pa.DataType:
    """What a Parquet column that Arrow reads as ``kind`` holds: what any other reader finds there."""
    kind = plain_type(kind)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return pa.list_(stored_type(kind.value_type))
    if pa.types.is_fixed_size_binary(kind):
        return pa.binary()
    return pa.int64() if pa.types.is_duration(kind) else _STORED.get(kind, kind)


def plain(rows: pa.Table) -> pa.Table:
    """``rows`` with columns of plain types."""
    kinds = [field.with_type(plain_type(field.type)) for field in rows.schema]
    if kinds == list(rows.schema):
        return rows
    for index, field in enumerate(rows.schema):
        if pa.types.is_dictionary(field.type) and field.type.value_type in _PLAIN:  # polars' Categorical, say
            rows = rows.set_column(index, field.name, _looked_up(rows[index], plain_type(field.type)))
    return rows.cast(pa.schema(kinds))


def signed(rows: pa.Table) -> pa.Table:
    """``rows`` with whole numbers that Spark has too. Raises where one is beyond 64 bits with a sign."""
    kinds = [field.with_type(_SIGNED.get(field.type, field.type)) for field in rows.schema]
    return rows if kinds == list(rows.schema) else rows.cast(pa.schema(kinds))


def _looked_up(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """The values of ``column``, whose dictionaries are of views: from these Arrow takes none."""
    return pa.chunked_array([chunk.dictionary.cast(kind).take(chunk.indices) for chunk in column.chunks], kind)


def plain_schema(schema: pa.Schema) -> pa.Schema:
    """The schema of :func:`plain` rows."""
    return pa.schema([field.with_type(plain_type(field.type)) for field in schema])


def stored_schema(schema: pa.Schema) -> pa.Schema:
    """``schema``, that of a Parquet file, as :func:`stored_type` says it."""
    return pa.schema([field.with_type(stored_type(field.type)) for field in schema])
