"""The scan lane: Arrow reads files inside the tasks, and Spark shuffles bytes instead of rows.

A task reads a split, cuts its rows by bucket, and sends the rows for each task of buckets as one piece of bytes.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark import RDD, SparkContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_type

from sparkrank.bucket.impressions import key_column
from sparkrank.engines.group_files import GroupFiles
from sparkrank.engines.result import Solved
from sparkrank.engines.spark.batches import BYTES_OF_PIECES, batches_of
from sparkrank.engines.spark.gather import group_schema
from sparkrank.engines.spark.picked import STREAMS_TYPE, streams_of, tables_of_streams
from sparkrank.engines.spark.session_features import SessionFeatures, packed_once
from sparkrank.engines.spark.shuffle import (
    PIECES_TYPE,
    Pair,
    partition_to_pairs,
    partition_to_rows,
    solve_pairs,
    solve_rows,
    solve_rows_where_read,
    solve_where_read,
)
from sparkrank.engines.spark.tasks import tune_worker
from sparkrank.metrics import Plan
from sparkrank.sources.parquet import SPLIT_ROWS
from sparkrank.sources.sources import Sides, SideSplit

if TYPE_CHECKING:
    from sparkrank.engines.one_group import Pick


def evaluate_scan(
    spark: SparkSession,
    sides: Sides,
    plan: Plan,
    buckets: int,
    files: GroupFiles | None = None,
) -> Solved:
    """Evaluate the rows of ``sides``, which have passed their check, in one pass and ``buckets`` buckets.

    With ``files``, the tasks write the group table there.
    """
    features = SessionFeatures.of(spark, plan)
    return _evaluated(spark, features.context, sides, plan, buckets, files).noting(*features.refusals)


def _evaluated(
    spark: SparkSession,
    context: SparkContext | None,
    sides: Sides,
    plan: Plan,
    buckets: int,
    files: GroupFiles | None,
) -> Solved:
    schema = sides.schema(plan)
    keys = {
        column: from_arrow_type(schema.field(key_column(index)).type) for index, column in enumerate(sides.roles.group)
    }
    groups = group_schema(keys, plan) if plan.group_table else None
    if not plan.keys:
        return _solved_where_read(spark, context, sides, plan)
    if context is not None:
        return solve_pairs(pairs_of(context, sides, plan, buckets), spark, schema, plan, buckets, groups, files)
    with batches_of(spark, BYTES_OF_PIECES) as refusal:
        rows = _rows_of(spark, sides, plan, buckets)
        return solve_rows(rows, schema, plan, buckets, groups, files).noting(refusal)


def pairs_of(context: SparkContext, sides: Sides, plan: Plan, buckets: int) -> RDD[Pair]:
    """The rows of ``sides``, each split read and cut by a task of its own, which gets no other split."""
    read, splits = sides.reader(plan), sides.splits(plan, SPLIT_ROWS)

    def cut(of_task: Iterable[SideSplit]) -> Iterator[Pair]:
        tune_worker()
        return partition_to_pairs(itertools.chain.from_iterable(map(read, of_task)), buckets)

    return context.parallelize(splits, max(1, len(splits))).mapPartitions(cut)


def _rows_of(spark: SparkSession, sides: Sides, plan: Plan, buckets: int) -> DataFrame:
    """The same as rows of a DataFrame; tasks get all splits, and the number of theirs."""
    read, splits = sides.reader(plan), sides.splits(plan, SPLIT_ROWS)

    def cut(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        tune_worker()
        return partition_to_rows(_numbered(batches, read, splits), buckets)

    return _numbers(spark, splits).mapInArrow(packed_once(cut), PIECES_TYPE)


def pick_scanned(spark: SparkSession, sides: Sides, plan: Plan, pick: Pick) -> list[pa.Table]:
    """What ``pick`` makes of the rows of ``sides`` in the tasks that read them; empty tables are left out."""
    read, splits = sides.reader(plan), sides.splits(plan, SPLIT_ROWS)
    if not splits:
        return []

    def picked(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return streams_of(map(pick, _numbered(batches, read, splits)))

    return tables_of_streams(_numbers(spark, splits).mapInArrow(packed_once(picked), STREAMS_TYPE))


def _numbers(spark: SparkSession, splits: Sequence[SideSplit]) -> DataFrame:
    return spark.range(0, len(splits), 1, max(1, len(splits)))  # each of its partitions has one number


def _numbered(
    batches: Iterable[pa.RecordBatch], read: Callable[[SideSplit], Iterator[pa.Table]], splits: Sequence[SideSplit]
) -> Iterator[pa.Table]:
    """The rows of the ``splits`` whose numbers stand in ``batches``."""
    numbers = itertools.chain.from_iterable(batch.column(0).to_pylist() for batch in batches)
    return itertools.chain.from_iterable(read(splits[number]) for number in numbers)


def _solved_where_read(spark: SparkSession, context: SparkContext | None, sides: Sides, plan: Plan) -> Solved:
    """The rows of ``sides``, which have no group, solved by the tasks that read them."""
    read, splits = sides.reader(plan), sides.splits(plan, SPLIT_ROWS)
    tasks = max(1, len(splits))
    if context is None:
        with batches_of(spark, BYTES_OF_PIECES) as refusal:
            return solve_rows_where_read(
                _numbers(spark, splits), lambda batches: _numbered(batches, read, splits), plan, tasks
            ).noting(refusal)
    return solve_where_read(context.parallelize(splits, tasks).flatMap(read), spark, plan)
