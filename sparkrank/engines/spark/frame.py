"""The frame lane: any Spark DataFrame. Spark gives its rows the columns of a bucket; Python cuts them into pieces."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import nullcontext

import pyarrow as pa
from pyspark import RDD
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from sparkrank.bucket import bucket_columns
from sparkrank.bucket.impressions import (
    ITEM,
    LABEL,
    REFERENCE_RANK,
    SPOILED,
    TRUTH,
    WEIGHT,
    group_weight_column,
    key_column,
    score_column,
    slice_column,
)
from sparkrank.engines.arrow.joined_types import (
    joined_columns,
    of_wrong_type,
    refuse_no_column,
    refuse_other_kind,
    refuse_slice,
    sides_of_slices,
)
from sparkrank.engines.arrow.sizes import may_be_wide
from sparkrank.engines.arrow.text_schema import NO_NUMBER
from sparkrank.engines.group_files import GroupFiles
from sparkrank.engines.result import Solved
from sparkrank.engines.spark.arrays import array_impressions, refuse_no_array
from sparkrank.engines.spark.batches import (
    NO_LIMIT,
    arrow_batches,
    arrow_schema,
    batches_of,
    held_rows,
    read_batches,
    settings_in_tasks,
    short_batches,
)
from sparkrank.engines.spark.gather import FAN_IN, group_schema
from sparkrank.engines.spark.shuffle import (
    PIECES_TYPE,
    Pair,
    context_of,
    cut_to_pairs,
    cut_to_rows,
    solve_pairs,
    solve_rows,
    solve_rows_where_read,
    solve_where_read,
)
from sparkrank.engines.spark.values import TEXTS, float_of, is_plain, item_of, key_of, label_of, named
from sparkrank.metrics import Plan
from sparkrank.roles import GROUP_WEIGHT, SLICE, Roles

# Rows without a group are solved where Spark makes them. As rows of a DataFrame nobody knows in how many tasks: states
# of so many are merged in one step before the driver gets them.
MANY_TASKS = FAN_IN * FAN_IN


def evaluate_frame(
    frame: DataFrame,
    roles: Roles,
    plan: Plan,
    buckets: int,
    files: GroupFiles | None = None,
    truth: DataFrame | None = None,
) -> Solved:
    """Evaluate ``frame`` and, beside it, ``truth`` in one pass and ``buckets`` buckets.

    The schemas have passed :func:`check_schema`. With ``files``, the tasks write the group table there.
    """
    impressions = _impressions(frame, roles, plan)
    if truth is not None and roles.truth is not None:
        impressions = impressions.unionByName(_impressions(truth, roles.truth, plan))
    rows = _sent(impressions, plan)
    keys = {column: impressions.schema[key_column(index)].dataType for index, column in enumerate(roles.group)}
    groups = group_schema(keys, plan) if plan.group_table else None
    spark, schema = frame.sparkSession, arrow_schema(rows)
    with short_batches(spark) if any(map(may_be_wide, schema.types)) else nullcontext():
        return _evaluated(rows, schema, plan, buckets, groups, files)


def _evaluated(
    rows: DataFrame,
    schema: pa.Schema,
    plan: Plan,
    buckets: int,
    groups: T.StructType | None,
    files: GroupFiles | None,
) -> Solved:
    spark = rows.sparkSession
    if (context := context_of(spark, plan)) is not None:
        with settings_in_tasks(spark):
            if (batches := arrow_batches(rows, context)) is not None:
                if not plan.keys:
                    return solve_where_read(tables_of(batches, schema), spark, plan)
                pairs = pairs_of(batches, schema, buckets)
                return solve_pairs(pairs, spark, schema, plan, buckets, groups, files, source=batches)
    with batches_of(spark, NO_LIMIT):
        if not plan.keys:
            return solve_rows_where_read(rows, lambda each: held_rows(each, schema), plan, MANY_TASKS)
        return solve_rows(rows_of(rows, schema, buckets), schema, plan, buckets, groups, files)


def tables_of(batches: RDD[bytes], schema: pa.Schema) -> RDD[pa.Table]:
    """The rows of ``batches``, as many together as a task holds."""
    return batches.mapPartitions(lambda packed: held_rows(read_batches(packed, schema), schema))


def pairs_of(batches: RDD[bytes], schema: pa.Schema, buckets: int) -> RDD[Pair]:
    """The rows of ``batches``, cut by the task that makes them."""

    def cut(packed: Iterable[bytes]) -> Iterator[Pair]:
        return cut_to_pairs(held_rows(read_batches(packed, schema), schema), buckets)

    return batches.mapPartitions(cut)


def rows_of(rows: DataFrame, schema: pa.Schema, buckets: int) -> DataFrame:
    """The same as rows of a DataFrame."""

    def cut(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return cut_to_rows(held_rows(batches, schema), buckets)

    return rows.mapInArrow(cut, PIECES_TYPE)


def check_schema(schema: T.StructType, roles: Roles, plan: Plan, what: str = "input") -> None:
    """Refuse a schema, that of ``what``, in which some role's column is missing or of a type that it cannot have."""
    for role, column in roles.columns():
        refuse_no_column(role, column, [name for name in schema.fieldNames() if name != NO_NUMBER], what)
        kind = schema[column].dataType
        sliced = (*TEXTS, T.IntegralType, T.BooleanType, T.DateType, T.NullType)
        if role == SLICE and not isinstance(kind, sliced):
            refuse_slice(column, kind.simpleString())
        if roles.true_items is not None and role not in ("group", SLICE, GROUP_WEIGHT):
            refuse_no_array(role, column, kind)
            continue
        number = isinstance(kind, (T.NumericType, T.NullType)) or (role == "label" and isinstance(kind, T.BooleanType))
        if role not in ("group", "item", SLICE) and not number:
            raise of_wrong_type(role, column, kind.simpleString(), "a number")
        if role in ("group", "item") and not is_plain(kind):
            raise of_wrong_type(role, column, kind.simpleString(), "a plain value")
    roles.refuse_unnamed(plan)
    if roles.true_items is not None:
        check_truth_schema(schema, schema, roles)


def check_truth_schema(schema: T.StructType, truth: T.StructType, roles: Roles) -> None:
    """Refuse a truth whose group key or item is of another kind than that of the lists: nothing would be found."""
    for role, column, truth_column in joined_columns(roles):
        kind, truth_kind = schema[column].dataType, truth[truth_column].dataType
        if not _fit(kind, truth_kind):
            refuse_other_kind(role, column, kind.simpleString(), truth_column, truth_kind.simpleString())
    for column in sides_of_slices(roles):
        kind, truth_kind = schema[column].dataType, truth[column].dataType
        if isinstance(kind, T.IntegralType) != isinstance(truth_kind, T.IntegralType):
            refuse_other_kind(SLICE, column, kind.simpleString(), column, truth_kind.simpleString())


def _fit(kind: T.DataType, other: T.DataType) -> bool:
    """Whether values of the two types can be equal, or one of them has none."""
    if isinstance(kind, T.ArrayType) and isinstance(other, T.ArrayType):
        return _fit(kind.elementType, other.elementType)
    return T.NullType() in (kind, other) or _family(kind) == _family(other)


def _family(kind: T.DataType) -> str:
    """Types of one family hold values that can be equal."""
    families: dict[str, type | tuple[type, ...]] = {"integer": T.IntegralType, "float": T.FractionalType, "text": TEXTS}
    if isinstance(kind, T.DecimalType):
        return kind.simpleString()
    return next((name for name, family in families.items() if isinstance(kind, family)), kind.simpleString())


def _impressions(frame: DataFrame, roles: Roles, plan: Plan) -> DataFrame:
    """The rows of one side with the columns of a bucket; what the other side has and this one has not is null."""
    if roles.true_items is not None:
        return array_impressions(frame, roles, plan)
    schema = frame.schema
    nothing = F.lit(None)
    columns = {
        key_column(index): key_of(named(column), schema[column].dataType) for index, column in enumerate(roles.group)
    }
    for index, column in enumerate(plan.slice_columns):
        columns[slice_column(index)] = item_of(named(column), schema[column].dataType)
    for index, column in enumerate(plan.group_weights):  # a truth has none: what a group weighs is said by its list
        columns[group_weight_column(index)] = named(column).cast("double") if roles.scores else nothing
    no_label = nothing if plan.joins else nothing.cast("tinyint")
    columns[LABEL] = no_label if roles.label is None else label_of(named(roles.label), schema[roles.label].dataType)
    scores = [float_of(named(column), schema[column].dataType) for column in roles.scores.values()]
    for index, score in enumerate(scores or [nothing] * len(plan.models)):
        columns[score_column(index)] = -score if roles.by_rank else score
    if plan.weighted:  # that of a row of the truth is never read: it has no score
        columns[WEIGHT] = F.lit(1.0) if roles.weight is None else named(roles.weight).cast("double")
    if plan.needs_item and roles.item is not None:
        columns[ITEM] = item_of(named(roles.item), schema[roles.item].dataType)
    if plan.needs_reference_rank:
        ranks = roles.reference_rank
        columns[REFERENCE_RANK] = nothing if ranks is None else float_of(named(ranks), schema[ranks].dataType)
    if plan.reads_texts:
        columns[SPOILED] = named(NO_NUMBER) if NO_NUMBER in schema.fieldNames() else F.lit(False)
    if plan.joins:
        columns[TRUTH] = F.lit(not roles.scores)
        if not roles.scores and roles.label is None:
            columns[LABEL] = F.when(columns[ITEM].isNotNull(), F.lit(1).cast("tinyint"))
    return frame.select(*(column.alias(name) for name, column in columns.items()))


def _sent(impressions: DataFrame, plan: Plan) -> DataFrame:
    """The columns of ``impressions`` that a bucket needs; without a group table, text keys as their hashes."""
    names = [key_column(index) for index in range(len(plan.keys))]
    kinds = [impressions.schema[name].dataType for name in names]
    if plan.group_table or not kinds or not _worth_hashing(kinds):
        return impressions.select(*bucket_columns(plan, len(names)))
    no_key = F.lit(False)
    for name in names:
        no_key = no_key | F.col(name).isNull()
    hashes = (F.xxhash64(*names), F.hash(*names))
    hashed = [F.when(~no_key, each).alias(key_column(index)) for index, each in enumerate(hashes)]
    return impressions.select(*hashed, *bucket_columns(plan, 0))


def _worth_hashing(kinds: list[T.DataType]) -> bool:
    """Whether two hashes are cheaper to send than the key: for strings and for several columns.

    They have 96 bits, so that two of n groups fall together with probability n² / 2^97: 10^-11 for a billion groups.
    Hashes take NaN for a value, so floating keys are sent as they are.
    """
    if any(isinstance(kind, (T.FloatType, T.DoubleType)) for kind in kinds):
        return False
    return len(kinds) > 1 or isinstance(kinds[0], (*TEXTS, T.BinaryType))
