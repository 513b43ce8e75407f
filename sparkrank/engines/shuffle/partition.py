"""The sorting of the rows of a split by bucket."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sparkrank import native
from sparkrank.bucket.bucket_rows import flags_of
from sparkrank.bucket.impressions import one_array
from sparkrank.numeric.array_types import Ints
from sparkrank.numeric.key_hashes import MAX_LOOP_BUCKETS
from sparkrank.numeric.text_arrays import is_text, text_bytes, text_ends, texts_of

Unsigned: TypeAlias = NDArray[np.unsignedinteger[Any]]
_NARROW = 32  # bits


def partition_rows(rows: pa.Table, buckets: Unsigned, count: int) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Divide ``rows`` into ``count`` buckets. Yield each non-empty bucket's number and rows, in their order."""
    yield from parts_of(*rows_by_bucket(rows, buckets, count))


def parts_of(moved: pa.RecordBatch | None, ends: Sequence[int]) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Yield the number and the rows of each non-empty bucket of ``moved``, whose buckets end at ``ends``."""
    for bucket, (start, end) in enumerate(itertools.pairwise([0, *ends])):
        if moved is not None and start < end:
            yield bucket, moved.slice(start, end - start)


def rows_by_bucket(rows: pa.Table, buckets: Unsigned, count: int) -> tuple[pa.RecordBatch | None, list[int]]:
    """Sort ``rows`` stably by bucket. Return the rows (None if there are no rows) and the end index of each bucket."""
    sort = _scattered if native.runs("partition", count <= MAX_LOOP_BUCKETS) else _sorted_by_bucket
    moved, ends = sort(rows, buckets, count)
    return next(iter(moved.to_batches()), None), ends


def _sorted_by_bucket(rows: pa.Table, buckets: Unsigned, count: int) -> tuple[pa.Table, list[int]]:
    """Sort ``rows`` by bucket. Return the rows in one chunk, and the index where each of ``count`` buckets ends."""
    order, ends = order_by_bucket(buckets, count)
    return _taken(rows, pa.array(order)), ends


def _taken(rows: pa.Table, order: pa.Array) -> pa.Table:
    """Return the ``rows`` at the indices ``order``, in one chunk. The indices are not checked."""
    return pc.take(rows.combine_chunks(), order, boundscheck=False).combine_chunks()


def order_by_bucket(buckets: Unsigned, count: int) -> tuple[Unsigned, list[int]]:
    """Return the row indices, sorted stably by bucket, and the position where each of ``count`` buckets ends."""
    # sorting integers made of a bucket and a row is faster than ``argsort``, because numpy uses vector instructions
    row_bits = max(len(buckets) - 1, 0).bit_length()
    keys: NDArray[Any] = buckets.astype(np.uint32 if row_bits + (count - 1).bit_length() <= _NARROW else np.uint64)
    keys <<= keys.dtype.type(row_bits)
    keys |= np.arange(len(keys), dtype=keys.dtype)
    keys.sort()
    ends = np.searchsorted(keys, np.arange(1, count, dtype=keys.dtype) << keys.dtype.type(row_bits)).tolist()
    keys &= keys.dtype.type((1 << row_bits) - 1)
    return keys, [*ends, len(keys)]


def _scattered(rows: pa.Table, buckets: Unsigned, count: int) -> tuple[pa.Table, list[int]]:
    """Sort like :func:`_sorted_by_bucket`, but with compiled loops, which copy values straight to their positions."""
    of_rows, sizes = buckets.astype(np.uint16, copy=False), np.zeros(count, np.int64)
    native.buckets.count_rows(of_rows, sizes)
    ends, places = np.cumsum(sizes), np.empty(len(of_rows), np.uint32)
    native.buckets.place(of_rows, ends - sizes, places)
    moved = {}
    for name in rows.column_names:
        if _is_constant(rows[name]):
            moved[name] = one_array(rows[name])
        elif _are_numbers(rows[name]):
            moved[name] = _scatter_numbers(rows[name], places)
        elif is_text(rows[name].type) and not rows[name].null_count and rows.num_rows:
            moved[name] = _scatter_texts(one_array(rows[name]), of_rows, ends - sizes)
        elif pa.types.is_dictionary(rows[name].type) and not rows[name].null_count and rows.num_rows:
            texts = one_array(rows[name])
            codes = _scatter_numbers(pa.chunked_array([texts.indices]), places)
            moved[name] = pa.DictionaryArray.from_arrays(codes, texts.dictionary)
    if len(moved) < rows.num_columns:
        order = _scatter_numbers(pa.chunked_array([np.arange(rows.num_rows, dtype=np.uint32)]), places)
        others = _taken(rows.drop_columns(list(moved)), order)
        moved |= {name: one_array(others[name]) for name in others.column_names}
    return pa.table({name: moved[name] for name in rows.column_names}), ends.tolist()


def _are_numbers(column: pa.ChunkedArray) -> bool:
    """Return whether ``column`` contains only non-null numbers or bits, at least one.

    Compiled loops can copy only such columns.
    """
    kind = column.type
    are_numbers = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)
    return bool(are_numbers and not column.null_count and len(column))


def _is_constant(column: pa.ChunkedArray) -> bool:
    """Return whether the values of ``column`` are all null, all true, or all false."""
    if pa.types.is_null(column.type):
        return True
    return pa.types.is_boolean(column.type) and not column.null_count and pc.sum(column).as_py() in (0, len(column))


def _scatter_numbers(column: pa.ChunkedArray, places: NDArray[np.uint32]) -> pa.Array:
    """Return the values of ``column``, each moved to the index that ``places`` gives."""
    kind, start = column.type, 0
    if pa.types.is_boolean(kind):  # bits are moved as bytes
        moved = _scatter_numbers(pa.chunked_array([flags_of(column).view(np.uint8)]), places)
        bits = np.packbits(np.frombuffer(moved.buffers()[1], np.uint8), bitorder="little")
        return pa.Array.from_buffers(kind, len(column), [None, pa.py_buffer(bits)])
    width = kind.bit_width // 8
    room = pa.allocate_buffer(width * len(column))  # memory of Arrow, like all memory that is kept for long
    for chunk in filter(len, column.chunks):
        values = np.frombuffer(chunk.buffers()[1], np.uint8)[width * chunk.offset : width * (chunk.offset + len(chunk))]
        native.buckets.scatter(values, width, places[start : start + len(chunk)], np.frombuffer(room, np.uint8))
        start += len(chunk)
    return pa.Array.from_buffers(kind, len(column), [None, room])


def _scatter_texts(texts: pa.Array, buckets: NDArray[np.uint16], places: Ints) -> pa.Array:
    """Return ``texts`` sorted by bucket. ``places`` has the index at which each bucket starts, and is overwritten."""
    ends = text_ends(texts)
    room = pa.allocate_buffer(int(ends[-1] - ends[0]))
    moved_ends = np.frombuffer(pa.allocate_buffer(ends.nbytes), ends.dtype)
    native.texts.scatter(ends, text_bytes(texts), buckets, places, moved_ends, np.frombuffer(room, np.uint8))
    return texts_of(texts.type, moved_ends, room)
