"""The evaluation of the lane ``scan``: Arrow reads files inside Spark tasks, and Spark shuffles bytes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark import RDD, SparkContext
from pyspark.sql import DataFrame, SparkSession

from sparkrank.bucket import BucketResult
from sparkrank.engines.bucket_evaluation import evaluate_table
from sparkrank.engines.colocation_check import validate_colocation
from sparkrank.engines.file_evaluation import FILE_BATCH_ROWS, FileEvaluation
from sparkrank.engines.group_files import GroupFiles
from sparkrank.engines.result import PassResult
from sparkrank.engines.spark.batches import BYTES_OF_PIECES, batches_of
from sparkrank.engines.spark.gather import group_schema
from sparkrank.engines.spark.session_features import Batches, SessionFeatures, packed_once
from sparkrank.engines.spark.shuffle import (
    PIECES_TYPE,
    Pair,
    Work,
    partition_to_pairs,
    partition_to_rows,
    solve_pairs,
    solve_rows,
)
from sparkrank.engines.spark.split_evaluation import SplitEvaluation
from sparkrank.engines.spark.table_streams import STREAMS_TYPE, streams_of, tables_of_streams
from sparkrank.engines.spark.tasks import ROW_MEMORY_BYTES, tune_worker
from sparkrank.metrics import Plan
from sparkrank.numeric.memory import give_back_if_large
from sparkrank.sources.arrow_scan import in_splits
from sparkrank.sources.colocation import Colocation, FileSet
from sparkrank.sources.parquet import SPLIT_ROWS
from sparkrank.sources.selection import Sides, SideSplit

if TYPE_CHECKING:
    from sparkrank.engines.one_group import Pick

# Files of up to as many rows as a bucket share a task. Starting a task costs 15 ms.
LEAST_TASK_ROWS = 1 << 20


def evaluate_scan(
    spark: SparkSession,
    sides: Sides,
    plan: Plan,
    buckets: int,
    files: GroupFiles | None = None,
    colocation: Colocation | None = None,
) -> PassResult:
    """Evaluate the inputs ``sides``, which the caller has checked.

    If ``files`` is given, tasks write the groups to them. If ``colocation`` is given, each task evaluates the files
    that it reads.
    """
    schema, features = sides.schema(plan), SessionFeatures.of(spark, plan)
    groups = group_schema(sides.roles.group, schema, plan)
    if colocation is not None:
        how = SplitEvaluation(plan, buckets, groups=groups, files=files)
        return _evaluated_by_files(spark, features.context, sides, how, colocation).noting(*features.refusals)
    if plan.evaluates_splits:
        how = SplitEvaluation(replace(plan, hashes_keys=plan.arrays), buckets, groups=groups, files=files)
        return _evaluated_by_splits(spark, features.context, sides, how).noting(*features.refusals)
    work = Work(schema, plan, buckets, groups, files)
    if features.context is not None:
        return solve_pairs(pairs_of(features.context, sides, plan, buckets), spark, work)
    numbers, read = _numbered(spark, sides, plan)
    with batches_of(spark, BYTES_OF_PIECES) as refusal:
        cut = packed_once(lambda batches: partition_to_rows(read(batches), buckets))
        return solve_rows(numbers.mapInArrow(cut, PIECES_TYPE), work).noting(*features.refusals, refusal)


def _evaluated_by_splits(
    spark: SparkSession, context: SparkContext | None, sides: Sides, how: SplitEvaluation
) -> PassResult:
    """Evaluate each table of a split in the task that reads it. Rows have no groups, or each row is a group."""
    plan, read = how.plan, sides.reader(how.plan)

    def results(splits: Iterable[tuple[int, SideSplit]]) -> Iterator[tuple[int, BucketResult]]:
        return ((number, evaluate_table(rows, plan)) for number, split in splits for rows in read(split))

    return how.solve_tasks(spark, context, list(enumerate(sides.splits(plan, SPLIT_ROWS))), results)


def _evaluated_by_files(
    spark: SparkSession, context: SparkContext | None, sides: Sides, how: SplitEvaluation, colocation: Colocation
) -> PassResult:
    """Evaluate sets of files that hold whole groups in the tasks that read the files."""
    sets = sides.file_sets(how.plan, colocation, FILE_BATCH_ROWS)
    tasks = in_splits(((numbered, numbered[1].rows) for numbered in enumerate(sets)), LEAST_TASK_ROWS)
    evaluation = FileEvaluation.of(sides, how.plan, colocation, ROW_MEMORY_BYTES)

    def results(of_task: Iterable[list[tuple[int, FileSet]]]) -> Iterator[tuple[int, BucketResult]]:
        give_back_if_large()
        for number, files in itertools.chain.from_iterable(of_task):
            yield from ((number, result) for result in evaluation.results(files))

    how = replace(how, plan=evaluation.plan)
    solved = how.solve_tasks(spark, context, tasks, results)
    try:
        validate_colocation(solved.partials.repeated, sets, sides, how.plan, colocation)
    except BaseException:
        solved.release()
        raise
    return solved


def pairs_of(context: SparkContext, sides: Sides, plan: Plan, buckets: int) -> RDD[Pair]:
    """Return the rows of the inputs (``sides``) as pairs of a bucket and a piece (a record batch as bytes).

    A separate task reads and cuts each split of the files.
    """
    read, splits = sides.reader(plan), sides.splits(plan, SPLIT_ROWS)

    def cut(of_task: Iterable[SideSplit]) -> Iterator[Pair]:
        tune_worker()
        return partition_to_pairs(itertools.chain.from_iterable(map(read, of_task)), buckets)

    return context.parallelize(splits, max(1, len(splits))).mapPartitions(cut)


def pick_from_files(spark: SparkSession, sides: Sides, plan: Plan, pick: Pick) -> list[pa.Table]:
    """Apply the function ``pick`` in the tasks that read the inputs, and return the non-empty tables."""
    numbers, read = _numbered(spark, sides, plan)
    picked = packed_once(lambda batches: streams_of(map(pick, read(batches))))
    return tables_of_streams(numbers.mapInArrow(picked, STREAMS_TYPE))


def _numbered(
    spark: SparkSession, sides: Sides, plan: Plan
) -> tuple[DataFrame, Callable[[Batches], Iterator[pa.Table]]]:
    """Return a DataFrame of split numbers, and the function with which tasks read the splits."""
    read, splits = sides.reader(plan), sides.splits(plan, SPLIT_ROWS)

    def tables(batches: Batches) -> Iterator[pa.Table]:
        tune_worker()
        numbers = itertools.chain.from_iterable(batch.column(0).to_pylist() for batch in batches)
        return itertools.chain.from_iterable(read(splits[number]) for number in numbers)

    return spark.range(0, len(splits), 1, max(1, len(splits))), tables
