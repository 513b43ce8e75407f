"""The local lane, which evaluates all buckets in one process without Java. Threads share the splits and the buckets."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import pyarrow as pa

from sparkrank.base import checks
from sparkrank.base.temporary_files import unnamed_file
from sparkrank.bucket import BucketResult
from sparkrank.bucket.group_rows import with_plain_models
from sparkrank.engines.bucket_evaluation import evaluate_buckets, evaluate_table
from sparkrank.engines.colocation_check import validate_colocation
from sparkrank.engines.crew import Crew
from sparkrank.engines.file_evaluation import FILE_BATCH_ROWS, FileEvaluation
from sparkrank.engines.group_files import BucketGroups, GroupFiles
from sparkrank.engines.progress import Progress, watched
from sparkrank.engines.repeated_groups import repeated_keys_of_all, with_repeated_keys
from sparkrank.engines.result import PassResult
from sparkrank.engines.shuffle.packing import pieces_by_bucket
from sparkrank.engines.shuffle.spill import PieceStore
from sparkrank.metrics import Plan
from sparkrank.numeric.free_memory import free_memory
from sparkrank.numeric.key_hashes import Hashes
from sparkrank.numeric.memory import give_back_freed_memory, prepare_for_limit
from sparkrank.sources.colocation import Colocation
from sparkrank.sources.selection import Sides, SideSplit
from sparkrank.sources.sizes import long_text_errors, may_be_wide
from sparkrank.states import Partials
from sparkrank.states.partials import add_partials

if TYPE_CHECKING:
    from sparkrank.engines.one_group import Pick

LOCAL_SPLIT_ROWS = 1_000_000  # fewer than in a Spark task, because threads share the memory of one process
# Reading threads beyond one for each core. They wait for Arrow, which reads and decodes on threads of its own. With
# exactly one reading thread per core, cores were idle for a fifth of the time and a run took an eighth longer.
EXTRA_READERS = 1
# The memory of a reading thread for a split of numbers, and for a split with texts, which are copied several times.
READER_BYTES, WIDE_READER_BYTES = 48 << 20, 192 << 20
RUNS_PER_THREAD = 2  # runs of buckets for each thread, so that a thread on a busy core leaves work to the others
# The default of ``row_memory``, the bytes of pieces in memory before they spill. It has room for 20 million rows of one
# model with keys of eight bytes, and keeps the process below 1 GiB however many rows there are.
ROW_MEMORY_BYTES = 328 << 20
T = TypeVar("T")


def fitting_row_memory() -> int:
    """Return the default of ``row_memory`` (bytes): at most a quarter of free memory, because reading needs as much."""
    free = free_memory()
    return ROW_MEMORY_BYTES if free is None else min(ROW_MEMORY_BYTES, free // 4)


def _readers(threads: int, schema: pa.Schema) -> int:
    """Return the number of reading threads, which is reduced if the splits they read would not fit in memory."""
    each, free = WIDE_READER_BYTES if any(map(may_be_wide, schema.types)) else READER_BYTES, free_memory()
    return threads + EXTRA_READERS if free is None else max(1, min(threads + EXTRA_READERS, free // (2 * each)))


def evaluate_local(
    sides: Sides,
    plan: Plan,
    buckets: int,
    files: GroupFiles | None = None,
    row_memory: int = ROW_MEMORY_BYTES,
    colocation: Colocation | None = None,
) -> PassResult:
    """Evaluate the inputs (``sides``) in ``buckets`` buckets on all cores. The caller has checked the inputs.

    If ``colocation`` is given, the threads that read files of whole groups evaluate them. ``taskset`` or
    ``pyarrow.set_cpu_count`` can limit the cores. Rows beyond ``row_memory`` bytes are kept on disk.
    """
    prepare_for_limit()
    threads, progress = pa.cpu_count(), watched.get() or Progress()
    if colocation is not None:
        sets = sides.file_sets(plan, colocation, FILE_BATCH_ROWS)
        evaluation = FileEvaluation.of(sides, plan, colocation, row_memory // threads)
        solved = _solved_without_shuffle(sets, evaluation.results, threads, files)
        validate_colocation(solved.partials.repeated, sets, sides, plan, colocation)
        return solved
    if plan.evaluates_splits:
        plan = replace(plan, hashes_keys=plan.arrays)
        results = partial(_results_of_split, sides.reader(plan), plan)
        solved = _solved_without_shuffle(sides.splits(plan, LOCAL_SPLIT_ROWS), results, threads, files)
        return replace(solved, partials=with_repeated_keys(solved.partials, plan))
    crew, file = Crew(), unnamed_file()
    pieces, read_split = PieceStore(sides.schema(plan), file, row_memory), sides.reader(plan)

    def read(split: SideSplit) -> None:
        for rows in _until_failed(read_split(split), crew):
            progress.add(read=rows.num_rows)
            # encoding texts saves bytes for the JVM, but in one process costs as much time as it saves
            pieces.add(list(pieces_by_bucket(rows, buckets, code_texts=False)))

    def solve(run: range) -> tuple[Partials, set[str], list[pa.Table]]:
        solved = evaluate_buckets(pieces, _until_failed(run, crew), plan)
        with long_text_errors():
            return _gathered(_counted(_until_failed(solved, crew), progress), files)

    try:
        crew.all(_readers(threads, pieces.schema), read, sides.splits(plan, LOCAL_SPLIT_ROWS))
        if pieces.on_disk:  # otherwise evaluation would allocate memory on top of what reading has freed
            logging.getLogger(__name__).info("rows outgrew row_memory of %d bytes and went to disk", row_memory)
            give_back_freed_memory()
        parts = crew.all(threads, solve, _runs(buckets, RUNS_PER_THREAD * threads))
    finally:
        if pieces.on_disk:  # after smaller runs, the next evaluation may reuse the freed memory
            give_back_freed_memory()
        if crew.has_ended:  # otherwise another file might get the descriptor while threads write
            file.close()
    return _solved(parts, files)


def _results_of_split(
    read: Callable[[SideSplit], Iterator[pa.Table]], plan: Plan, split: SideSplit
) -> Iterator[BucketResult]:
    return (evaluate_table(rows, plan) for rows in read(split))


def _solved_without_shuffle(
    splits: Sequence[T],
    results: Callable[[T], Iterator[BucketResult]],
    threads: int,
    files: GroupFiles | None,
) -> PassResult:
    """Evaluate ``splits``, which hold whole groups, by the function ``results``. No rows are kept for other threads."""
    crew, progress = Crew(), watched.get() or Progress()
    hashes: list[tuple[int, Hashes]] = []

    def solve(share: range) -> tuple[Partials, set[str], list[pa.Table]]:
        def of_share() -> Iterator[tuple[int, BucketResult]]:
            for number in share:
                for result in _until_failed(results(splits[number]), crew):
                    if result.hashes is not None:
                        hashes.append((number, result.hashes))
                    yield number, replace(result, hashes=None)

        return _gathered(_counted(of_share(), progress, read=True), files)

    shares = RUNS_PER_THREAD * threads
    solved = _solved(crew.all(threads, solve, [range(len(splits))[share::shares] for share in range(shares)]), files)
    return replace(solved, partials=replace(solved.partials, repeated=repeated_keys_of_all(hashes)))


def _solved(parts: Iterable[tuple[Partials, set[str], list[pa.Table]]], files: GroupFiles | None) -> PassResult:
    """Return the merged results of all threads, and keep the group files that they wrote."""
    partials, names, tables = zip(*parts, strict=True)
    if files is not None:
        files.keep(set().union(*names))
    tables_in_memory = [table for of_run in tables for table in of_run]
    return PassResult(Partials.merged(partials), pa.concat_tables(tables_in_memory) if tables_in_memory else None)


def pick_local(sides: Sides, plan: Plan, pick: Pick) -> list[pa.Table]:
    """Apply ``pick`` to the rows of all inputs, split by split, and return the non-empty tables."""
    read_split, crew = sides.reader(plan), Crew()

    def picked(split: SideSplit) -> list[pa.Table]:
        tables = map(pick, _until_failed(read_split(split), crew))
        return [table for table in tables if table.num_rows]

    parts = crew.all(pa.cpu_count() + EXTRA_READERS, picked, sides.splits(plan, LOCAL_SPLIT_ROWS))
    return list(itertools.chain.from_iterable(parts))


def _counted(
    results: Iterable[tuple[int, BucketResult]], progress: Progress, *, read: bool = False
) -> Iterator[tuple[int, BucketResult]]:
    """Yield ``results`` unchanged and count their rows as solved. If ``read`` is true, count the rows as read too."""
    for result in results:
        rows = result[1].partials.counts.get((checks.ROWS_READ, ""), 0)
        progress.add(rows if read else 0, rows)
        yield result


def _until_failed(steps: Iterable[T], crew: Crew) -> Iterator[T]:
    """Yield the elements of ``steps``, and stop once any thread of ``crew`` has failed."""
    for step in steps:
        if crew.failed.is_set():
            return
        yield step


def _gathered(
    results: Iterable[tuple[int, BucketResult]], files: GroupFiles | None
) -> tuple[Partials, set[str], list[pa.Table]]:
    """Merge the results of some buckets. Return the states, the names of group files, and groups kept in memory."""
    merged: list[Partials] = []

    def groups() -> Iterator[BucketGroups]:
        for bucket, result in results:
            add_partials(merged, result.partials)
            if result.groups is not None:
                yield BucketGroups(bucket, result.groups)

    if files is not None:
        names = set(files.write(groups()))
        return Partials.merged(merged), names, []
    tables_in_memory = [with_plain_models(part.groups) for part in groups()]
    return Partials.merged(merged), set(), tables_in_memory


def _runs(buckets: int, most: int) -> list[range]:
    """Divide all buckets, in order, into at most ``most`` ranges of about equal length."""
    count = min(buckets, most)
    ends = [buckets * index // count for index in range(count + 1)]
    return [range(start, end) for start, end in itertools.pairwise(ends)]
