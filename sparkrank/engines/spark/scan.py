"""The scan lane: Arrow reads files inside the tasks, and Spark shuffles bytes instead of rows."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
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
from sparkrank.engines.spark.session_features import Batches, SessionFeatures, packed_once
from sparkrank.engines.spark.shuffle import (
    PIECES_TYPE,
    Pair,
    Work,
    partition_to_pairs,
    partition_to_rows,
    solve_pairs,
    solve_rows,
    solve_rows_where_read,
)
from sparkrank.engines.spark.tasks import tune_worker
from sparkrank.metrics import Plan
from sparkrank.sources.parquet import SPLIT_ROWS
from sparkrank.sources.selection import Sides, SideSplit

if TYPE_CHECKING:
    from sparkrank.engines.one_group import Pick


def evaluate_scan(
    spark: SparkSession, sides: Sides, plan: Plan, buckets: int, files: GroupFiles | None = None
) -> Solved:
    """Evaluate the inputs ``sides``, which must have been checked. If ``files`` is given, tasks write groups there."""
    schema, features = sides.schema(plan), SessionFeatures.of(spark, plan)
    kinds = (from_arrow_type(schema.field(key_column(index)).type) for index in range(len(sides.roles.group)))
    groups = group_schema(dict(zip(sides.roles.group, kinds, strict=True)), plan)
    work = Work(schema, plan, buckets, groups, files)
    if plan.keys and features.context is not None:
        return solve_pairs(pairs_of(features.context, sides, plan, buckets), spark, work)
    numbers, read, tasks = _numbered(spark, sides, plan)
    with batches_of(spark, BYTES_OF_PIECES) as refusal:
        if plan.keys:
            cut = packed_once(lambda batches: partition_to_rows(read(batches), buckets))
            solved = solve_rows(numbers.mapInArrow(cut, PIECES_TYPE), work)
        else:
            solved = solve_rows_where_read(numbers, read, plan, tasks)
        return solved.noting(*features.refusals, refusal)


def pairs_of(context: SparkContext, sides: Sides, plan: Plan, buckets: int) -> RDD[Pair]:
    """Return the rows of ``sides`` as pairs of a bucket and a piece. A separate task reads and cuts each file split."""
    read, splits = sides.reader(plan), sides.splits(plan, SPLIT_ROWS)

    def cut(of_task: Iterable[SideSplit]) -> Iterator[Pair]:
        tune_worker()
        return partition_to_pairs(itertools.chain.from_iterable(map(read, of_task)), buckets)

    return context.parallelize(splits, max(1, len(splits))).mapPartitions(cut)


def pick_scanned(spark: SparkSession, sides: Sides, plan: Plan, pick: Pick) -> list[pa.Table]:
    """Apply ``pick`` in the tasks that read the rows of ``sides``, and return the non-empty tables."""
    numbers, read, _ = _numbered(spark, sides, plan)
    picked = packed_once(lambda batches: streams_of(map(pick, read(batches))))
    return tables_of_streams(numbers.mapInArrow(picked, STREAMS_TYPE))


def _numbered(
    spark: SparkSession, sides: Sides, plan: Plan
) -> tuple[DataFrame, Callable[[Batches], Iterator[pa.Table]], int]:
    """Return a DataFrame of split numbers, the function with which tasks read these splits, and the number of tasks."""
    read, splits = sides.reader(plan), sides.splits(plan, SPLIT_ROWS)

    def tables(batches: Batches) -> Iterator[pa.Table]:
        tune_worker()
        numbers = itertools.chain.from_iterable(batch.column(0).to_pylist() for batch in batches)
        return itertools.chain.from_iterable(read(splits[number]) for number in numbers)

    tasks = max(1, len(splits))
    return spark.range(0, len(splits), 1, tasks), tables, tasks
