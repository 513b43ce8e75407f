"""The evaluation of buckets (sets of whole groups) in every lane, with a clear error if memory runs out.

Rows are evaluated in runs. A run is a table of whole groups.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from operator import itemgetter

import numpy as np
import pyarrow as pa

from sparkrank.base.errors import OutOfMemoryError, itemize, shorten
from sparkrank.bucket import BucketResult, evaluate_bucket
from sparkrank.bucket.bucket_rows import BucketRows
from sparkrank.bucket.grouping import groups_of_rows
from sparkrank.bucket.impressions import key_columns
from sparkrank.bucket.largest_groups import keys_of_groups
from sparkrank.engines.shuffle.group_runs import RUN_ROWS, SAMPLED_ROWS, Run, runs_of, sample_of, small_together
from sparkrank.engines.shuffle.packing import buckets_of_piece
from sparkrank.engines.shuffle.piece_queue import PieceQueue
from sparkrank.engines.shuffle.spill import LazyFile, PieceStore
from sparkrank.inputs.buckets import MOST_BUCKETS
from sparkrank.metrics import Plan
from sparkrank.numeric.free_memory import LARGE_BYTES, NotEnoughMemoryError, ensure_free, free_memory
from sparkrank.numeric.memory import give_back_freed_memory
from sparkrank.sources.sizes import long_text_errors

# Bytes of pieces of a large bucket kept in memory while it is cut once more. One run is in memory beside them.
ROW_MEMORY_OF_LARGE = 64 << 20
# The least bytes per row that an evaluation needs beside the columns. Metrics of hits take 14 in very large groups.
BESIDE_BYTES = 10
TURN_SHARE = 8  # a run larger than the free memory divided by this number is evaluated alone
_one_large = threading.Lock()  # threads of one process take turns with groups that are larger than a run


def evaluate_buckets(store: PieceStore, buckets: Iterable[int], plan: Plan) -> Iterator[tuple[int, BucketResult]]:
    """Evaluate ``buckets`` of ``store`` in runs of whole groups. Yield a unique number and the result of each run."""
    with closing(LazyFile()) as file:
        for together in small_together(store, buckets):
            runs = runs_of(store, together, lambda: PieceStore(store.schema, file, ROW_MEMORY_OF_LARGE))
            for number, run in enumerate(runs):
                if _takes_turns(run):
                    give_back_freed_memory()
                    with _one_large:
                        result = _evaluated(run, plan)
                    yield together[0] + number * MOST_BUCKETS, result
                else:
                    yield together[0] + number * MOST_BUCKETS, _evaluated(run, plan)


@dataclass(frozen=True)
class _TableRun:
    """A run of whole groups whose rows are already one table (``rows_held``)."""

    rows_held: pa.Table

    @property
    def rows(self) -> int:
        return int(self.rows_held.num_rows)

    @property
    def bytes(self) -> int:
        return int(self.rows_held.nbytes)

    @property
    def bytes_in_memory(self) -> int:
        return self.bytes

    @property
    def sample(self) -> pa.Table:
        return self.rows_held

    def table(self) -> pa.Table:
        return self.rows_held


def evaluate_table(rows: pa.Table, plan: Plan) -> BucketResult:
    """Evaluate the whole groups in ``rows``. Raise :class:`OutOfMemoryError` with a group's hash if memory runs out."""
    with long_text_errors():
        return _evaluated(_TableRun(rows), plan)


def _takes_turns(run: Run) -> bool:
    """Return whether ``run`` is too large to overlap with another large run, in rows or as a share of free memory."""
    if run.rows > RUN_ROWS or run.bytes < LARGE_BYTES:
        return run.rows > RUN_ROWS
    free = free_memory()
    return free is not None and run.bytes > free // TURN_SHARE


def add_pieces(store: PieceStore, pieces: Iterable[tuple[int, pa.RecordBatch]], plan: Plan) -> set[int]:
    """Add ``pieces`` (record batches) to ``store``, and return the numbers of all buckets.

    Each piece comes with the number of its first bucket.
    """
    waiting = PieceQueue(store)
    first, piece = 0, None
    try:
        for first, piece in pieces:
            waiting.add(first, piece)
        waiting.cut()
        return waiting.buckets
    except MemoryError:
        pass  # outside the handler, so that the memory referenced by the error is freed
    waiting.forget()
    store.forget()
    if piece is None:
        raise OutOfMemoryError(_sentence(0, store.schema.empty_table(), plan))
    # the store does not count the rows of pieces that still wait
    sizes = [(max(store.rows(bucket), part.num_rows), part) for bucket, part in buckets_of_piece(first, piece)]
    rows, part = max(sizes, key=itemgetter(0))
    raise OutOfMemoryError(_sentence(rows, sample_of(part, store.schema), plan))


def _evaluated(run: Run | _TableRun, plan: Plan) -> BucketResult:
    rows, lacking = None, ""
    try:
        ensure_free(run.bytes - run.bytes_in_memory, "the table of the rows")
        rows = run.table()
        if plan.keys:
            keys = sum(rows[name].nbytes for name in key_columns(rows) if not pa.types.is_primitive(rows[name].type))
            # key texts are joined, and the distinct texts are copied and numbered
            ensure_free(rows.num_rows * BESIDE_BYTES + 3 * keys, "what an evaluation has beside its rows")
        return evaluate_bucket(rows, plan)
    except NotEnoughMemoryError as error:
        lacking = f"; {error}"
    except MemoryError:
        pass  # outside the handler, so that the memory referenced by the error is freed
    sample = run.sample if rows is None else rows
    if sample.nbytes > LARGE_BYTES:  # numbering the groups of all rows would need much memory again
        sample = sample.slice(0, SAMPLED_ROWS)
    raise OutOfMemoryError(_sentence(run.rows, sample, plan, lacking))


def _sentence(rows: int, sample: pa.Table, plan: Plan, lacking: str = "") -> str:
    """Return the error message for ``rows`` rows that do not fit into memory, with the largest group in ``sample``."""
    if not sample.num_rows:
        return f"the rows of a bucket take more memory than this process may use{lacking}: give executors more memory"
    groups = groups_of_rows(BucketRows(sample), plan)
    sizes = np.bincount(groups.codes, minlength=1)
    place = int(sizes.argmax())
    of_group = f"{sizes[place]:,}" if sample.num_rows == rows else f"about {rows * int(sizes[place]) // len(sample):,}"
    named = "a group"
    if plan.group_table:
        (key,) = keys_of_groups(sample, groups, np.array([place]))
        texts = (f'{shorten(name)} "{shorten(value)}"' for name, value in zip(plan.keys, key, strict=True))
        named = f"the group {', '.join(texts)}"
    width = max(1, sample.nbytes // max(sample.num_rows, 1))
    is_most = bool(plan.keys) and 2 * int(sizes[place]) > len(sample)
    ways = ["give executors more memory (spark.executor.pyspark.memory)"]
    if is_most:
        ways.append("take this group out of the input")
    elif not plan.evaluates_splits:
        ways.append("ask for more buckets (engine.buckets)")
    if not is_most:
        named, of_group = "a bucket", f"{rows:,}"
    return (
        f"{named} has {of_group} rows, which take more memory than this process may use "
        f"({rows:,} rows of {width} bytes, and what the metrics need beside them{lacking}): {itemize(ways)}"
    )
