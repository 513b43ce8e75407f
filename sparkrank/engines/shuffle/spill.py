"""A store for the record batches of every bucket between reading and evaluation, in memory or on disk."""

from __future__ import annotations

import tempfile
import threading
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import BinaryIO, TypeAlias, TypeVar

import pyarrow as pa

from sparkrank.base.errors import writing_errors
from sparkrank.base.temporary_files import read_at, unnamed_file
from sparkrank.engines.shuffle.packing import by_side, join_pieces, narrow_piece, unpack_piece
from sparkrank.engines.shuffle.texts import with_own_texts
from sparkrank.sources.sizes import long_text_errors
from sparkrank.states.pickling import stream_of

# The share of the limit that one spill writes. Meanwhile, new pieces may take as much. Rows that outgrow the limit a
# little are then mostly evaluated from memory.
SPILLED_SHARE = 1 / 3
MAX_PIECE_BYTES = 1 << 30  # limit of joined pieces: a column of texts and a single read cannot exceed 2 GiB
# Bytes of pieces that a spill joins into one piece: enough to fetch a bucket in few reads, and not too much in memory
# beside the rows of a large bucket.
SPILLED_BYTES = 16 << 20
T = TypeVar("T")
_ByBucket: TypeAlias = dict[int, list[pa.RecordBatch]]


class Generation:
    """The pieces in memory that were added one after the other, by bucket, and their ``bytes``.

    Pieces that are added together are slices of the same arrays, whose memory is only freed with all of them. Spills
    therefore write whole generations.
    """

    def __init__(self) -> None:
        self.pieces: _ByBucket = defaultdict(list)
        self.bytes = 0


class LazyFile:
    """A file of :func:`unnamed_file` that the first write creates, because few tasks write."""

    def __init__(self) -> None:
        self._file: BinaryIO | None = None

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    def write(self, data: memoryview) -> int:
        return self._opened().write(data)

    def fileno(self) -> int:
        return self._opened().fileno()

    def _opened(self) -> BinaryIO:
        self._file = self._file or unnamed_file()
        return self._file


class PieceStore:
    """A store of the record batches (pieces) of every bucket. Pieces beyond ``row_memory`` bytes are in ``file``.

    To spill, the store joins the oldest pieces by bucket and writes the results. Meanwhile, other threads may add
    pieces of as many bytes. The file is not memory-mapped, because mapped pages would count as memory of the process.
    All pieces have the columns of ``schema``.
    """

    def __init__(self, schema: pa.Schema, file: BinaryIO | LazyFile, row_memory: int) -> None:
        self.schema = schema
        self._rows: Counter[int] = Counter()
        self._limit = row_memory
        self._in_memory = deque([Generation()])  # the oldest first
        self._bytes_ever = 0
        self._file = file
        self._spilled: dict[int, list[tuple[int, int]]] = defaultdict(list)  # size and offset in the file
        self._end = 0
        self._add_lock, self._spill_lock = threading.Lock(), threading.Lock()

    @property
    def on_disk(self) -> bool:
        """Whether any pieces were ever written to disk."""
        return self._end > 0

    def add(self, pieces: Sequence[tuple[int, pa.RecordBatch]], size: int | None = None) -> None:
        """Add ``pieces``, each with its bucket's number. ``size`` is the total bytes of all pieces, if known."""
        with self._add_lock:
            newest = self._in_memory[-1]
            for bucket, piece in pieces:
                newest.pieces[bucket].append(piece)
                self._rows[bucket] += piece.num_rows
            size = sum(piece.nbytes for _, piece in pieces) if size is None else size
            newest.bytes += size
            self._bytes_ever += size
            if newest.bytes > self._limit * SPILLED_SHARE:
                self._in_memory.append(Generation())
            if sum(own.bytes for own in self._in_memory) <= self._limit:
                return
            self._spill_lock.acquire()  # the next thread that must spill waits here
            oldest = [self._in_memory.popleft()]
            while sum(own.bytes for own in self._in_memory) > self._limit:
                oldest.append(self._in_memory.popleft())
        try:
            while oldest:
                self._spill(oldest.pop(0).pieces)
        finally:
            self._spill_lock.release()

    def rows(self, bucket: int) -> int:
        """Return the number of rows of ``bucket`` added so far, including rows already taken out."""
        return self._rows[bucket]

    def bytes_in_memory(self, bucket: int) -> int:
        return sum(piece.nbytes for own in self._in_memory for piece in own.pieces.get(bucket, ()))

    def row_bytes(self) -> float:
        """Return the mean bytes per row over all rows added so far, including rows already taken out."""
        return self._bytes_ever / max(self._rows.total(), 1)

    def forget(self) -> None:
        """Drop all pieces in memory, which are of no use after memory has run out."""
        self._in_memory.clear()

    def pieces(self, bucket: int, *, keep: bool = False) -> Iterator[pa.RecordBatch]:
        """Yield the pieces of ``bucket`` one by one. Each piece is removed from the store unless ``keep`` is true."""
        for own in self._in_memory:
            if keep:
                yield from own.pieces.get(bucket, ())
                continue
            held = own.pieces.pop(bucket, [])
            while held:
                yield held.pop()
        places = self._spilled.get(bucket, []) if keep else self._spilled.pop(bucket, [])
        for place in places:
            yield unpack_piece(pa.py_buffer(read_at(self._file.fileno(), *place)))

    def take(self, *buckets: int) -> pa.Table | None:
        """Remove all rows of ``buckets`` from the store and return them as one table, or None if there are no rows."""
        pieces = [piece for bucket in buckets for piece in self.pieces(bucket)]
        with long_text_errors():
            return join_pieces(pieces, self.schema) if pieces else None

    def _spill(self, unwritten: _ByBucket) -> None:
        """Join the pieces of each bucket, append them to the file, and record sizes and offsets for :meth:`pieces`."""
        with writing_errors(f"rows that outgrow the memory held for them, in {tempfile.gettempdir()},"):
            runs = (
                (number, run)
                for number in sorted(unwritten)
                for side in by_side(unwritten.pop(number))
                for run in in_runs(side, lambda piece: piece.nbytes, min(SPILLED_BYTES, MAX_PIECE_BYTES))
            )
            for bucket, pieces in runs:
                rows = with_own_texts(narrow_piece(join_pieces(pieces, self.schema)), code_texts=True)
                rest = memoryview(stream_of(rows))
                self._spilled[bucket].append((len(rest), self._end))
                self._end += len(rest)
                while rest:
                    rest = rest[self._file.write(rest) :]


def in_runs(items: Iterable[T], size: Callable[[T], float], most: float) -> Iterator[list[T]]:
    """Divide ``items``, in order, into lists with a total ``size`` up to ``most``. A larger item is alone in a list."""
    run: list[T] = []
    total = 0.0
    for item in items:
        if run and total + size(item) > most:
            yield run
            run, total = [], 0.0
        run.append(item)
        total += size(item)
    if run:
        yield run
