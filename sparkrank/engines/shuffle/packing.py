"""The packing of the rows of a split into pieces, which are record batches with integers in the narrowest type.

Pieces are sent as Arrow streams. The rows of a piece belong to one input (a side): lists, truth or a table of the past.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sparkrank.bucket.bucket_rows import flags_of
from sparkrank.bucket.impressions import (
    LABEL,
    PAST,
    PROPENSITY,
    TRUTH,
    in_one_piece,
    key_columns,
    labels_of,
    score_columns,
)
from sparkrank.engines.shuffle.partition import Unsigned, partition_rows, parts_of, rows_by_bucket
from sparkrank.engines.shuffle.texts import (
    decoded,
    few_coded,
    in_one_array,
    solved_schema,
    with_own_texts,
    with_schema,
    with_used_texts,
)
from sparkrank.inputs.buckets import BUCKETS_PER_TASK, first_buckets
from sparkrank.numeric.array_types import Ints
from sparkrank.numeric.key_hashes import MAX_LOOP_BUCKETS, buckets_of, buckets_of_keys, hash_keys
from sparkrank.numeric.text_arrays import is_text
from sparkrank.sources.sizes import long_text_errors
from sparkrank.states.pickling import write_stream

_WHOLE = (pa.int8(), pa.int16(), pa.int32(), pa.int64())
_CLICKS = pa.bool_()  # the type of labels that are all 0 or 1
_SIZES = b"rows of buckets"  # in the metadata of a piece: the rows of its first bucket and of the following ones
_NO_ROWS = np.empty(0, np.uint16)


def pieces_by_bucket(rows: pa.Table, buckets: int, code_texts: bool = True) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Cut the ``rows`` of a split into one record batch per bucket. Yield the number and the batch of each with rows.

    Columns with few distinct strings get dictionaries. With ``code_texts``, so do columns with many repeated strings.
    """
    with long_text_errors():
        rows = in_one_array(narrowed(decoded(rows)))
        has_texts = any(map(is_text, rows.schema.types))
        for moved, ends in _apart(few_coded(_of_one_side(rows)), _buckets_of_rows(rows, buckets), buckets):
            for bucket, piece in parts_of(moved, ends):
                yield bucket, with_own_texts(piece, code_texts) if has_texts else piece


def pieces_by_task(rows: pa.Table, buckets: int, tasks: int) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Cut the ``rows`` of a split into one record batch per task, or per bucket if a task has few buckets of texts.

    Yield the number of the first bucket of each batch, and the batch.
    """
    # A piece costs as much as hundreds of rows, so it holds all buckets of its task. If a task has few buckets, texts
    # have one dictionary per bucket, which fits the processor's cache.
    has_texts = any(map(is_text, decoded(rows).schema.types))
    if has_texts and buckets <= BUCKETS_PER_TASK * tasks:
        yield from pieces_by_bucket(rows, buckets)
        return
    with long_text_errors():
        rows = in_one_array(narrowed(decoded(rows)))
        of_sides = _apart(few_coded(_of_one_side(rows)), _buckets_of_rows(rows, buckets), buckets)
        del rows  # a copy is sent piece by piece
        for (moved, ends), (first, last) in itertools.product(
            of_sides, itertools.pairwise(first_buckets(buckets, tasks))
        ):
            bounds = np.array([0, *ends])
            start, end = int(bounds[first]), int(bounds[last])
            if moved is not None and start < end:
                piece = moved.slice(start, end - start)
                sizes = np.diff(bounds[first : last + 1]).astype(np.int32).tobytes()
                piece = with_own_texts(piece, code_texts=True) if has_texts else piece
                yield first, piece.replace_schema_metadata({_SIZES: sizes})


def bucket_sizes(piece: pa.RecordBatch) -> Ints | None:
    """Return the number of rows in each bucket of ``piece``, in the order of buckets; None for a single bucket."""
    sizes = (piece.schema.metadata or {}).get(_SIZES)
    return None if sizes is None else np.frombuffer(sizes, np.int32)


def buckets_of_piece(bucket: int, piece: pa.RecordBatch) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Cut ``piece``, whose first bucket is ``bucket``, without a copy. Yield the number and the rows of each bucket."""
    sizes = bucket_sizes(piece)
    if sizes is None:
        yield bucket, piece
        return
    has_texts = any(map(pa.types.is_dictionary, piece.schema.types))
    start = 0
    for number, size in enumerate(sizes.tolist(), bucket):
        if size:
            rows = piece.slice(start, size)
            yield number, with_used_texts(rows) if has_texts else rows
        start += size


def buckets_of_pieces(
    bucket: int, pieces: Sequence[pa.RecordBatch], schema: pa.Schema
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Join ``pieces`` that all begin with ``bucket``, and cut the result. Yield the number and the rows of each bucket.

    The pieces must all be of one input (:func:`side_of`).
    """
    sizes = np.stack([np.frombuffer(piece.schema.metadata[_SIZES], np.int32) for piece in pieces])
    count = sizes.shape[1]
    numbers = np.repeat(np.tile(np.arange(count, dtype=np.uint16), len(pieces)), sizes.ravel())
    rows = narrowed(join_pieces(pieces, schema))
    for number, part in partition_rows(_of_one_side(rows), numbers, count):
        yield bucket + number, part


def _buckets_of_rows(rows: pa.Table, buckets: int) -> Unsigned:
    return np.concatenate([_buckets_of(batch, buckets) for batch in rows.to_batches()] or [_NO_ROWS])


def _of_one_side(rows: pa.Table) -> pa.Table:
    """Return ``rows`` with type null for columns without values, such as the labels of lists.

    This applies only if lists come with a truth or a past.
    """
    if TRUTH in rows.column_names or PAST in rows.column_names:
        for name in rows.column_names if PAST in rows.column_names else (LABEL, *score_columns(rows)):
            if rows.num_rows and rows[name].null_count == rows.num_rows:
                rows = rows.set_column(rows.column_names.index(name), name, pa.chunked_array([pa.nulls(rows.num_rows)]))
    return rows


def _apart(rows: pa.Table, buckets: Unsigned, count: int) -> list[tuple[pa.RecordBatch | None, list[int]]]:
    """Sort ``rows`` by bucket, those without a propensity apart, so that they take no memory for one.

    Return the rows of either kind, if there are any, each with the end index of each bucket.
    """
    has_some = PROPENSITY in rows.column_names and 0 < rows[PROPENSITY].null_count < rows.num_rows
    if not has_some or 2 * count > MAX_LOOP_BUCKETS:
        return [rows_by_bucket(rows, buckets, count)]
    place, has_one = rows.column_names.index(PROPENSITY), flags_of(rows[PROPENSITY].is_valid())
    moved, ends = rows_by_bucket(rows.remove_column(place), buckets + has_one * np.uint16(count), 2 * count)
    given = np.flatnonzero(has_one)  # much faster than selecting by flags
    known = pa.table({PROPENSITY: _numbers(rows[PROPENSITY], given)})
    values, ends_of_values = rows_by_bucket(known, buckets[given], count)
    assert moved is not None and values is not None  # noqa: S101, PT018 - there are rows of either kind
    without, others = moved.slice(0, ends[count - 1]), moved.slice(ends[count - 1])
    return [
        (without.add_column(place, PROPENSITY, pa.nulls(len(without))), ends[:count]),
        (others.add_column(place, PROPENSITY, values[PROPENSITY]), ends_of_values),
    ]


def _numbers(column: pa.ChunkedArray, rows: Ints) -> NDArray[Any]:
    """Return the numbers of ``column`` in ``rows``, which ascend. Chunks are not joined, as a copy would be large."""
    ends = np.cumsum([len(chunk) for chunk in column.chunks])
    parts, start = [], 0
    for chunk, inside in zip(column.chunks, np.split(rows, np.searchsorted(rows, ends)), strict=False):
        numbers = np.frombuffer(chunk.buffers()[1], chunk.type.to_pandas_dtype())
        parts.append(numbers[inside - start + chunk.offset])
        start += len(chunk)
    return np.concatenate(parts)


def _buckets_of(rows: pa.RecordBatch, buckets: int) -> Unsigned:
    """Return the bucket of each row. Rows without a key belong to no group and are spread over all buckets."""
    names = key_columns(rows)
    keys = [rows[name] for name in names]
    if not any(key.null_count for key in keys):
        return buckets_of_keys(keys, buckets)
    hashes = hash_keys(keys)
    for key in keys:
        missing = pc.indices_nonzero(pc.is_null(key))
        # by other columns, not by the row index, because a task that Spark repeats may get another order of rows
        others = rows.select([name for name in rows.schema.names if name not in names])
        hashes[missing.to_numpy()] = hash_keys(others.take(missing).columns)
    return buckets_of(hashes, buckets)


def narrow_piece(rows: pa.Table) -> pa.RecordBatch:
    """Return ``rows`` as one record batch with narrow integers. There must be at least one row."""
    (batch,) = narrowed(rows).combine_chunks().to_batches()
    return batch


def narrowed(rows: pa.Table) -> pa.Table:
    """Return ``rows`` with every integer column in the narrowest type that fits its values, and clicks as bits.

    Propensities that are all null have the type null.
    """
    if PROPENSITY in rows.column_names and rows.num_rows == rows[PROPENSITY].null_count > 0:
        place = rows.column_names.index(PROPENSITY)
        rows = rows.set_column(place, PROPENSITY, pa.chunked_array([pa.nulls(rows.num_rows)]))
    labels = labels_of(rows.column_names)
    for index, field in enumerate(rows.schema):
        if pa.types.is_signed_integer(field.type) and rows.num_rows > rows[index].null_count:
            kind = _narrowest(rows[index], may_be_clicks=field.name in labels)
            if kind.bit_width < field.type.bit_width:
                rows = rows.set_column(index, field.name, rows[index].cast(kind, safe=False))  # all values fit
    return rows


def _narrowest(column: pa.ChunkedArray, *, may_be_clicks: bool) -> pa.DataType:
    """Return the narrowest type that fits ``column``. Reading stops once the current type proves necessary."""
    kinds = (_CLICKS, *_WHOLE) if may_be_clicks else _WHOLE
    width = kinds[0].bit_width
    for chunk in column.chunks:
        if width == column.type.bit_width:
            break
        limits = [limit.as_py() for limit in pc.min_max(chunk).values()]  # None where all values are null
        width = max([width, *(_bits(limit) for limit in limits if limit is not None)])
    return next(kind for kind in kinds if width <= kind.bit_width)


def _bits(number: int) -> int:
    bits = (number if number >= 0 else ~number).bit_length() + 1
    return 1 if number in (0, 1) else max(bits, 8)


def pack_pieces(pieces: Iterable[pa.RecordBatch]) -> pa.Array:
    """Write each record batch as an Arrow stream (see :func:`stream_of`). Return all streams as one binary array."""
    sink = pa.BufferOutputStream()
    ends = [0]
    for piece in pieces:
        write_stream(piece, sink)
        ends.append(sink.tell())
    buffers = (None, pa.py_buffer(np.array(ends, np.int32)), sink.getvalue())
    return pa.Array.from_buffers(pa.binary(), len(ends) - 1, buffers)


def join_pieces(pieces: Sequence[pa.RecordBatch], schema: pa.Schema) -> pa.Table:
    """Return ``pieces`` as one table with ``schema``, with the rows of lists first. Keys may be dictionary-encoded."""
    agreed = _with_narrow_labels(solved_schema(schema, pieces), pieces)
    return pa.concat_tables([_joined(side, agreed) for side in by_side(pieces)] or [agreed.empty_table()])


def by_side(pieces: Sequence[pa.RecordBatch]) -> list[list[pa.RecordBatch]]:
    """Return the ``pieces`` by input: those of the lists, then those of the truth and of each table of the past."""
    sides: defaultdict[tuple[int, ...], list[pa.RecordBatch]] = defaultdict(list)
    for piece in pieces:
        sides[side_of(piece)].append(piece)
    return [sides[side] for side in sorted(sides)]


def side_of(piece: pa.RecordBatch) -> tuple[int, ...]:
    """Return a sort key for the input (lists, truth or past) of the rows of ``piece``. Lists sort first.

    Rows with and without a propensity have different keys.
    """
    names = piece.schema.names
    sides = [int(piece[name][0].as_py()) for name in (PAST, TRUTH) if piece.num_rows and name in names]
    return (*sides, int(PROPENSITY in names and pa.types.is_null(piece.schema.field(PROPENSITY).type)))


def _joined(pieces: Sequence[pa.RecordBatch], agreed: pa.Schema) -> pa.Table:
    are_of_one_schema = all(piece.schema == pieces[0].schema for piece in pieces)
    kinds = [*agreed.types, *pieces[0].schema.types]  # dictionaries together may need a wider index than each of them
    if are_of_one_schema and not any(map(pa.types.is_dictionary, kinds)):
        # concatenating before widening takes four fifths of the time of widening each piece
        return in_one_piece(pa.Table.from_batches(pieces)).cast(agreed)
    return pa.concat_tables([with_schema(piece, agreed).cast(agreed) for piece in pieces])


def _with_narrow_labels(schema: pa.Schema, pieces: Sequence[pa.RecordBatch]) -> pa.Schema:
    """Return ``schema`` with the narrow integer type of the labels in all ``pieces``; unchanged if types differ."""
    for name in labels_of(schema.names):
        index = schema.get_field_index(name)
        kinds = {_WHOLE[0] if kind == _CLICKS else kind for kind in {piece.schema.types[index] for piece in pieces}}
        kinds -= {pa.null()}
        if len(kinds) == 1 and kinds.issubset(_WHOLE):
            schema = schema.set(index, schema.field(index).with_type(kinds.pop()))
    return schema


def unpack_piece(piece: pa.Buffer) -> pa.RecordBatch:
    """Read a record batch from its Arrow stream."""
    return pa.ipc.open_stream(piece).read_next_batch()
