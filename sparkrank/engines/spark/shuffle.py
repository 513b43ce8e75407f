"""The shuffle of pieces by Spark, as RDD pairs or DataFrame rows. The tasks that receive them evaluate them.

A piece is an Arrow stream of rows that one task has read, for one bucket or a range of buckets.
"""

from __future__ import annotations

import functools
import itertools
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, TypeAlias

import pyarrow as pa
from pyspark import RDD
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from sparkrank.base import checks
from sparkrank.base.errors import MOST_SENTENCE, shorten
from sparkrank.engines.group_files import GroupFiles
from sparkrank.engines.result import PassResult
from sparkrank.engines.shuffle.packing import pack_pieces, pieces_by_task
from sparkrank.engines.spark.gather import RESULT_SCHEMA, RESULT_TYPE, gather, gather_states, read_at_once
from sparkrank.engines.spark.session_features import Batches, packed_once
from sparkrank.engines.spark.tasks import Result, solve_pieces
from sparkrank.engines.spark.unix_sockets import missing_sockets
from sparkrank.inputs.buckets import task_count, task_of
from sparkrank.metrics import Plan
from sparkrank.states.pickling import stream_of

BUCKET, PIECE = "bucket", "piece"
PIECES_TYPE = T.StructType([T.StructField(BUCKET, T.IntegerType()), T.StructField(PIECE, T.BinaryType())])
PIECES_SCHEMA = pa.schema({BUCKET: pa.int32(), PIECE: pa.binary()})
Pair: TypeAlias = tuple[int, pa.Buffer]  # a bucket, and a piece of it as a stream


@dataclass(frozen=True)
class Work:
    """The evaluation that tasks perform for ``plan`` on rows of ``schema``, in ``buckets`` buckets.

    ``groups`` is the schema of the group table, or None if no group table is requested. If ``files`` is None, the group
    table is returned as a DataFrame.
    """

    schema: pa.Schema
    plan: Plan
    buckets: int
    groups: T.StructType | None
    files: GroupFiles | None

    @property
    def solve(self) -> Callable[[Iterable[Pair]], Iterator[Result]]:
        """The function that evaluates all pieces received by one task, and yields results."""
        return functools.partial(solve_pieces, schema=self.schema, plan=self.plan, files=self.files)


def partition_to_rows(tables: Iterable[pa.Table], buckets: int) -> Batches:
    """Cut each of ``tables`` into pieces and yield one batch of :data:`PIECES_SCHEMA` per table."""
    for rows in tables:
        pieces = list(pieces_by_task(rows, buckets, task_count(buckets)))
        numbers = pa.array([bucket for bucket, _ in pieces], pa.int32())
        yield pa.record_batch([numbers, pack_pieces(piece for _, piece in pieces)], schema=PIECES_SCHEMA)


def partition_to_pairs(tables: Iterable[pa.Table], buckets: int) -> Iterator[Pair]:
    """Cut each of ``tables`` into pieces, and yield pairs of a bucket number and a piece (an Arrow stream)."""
    # by map, which does not hold a table while its pieces are sent
    cut = functools.partial(pieces_by_task, buckets=buckets, tasks=task_count(buckets))
    for bucket, piece in itertools.chain.from_iterable(map(cut, tables)):
        yield bucket, stream_of(piece)


def shuffled_rows(pieces: DataFrame, buckets: int) -> DataFrame:
    """Shuffle ``pieces`` so that each bucket is in one partition and partitions have about equally many buckets."""
    tasks = task_count(buckets)
    task = F.expr(f"int({BUCKET} * {tasks}L div {buckets})")  # the same as task_of
    if hasattr(pieces, "repartitionById"):
        return pieces.repartitionById(tasks, task)
    return pieces.repartition(tasks, task)  # Spark 4.0 partitions by hash, which leaves some tasks without a bucket


def shuffled_pairs(pairs: RDD[Pair], buckets: int) -> RDD[Pair]:
    """Shuffle ``pairs`` so that each bucket is in one partition, like :func:`shuffled_rows`."""
    tasks = task_count(buckets)
    return pairs.partitionBy(tasks, lambda bucket: task_of(bucket, buckets, tasks))


def solve_rows(pieces: DataFrame, work: Work) -> PassResult:
    """Shuffle ``pieces``, the rows of a DataFrame, and evaluate the buckets to which they belong."""
    solve = work.solve
    results = _solved_rows(shuffled_rows(pieces, work.buckets), lambda batches: solve(_pieces(batches)))
    return gather(results, task_count(work.buckets), work.plan, work.groups, work.files)


def solve_pairs(pairs: RDD[Pair], spark: SparkSession, work: Work, sources: Sequence[RDD[Any]] = ()) -> PassResult:
    """Shuffle ``pairs`` and evaluate their buckets. Shuffle files newer than the RDDs ``sources`` are then removed."""
    results = _solved_pairs(shuffled_pairs(pairs, work.buckets), work.solve)
    with ExitStack() as stack:
        stack.callback(remove_shuffled, results, *sources)
        solved = _gathered_pairs(results, spark, task_count(work.buckets), work.plan, work.groups, work.files)
        tasks = pairs.getNumPartitions() + task_count(work.buckets)
        rows = solved.partials.counts.get((checks.ROWS_READ, ""), 0)
        solved = solved.noting(missing_sockets(spark, pairs.context, tasks, rows))
        return solved if solved.groups is None else solved.releasing(stack.pop_all().close)


def _solved_rows(rows: DataFrame, solve: Callable[[Batches], Iterable[Result]]) -> DataFrame:
    def solved(batches: Batches) -> Batches:
        for result in solve(batches):
            yield pa.RecordBatch.from_pylist([result], RESULT_SCHEMA)

    return rows.mapInArrow(packed_once(solved), RESULT_TYPE)


def _solved_pairs(rows: RDD[Any], solve: Callable[[Iterable[Any]], Iterable[Result]]) -> RDD[Any]:
    return rows.mapPartitions(lambda of_task: (tuple(result.values()) for result in solve(of_task)))


def _gathered_pairs(
    results: RDD[Any],
    spark: SparkSession,
    tasks: int,
    plan: Plan,
    groups: T.StructType | None,
    files: GroupFiles | None,
) -> PassResult:
    if read_at_once(tasks, plan, files):
        return gather_states(((states, names) for states, names, *_ in results.collect()), files)
    return gather(spark.createDataFrame(results, RESULT_TYPE, verifySchema=False), tasks, plan, groups, files)


def _pieces(batches: Iterable[pa.RecordBatch]) -> Iterator[Pair]:
    for batch in batches:
        for bucket, piece in zip(batch.column(0).to_pylist(), batch.column(1), strict=True):
            yield bucket, piece.as_buffer()


def remove_shuffled(results: RDD[Any], *sources: RDD[Any]) -> None:
    """Remove the shuffle files of ``results``. Files older than ``sources`` (RDDs) may be the user's and are kept."""
    # Spark keeps these files until Java collects garbage, which rarely happens in a large heap
    try:
        if getattr(results.ctx, "_jsc", results) is None:  # a session that was stopped has removed them
            return
        for source in sources:
            source.persist()  # caches no rows, since no job runs meanwhile, but ends the search for shuffles
        results.cleanShuffleDependencies()
        for source in sources:
            source.unpersist()
    except Exception as error:  # noqa: BLE001 - the session may have ended, and its error must not be hidden
        logging.getLogger(__name__).warning("shuffle files are left to Spark: %s", shorten(error, MOST_SENTENCE))
