"""The local lane: the same buckets in one process, threads over splits and buckets, no Java.

Rows are read split by split, cut by bucket, and kept as pieces until all splits are read; then every bucket is solved.

What it takes does not grow with the number of rows, but for exact blocks and a group table that is not written to
files: :data:`HELD_BYTES` of pieces (17 bytes a row with a long integer key, less where keys are small), on each thread
a split of a million rows or a bucket of 400,000 with some 100 bytes a row, and of the group table two row groups and
the buckets that wait to be written (16 and 3 MB each with twenty columns). For 100 million rows of one model and
integer keys that was 0.85 GiB on two threads, in the fifth run as in the first.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import pyarrow as pa

from sparkrank.bucket import BucketResult, evaluate_bucket
from sparkrank.engine.allocators import give_back_freed_memory
from sparkrank.engine.group_files import GroupFiles
from sparkrank.engine.packing import pieces_by_bucket
from sparkrank.engine.pieces import Pieces
from sparkrank.engine.result import Solved
from sparkrank.engine.sources import BucketSplit, Sides
from sparkrank.metrics import Plan
from sparkrank.states import Partials

SPLIT_ROWS = 1_000_000  # smaller than a task's: threads share the memory of one process
AHEAD = 3  # tasks of each thread that wait, while a row group of the group table is written (50 ms)
MERGED_AT_ONCE = 8  # partials of buckets, a few megabytes each, are merged as they come
# Pieces held in memory before they go to disk: 20 million rows of one model with keys of eight bytes. Each row that
# goes there costs 25 ns of processor time, a fifth of the whole.
HELD_BYTES = 352 << 20
T = TypeVar("T")
R = TypeVar("R")


def evaluate_local(sides: Sides, plan: Plan, buckets: int, files: GroupFiles | None = None) -> Solved:
    """Evaluate the rows of ``sides``, which have passed their check, in ``buckets`` buckets, on all cores.

    With ``files``, the group table is written there as it comes. Raises :class:`sparkrank.errors.SparkrankError` where
    that, or what outgrows the memory held for pieces, cannot be written.
    """
    threads = os.cpu_count() or 1
    # a file without a name: nothing is left of it, however the process ends
    with tempfile.TemporaryFile(buffering=0) as file, ThreadPoolExecutor(threads) as pool:
        pieces = Pieces(sides.schema(plan), file, HELD_BYTES)

        def read(split: BucketSplit) -> None:
            for rows in split():
                # codes spare bytes for the JVM; here they would take as long as they save
                pieces.add(list(pieces_by_bucket(rows, buckets, code_texts=False)))

        def solve(bucket: int) -> BucketResult | None:
            rows = pieces.take(bucket)
            return None if rows is None else evaluate_bucket(rows, plan)

        try:
            for _ in _run(pool, read, sides.splits(plan, SPLIT_ROWS), threads):
                pass
            return _gathered(_run(pool, solve, range(buckets), threads), files)
        finally:
            if pieces.on_disk:  # after less, what was freed may as well serve the next evaluation
                give_back_freed_memory()


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
        if len(waiting) > AHEAD * threads:
            yield waiting.pop(0).result()
    for future in waiting:
        yield future.result()
