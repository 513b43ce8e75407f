"""Sizes of rows in bytes. If their strings are long, fewer rows are in memory at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from sparkrank.base.errors import InputError, first_line
from sparkrank.numeric.memory import is_limited
from sparkrank.numeric.text_arrays import is_text
from sparkrank.sources.integrity import CHECKED
from sparkrank.sources.types import is_list, plain_type

# The bytes that are cut into buckets at once. A split of two million rows with all columns of the nightly metrics has
# three quarters of this size. A worker needs several times as much memory. Joined string arrays must be below 2 GiB.
MOST_BYTES = 64 << 20
# Rows that Arrow reads at once by default, and rows that are read to estimate the length of strings.
BATCH_ROWS, PROBED_ROWS = 1 << 17, 64
BYTES_OF_A_NUMBER = 8  # at most, in memory, but for rare timestamps of 96 bits
PROBE_BYTES = 1 << 16  # bytes of a file fetched at once for that estimate
BYTES_OF_A_ROW = 1 << 10  # so a bucket of a million rows is 1 GiB; a longer row counts as several
_TOO_LARGE = (
    *("offset overflow", "overflowed binary array", "array cannot contain more than 2147483646 bytes"),
    "input array too large",
)


def may_be_wide(kind: pa.DataType) -> bool:
    """Return whether values of the type ``kind`` may have any number of bytes."""
    kind = plain_type(kind)
    return is_text(kind) or pa.types.is_nested(kind) or pa.types.is_fixed_size_binary(kind)


def in_parts(
    rows: pa.Table, size: Callable[[pa.Table], int] | None = None, most: int = MOST_BYTES
) -> Iterator[pa.Table]:
    """Yield ``rows`` in tables of at most ``most`` bytes each, as measured by ``size``. A single row may be larger."""
    size = plain_bytes if size is None else size
    if rows.num_rows < 2 or not any(map(may_be_wide, rows.schema.types)) or (total := size(rows)) <= most:
        yield rows
        return
    step = max(1, rows.num_rows // math.ceil(total / most))
    for start in range(0, rows.num_rows, step):
        yield from in_parts(rows.slice(start, step), size, most)


def plain_bytes(rows: pa.Table) -> int:
    """Return the size of ``rows`` in bytes as if no strings were dictionary-encoded."""
    return sum(map(_bytes_of, rows.columns))


def _bytes_of(column: pa.ChunkedArray) -> int:
    kind = column.type
    if (pa.types.is_dictionary(kind) and is_text(plain_type(kind))) or _is_view(kind):  # rows refer to strings
        return _sum(_lengths(column))
    try:
        return int(column.nbytes)
    except pa.ArrowTypeError:  # pyarrow 18 cannot do this for views in arrays
        return int(column.get_total_buffer_size())


def _sum(numbers: pa.ChunkedArray) -> int:
    return int(pc.sum(pc.cast(numbers, pa.int64())).as_py() or 0)


def bytes_of_elements(arrays: Sequence[str], texts: Sequence[str]) -> Callable[[pa.Table], int]:
    """Return a function that computes the bytes of rows with arrays after their expansion to one row per element.

    ``arrays`` names the array columns, and ``texts`` the string columns with values repeated in the new rows.
    """

    def size(rows: pa.Table) -> int:
        lengths = [pc.list_value_length(rows[name]) for name in arrays if is_list(rows[name].type)]
        beside = [_lengths(rows[name]) for name in texts if is_text(plain_type(rows[name].type))]
        return plain_bytes(rows) + sum(
            _sum(pc.multiply(pc.cast(count, pa.int64()), length)) for count in lengths for length in beside
        )

    return size


def _is_view(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string_view(kind) or pa.types.is_binary_view(kind))


def _lengths(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the length of each string in ``column``, in bytes. The length of a null is 0 or null."""
    return pa.chunked_array([_lengths_of(chunk) for chunk in column.chunks], pa.int64())


def _lengths_of(texts: pa.Array) -> pa.Array:
    if pa.types.is_dictionary(texts.type):
        return _lengths_of(texts.dictionary).take(texts.indices)
    if not _is_view(texts.type):
        return pc.binary_length(texts).cast(pa.int64())
    views = np.frombuffer(texts.buffers()[1] or b"", np.int32).reshape(-1, 4)  # 16 bytes each, the length first
    lengths = views[texts.offset : texts.offset + len(texts), 0].astype(np.int64)
    return pc.if_else(texts.is_valid(), pa.array(lengths), 0)


def batch_rows(fragment: ds.ParquetFileFragment, leaves: Sequence[int]) -> int:
    """Return an estimate of the number of rows of the Parquet columns ``leaves`` that can be read at once.

    The estimate is based on the size of numbers in the footer, and on the size of strings in a few rows.
    """
    stored = fragment.metadata.schema
    texts = [leaf for leaf in leaves if stored.column(leaf).physical_type.endswith("BYTE_ARRAY")]
    may_repeat = any(stored.column(leaf).max_repetition_level for leaf in leaves)
    if not (texts or may_repeat) or not fragment.row_groups:
        return BATCH_ROWS
    first = fragment.row_groups[0].id
    group = fragment.metadata.row_group(first)
    sizes = (
        max(leaf.total_uncompressed_size, leaf.num_values * BYTES_OF_A_NUMBER) for leaf in map(group.column, leaves)
    )
    of_row = sum(sizes) / max(1, group.num_rows)
    if not texts:
        return _rows_at_once(of_row)
    with fragment.open() as file:
        few = pq.ParquetFile(
            file, metadata=fragment.metadata, buffer_size=PROBE_BYTES, pre_buffer=not is_limited(), **CHECKED
        )
        paths = [stored.column(leaf).path for leaf in texts]
        for batch in few.iter_batches(PROBED_ROWS, [first], paths, use_threads=False):
            of_row = max(of_row, batch.nbytes / max(1, batch.num_rows))
            break
    return _rows_at_once(of_row)


def _rows_at_once(bytes_of_row: float) -> int:
    return max(1, min(BATCH_ROWS, int(MOST_BYTES / max(1.0, bytes_of_row))))


def leaves_of(fragment: ds.ParquetFileFragment, columns: Sequence[str]) -> list[int]:
    """Return the indices of the Parquet leaf columns that belong to ``columns``."""
    stored = fragment.metadata.schema
    paths = [stored.column(leaf).path for leaf in range(len(stored))]
    return [
        leaf for leaf, path in enumerate(paths) if any(path == name or path.startswith(f"{name}.") for name in columns)
    ]


def rows_of_elements(part: ds.ParquetFileFragment, arrays: Sequence[str]) -> int:
    """Return the number of bucket rows from a fragment of a file: one per row, or one per element of ``arrays``."""
    elements = 0
    for leaves in (leaves_of(part, [name]) for name in arrays):
        for group in (part.metadata.row_group(group.id) for group in part.row_groups):
            elements += max((int(group.column(leaf).num_values) for leaf in leaves), default=0)
    return max(elements, sum(int(group.num_rows) for group in part.row_groups))


def elements_in(rows: pa.Table | pa.RecordBatch, arrays: Sequence[str]) -> int:
    """Return the number of bucket rows from ``rows`` in memory: one per row, or one per element of ``arrays``."""
    return max(int(rows.num_rows), sum(_sum(pc.list_value_length(rows[name])) for name in arrays))


def as_rows(count: int, size: int) -> int:
    """Return the row count that determines the number of buckets: ``count``, or more if ``size`` (bytes) is large."""
    return max(count, size // BYTES_OF_A_ROW)


def stored_bytes(fragments: Sequence[ds.ParquetFileFragment], columns: Sequence[str]) -> int:
    """Return the uncompressed size in bytes of the strings and arrays in ``columns`` of the files."""
    total = 0
    for fragment in fragments:
        stored = fragment.physical_schema
        if wide := [name for name in columns if name in stored.names and may_be_wide(stored.field(name).type)]:
            leaves, metadata = leaves_of(fragment, wide), fragment.metadata
            for group in map(metadata.row_group, range(metadata.num_row_groups)):
                total += sum(group.column(leaf).total_uncompressed_size for leaf in leaves)
    return total


@contextmanager
def long_text_errors() -> Iterator[None]:
    """Context manager that turns Arrow's error for too many bytes in one array into an :class:`InputError`."""
    try:
        yield
    except pa.ArrowException as error:
        if any(text in str(error) for text in _TOO_LARGE):
            raise InputError(
                "rows that must be held together have more than 2 GiB of texts in one column, those of a group or of "
                f"a bucket: shorten them, or ask for more buckets (Arrow: {first_line(error)[:80]})"
            ) from error
        raise
