"""String columns in the shuffle. Each record batch is encoded separately, so that its strings fit the CPU cache."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparkrank.bucket.impressions import CLUSTER, key_columns, one_array, slice_columns
from sparkrank.numeric.text_arrays import coded, is_text

# A column has few texts if a sample has at most this many distinct texts, as for 4,000 equally frequent texts.
SAMPLED_ROWS = 1 << 14
FEW_TEXTS = SAMPLED_ROWS // 4
_WIDTHS = ((1 << 7, pa.int8()), (1 << 15, pa.int16()), (1 << 31, pa.int32()))


def plain_type(kind: pa.DataType) -> pa.DataType:
    """Return the type of the values of a column of type ``kind``, which may be dictionary-encoded."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def decoded(rows: pa.Table) -> pa.Table:
    """Return ``rows`` without the input's dictionaries, which may have repeated values or nulls."""
    kinds = [field.with_type(plain_type(field.type)) for field in rows.schema]
    return rows if kinds == list(rows.schema) else rows.cast(pa.schema(kinds))


def in_one_array(rows: pa.Table) -> pa.Table:
    """Return ``rows`` with every string column in one chunk, as required for hashing, sampling and moving strings."""
    for index, field in enumerate(rows.schema):
        if is_text(field.type):
            rows = rows.set_column(index, field.name, one_array(rows[index]))
    return rows


def few_coded(rows: pa.Table) -> pa.Table:
    """Return ``rows`` with a dictionary for each column that has few distinct strings in a sample.

    Codes are faster to move.
    """
    for index, field in enumerate(rows.schema):
        if is_text(field.type) and rows.num_rows:
            column = one_array(rows[index])
            size = min(len(column), SAMPLED_ROWS)  # no row is sampled twice, because texts may have any length
            sample = column.take(pa.array(np.linspace(0, len(column) - 1, size).astype(np.int64)))
            if len(sample.unique()) <= FEW_TEXTS:
                encoded = coded(column)
                rows = rows.set_column(index, field.name, _narrow_coded(encoded.indices, encoded.dictionary))
    return rows


def _narrow_coded(codes: pa.Array, texts: pa.Array) -> pa.DictionaryArray:
    kind = next(kind for limit, kind in _WIDTHS if len(texts) <= limit)
    return pa.DictionaryArray.from_arrays(codes.cast(kind), texts)


def with_own_texts(piece: pa.RecordBatch, code_texts: bool) -> pa.RecordBatch:
    """Return ``piece`` with new dictionaries where strings repeat; with ``code_texts``, also in plain columns."""
    columns = [_own(column, code_texts) for column in piece.columns]
    return pa.record_batch(columns, piece.schema.names)


def _own(column: pa.Array, code_texts: bool) -> pa.Array:
    is_coded = pa.types.is_dictionary(column.type)
    if not is_coded and not (code_texts and is_text(column.type)):
        return column
    encoded = coded(column.indices if is_coded else column)
    texts = column.dictionary.take(encoded.dictionary) if is_coded else encoded.dictionary
    if 2 * len(texts) > len(column):
        return texts.take(encoded.indices) if is_coded else column
    return _narrow_coded(encoded.indices, texts)


def with_used_texts(piece: pa.RecordBatch) -> pa.RecordBatch:
    """Return ``piece``, a slice of a batch, with each dictionary cut to the range of strings that ``piece`` uses."""
    columns = [_used(column) if pa.types.is_dictionary(column.type) else column for column in piece.columns]
    return pa.record_batch(columns, piece.schema.names)


def _used(column: pa.DictionaryArray) -> pa.DictionaryArray:
    limits = pc.min_max(column.indices)
    first, last = limits["min"].as_py(), limits["max"].as_py()
    if first is None:  # all values are null
        return pa.DictionaryArray.from_arrays(column.indices, column.dictionary.slice(0, 0))
    codes = pc.subtract(column.indices, pa.scalar(first, column.indices.type))
    return pa.DictionaryArray.from_arrays(codes, column.dictionary.slice(first, last - first + 1))


def solved_schema(schema: pa.Schema, pieces: Sequence[pa.RecordBatch]) -> pa.Schema:
    """Return ``schema`` with dictionary types for the key, slice and cluster columns that any of ``pieces`` encodes."""
    kinds = [plain_type(field.type) for field in schema]
    empty = schema.empty_table()
    clusters = [name for name in schema.names if name == CLUSTER]
    for name in (*key_columns(empty), *slice_columns(empty), *clusters):
        index = schema.get_field_index(name)
        if any(pa.types.is_dictionary(piece.schema.types[index]) for piece in pieces):
            kinds[index] = pa.dictionary(pa.int32(), kinds[index])
    return pa.schema([field.with_type(kind) for field, kind in zip(schema, kinds, strict=True)])


def with_schema(piece: pa.RecordBatch, schema: pa.Schema) -> pa.Table:
    """Return ``piece`` with dictionaries in exactly the columns where ``schema`` has them, ready for concatenation."""
    columns = [_as(column, field.type) for column, field in zip(piece.columns, schema, strict=True)]
    return pa.table(columns, piece.schema.names)


def _as(column: pa.Array, kind: pa.DataType) -> pa.Array:
    is_coded = pa.types.is_dictionary(column.type)
    if pa.types.is_null(column.type):
        return pa.nulls(len(column), kind)
    if pa.types.is_dictionary(kind):
        return (column if is_coded else column.dictionary_encode()).cast(kind)
    return column.cast(kind) if is_coded else column
