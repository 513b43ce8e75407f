"""The division of buckets into runs: tables of whole groups. Small buckets share a run; a large bucket has several.

The rows of a very large bucket are divided again by the hash of the key, so that only one run is in memory at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa

from sparkrank.bucket.impressions import key_columns
from sparkrank.engines.shuffle.packing import join_pieces
from sparkrank.engines.shuffle.partition import partition_rows
from sparkrank.engines.shuffle.piece_join import joined_in_turn
from sparkrank.engines.shuffle.spill import PieceStore, in_runs
from sparkrank.numeric.array_types import Ints
from sparkrank.numeric.key_hashes import MAX_LOOP_BUCKETS, hash_keys
from sparkrank.ranking.hit_sums import LARGE_ROWS

# Buckets of up to this many rows, twice the usual number, are evaluated whole.
RUN_ROWS = 1 << 21
# Buckets share an evaluation up to this total number of rows, which keeps its fixed cost below most of the time. Bytes
# are limited too, because many models would exceed the memory, and long texts the 2 GiB of a text array.
SHARED_ROWS = 1 << 17
SHARED_BYTES = 32 << 20
HASHES = 1 << 16  # possible hashes by which runs are cut; few other groups have the same hash as a large group
SAMPLED_ROWS = 1000
_LOW_BITS = np.uint64(HASHES - 1)  # the upper bits already decide buckets and parts of groups


class Run:
    """The rows of whole groups of some buckets of ``store``. ``sample`` contains a few rows of a large run."""

    def __init__(self, store: PieceStore, *buckets: int) -> None:
        self.rows = sum(map(store.rows, buckets))
        self.sample = store.schema.empty_table()
        self._store, self._buckets = store, buckets

    @property
    def bytes(self) -> int:
        """The approximate size of the rows as one table, in bytes."""
        return int(self.rows * self._store.row_bytes())

    @property
    def bytes_in_memory(self) -> int:
        """The bytes of those rows of this run that the store already has in memory."""
        return sum(map(self._store.bytes_in_memory, self._buckets))

    def table(self) -> pa.Table:
        """Remove the rows of this run from the store and return them as one table."""
        if self.rows <= RUN_ROWS:
            return self._store.take(*self._buckets)
        return joined_in_turn(self._sampled(), self.rows, self._store.schema)

    def _sampled(self) -> Iterator[pa.RecordBatch]:
        for bucket in self._buckets:
            for piece in self._store.pieces(bucket):
                if not self.sample.num_rows:
                    self.sample = sample_of(piece, self._store.schema)
                yield piece


def sample_of(piece: pa.RecordBatch, schema: pa.Schema) -> pa.Table:
    """Return a table of some rows of ``piece`` (a record batch), with the columns of ``schema``.

    The rows are copied, so ``piece`` can be freed.
    """
    some = pa.Table.from_batches([piece]).take(pa.array(range(min(SAMPLED_ROWS, piece.num_rows))))
    return join_pieces(some.combine_chunks().to_batches(), schema)


def small_together(store: PieceStore, buckets: Iterable[int]) -> Iterator[list[int]]:
    """Yield ``buckets`` in lists. Small buckets share a list of up to :data:`SHARED_ROWS` and :data:`SHARED_BYTES`."""
    yield from in_runs(buckets, store.rows, min(SHARED_ROWS, RUN_ROWS, SHARED_BYTES / max(store.row_bytes(), 1)))


def runs_of(store: PieceStore, buckets: Sequence[int], inner: Callable[[], PieceStore]) -> Iterator[Run]:
    """Yield one run for all ``buckets``, or several runs if ``buckets`` is one large bucket.

    ``inner`` makes the store for the runs of a large bucket.
    """
    whole = Run(store, *buckets)
    if whole.rows <= RUN_ROWS:
        if whole.rows:
            yield whole
        return
    (bucket,) = buckets
    counts = np.zeros(HASHES, np.int64)
    for piece in store.pieces(bucket, keep=True):
        counts += np.bincount(_hashes(piece), minlength=HASHES)
    run_of_hash, runs = runs_of_hashes(counts)
    if runs == 1:
        yield whole
        return
    cut = inner()
    for piece in store.pieces(bucket):
        cut.add(list(partition_rows(pa.Table.from_batches([piece]), run_of_hash[_hashes(piece)], runs)))
    for run in range(runs):
        yield Run(cut, run)


def _hashes(piece: pa.RecordBatch) -> Ints:
    hashes = hash_keys([piece[name] for name in key_columns(piece)]) & _LOW_BITS
    return hashes.view(np.int64)


def runs_of_hashes(counts: Ints) -> tuple[np.ndarray[tuple[int], np.dtype[np.uint16]], int]:
    """Divide hashes into runs, given the number of rows of each hash in ``counts``.

    Return the run of each hash and the number of runs. Hashes of large groups are in runs separate from other hashes.
    """
    run_of_hash, runs = np.zeros(len(counts), np.uint16), 0
    for large in (True, False):
        chosen = np.flatnonzero(counts > LARGE_ROWS if large else (counts > 0) & (counts <= LARGE_ROWS))
        for run in in_runs(chosen.tolist(), counts.tolist().__getitem__, RUN_ROWS):
            run_of_hash[run] = min(runs, MAX_LOOP_BUCKETS - 1)
            runs += 1
    return run_of_hash, min(runs, MAX_LOOP_BUCKETS)
