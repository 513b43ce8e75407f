"""The frame lane, for any Spark DataFrame. Spark sends columns as they are, and Python cuts bucket rows into pieces."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa
from pyspark import RDD
from pyspark.sql import DataFrame

from sparkrank.bucket import BucketResult
from sparkrank.engines.bucket_evaluation import evaluate_table
from sparkrank.engines.group_files import GroupFiles
from sparkrank.engines.result import PassResult
from sparkrank.engines.spark.batch_converter import BatchConverter, FrameSide
from sparkrank.engines.spark.batches import (
    NO_LIMIT,
    ROWS_OF_ARRAYS,
    arrow_batches,
    batches_of,
    named,
    settings_in_tasks,
    short_batches,
)
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
from sparkrank.inputs.buckets import fan_in
from sparkrank.metrics import Plan
from sparkrank.sources.columns import bucket_schema
from sparkrank.sources.sizes import may_be_wide

if TYPE_CHECKING:
    from sparkrank.engines.one_group import GroupKeys, Pick

SentRows: TypeAlias = tuple[DataFrame, BatchConverter]  # rows, and how tasks turn them into tables


def evaluate_frame(sides: Sequence[FrameSide], plan: Plan, buckets: int, files: GroupFiles | None = None) -> PassResult:
    """Evaluate the rows of all inputs (``sides``) in one pass. The caller has checked the inputs."""
    spark, roles, schema = sides[0].frame.sparkSession, sides[0].roles, framed_schema(sides, plan)
    parts = [side.sent(plan, schema) for side in sides]
    shortened: AbstractContextManager[None] = nullcontext()
    if roles.arrays:
        shortened = short_batches(spark, ROWS_OF_ARRAYS)
    elif any(may_be_wide(kind) for _, sent in parts for kind in sent.sent.types):  # values of any length
        shortened = short_batches(spark)
    with shortened:
        return _evaluated(parts, Work(schema, plan, buckets, group_schema(roles.group, schema, plan), files))


def _evaluated(parts: Sequence[SentRows], work: Work) -> PassResult:
    spark, plan, without_shuffle = parts[0][0].sparkSession, work.plan, None
    if plan.evaluates_splits:
        plan = replace(plan, hashes_keys=plan.arrays)
        # Spark evaluates the rows where it makes them, in an unknown number of tasks. One step merges the states of
        # this many tasks before the driver gets them.
        without_shuffle = SplitEvaluation(plan, work.buckets, fan_in(plan) ** 2, work.groups, work.files)
        ((rows, sent),) = parts  # sides are joined by groups

    def evaluated(tables: Iterable[pa.Table]) -> Iterator[tuple[int, BucketResult]]:
        return ((0, evaluate_table(table, plan)) for table in tables)

    features = SessionFeatures.of(spark, plan)
    if features.context is not None:
        with settings_in_tasks(spark):
            batches = [of_part for own, _ in parts if (of_part := arrow_batches(own, features.context)) is not None]
            if len(batches) == len(parts):
                if without_shuffle is not None:
                    whole = replace(without_shuffle, tasks=batches[0].getNumPartitions())
                    return whole.solve_partitions(batches[0], spark, lambda packed: evaluated(sent.read(packed)))
                pairs = [pairs_of(own, part, work.buckets) for own, (_, part) in zip(batches, parts, strict=True)]
                return solve_pairs(functools.reduce(RDD.union, pairs), spark, work, sources=batches)
    with batches_of(spark, NO_LIMIT) as refusal:
        if without_shuffle is None:
            pieces = [rows_of(*part, work.buckets) for part in parts]
            solved = solve_rows(functools.reduce(DataFrame.unionAll, pieces), work)
        else:
            solved = without_shuffle.solve_rows(rows, lambda batches: evaluated(sent.tables(batches)))
    return solved.noting(*features.refusals, refusal)


def pairs_of(batches: RDD[bytes], sent: BatchConverter, buckets: int) -> RDD[Pair]:
    """Cut the rows of ``batches`` into pairs (bucket, piece) in the tasks that make the batches."""
    return batches.mapPartitions(lambda packed: partition_to_pairs(sent.read(packed), buckets))


def rows_of(rows: DataFrame, sent: BatchConverter, buckets: int) -> DataFrame:
    """Cut ``rows`` into pieces (serialized record batches), and return the pieces as rows of a DataFrame."""
    cut = packed_once(lambda batches: partition_to_rows(sent.tables(batches), buckets))
    return rows.mapInArrow(cut, PIECES_TYPE)


def framed_schema(sides: Sequence[FrameSide], plan: Plan) -> pa.Schema:
    """Return the Arrow schema of the rows that buckets receive."""
    return bucket_schema([(side.schema, side.roles) for side in sides], plan)


def pick_from_frames(sides: Sequence[FrameSide], plan: Plan, keys: GroupKeys | None, pick: Pick) -> list[pa.Table]:
    """Apply the function ``pick`` (from tables to tables) in tasks to all rows, or to rows of the groups ``keys``.

    Return the non-empty tables.
    """
    tables, schema = [], framed_schema(sides, plan)
    for side in sides:
        rows, sent = side.sent(plan, schema)
        values = () if keys is None else zip(*keys.typed(schema), strict=True)
        for column, of_column in zip(side.roles.group, values, strict=False):
            # Spark filters rows by the group key, except for three types: it may distinguish 0.0 from -0.0, and it
            # would read Python's instants and days in its own time zone and calendar.
            kind = of_column[0].type
            if not (sent.at[column].steps or pa.types.is_floating(kind) or pa.types.is_temporal(kind)):
                rows = rows.where(named(sent.at[column].column).isin(*(scalar.as_py() for scalar in of_column)))
        tables += tables_of_streams(rows.mapInArrow(_picked(sent, pick), STREAMS_TYPE))
    return tables


def _picked(sent: BatchConverter, pick: Pick) -> Callable[[Batches], Batches]:
    return packed_once(lambda batches: streams_of(map(pick, sent.tables(batches))))
