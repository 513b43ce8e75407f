"""Texts on their way to their bucket: a column of codes, and each distinct text of a piece once.

A group's key stands on every row of it, and Arrow moves a code in a fifth of the time that it moves a text.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from sparkrank.impressions import key_columns, slice_columns

_WIDTHS = ((1 << 7, pa.int8()), (1 << 15, pa.int16()), (1 << 31, pa.int32()))


def is_text(kind: pa.DataType) -> bool:
    text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    return bool(text or pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


def plain(kind: pa.DataType) -> pa.DataType:
    """The type of a column's values, be they in a dictionary or not."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def decoded(rows: pa.Table) -> pa.Table:
    """``rows`` without the dictionaries of the input, which may hold a value twice, or null."""
    kinds = [field.with_type(plain(field.type)) for field in rows.schema]
    return rows if kinds == list(rows.schema) else rows.cast(pa.schema(kinds))


def coded(piece: pa.RecordBatch) -> pa.RecordBatch:
    """``piece``, which is decoded, with texts as a dictionary where at least every other row repeats one.

    Each piece is coded by itself: its distinct texts stay in the cache, those of a whole split do not, and the texts
    of a split would have to be sorted out by piece again.
    """
    columns = [_coded(column) if is_text(column.type) else column for column in piece.columns]
    return pa.record_batch(columns, piece.schema.names)


def _coded(column: pa.Array) -> pa.Array:
    encoded = column.dictionary_encode()
    texts = encoded.dictionary
    if 2 * len(texts) > len(column):
        return column
    width = next(kind for limit, kind in _WIDTHS if len(texts) <= limit)
    return pa.DictionaryArray.from_arrays(encoded.indices.cast(width), texts)


def solved_schema(schema: pa.Schema, pieces: Sequence[pa.RecordBatch]) -> pa.Schema:
    """``schema`` with dictionaries for keys and slices that are coded in some of ``pieces``, and for nothing else.

    Their codes tell them apart.
    """
    kinds = [plain(field.type) for field in schema]
    nothing = schema.empty_table()
    for name in (*key_columns(nothing), *slice_columns(nothing)):
        index = schema.get_field_index(name)
        if any(pa.types.is_dictionary(piece.schema.types[index]) for piece in pieces):
            kinds[index] = pa.dictionary(pa.int32(), kinds[index])
    return pa.schema([field.with_type(kind) for field, kind in zip(schema, kinds, strict=True)])


def alike(piece: pa.RecordBatch, schema: pa.Schema) -> pa.Table:
    """``piece`` with dictionaries where ``schema`` has them and nowhere else, so that pieces can be put together."""
    columns = [_as(column, field.type) for column, field in zip(piece.columns, schema, strict=True)]
    return pa.table(columns, piece.schema.names)


def _as(column: pa.Array, kind: pa.DataType) -> pa.Array:
    is_coded = pa.types.is_dictionary(column.type)
    if pa.types.is_dictionary(kind):
        return (column if is_coded else column.dictionary_encode()).cast(kind)
    return column.cast(kind) if is_coded else column
