"""The frame lane: any Spark DataFrame. Spark gives its rows the columns of a bucket; Python cuts them into pieces."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark import RDD, SparkContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from sparkrank.bucket import bucket_columns
from sparkrank.bucket.impressions import TRUTH, key_column
from sparkrank.engines.group_files import GroupFiles
from sparkrank.engines.result import Solved
from sparkrank.engines.spark.arrays import rows_of_arrays
from sparkrank.engines.spark.batches import (
    NO_LIMIT,
    ROWS_OF_ARRAYS,
    arrow_batches,
    arrow_schema,
    batches_of,
    gathered_rows,
    read_batches,
    settings_in_tasks,
    short_batches,
)
from sparkrank.engines.spark.columns import bucket_rows
from sparkrank.engines.spark.gather import group_schema
from sparkrank.engines.spark.picked import STREAMS_TYPE, streams_of, tables_of_streams
from sparkrank.engines.spark.sent_batches import SentBatches
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
from sparkrank.engines.spark.values import TEXTS
from sparkrank.inputs.buckets import fan_in
from sparkrank.inputs.roles import Roles
from sparkrank.metrics import Plan
from sparkrank.sources.sizes import may_be_wide

if TYPE_CHECKING:
    from sparkrank.engines.one_group import GroupKeys, Pick


def evaluate_frame(
    frame: DataFrame,
    roles: Roles,
    plan: Plan,
    buckets: int,
    files: GroupFiles | None = None,
    truth: DataFrame | None = None,
) -> Solved:
    """Evaluate ``frame`` and, beside it, ``truth`` in one pass and ``buckets`` buckets.

    The schemas have passed their check. With ``files``, the tasks write the group table there.
    """
    impressions, sides = _impressions(frame, truth, roles, plan)
    sides = tuple(_side_of(side, impressions, plan) for side in sides)
    rows, plan = _sent(impressions, plan)
    batches = SentBatches.of(rows, roles, plan)
    keys = {column: impressions.schema[key_column(index)].dataType for index, column in enumerate(roles.group)}
    groups = group_schema(keys, plan) if plan.group_table else None
    with _shortened(frame.sparkSession, batches):
        return _evaluated(rows, sides, batches, plan, buckets, groups, files)


def _shortened(spark: SparkSession, batches: SentBatches) -> AbstractContextManager[None]:
    """A context in which batches with values of any length have fewer rows."""
    if batches.arrays is not None:
        return short_batches(spark, ROWS_OF_ARRAYS)
    return short_batches(spark) if any(map(may_be_wide, batches.sent.types)) else nullcontext()


def _side_of(side: DataFrame, both: DataFrame, plan: Plan) -> DataFrame:
    """The columns of ``side`` that ``plan`` needs, in the types that they have in ``both`` sides.

    Those that are null there, and the flag of the truth, are left out: :func:`_completed` knows them.
    """
    nothing = {field.name for field in side.schema if isinstance(field.dataType, T.NullType)}
    alike = side.select(*(F.col(field.name).cast(field.dataType).alias(field.name) for field in both.schema))
    rows, _ = _sent(alike, plan)
    return rows.select(*(name for name in rows.columns if name not in (TRUTH, *nothing)))


def _completed(rows: pa.Table, schema: pa.Schema, is_truth: bool) -> pa.Table:
    """``rows`` of a side with all columns of ``schema``."""
    flags = pa.chunked_array([pa.repeat(is_truth, rows.num_rows)])
    columns = {
        field.name: rows[field.name]
        if field.name in rows.column_names
        else flags
        if field.name == TRUTH
        else pa.chunked_array([pa.nulls(rows.num_rows, field.type)])
        for field in schema
    }
    return pa.table(columns)


def _pairs_of_sides(
    sides: Sequence[DataFrame], context: SparkContext, schema: pa.Schema, buckets: int
) -> tuple[RDD[Pair], RDD[bytes]] | None:
    """The rows of both sides, cut by the task that makes them, and their batches; None where these cannot be had."""
    of_lists, of_truth = (arrow_batches(side, context) for side in sides)
    if of_lists is None or of_truth is None:
        return None
    batches, partitions = of_lists.union(of_truth), of_lists.getNumPartitions()
    schemas = [arrow_schema(side) for side in sides]

    def cut(partition: int, packed: Iterable[bytes]) -> Iterator[Pair]:
        is_truth = partition >= partitions
        own = schemas[is_truth]
        tables = gathered_rows(read_batches(packed, own), own)
        return partition_to_pairs((_completed(table, schema, is_truth) for table in tables), buckets)

    return batches.mapPartitionsWithIndex(cut), batches


def _evaluated(
    rows: DataFrame,
    sides: Sequence[DataFrame],
    sent: SentBatches,
    plan: Plan,
    buckets: int,
    groups: T.StructType | None,
    files: GroupFiles | None,
) -> Solved:
    spark, schema = rows.sparkSession, sent.schema
    features = SessionFeatures.of(spark, plan)
    if features.context is not None:
        with settings_in_tasks(spark):
            if sides and (found := _pairs_of_sides(sides, features.context, schema, buckets)) is not None:
                return solve_pairs(found[0], spark, schema, plan, buckets, groups, files, source=found[1])
            if (batches := arrow_batches(rows, features.context)) is not None:
                if not plan.keys:
                    return solve_where_read(batches.mapPartitions(sent.read), spark, plan)
                pairs = pairs_of(batches, sent, buckets)
                return solve_pairs(pairs, spark, schema, plan, buckets, groups, files, source=batches)
    with batches_of(spark, NO_LIMIT) as refusal:
        if plan.keys:
            solved = solve_rows(rows_of(rows, sent, buckets), schema, plan, buckets, groups, files)
        else:
            # Spark solves them where it makes them, and nobody knows in how many tasks: one step merges the states
            # of so many before the driver gets them.
            tasks = fan_in(plan) ** 2
            solved = solve_rows_where_read(rows, sent.tables, plan, tasks)
    return solved.noting(*features.refusals, refusal)


def pairs_of(batches: RDD[bytes], sent: SentBatches, buckets: int) -> RDD[Pair]:
    """The rows of ``batches``, cut by the task that makes them."""
    return batches.mapPartitions(lambda packed: partition_to_pairs(sent.read(packed), buckets))


def rows_of(rows: DataFrame, sent: SentBatches, buckets: int) -> DataFrame:
    """The same as rows of a DataFrame."""

    def cut(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return partition_to_rows(sent.tables(batches), buckets)

    return rows.mapInArrow(packed_once(cut), PIECES_TYPE)


def _sent(impressions: DataFrame, plan: Plan) -> tuple[DataFrame, Plan]:
    """The columns of ``impressions`` that a bucket needs; text keys as their hashes, where nothing needs the keys.

    The group table and the parts of groups do. The plan that is returned says which of them is sent.
    """
    names = [key_column(index) for index in range(len(plan.keys))]
    kinds = [impressions.schema[name].dataType for name in names]
    others = bucket_columns(plan, 0)
    if plan.arrays:
        others = [name for name in impressions.columns if name not in names]
    if plan.group_table or plan.has_parts or not kinds or not _worth_hashing(kinds):
        return impressions.select(*names, *others), plan
    no_key = F.lit(False)
    for name in names:
        no_key = no_key | F.col(name).isNull()
    hashes = (F.xxhash64(*names), F.hash(*names))
    hashed = [F.when(~no_key, each).alias(key_column(index)) for index, each in enumerate(hashes)]
    return impressions.select(*hashed, *others), replace(plan, hashed_keys=True)


def _worth_hashing(kinds: list[T.DataType]) -> bool:
    """Whether two hashes are cheaper to send than the key: for strings and for several columns.

    They have 96 bits, so that two of n groups fall together with probability n² / 2^97: 10^-11 for a billion groups.
    Hashes take NaN for a value, so floating keys are sent as they are.
    """
    if any(isinstance(kind, (T.FloatType, T.DoubleType)) for kind in kinds):
        return False
    return len(kinds) > 1 or isinstance(kinds[0], (*TEXTS, T.BinaryType))


def _impressions(
    frame: DataFrame, truth: DataFrame | None, roles: Roles, plan: Plan
) -> tuple[DataFrame, tuple[DataFrame, ...]]:
    """The rows of both sides with the columns of a bucket, or rows of arrays; and each side, where there is a truth."""
    if roles.true_items is not None:
        return rows_of_arrays(frame, roles, plan), ()
    lists = bucket_rows(frame, roles, plan)
    if truth is None or roles.truth is None:
        return lists, ()
    beside = bucket_rows(truth, roles.truth, plan)
    return lists.unionByName(beside), (lists, beside)


def _picked_rows(frame: DataFrame, truth: DataFrame | None, roles: Roles, plan: Plan) -> tuple[DataFrame, SentBatches]:
    """The rows of both sides with their keys as they are, and what tasks make of them."""
    impressions, _ = _impressions(frame, truth, roles, plan)
    rows, plan = _sent(impressions, replace(plan, group_table=True))
    return rows, SentBatches.of(rows, roles, plan)


def framed_schema(frame: DataFrame, truth: DataFrame | None, roles: Roles, plan: Plan) -> pa.Schema:
    """The schema of the rows of a bucket."""
    return _picked_rows(frame, truth, roles, plan)[1].schema


def pick_framed(
    frame: DataFrame, truth: DataFrame | None, roles: Roles, plan: Plan, keys: GroupKeys | None, pick: Pick
) -> list[pa.Table]:
    """What ``pick`` makes of the rows of both sides in the tasks that have them; empty tables are left out.

    With ``keys``, Spark is asked for the rows of those groups alone, which it may push down to what it reads from.
    """
    rows, sent = _picked_rows(frame, truth, roles, plan)
    if keys is not None:
        for index, values in enumerate(zip(*keys.typed(sent.schema), strict=True)):
            rows = rows.where(F.col(key_column(index)).isin(*(scalar.as_py() for scalar in values)))

    def picked(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return streams_of(map(pick, sent.tables(batches)))

    return tables_of_streams(rows.mapInArrow(packed_once(picked), STREAMS_TYPE))
