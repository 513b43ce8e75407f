"""Rows between reading and solving, in one process: the pieces of every bucket, in memory or on disk."""

from __future__ import annotations

import os
import tempfile
import threading
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import BinaryIO, TypeAlias

import pyarrow as pa

from sparkrank.engines.arrow.sizes import told_by_bytes
from sparkrank.engines.shuffle.packing import joined, narrow_piece, unpack_piece
from sparkrank.engines.shuffle.texts import with_own_texts
from sparkrank.errors import told_by_writing
from sparkrank.states.pickling import stream_of

# While rows go to disk others are held, at most this part of the limit: 100 million rows take as long as with all of it
# again, and 0.2 GiB less.
SHARE_MEANWHILE = 1 / 3
MOST_JOINED = 1 << 30  # bytes of pieces that become one: a column of texts has less than 2 GiB, and so has a read
_Held: TypeAlias = dict[int, list[pa.RecordBatch]]


class Pieces:
    """The pieces of every bucket, rows of ``schema``: in memory up to ``row_memory``, and then in ``file``.

    All that is held goes to disk at once, joined to one piece for each bucket, so that a bucket is read in a few reads.
    Others may add :data:`SHARE_MEANWHILE` of ``row_memory`` until they are written; that is the most that is held, and
    one split of each thread.
    The file is read and written by plain calls, for pages of a mapped file count as memory of the process. It has no
    buffer, which would have to be written once more where a disk is full.
    """

    def __init__(self, schema: pa.Schema, file: BinaryIO, row_memory: int) -> None:
        self._schema = schema
        self._limit = row_memory
        self._held: _Held = defaultdict(list)
        self._bytes = 0
        self._file = file
        self._spilled: dict[int, list[tuple[int, int]]] = defaultdict(list)  # size and place in the file
        self._end = 0
        self._adding, self._spilling = threading.Lock(), threading.Lock()

    @property
    def on_disk(self) -> bool:
        """Whether there were ever more pieces than are held."""
        return self._end > 0

    def add(self, pieces: Sequence[tuple[int, pa.RecordBatch]]) -> None:
        """Keep the rows of a split, each piece for its bucket."""
        with self._adding:
            for bucket, piece in pieces:
                self._held[bucket].append(piece)
                self._bytes += piece.nbytes
            if self._bytes <= self._limit * (SHARE_MEANWHILE if self._spilling.locked() else 1):
                return
            self._spilling.acquire()  # who comes next waits for it with all he holds
            going, self._held, self._bytes = self._held, defaultdict(list), 0
        try:
            self._spill(going)
        finally:
            self._spilling.release()

    def take(self, bucket: int) -> pa.Table | None:
        """All rows of ``bucket``, or nothing where it has none; they are forgotten here."""
        found = self._held.pop(bucket, [])
        if places := self._spilled.pop(bucket, []):
            file = self._file.fileno()
            found += [unpack_piece(_read(file, *place)) for place in places]
        with told_by_bytes():
            return joined(found, self._schema) if found else None

    def _spill(self, held: _Held) -> None:
        """Write a piece for each bucket to the end of the file, where those who take it find it by its place."""
        with told_by_writing(f"rows that outgrow the memory held for them, in {tempfile.gettempdir()},"):
            runs = ((each, run) for each in sorted(held) for run in _runs(held.pop(each)))
            for bucket, pieces in runs:
                rows = with_own_texts(narrow_piece(joined(pieces, self._schema)), code_texts=True)
                rest = memoryview(stream_of(rows))
                self._spilled[bucket].append((len(rest), self._end))
                self._end += len(rest)
                while rest:
                    rest = rest[self._file.write(rest) :]


def _runs(pieces: list[pa.RecordBatch]) -> Iterator[list[pa.RecordBatch]]:
    """``pieces`` in runs of at most :data:`MOST_JOINED` bytes, unless one piece has more."""
    run: list[pa.RecordBatch] = []
    size = 0
    for piece in pieces:
        if run and size + piece.nbytes > MOST_JOINED:
            yield run
            run, size = [], 0
        run.append(piece)
        size += piece.nbytes
    yield run


def _read(file: int, size: int, place: int) -> pa.Buffer:
    """The ``size`` bytes at ``place``; one call reads no more than 2 GiB."""
    parts = []
    while size > 0:
        parts.append(os.pread(file, min(size, MOST_JOINED), place))
        size, place = size - len(parts[-1]), place + len(parts[-1])
    return pa.py_buffer(parts[0] if len(parts) == 1 else b"".join(parts))
