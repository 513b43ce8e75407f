"""The evaluation of files of whole groups: each task evaluates the files that it reads, in bounded memory."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from sparkrank.bucket import BucketResult
from sparkrank.bucket.impressions import key_columns, one_array
from sparkrank.engines.bucket_evaluation import add_pieces, evaluate_buckets, evaluate_table
from sparkrank.engines.shuffle.packing import pieces_by_bucket
from sparkrank.engines.shuffle.spill import LazyFile, PieceStore
from sparkrank.inputs.buckets import bucket_count
from sparkrank.metrics import Plan
from sparkrank.numeric.key_hashes import Hashes, hash_keys
from sparkrank.sources.colocation import Colocation, FileSet
from sparkrank.sources.protocol import Split
from sparkrank.sources.selection import Sides, SideSplit
from sparkrank.sources.sizes import long_text_errors

# The rows that are read at once, in every lane: sorted files are refused alike in all lanes.
FILE_BATCH_ROWS = 1_000_000
# Files of up to this many rows are evaluated whole, because cutting them into buckets, whose rows fit the processor's
# cache better, takes longer than it saves. The limit is for memory.
WHOLE_ROWS = 3 << 20


@dataclass(frozen=True)
class FileEvaluation:
    """The evaluation of sets of files by ``plan`` in one task.

    ``schema`` is the schema of bucket rows, and ``read`` reads a split of one input. ``is_sorted`` is true if files are
    sorted by group. The task keeps up to ``row_memory`` bytes of rows in memory beside those that it evaluates.
    """

    plan: Plan
    schema: pa.Schema
    read: Callable[[SideSplit], Iterator[pa.Table]]
    is_sorted: bool
    row_memory: int

    @classmethod
    def of(cls, sides: Sides, plan: Plan, colocation: Colocation, row_memory: int) -> FileEvaluation:
        """Return the evaluation for the file sets of the inputs."""
        is_sorted = colocation.by == "sorted" and len(sides.pairs) == 1
        plan = replace(plan, hashes_keys=colocation.is_checked)
        return cls(plan, sides.schema(plan), sides.reader(plan), is_sorted, row_memory)

    def results(self, files: FileSet) -> Iterator[BucketResult]:
        """Evaluate the groups in ``files``, and yield the results.

        Each group is in one result, unless a file that the user declared as sorted is not sorted.
        """
        tables = (rows for side, file in files.files for rows in self.read((side, Split(0, file.read))))
        if self.is_sorted:
            for rows in cut_between_groups(tables):
                yield evaluate_table(rows, self.plan)
            return
        held, is_all = self._first_rows(tables)
        if is_all:
            if held:
                yield evaluate_table(self._joined(held), self.plan)
            return
        yield from self._by_buckets(itertools.chain(_popped(held), tables), bucket_count(files.rows))

    def _first_rows(self, tables: Iterator[pa.Table]) -> tuple[list[pa.Table], bool]:
        """Return as many of the first ``tables`` as one evaluation takes, and whether these are all."""
        held: list[pa.Table] = []
        rows = size = 0
        for table in tables:
            held.append(table)
            rows, size = rows + table.num_rows, size + table.nbytes
            if rows > WHOLE_ROWS or size > self.row_memory:
                return held, False
        return held, True

    def _joined(self, tables: list[pa.Table]) -> pa.Table:
        return pa.concat_tables(_popped(tables))

    def _by_buckets(self, tables: Iterable[pa.Table], buckets: int) -> Iterator[BucketResult]:
        """Cut the rows of ``tables`` into ``buckets`` buckets by their keys, on disk if they are many."""
        with closing(LazyFile()) as file, long_text_errors():
            store = PieceStore(self.schema, file, self.row_memory)
            pieces = itertools.chain.from_iterable(
                # encoding texts saves bytes for the JVM, but in one process costs as much time as it saves
                pieces_by_bucket(rows, buckets, code_texts=False)
                for rows in tables
            )
            filled = sorted(add_pieces(store, pieces, self.plan))
            for _, result in evaluate_buckets(store, filled, self.plan):
                yield result


def cut_between_groups(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """Yield the rows of ``tables`` in new tables. The last group of a new table is whole if its rows are adjacent.

    The rows of the last group of each table wait for the next table.
    """
    waiting: list[pa.Table] = []
    last: np.uint64 | None = None
    for table in tables:
        if not table.num_rows:
            continue
        hashes = _hashes_of_rows(table)
        start = _start_of_last(hashes)
        if start or (last is not None and hashes[0] != last):
            yield pa.concat_tables([*_popped(waiting), table.slice(0, start)])
        waiting.append(table.slice(start))
        last = hashes[-1]
    if waiting:
        yield pa.concat_tables(_popped(waiting))


def _hashes_of_rows(table: pa.Table) -> Hashes:
    return hash_keys([one_array(table[name]) for name in key_columns(table)])


def _start_of_last(hashes: Hashes) -> int:
    """Return the first row of the last run of equal ``hashes``."""
    others = np.flatnonzero(hashes != hashes[-1])
    return int(others[-1]) + 1 if len(others) else 0


def _popped(tables: list[pa.Table]) -> Iterator[pa.Table]:
    """Yield ``tables`` and remove them from the list, so that nothing else keeps their rows in memory."""
    while tables:
        yield tables.pop(0)
