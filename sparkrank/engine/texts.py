"""Texts on their way to their bucket: a column of codes, and each distinct text of a piece once.

A group's key stands on every row of it, and Arrow moves a code in a fifth of the time that it moves a text.
"""

from __future__ import annotations

import pyarrow as pa

from sparkrank.impressions import key_columns, slice_columns

_WIDTHS = ((1 << 7, pa.int8()), (1 << 15, pa.int16()), (1 << 31, pa.int32()))


def is_text(kind: pa.DataType) -> bool:
    text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    return bool(text or pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


def plain(kind: pa.DataType) -> pa.DataType:
    """The type of a column's values, be they in a dictionary or not."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def coded(rows: pa.Table) -> pa.Table:
    """``rows`` with every column of texts in one chunk and as a dictionary.

    Dictionaries of the input are made anew: they may hold a value twice, or null.
    """
    for index, field in enumerate(rows.schema):
        kind = plain(field.type)
        column = rows[index] if kind == field.type else rows[index].cast(kind)
        if is_text(kind):
            column = column.combine_chunks().dictionary_encode()
        if column is not rows[index]:
            rows = rows.set_column(index, field.name, column)
    return rows


def with_own_texts(piece: pa.RecordBatch) -> pa.RecordBatch:
    """``piece`` with dictionaries of the texts that stand in it, and with plain texts where most rows differ."""
    columns = [_own(column) if pa.types.is_dictionary(column.type) else column for column in piece.columns]
    return pa.record_batch(columns, piece.schema.names)


def _own(column: pa.DictionaryArray) -> pa.Array:
    codes = column.indices.dictionary_encode()
    texts = column.dictionary.take(codes.dictionary)
    if 2 * len(texts) > len(column):
        return texts.take(codes.indices)
    width = next(kind for limit, kind in _WIDTHS if len(texts) <= limit)
    return pa.DictionaryArray.from_arrays(codes.indices.cast(width), texts)


def solved_schema(schema: pa.Schema) -> pa.Schema:
    """``schema`` with dictionaries for those keys and slices that are texts, whose codes tell them apart."""
    nothing = schema.empty_table()
    by_code = [*key_columns(nothing), *slice_columns(nothing)]
    fields = [field.with_type(plain(field.type)) for field in schema]
    return pa.schema(
        field.with_type(pa.dictionary(pa.int32(), field.type))
        if field.name in by_code and is_text(field.type)
        else field
        for field in fields
    )


def alike(piece: pa.RecordBatch, schema: pa.Schema) -> pa.Table:
    """``piece`` with dictionaries where ``schema`` has them and nowhere else, so that pieces can be put together."""
    columns = [_as(column, field.type) for column, field in zip(piece.columns, schema, strict=True)]
    return pa.table(columns, piece.schema.names)


def _as(column: pa.Array, kind: pa.DataType) -> pa.Array:
    is_coded = pa.types.is_dictionary(column.type)
    if pa.types.is_dictionary(kind):
        return (column if is_coded else column.dictionary_encode()).cast(kind)
    return column.cast(kind) if is_coded else column
