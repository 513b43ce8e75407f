"""The scan lane: Arrow reads Parquet inside the tasks, and Spark shuffles bytes instead of rows.

A task reads a split, cuts its rows by bucket, and sends each bucket's rows as one piece of bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa
from pyspark import RDD, SparkContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_type

from sparkrank.engine.batches import BYTES_OF_PIECES, batches_of
from sparkrank.engine.gathering import group_schema
from sparkrank.engine.group_files import GroupFiles
from sparkrank.engine.parquet import SPLIT_ROWS
from sparkrank.engine.piece_pairs import Pair, context_of, cut_to_pairs, solve_pairs
from sparkrank.engine.piece_rows import PIECES_TYPE, cut_to_rows, solve_rows
from sparkrank.engine.result import Solved
from sparkrank.engine.sources import BucketSplit, Sides
from sparkrank.engine.workers import settle
from sparkrank.impressions import key_column
from sparkrank.metrics import Plan


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
    schema = sides.schema(plan)
    keys = {
        column: from_arrow_type(schema.field(key_column(index)).type) for index, column in enumerate(sides.roles.group)
    }
    groups = group_schema(keys, plan) if plan.group_table else None
    splits = sides.splits(plan, SPLIT_ROWS)
    if (context := context_of(spark)) is not None:
        return solve_pairs(pairs_of(context, splits, buckets), spark, schema, plan, buckets, groups, files)
    with batches_of(spark, BYTES_OF_PIECES):
        return solve_rows(_rows_of(spark, splits, buckets), schema, plan, buckets, groups, files)


def pairs_of(context: SparkContext, splits: list[BucketSplit], buckets: int) -> RDD[Pair]:
    """The rows of ``splits``, each read and cut by a task of its own."""

    def cut(numbers: Iterable[int]) -> Iterator[Pair]:
        return cut_to_pairs(_read(splits, numbers), buckets)

    return context.parallelize(range(len(splits)), max(1, len(splits))).mapPartitions(cut)


def _rows_of(spark: SparkSession, splits: list[BucketSplit], buckets: int) -> DataFrame:
    """The same as rows of a DataFrame."""

    def cut(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        numbers = (number for batch in batches for number in batch.column(0).to_pylist())
        return cut_to_rows(_read(splits, numbers), buckets)

    # range gives each of its partitions one number
    return spark.range(0, len(splits), 1, max(1, len(splits))).mapInArrow(cut, PIECES_TYPE)


def _read(splits: list[BucketSplit], numbers: Iterable[int]) -> Iterator[pa.Table]:
    settle()
    for number in numbers:
        yield from splits[number]()
