"""The work of a Spark task: the evaluation of the pieces of its buckets to states, and to group files or rows."""

from __future__ import annotations

import functools
import gc
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import closing
from typing import TypeAlias

import pyarrow as pa

from sparkrank.base.errors import OutOfMemoryError
from sparkrank.bucket import BucketResult
from sparkrank.bucket.group_rows import with_plain_models
from sparkrank.engines.bucket_evaluation import add_pieces, evaluate_buckets
from sparkrank.engines.group_files import BucketGroups, GroupFiles
from sparkrank.engines.repeated_groups import by_range
from sparkrank.engines.score_ranges import sample_bins, split_exact
from sparkrank.engines.shuffle.packing import unpack_piece
from sparkrank.engines.shuffle.spill import LazyFile, PieceStore
from sparkrank.engines.spark.worker_sockets import send_at_once
from sparkrank.metrics import Plan
from sparkrank.numeric.key_hashes import Hashes
from sparkrank.numeric.memory import give_back_if_large, keep_freed_memory
from sparkrank.sources.sizes import long_text_errors
from sparkrank.states import Partials
from sparkrank.states.partials import add_partials
from sparkrank.states.pickling import stream_of


@functools.cache
def tune_worker() -> None:
    """Tune this Spark worker: keep freed memory, exempt modules from garbage collection, and send writes at once."""
    # Spark's daemon collects garbage after every task, which takes a large share of a worker's processor time.
    if os.environ.get("SPARKRANK_WORKER_TUNING") == "0":
        return
    gc.freeze()
    keep_freed_memory()
    send_at_once()


RESULT_COLUMNS = ("states", "groups", "blocks", "sample")
# The hashes of the group keys in a split, as bytes, and their range: beside the columns of a result, in other rows.
HASHES, HASH_RANGE, HASH_SPLIT = "hashes", "hash_range", "hash_split"
Result: TypeAlias = dict[str, bytes | int | None]
# The bytes of pieces in memory before they go to disk. A task usually has forty megabytes, unless a group is very
# large.
ROW_MEMORY_BYTES = 96 << 20
_NAMES = "/"  # separates file names, which never contain it


def solve_pieces(
    pieces: Iterable[tuple[int, pa.Buffer]], schema: pa.Schema, plan: Plan, files: GroupFiles | None
) -> Iterator[Result]:
    """Evaluate a task's buckets, and yield the rows of the task's result.

    Each of ``pieces`` is a pair: the number of its first bucket, and rows as an Arrow stream.
    """
    # Python groups the pieces, because Spark would sort the pieces and copy their bytes once more
    tune_worker()
    give_back_if_large()
    with closing(LazyFile()) as file, long_text_errors():
        store = PieceStore(schema, file, ROW_MEMORY_BYTES)
        try:
            buckets = add_pieces(store, ((bucket, unpack_piece(piece)) for bucket, piece in pieces), plan)
            yield from packed_results(evaluate_buckets(store, sorted(buckets), plan), files)
        except OutOfMemoryError as error:  # a retry would end in the same way
            yield packed_result(states=Partials(failure=str(error)).pack())


def solve_splits(
    results: Iterable[tuple[int, BucketResult]], files: GroupFiles | None, ranges: int
) -> Iterator[Result]:
    """Yield the result rows of a task for ``results``, pairs (number of the split, result of one of its buckets).

    The hashes of group keys are in separate rows, one for each split and each of the ranges that divide all hashes.
    """
    tune_worker()
    hashes: defaultdict[int, list[Hashes]] = defaultdict(list)

    def kept() -> Iterator[tuple[int, BucketResult]]:
        for split, result in results:
            if result.hashes is not None:
                hashes[split].append(result.hashes)
            yield split, result

    try:
        yield from packed_results(kept(), files)
    except OutOfMemoryError as error:  # a retry would end in the same way
        yield packed_result(states=Partials(failure=str(error)).pack())
        return
    for split, of_split in hashes.items():
        for number, own in by_range(of_split, ranges):
            yield {**packed_result(), HASHES: own.tobytes(), HASH_RANGE: number, HASH_SPLIT: split}


def packed_results(results: Iterable[tuple[int, BucketResult]], files: GroupFiles | None) -> Iterator[Result]:
    """Yield the results of a task's buckets as rows of :data:`RESULT_COLUMNS`. The states of all buckets are merged."""
    # groups are returned as file names or as streams; exact bins have separate rows, with a sample
    partials: list[Partials] = []
    exact_rows: list[Result] = []

    def groups() -> Iterator[BucketGroups]:
        for bucket, result in results:
            states, exact = split_exact(result.partials)
            add_partials(partials, states)
            if exact is not None:
                exact_rows.append(packed_result(blocks=exact.pack(), sample=sample_bins(exact)))
            if result.groups is not None:
                yield BucketGroups(bucket, result.groups)

    names: set[str] = set()
    if files is not None:
        names.update(files.write(groups()))
    else:
        for part in groups():
            yield packed_result(groups=stream_of(with_plain_models(part.groups)).to_pybytes())
    yield from exact_rows
    yield packed_result(states=Partials.merged(partials).pack(), groups=joined_names(names) or None)


def packed_result(**values: bytes | None) -> Result:
    """Return a row of :data:`RESULT_COLUMNS`, in which all columns except ``values`` are None."""
    return {name: values.get(name) for name in RESULT_COLUMNS}


def joined_names(names: Iterable[str]) -> bytes:
    """Join file names into one value for a task's result."""
    return _NAMES.join(sorted(names)).encode()


def names_of(joined: bytes) -> list[str]:
    """Split a value from :func:`joined_names` into file names."""
    return [name for name in joined.decode().split(_NAMES) if name]
