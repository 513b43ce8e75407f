"""The frame lane, for any Spark DataFrame. Spark converts rows to bucket columns, and Python cuts rows into pieces."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa
from pyspark import RDD
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from sparkrank.bucket import BucketResult, bucket_columns
from sparkrank.bucket.impressions import key_column
from sparkrank.engines.bucket_evaluation import evaluate_table
from sparkrank.engines.group_files import GroupFiles
from sparkrank.engines.result import Solved
from sparkrank.engines.spark.arrays import rows_of_arrays
from sparkrank.engines.spark.batches import (
    NO_LIMIT,
    ROWS_OF_ARRAYS,
    arrow_batches,
    batches_of,
    settings_in_tasks,
    short_batches,
)
from sparkrank.engines.spark.columns import bucket_rows
from sparkrank.engines.spark.gather import group_schema
from sparkrank.engines.spark.picked import STREAMS_TYPE, streams_of, tables_of_streams
from sparkrank.engines.spark.sent_batches import SentBatches
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
from sparkrank.engines.spark.where_read import WhereRead
from sparkrank.inputs.buckets import fan_in
from sparkrank.inputs.roles import Roles
from sparkrank.metrics import Plan
from sparkrank.sources.sizes import may_be_wide

if TYPE_CHECKING:
    from sparkrank.engines.one_group import GroupKeys, Pick

FrameSides: TypeAlias = Sequence[tuple[DataFrame, Roles]]  # the rows of each side, with the roles of their columns
SentRows: TypeAlias = tuple[DataFrame, SentBatches]  # rows, and how tasks turn them into tables


def evaluate_frame(
    sides: FrameSides,
    roles: Roles,
    plan: Plan,
    buckets: int,
    files: GroupFiles | None = None,
) -> Solved:
    """Evaluate the rows of all inputs (``sides``) in one pass. The schemas must have been checked."""
    parts = _sent_rows(sides, roles, plan)
    rows, sent = parts[0]
    keys = {column: rows.schema[key_column(index)].dataType for index, column in enumerate(roles.group)}
    shortened: AbstractContextManager[None] = nullcontext()
    if sent.arrays is not None:
        shortened = short_batches(rows.sparkSession, ROWS_OF_ARRAYS)
    elif any(map(may_be_wide, sent.sent.types)):  # values of any length
        shortened = short_batches(rows.sparkSession)
    with shortened:
        return _evaluated(parts, Work(sent.schema, plan, buckets, group_schema(keys, plan), files))


def _evaluated(parts: Sequence[SentRows], work: Work) -> Solved:
    rows, sent = parts[0]
    spark, plan, where_read = rows.sparkSession, work.plan, None
    if plan.evaluates_splits:
        plan = replace(plan, hashes_keys=plan.arrays)
        # Spark evaluates the rows where it makes them, in an unknown number of tasks. One step merges the states of so
        # many before the driver gets them.
        where_read = WhereRead(plan, work.buckets, fan_in(plan) ** 2, work.groups, work.files)

    def evaluated(tables: Iterable[pa.Table]) -> Iterator[tuple[int, BucketResult]]:
        return ((0, evaluate_table(table, plan)) for table in tables)

    features = SessionFeatures.of(spark, plan)
    if features.context is not None:
        with settings_in_tasks(spark):
            batches = [of_part for own, _ in parts if (of_part := arrow_batches(own, features.context)) is not None]
            if len(batches) == len(parts):
                if where_read is not None:
                    whole = replace(where_read, tasks=batches[0].getNumPartitions())
                    return whole.solve_partitions(batches[0], spark, lambda packed: evaluated(sent.read(packed)))
                pairs = [pairs_of(own, part, work.buckets) for own, (_, part) in zip(batches, parts, strict=True)]
                return solve_pairs(functools.reduce(RDD.union, pairs), spark, work, sources=batches)
    with batches_of(spark, NO_LIMIT) as refusal:
        if where_read is None:
            pieces = [rows_of(*part, work.buckets) for part in parts]
            solved = solve_rows(functools.reduce(DataFrame.unionAll, pieces), work)
        else:
            solved = where_read.solve_rows(rows, lambda batches: evaluated(sent.tables(batches)))
    return solved.noting(*features.refusals, refusal)


def pairs_of(batches: RDD[bytes], sent: SentBatches, buckets: int) -> RDD[Pair]:
    """Cut the rows of ``batches`` into pairs of a bucket and a piece, in the tasks that make the batches."""
    return batches.mapPartitions(lambda packed: partition_to_pairs(sent.read(packed), buckets))


def rows_of(rows: DataFrame, sent: SentBatches, buckets: int) -> DataFrame:
    """Cut ``rows`` into pieces (serialized record batches), and return the pieces as rows of a DataFrame."""
    cut = packed_once(lambda batches: partition_to_rows(sent.tables(batches), buckets))
    return rows.mapInArrow(cut, PIECES_TYPE)


def _sent_rows(sides: FrameSides, roles: Roles, plan: Plan) -> list[SentRows]:
    """Return the rows of all inputs with bucket columns or arrays, and how tasks turn these rows into tables.

    Rows with arrays are apart from those of the past, and all other rows are together.
    """
    arrays = [rows_of_arrays(frame, own, plan) for frame, own in sides if own.true_items is not None]
    flat = [bucket_rows(frame, own, plan) for frame, own in sides if own.true_items is None]
    names = [key_column(index) for index in range(len(plan.keys))]
    parts = [rows.select(*names, *(name for name in rows.columns if name not in names)) for rows in arrays]
    if flat:
        parts.append(functools.reduce(DataFrame.unionByName, flat).select(*names, *bucket_columns(plan, 0)))
    return list(zip(parts, SentBatches.of_parts(parts, roles, plan), strict=True))


def framed_schema(sides: FrameSides, roles: Roles, plan: Plan) -> pa.Schema:
    """Return the Arrow schema of the rows that buckets receive."""
    return _sent_rows(sides, roles, plan)[0][1].schema


def pick_framed(sides: FrameSides, roles: Roles, plan: Plan, keys: GroupKeys | None, pick: Pick) -> list[pa.Table]:
    """Apply ``pick`` in tasks to all rows, or to rows of the groups ``keys``. Returns the non-empty tables."""
    tables = []
    for rows, sent in _sent_rows(sides, roles, plan):
        own = rows
        for index, values in enumerate(() if keys is None else zip(*keys.typed(sent.schema), strict=True)):
            own = own.where(F.col(key_column(index)).isin(*(scalar.as_py() for scalar in values)))
        tables += tables_of_streams(own.mapInArrow(_picked(sent, pick), STREAMS_TYPE))
    return tables


def _picked(sent: SentBatches, pick: Pick) -> Callable[[Batches], Batches]:
    return packed_once(lambda batches: streams_of(map(pick, sent.tables(batches))))
