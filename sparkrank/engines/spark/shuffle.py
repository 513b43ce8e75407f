"""The shuffle of pieces by Spark, and the evaluation of buckets where their pieces arrive.

Pieces travel as pairs of an RDD where :class:`SessionFeatures` has a context, and as rows of a DataFrame elsewhere.
"""

from __future__ import annotations

import functools
import itertools
import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from typing import Any, TypeAlias

import pyarrow as pa
from pyspark import RDD
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from sparkrank.base.errors import MOST_SENTENCE, shorten
from sparkrank.engines.group_files import GroupFiles
from sparkrank.engines.result import Solved
from sparkrank.engines.shuffle.packing import pack_pieces, pieces_by_task
from sparkrank.engines.spark.gather import RESULT_SCHEMA, RESULT_TYPE, gather, gather_states, read_at_once
from sparkrank.engines.spark.session_features import packed_once
from sparkrank.engines.spark.tasks import solve_pieces, solve_tables
from sparkrank.inputs.buckets import task_count, task_of
from sparkrank.metrics import Plan
from sparkrank.states.pickling import stream_of

BUCKET, PIECE = "bucket", "piece"
PIECES_TYPE = T.StructType([T.StructField(BUCKET, T.IntegerType()), T.StructField(PIECE, T.BinaryType())])
PIECES_SCHEMA = pa.schema({BUCKET: pa.int32(), PIECE: pa.binary()})


def partition_to_rows(tables: Iterable[pa.Table], buckets: int) -> Iterator[pa.RecordBatch]:
    """The pieces of each of ``tables``, as batches of :data:`PIECES_SCHEMA`."""
    for rows in tables:
        pieces = list(pieces_by_task(rows, buckets, task_count(buckets)))
        numbers = pa.array([bucket for bucket, _ in pieces], pa.int32())
        yield pa.record_batch([numbers, pack_pieces(piece for _, piece in pieces)], schema=PIECES_SCHEMA)


def shuffled_rows(pieces: DataFrame, buckets: int) -> DataFrame:
    """``pieces`` shuffled so that all pieces of a bucket are in one partition, with as many buckets in each."""
    tasks = task_count(buckets)
    task = F.expr(f"int({BUCKET} * {tasks}L div {buckets})")  # as task_of says
    if hasattr(pieces, "repartitionById"):
        return pieces.repartitionById(tasks, task)
    return pieces.repartition(tasks, task)  # Spark 4.0 partitions by hash, which leaves some tasks without a bucket


def solve_rows(
    pieces: DataFrame,
    schema: pa.Schema,
    plan: Plan,
    buckets: int,
    group_schema: T.StructType | None,
    files: GroupFiles | None,
) -> Solved:
    """Shuffle ``pieces`` of rows of ``schema``, and evaluate their buckets.

    ``group_schema`` requests the group table, as a DataFrame unless the tasks write it to ``files``.
    """

    def solve(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for result in solve_pieces(_pieces(batches), schema, plan, files):
            yield pa.RecordBatch.from_pylist([result], RESULT_SCHEMA)

    results = shuffled_rows(pieces, buckets).mapInArrow(packed_once(solve), RESULT_TYPE)
    return gather(results, task_count(buckets), plan, group_schema, files)


def solve_rows_where_read(
    rows: DataFrame, tables: Callable[[Iterator[pa.RecordBatch]], Iterable[pa.Table]], plan: Plan, tasks: int
) -> Solved:
    """The result for rows without groups: ``tasks`` tasks make ``tables`` of ``rows`` and evaluate them unshuffled."""

    def solve(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for result in solve_tables(tables(batches), plan):
            yield pa.RecordBatch.from_pylist([result], RESULT_SCHEMA)

    return gather(rows.mapInArrow(packed_once(solve), RESULT_TYPE), tasks, plan, None, None)


def _pieces(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, pa.Buffer]]:
    for batch in batches:
        for bucket, piece in zip(batch.column(0).to_pylist(), batch.column(1), strict=True):
            yield bucket, piece.as_buffer()


Pair: TypeAlias = tuple[int, pa.Buffer]  # a bucket, and a piece of it as a stream


def partition_to_pairs(tables: Iterable[pa.Table], buckets: int) -> Iterator[Pair]:
    """The pieces of each of ``tables``, as pairs."""
    # by map, which does not hold a table while its pieces are sent
    cut = functools.partial(pieces_by_task, buckets=buckets, tasks=task_count(buckets))
    for bucket, piece in itertools.chain.from_iterable(map(cut, tables)):
        yield bucket, stream_of(piece)


def shuffled_pairs(pairs: RDD[Pair], buckets: int) -> RDD[Pair]:
    """``pairs`` shuffled so that all pairs of a bucket are in one partition, with as many buckets in each."""
    tasks = task_count(buckets)
    return pairs.partitionBy(tasks, lambda bucket: task_of(bucket, buckets, tasks))


def solve_pairs(
    pairs: RDD[Pair],
    spark: SparkSession,
    schema: pa.Schema,
    plan: Plan,
    buckets: int,
    group_schema: T.StructType | None,
    files: GroupFiles | None,
    source: RDD[Any] | None = None,
) -> Solved:
    """Shuffle ``pairs`` of rows of ``schema``, and evaluate their buckets.

    ``group_schema`` requests the group table, as a DataFrame unless the tasks write it to ``files``. Removes the
    shuffle files once they are read, but none from before ``source``, which may belong to the user.
    """

    def solve(of_task: Iterable[Pair]) -> Iterator[tuple[bytes | None, ...]]:
        return (tuple(result.values()) for result in solve_pieces(of_task, schema, plan, files))

    results = shuffled_pairs(pairs, buckets).mapPartitions(solve)
    tasks = task_count(buckets)
    with ExitStack() as stack:
        stack.callback(remove_shuffled, results, source)
        if read_at_once(tasks, plan, files):
            return gather_states(((states, names) for states, names, *_ in results.collect()), files)
        rows = spark.createDataFrame(results, RESULT_TYPE, verifySchema=False)
        solved = gather(rows, tasks, plan, group_schema, files)
        return solved if solved.groups is None else solved.releasing(stack.pop_all().close)


def solve_where_read(tables: RDD[pa.Table], spark: SparkSession, plan: Plan) -> Solved:
    """The result for rows without groups: the tasks that make ``tables`` evaluate them, and nothing is shuffled."""

    def solve(of_task: Iterable[pa.Table]) -> Iterator[tuple[bytes | None, ...]]:
        return (tuple(result.values()) for result in solve_tables(of_task, plan))

    results, tasks = tables.mapPartitions(solve), tables.getNumPartitions()
    if read_at_once(tasks, plan, None):
        return gather_states(((states, names) for states, names, *_ in results.collect()), None)
    return gather(spark.createDataFrame(results, RESULT_TYPE, verifySchema=False), tasks, plan, None, None)


def remove_shuffled(results: RDD[Any], source: RDD[Any] | None = None) -> None:
    """Remove the shuffle files of ``results``, but none from before ``source``.

    Spark keeps them until Java collects garbage, which a large heap hardly ever does. Files of earlier evaluations
    would fill the disk and slow down the next evaluation.
    """
    try:
        if source is not None:
            source.persist()  # caches nothing, since nothing runs meanwhile, but ends the search for shuffles
        results.cleanShuffleDependencies()
        if source is not None:
            source.unpersist()
    except Exception as error:  # noqa: BLE001 - the session may have ended, and its error must not be hidden
        logging.getLogger(__name__).warning("shuffle files are left to Spark: %s", shorten(error, MOST_SENTENCE))
