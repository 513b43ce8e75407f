"""Rows of an Arrow stream, which can be read only once. Few rows are kept in memory, and many in a file."""

from __future__ import annotations

import itertools
import tempfile
import weakref
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import BinaryIO, NamedTuple

import pyarrow as pa

from sparkrank.base.errors import writing_errors
from sparkrank.base.temporary_files import read_at, unnamed_file
from sparkrank.sources.sizes import MOST_BYTES, plain_bytes


class StreamPart(NamedTuple):
    """The place of some rows in a file. ``first`` is the index of the first row, ``size`` the rows' bytes in memory."""

    first: int
    rows: int
    size: int
    place: int
    length: int


@dataclass(frozen=True)
class StreamFile:
    """Rows in ``parts`` of a temporary ``file``, which is closed with the last reference to this object.

    Each part is read by itself, so that threads can share the file. The file is not memory-mapped, because mapped pages
    would count as memory of the process.
    """

    schema: pa.Schema
    file: BinaryIO
    parts: tuple[StreamPart, ...]

    def __post_init__(self) -> None:
        weakref.finalize(self, self.file.close)

    def read(self, part: StreamPart) -> pa.Table:
        return pa.ipc.open_stream(read_at(self.file.fileno(), part.length, part.place)).read_all()


def kept(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> pa.Table | StreamFile:
    """Read ``batches`` once, and return them as a table, or as a file if they have more than :data:`MOST_BYTES`."""
    tables = _gathered(batches, schema)
    first = next(tables, schema.empty_table())
    if (second := next(tables, None)) is None:
        return first
    file, parts = unnamed_file(), list[StreamPart]()
    try:
        place = rows = 0
        for table in itertools.chain((first, second), tables):
            table.validate(full=True)  # writing invalid arrays could read memory outside of them
            with writing_errors(f"rows of a stream, in {tempfile.gettempdir()},"):
                length = _written(table, file)
            parts.append(StreamPart(rows, table.num_rows, plain_bytes(table), place, length))
            place, rows = place + length, rows + table.num_rows
    except BaseException:
        file.close()
        raise
    return StreamFile(schema, file, tuple(parts))


def _gathered(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.Table]:
    """Join ``batches`` into tables that end when they reach :data:`MOST_BYTES` bytes."""
    held: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        held.append(batch)
        size += _bytes_of(batch)
        if size >= MOST_BYTES:
            yield pa.Table.from_batches(held, schema)
            held, size = [], 0
    if held:
        yield pa.Table.from_batches(held, schema)


def _bytes_of(batch: pa.RecordBatch) -> int:
    """Return the bytes of ``batch`` without reading its values, which have not been validated yet."""
    try:
        return int(batch.nbytes)
    except pa.ArrowTypeError:  # pyarrow 18 cannot do this for views in arrays
        return int(batch.get_total_buffer_size())


def _written(table: pa.Table, file: BinaryIO) -> int:
    """Append ``table`` to ``file`` as an Arrow stream, and return its length."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    rest = memoryview(sink.getvalue())
    length = len(rest)
    while rest:
        rest = rest[file.write(rest) :]
    return length
