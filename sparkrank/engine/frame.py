"""The frame lane: any Spark DataFrame, grouped into hash buckets, each bucket solved by one call of a grouped UDF.

The UDF is a grouped aggregate on Arrow arrays: it takes the bucket's columns and returns one packed value. That is
the cheapest way across: rows pass to Python as plain columns, and what comes back is one row per bucket, not one per
group (docs/performance.md has the figures of the other ways).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from sparkrank.bucket import bucket_columns, evaluate_bucket
from sparkrank.engine.buckets import task_count
from sparkrank.engine.group_files import GroupFiles
from sparkrank.engine.memory import keep_freed_memory
from sparkrank.engine.result import Solved
from sparkrank.engine.solving import PACKED_SCHEMA, PACKED_TYPE, Packed, gather, group_schema, packed_result
from sparkrank.errors import InputError, did_you_mean, listed
from sparkrank.impressions import ITEM, LABEL, REFERENCE_RANK, WEIGHT, key_column, score_column
from sparkrank.metrics import Plan
from sparkrank.roles import Roles

_BUCKET, _PACKED = "bucket", "packed"


def evaluate_frame(frame: DataFrame, roles: Roles, plan: Plan, buckets: int, files: GroupFiles | None = None) -> Solved:
    """Evaluate ``frame``, whose schema :func:`check_schema` has passed, in one pass and ``buckets`` buckets.

    With ``files``, the tasks write the group table there.
    """
    rows, keys = _bucket_rows(frame, roles, plan, buckets)
    packed = _solve(rows, bucket_columns(plan, keys), plan, files)
    kinds = {column: frame.schema[column].dataType for column in roles.group}
    return gather(packed, buckets, plan, group_schema(kinds, plan) if plan.group_table else None, files)


def check_schema(schema: T.StructType, roles: Roles, plan: Plan) -> None:
    """Refuse a schema in which some role's column is missing or of a type that it cannot have."""
    for role, column in roles.columns():
        if column not in schema.fieldNames():
            near = did_you_mean(column, schema.fieldNames())
            raise InputError(f'the {role} column "{column}" is not in the input{near} ({listed(schema.fieldNames())})')
        kind = schema[column].dataType
        if role == "label" and not isinstance(kind, (T.NumericType, T.BooleanType)):
            raise InputError(f'the label column "{column}" is of type {kind.simpleString()}: a number is needed')
        if role.startswith(("score", "weight", "reference")) and not isinstance(kind, T.NumericType):
            raise InputError(f'the {role}, column "{column}", is of type {kind.simpleString()}: a number is needed')
        if role in ("group", "item") and isinstance(kind, (T.ArrayType, T.MapType, T.StructType)):
            raise InputError(f'the {role} column "{column}" is of type {kind.simpleString()}: a plain value is needed')
    if plan.needs_item and roles.item is None:
        raise InputError(f"{plan.item_is_for}, but no item column is named")
    if plan.needs_reference_rank and roles.reference_rank is None:
        raise InputError("ref=reference_rank compares with a column, but no reference_rank column is named")


def _bucket_rows(frame: DataFrame, roles: Roles, plan: Plan, buckets: int) -> tuple[DataFrame, int]:
    """The input as buckets see it, with the number of its bucket; and how many key columns there are."""
    schema = frame.schema
    keys = [_key(_column(column), schema[column].dataType) for column in roles.group]
    no_key = F.lit(False)
    for key in keys:
        no_key = no_key | key.isNull()
    scores = [_score(_column(column), schema[column].dataType) for column in roles.scores.values()]
    # Rows without a key would all meet in one bucket; hashed with their score too, they spread. For the others the
    # extra term is null, which leaves their hash as it is.
    bucket = F.pmod(F.hash(*keys, F.when(no_key, scores[0])), F.lit(buckets))
    sent = keys if plan.group_table or not _worth_hashing(schema, roles) else [_hashed(keys, no_key)]
    columns = [
        *(key.alias(key_column(index)) for index, key in enumerate(sent)),
        _label(_column(roles.label), schema[roles.label].dataType).alias(LABEL),
        *(score.alias(score_column(index)) for index, score in enumerate(scores)),
    ]
    if plan.weighted and roles.weight is not None:
        columns.append(_column(roles.weight).cast("double").alias(WEIGHT))
    if plan.needs_item and roles.item is not None:
        columns.append(_column(roles.item).cast("string").alias(ITEM))
    if plan.needs_reference_rank and roles.reference_rank is not None:
        kind = schema[roles.reference_rank].dataType
        columns.append(_score(_column(roles.reference_rank), kind).alias(REFERENCE_RANK))
    # The number of tasks is set here: adaptive execution does not join the small partitions of a cached plan.
    rows = frame.select(bucket.alias(_BUCKET), *columns).repartition(task_count(buckets), _BUCKET)
    return rows, len(sent)


def _worth_hashing(schema: T.StructType, roles: Roles) -> bool:
    """Whether a 64-bit hash is cheaper to send than the key: for strings and for several columns.

    Bucket and key are hashed by two functions, so two of the n groups of a bucket fall together with probability
    n² / 2^65: 10^-11 for 20,000 groups. The hash takes NaN for a value, so floating keys are sent as they are.
    """
    kinds = [schema[column].dataType for column in roles.group]
    if any(isinstance(kind, (T.FloatType, T.DoubleType)) for kind in kinds):
        return False
    return len(kinds) > 1 or isinstance(kinds[0], (T.StringType, T.BinaryType))


def _hashed(keys: list[Column], no_key: Column) -> Column:
    return F.when(~no_key, F.xxhash64(*keys))


def _column(name: str) -> Column:
    return F.col("`" + name.replace("`", "``") + "`")


def _key(column: Column, kind: T.DataType) -> Column:
    return (column + F.lit(0).cast(kind)) if isinstance(kind, (T.FloatType, T.DoubleType)) else column  # -0.0 is 0.0


def _score(column: Column, kind: T.DataType) -> Column:
    return column if isinstance(kind, (T.FloatType, T.DoubleType)) else column.cast("double")


def _label(column: Column, kind: T.DataType) -> Column:
    if isinstance(kind, T.BooleanType):
        return column.cast("tinyint")
    return column.cast("double") if isinstance(kind, T.DecimalType) else column


def _solve(rows: DataFrame, columns: list[str], plan: Plan, files: GroupFiles | None) -> DataFrame:
    """One row (states, groups) per bucket."""

    def solved(bucket: pa.Table) -> Packed:
        keep_freed_memory()
        return packed_result(evaluate_bucket(bucket, plan), files)

    if hasattr(F, "arrow_udf"):
        aggregate = F.arrow_udf(_aggregate(columns, solved), PACKED_TYPE)
        return rows.groupBy(_BUCKET).agg(aggregate(*columns).alias(_PACKED)).select(f"{_PACKED}.*")
    return rows.groupBy(_BUCKET).applyInArrow(_map(columns, solved), PACKED_TYPE)


def _aggregate(columns: list[str], solved: Callable[[pa.Table], Packed]) -> Callable[..., Packed]:
    """The bucket's solver as a grouped aggregate UDF (Spark 4.1 and newer)."""

    def solve(*arrays: pa.Array) -> Any:
        return solved(pa.table(list(arrays), names=columns))

    return solve


def _map(columns: list[str], solved: Callable[[pa.Table], Packed]) -> Callable[[pa.Table], pa.Table]:
    """The bucket's solver as a grouped map (Spark 4.0 has no grouped aggregates on Arrow arrays)."""

    def solve(table: pa.Table) -> pa.Table:
        return pa.Table.from_pylist([solved(table.select(columns))], schema=PACKED_SCHEMA)

    return solve
