"""The local lane: the same buckets in one process, threads over splits and buckets, no Java.

Rows are read split by split, cut by bucket, and kept as pieces until all splits are read. Then each thread solves a run
of buckets, one after the other, and writes their groups to files of its own.

What it takes does not grow with the number of rows, but for exact blocks and a group table that is not written to
files: ``row_memory`` of pieces (17 bytes a row with a long integer key, less where keys are small), and on each
thread a split or a bucket, of a million rows with some 100 bytes each, and two row groups of the group table (16 MB
each with twenty columns). For 100 million rows of one model and integer keys that was 0.86 GiB on two cores, in the
fourth run as in the first.
"""

from __future__ import annotations

import itertools
import logging
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, Executor, ThreadPoolExecutor, wait
from typing import BinaryIO, TypeVar

import pyarrow as pa

from sparkrank.bucket import BucketResult, evaluate_bucket
from sparkrank.bucket.group_rows import with_plain_models
from sparkrank.engines.arrow.sizes import told_by_bytes
from sparkrank.engines.arrow.sources import Sides, SideSplit
from sparkrank.engines.group_files import GroupFiles, Part
from sparkrank.engines.memory import give_back_freed_memory
from sparkrank.engines.result import Solved
from sparkrank.engines.shuffle.packing import pieces_by_bucket
from sparkrank.engines.shuffle.spill import Pieces
from sparkrank.errors import SparkrankError, first_line
from sparkrank.metrics import Plan
from sparkrank.states import Partials

SPLIT_ROWS = 1_000_000  # smaller than a task's: threads share the memory of one process
# Threads that read beyond one for each core: Arrow reads and decodes on threads of its own, for which they wait. With
# as many as cores these were idle for a fifth of that time, and the whole took an eighth longer.
WAITING = 1
RUNS = 2  # of buckets for each thread, so that one whose core has other work leaves some to the next
MERGED_AT_ONCE = 8  # partials of buckets, a few megabytes each, are merged as they come
# Pieces held in memory before they go to disk, where the caller names no other size: 20 million rows of one model with
# keys of eight bytes, and a process of less than 1 GiB whatever the rows.
ROW_MEMORY = 328 << 20
T = TypeVar("T")
R = TypeVar("R")


def evaluate_local(
    sides: Sides, plan: Plan, buckets: int, files: GroupFiles | None = None, row_memory: int = ROW_MEMORY
) -> Solved:
    """Evaluate the rows of ``sides``, which have passed their check, in ``buckets`` buckets, on all cores.

    These are the cores that this process may use (``taskset``), or as many as ``pyarrow.set_cpu_count`` names.
    With ``files``, the group table is written there as it comes. Pieces of more than ``row_memory`` go to disk. Raises
    :class:`sparkrank.errors.SparkrankError` where either cannot be written, or no temporary file made.
    """
    threads = pa.cpu_count()
    if not plan.keys:
        return _solved_where_read(sides, plan, threads)
    failed = threading.Event()
    with _unnamed_file() as file, ThreadPoolExecutor(threads) as pool:
        pieces = Pieces(sides.schema(plan), file, row_memory)
        read_split = sides.reader(plan)

        def read(split: SideSplit) -> None:
            for rows in read_split(split):
                # codes spare bytes for the JVM; here they would take as long as they save
                pieces.add(list(pieces_by_bucket(rows, buckets, code_texts=False)))

        def solve(run: range) -> tuple[Partials, set[str], list[pa.Table]]:
            found = ((bucket, pieces.take(bucket)) for bucket in run if not failed.is_set())
            with told_by_bytes():
                solved = ((each, evaluate_bucket(rows, plan)) for each, rows in found if rows is not None)
                return _gathered(solved, files)

        try:
            with ThreadPoolExecutor(threads + WAITING) as readers:
                _all(readers, read, sides.splits(plan, SPLIT_ROWS))
            if pieces.on_disk:  # or what reading has freed would lie beside what solving asks for
                logging.getLogger(__name__).info("rows outgrew row_memory of %d bytes and went to disk", row_memory)
                give_back_freed_memory()
            parts = _all(pool, solve, _runs(buckets, RUNS * threads))
        except BaseException:  # an interrupt too: the pool waits for what its threads have begun
            failed.set()
            raise
        finally:
            if pieces.on_disk:  # after less, what was freed may as well serve the next evaluation
                give_back_freed_memory()
    partials, names, tables = zip(*parts, strict=True)
    if files is not None:
        files.keep(set().union(*names))
    held = [table for of_run in tables for table in of_run]
    return Solved(Partials.merged(partials), pa.concat_tables(held) if held else None)


def _solved_where_read(sides: Sides, plan: Plan, threads: int) -> Solved:
    """The rows of ``sides``, which have no group: any of them make a bucket, and none is held for another."""
    read_split, splits = sides.reader(plan), sides.splits(plan, SPLIT_ROWS)

    def solve(share: Sequence[SideSplit]) -> Partials:
        rows = itertools.chain.from_iterable(map(read_split, share))
        return _gathered(((0, evaluate_bucket(each, plan)) for each in rows), None)[0]

    with ThreadPoolExecutor(threads) as pool:
        return Solved(Partials.merged(_all(pool, solve, [splits[each::threads] for each in range(threads)])), None)


def _unnamed_file() -> BinaryIO:
    """A file without a name: nothing is left of it, however the process ends."""
    try:
        return tempfile.TemporaryFile(buffering=0)
    except OSError as error:
        raise SparkrankError(f"no temporary file can be made ({first_line(error)}): name a folder in TMPDIR") from error


def _gathered(
    results: Iterable[tuple[int, BucketResult]], files: GroupFiles | None
) -> tuple[Partials, set[str], list[pa.Table]]:
    """The states of a run of buckets together, and their groups: the files that have them, or they."""
    merged: list[Partials] = []

    def groups() -> Iterator[Part]:
        for bucket, result in results:
            merged.append(result.partials)
            if len(merged) == MERGED_AT_ONCE:
                merged[:] = [Partials.merged(merged)]
            if result.groups is not None:
                yield Part(bucket, result.groups)

    if files is not None:
        names = set(files.write(groups()))
        return Partials.merged(merged), names, []
    held = [with_plain_models(part.groups) for part in groups()]
    return Partials.merged(merged), set(), held


def _runs(buckets: int, most: int) -> list[range]:
    """All of ``buckets`` in their order, in at most ``most`` runs of about one length."""
    count = min(buckets, most)
    ends = [buckets * index // count for index in range(count + 1)]
    return [range(start, end) for start, end in itertools.pairwise(ends)]


def _all(pool: Executor, task: Callable[[T], R], over: Iterable[T]) -> list[R]:
    """The results of ``task`` in order; where one fails, those that have not begun do not begin."""
    futures = [pool.submit(task, each) for each in over]
    try:
        ended, _ = wait(futures, return_when=FIRST_EXCEPTION)
        for future in ended:
            future.result()  # raises what failed, without waiting for the others
        return [future.result() for future in futures]
    finally:
        for future in futures:
            future.cancel()
