"""The scan lane: Arrow reads Parquet inside the tasks, and Spark shuffles bytes instead of rows.

A task reads a split, cuts its rows by bucket, and sends each bucket's rows as one piece of bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_type

from sparkrank.engine.batches import BYTES_OF_PIECES, batches_of
from sparkrank.engine.buckets import task_count
from sparkrank.engine.group_files import GroupFiles
from sparkrank.engine.parquet import SPLIT_ROWS
from sparkrank.engine.result import Solved
from sparkrank.engine.shuffle import PIECES_TYPE, by_bucket, cut_pieces, solved
from sparkrank.engine.solving import gather, group_schema
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
    packed = solved(shuffled_pieces(spark, sides, plan, buckets), schema, plan, files)
    keys = {
        column: from_arrow_type(schema.field(key_column(index)).type) for index, column in enumerate(sides.roles.group)
    }
    groups = group_schema(keys, plan) if plan.group_table else None
    with batches_of(spark, BYTES_OF_PIECES):
        return gather(packed, task_count(buckets), plan, groups, files)


def shuffled_pieces(spark: SparkSession, sides: Sides, plan: Plan, buckets: int) -> DataFrame:
    """The rows of ``sides`` as pieces (bucket, piece), all those of a bucket in one partition: read, cut, packed."""
    splits = sides.splits(plan, SPLIT_ROWS)
    # range gives each of its partitions one number, so each task reads one split
    numbers = spark.range(0, len(splits), 1, max(1, len(splits)))
    return by_bucket(numbers.mapInArrow(_reader(splits, buckets), PIECES_TYPE), buckets)


def _reader(splits: list[BucketSplit], buckets: int) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """What a task does with the numbers of its splits."""

    def read(numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        settle()
        for batch in numbers:
            for number in batch.column(0).to_pylist():
                for rows in splits[number]():
                    yield cut_pieces(rows, buckets)

    return read
