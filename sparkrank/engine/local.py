"""The local lane: the same buckets in one process, threads over splits and buckets, no Java.

Rows are read split by split, cut by bucket, and held as pieces of Arrow memory until all splits are read; then every
bucket is solved. Where the pieces outgrow the memory that they may take, they go to disk and are mapped back.
"""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import pyarrow as pa

from sparkrank.bucket import BucketResult, evaluate_bucket
from sparkrank.engine.group_files import GroupFiles
from sparkrank.engine.packing import pieces_by_bucket
from sparkrank.engine.result import Solved
from sparkrank.metrics import Plan
from sparkrank.states import Partials

MERGED_AT_ONCE = 16  # partials of buckets are merged as they come, so that few are held
HELD_BYTES = 512 << 20  # pieces held in memory before they go to disk: 40 million rows of an integer key
T = TypeVar("T")
R = TypeVar("R")


def evaluate_local(
    splits: Iterable[Callable[[], Iterator[pa.Table]]],
    plan: Plan,
    buckets: int,
    *,
    threads: int | None = None,
    held_bytes: int | None = None,
    files: GroupFiles | None = None,
) -> Solved:
    """Evaluate the bucket rows that ``splits`` read, in ``buckets`` buckets, on ``threads`` threads (or all cores).

    With ``files``, the group table is written there as it comes.
    """
    threads = threads or os.cpu_count() or 1
    with (
        tempfile.TemporaryDirectory(prefix="sparkrank-") as spill,
        ThreadPoolExecutor(threads) as pool,
    ):
        pieces = Pieces(buckets, Path(spill), HELD_BYTES if held_bytes is None else held_bytes)

        def read(split: Callable[[], Iterator[pa.Table]]) -> None:
            for table in split():
                for bucket, piece in pieces_by_bucket(table, buckets):
                    pieces.add(bucket, piece)

        def solve(bucket: int) -> BucketResult | None:
            part = pieces.take(bucket)
            return None if part is None else evaluate_bucket(part, plan)

        for _ in _run(pool, read, splits, threads):
            pass
        return _gathered(_run(pool, solve, range(buckets), threads), files)


def _gathered(results: Iterator[BucketResult | None], files: GroupFiles | None) -> Solved:
    """The states of all buckets together, and their group tables, held or written as they come."""
    merged: list[Partials] = []

    def groups() -> Iterator[pa.Table]:
        for result in results:
            if result is None:
                continue
            merged.append(result.partials)
            if len(merged) == MERGED_AT_ONCE:
                merged[:] = [Partials.merged(merged)]
            if result.groups is not None:
                yield result.groups

    if files is not None:
        files.keep(set(files.write(groups())))
        return Solved(Partials.merged(merged), None)
    held = list(groups())
    return Solved(Partials.merged(merged), pa.concat_tables(held) if held else None)


def _run(pool: ThreadPoolExecutor, task: Callable[[T], R], over: Iterable[T], threads: int) -> Iterator[R]:
    """The results of ``task`` in order, a few tasks ahead of the one that is waited for."""
    waiting = []
    for each in over:
        waiting.append(pool.submit(task, each))
        if len(waiting) > 2 * threads:
            yield waiting.pop(0).result()
    for future in waiting:
        yield future.result()


class Pieces:
    """The pieces of every bucket, in memory up to ``held_bytes`` and then on disk below ``folder``."""

    def __init__(self, buckets: int, folder: Path, held_bytes: int) -> None:
        self._held: list[list[pa.RecordBatch]] = [[] for _ in range(buckets)]
        self._spilled: list[list[tuple[Path, int]]] = [[] for _ in range(buckets)]
        self._folder = folder
        self._limit = held_bytes
        self._bytes = 0
        self._files = 0
        self._lock = threading.Lock()

    def add(self, bucket: int, piece: pa.RecordBatch) -> None:
        """Keep ``piece`` for its bucket."""
        with self._lock:
            self._held[bucket].append(piece)
            self._bytes += piece.nbytes
            if self._bytes > self._limit:
                self._spill()

    def take(self, bucket: int) -> pa.Table | None:
        """All rows of ``bucket``, or nothing where it has none; they are forgotten here."""
        batches = self._held[bucket]
        self._held[bucket] = []
        for path, index in self._spilled[bucket]:
            with pa.memory_map(str(path)) as file:
                batches.append(pa.ipc.open_file(file).get_batch(index))
        return pa.Table.from_batches(batches) if batches else None

    def _spill(self) -> None:
        """Write every held piece to one file, a batch each, and remember which is whose."""
        path = self._folder / f"{self._files}.arrow"
        schema = next(pieces[0].schema for pieces in self._held if pieces)
        index = 0
        with pa.ipc.new_file(path, schema) as writer:
            for bucket, pieces in enumerate(self._held):
                for piece in pieces:
                    writer.write_batch(piece)
                    self._spilled[bucket].append((path, index))
                    index += 1
                pieces.clear()
        self._files += 1
        self._bytes = 0
