"""Rows on their way to their bucket: which bucket, and many rows as one piece of bytes.

A piece is an Arrow stream of one batch. Whole numbers have the width that they need: keys and labels mostly take a half
or an eighth of theirs. Texts go as codes, with the distinct texts of the piece as their dictionary.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparkrank.bucket.impressions import LABEL, LIST, in_one_piece, key_columns
from sparkrank.engines.arrow.sizes import told_by_bytes
from sparkrank.engines.shuffle.hashing import buckets_of, buckets_of_keys, hash_keys
from sparkrank.engines.shuffle.partition import Unsigned, cut
from sparkrank.engines.shuffle.texts import (
    alike,
    decoded,
    few_coded,
    in_one_array,
    solved_schema,
    with_own_texts,
)
from sparkrank.numeric.text_arrays import is_text
from sparkrank.states.pickling import write_stream

_WHOLE = (pa.int8(), pa.int16(), pa.int32(), pa.int64())
_NO_ROWS = np.empty(0, np.uint16)


def pieces_by_bucket(rows: pa.Table, buckets: int, code_texts: bool = True) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The rows of a split as buckets get them: the number of each of ``buckets`` that has any, and its rows.

    Whole numbers are narrow, and few texts a dictionary. With ``code_texts`` so are all that repeat in the piece.
    """
    with told_by_bytes():
        rows = in_one_array(narrowed(decoded(rows)))
        has_texts = any(map(is_text, rows.schema.types))
        of_rows = [_buckets_of(batch, buckets) for batch in rows.to_batches()]
        for bucket, piece in cut(few_coded(rows), np.concatenate(of_rows or [_NO_ROWS]), buckets):
            yield bucket, with_own_texts(piece, code_texts) if has_texts else piece


def _buckets_of(rows: pa.RecordBatch, buckets: int) -> Unsigned:
    """The bucket of each row. Rows without a key would all meet in one; they form no group, so they may spread."""
    names = key_columns(rows)
    keys = [rows[name] for name in names]
    if not any(key.null_count for key in keys):
        return buckets_of_keys(keys, buckets)
    hashes = hash_keys(keys)
    for key in keys:
        missing = pc.indices_nonzero(pc.is_null(key))
        # by what they hold, not where they stand: a task that Spark runs again may get its rows in another order
        held = rows.select([name for name in rows.schema.names if name not in (*names, LIST)])
        hashes[missing.to_numpy()] = hash_keys(held.take(missing).columns)
    return buckets_of(hashes, buckets)


def narrow_piece(rows: pa.Table) -> pa.RecordBatch:
    """``rows``, at least one, as a piece with narrow whole numbers."""
    (batch,) = narrowed(rows).combine_chunks().to_batches()
    return batch


def narrowed(rows: pa.Table) -> pa.Table:
    """``rows`` with every column of whole numbers in the narrowest type that holds them."""
    for index, field in enumerate(rows.schema):
        if pa.types.is_signed_integer(field.type) and rows.num_rows > rows[index].null_count:
            kind = _narrowest(rows[index])
            if kind.bit_width < field.type.bit_width:
                rows = rows.set_column(index, field.name, rows[index].cast(kind, safe=False))  # all of it fits
    return rows


def _narrowest(column: pa.ChunkedArray) -> pa.DataType:
    """The narrowest type that holds all of ``column``, which is looked at until it cannot be narrower than it is."""
    width = _WHOLE[0].bit_width
    for chunk in column.chunks:
        if width == column.type.bit_width:
            break
        limits = [limit.as_py() for limit in pc.min_max(chunk).values()]  # nothing where all are null
        width = max([width, *(_width(limit) for limit in limits if limit is not None)])
    return next(kind for kind in _WHOLE if width <= kind.bit_width)


def _width(number: int) -> int:
    """The bits that ``number`` needs with its sign."""
    return (number if number >= 0 else ~number).bit_length() + 1


def pack_pieces(pieces: Iterable[pa.RecordBatch]) -> pa.Array:
    """Each piece as a stream (:func:`stream_of`), all of them in one array."""
    sink = pa.BufferOutputStream()
    ends = [0]
    for piece in pieces:
        write_stream(piece, sink)
        ends.append(sink.tell())
    buffers = (None, pa.py_buffer(np.array(ends, np.int32)), sink.getvalue())
    return pa.Array.from_buffers(pa.binary(), len(ends) - 1, buffers)


def unpack_pieces(pieces: Iterable[pa.Buffer], schema: pa.Schema) -> pa.Table:
    """The rows of several pieces, each as a stream, with the columns of ``schema``. Keys that came as codes stay such.

    Only whole numbers that came narrow are copied, and texts other than keys.
    """
    return joined([unpack_piece(piece) for piece in pieces], schema)


def joined(pieces: Sequence[pa.RecordBatch], schema: pa.Schema) -> pa.Table:
    """The rows of ``pieces`` as :func:`pieces_by_bucket` gives them, with the columns of :func:`unpack_pieces`."""
    agreed = solved_schema(schema, pieces)
    are_of_one_schema = all(piece.schema == pieces[0].schema for piece in pieces)
    if pieces and are_of_one_schema and not any(map(pa.types.is_dictionary, agreed.types)):
        # put together before they are widened: four fifths of what it takes one by one
        return in_one_piece(pa.Table.from_batches(pieces)).cast(_but_labels(agreed, pieces[0].schema))
    return pa.concat_tables([alike(piece, agreed).cast(agreed) for piece in pieces])


def _but_labels(agreed: pa.Schema, came: pa.Schema) -> pa.Schema:
    """``agreed`` with whole labels as narrow as they came: they are compared or become floats, whatever their width."""
    fields = [
        field if field.name == LABEL and field.type in _WHOLE else other
        for other, field in zip(agreed, came, strict=True)
    ]
    return pa.schema(fields)


def unpack_piece(piece: pa.Buffer) -> pa.RecordBatch:
    """The piece that was made a stream."""
    return pa.ipc.open_stream(piece).read_next_batch()
