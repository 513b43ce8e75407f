"""The frame lane: any Spark DataFrame. Spark gives its rows the columns of a bucket; Python cuts them into pieces."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from sparkrank.bucket import bucket_columns
from sparkrank.engine.batches import NO_LIMIT, batches_of
from sparkrank.engine.buckets import task_count
from sparkrank.engine.frame_arrays import array_impressions, refuse_no_array
from sparkrank.engine.frame_pieces import arrow_schema, frame_pieces
from sparkrank.engine.frame_values import float_of, item_of, key_of, label_of, named
from sparkrank.engine.group_files import GroupFiles
from sparkrank.engine.kinds import joined_columns, refuse_no_column, refuse_other_kind, refuse_slice, refuse_unnamed
from sparkrank.engine.result import Solved
from sparkrank.engine.shuffle import by_bucket, solved
from sparkrank.engine.solving import gather, group_schema
from sparkrank.errors import InputError
from sparkrank.impressions import ITEM, LABEL, REFERENCE_RANK, TRUTH, WEIGHT, key_column, score_column, slice_column
from sparkrank.metrics import Plan
from sparkrank.roles import SLICE, Roles


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
    schema = arrow_schema(rows)
    packed = solved(by_bucket(frame_pieces(rows, schema, buckets), buckets), schema, plan, files)
    keys = {column: impressions.schema[key_column(index)].dataType for index, column in enumerate(roles.group)}
    groups = group_schema(keys, plan) if plan.group_table else None
    with batches_of(frame.sparkSession, NO_LIMIT):
        return gather(packed, task_count(buckets), plan, groups, files)


def check_schema(schema: T.StructType, roles: Roles, plan: Plan, what: str = "input") -> None:
    """Refuse a schema, that of ``what``, in which some role's column is missing or of a type that it cannot have."""
    for role, column in roles.columns():
        refuse_no_column(role, column, schema.fieldNames(), what)
        kind = schema[column].dataType
        sliced = (T.StringType, T.IntegralType, T.BooleanType, T.DateType)
        if role == SLICE and not isinstance(kind, sliced):
            refuse_slice(column, kind.simpleString())
        if roles.true_items is not None and role not in ("group", SLICE):
            refuse_no_array(role, column, kind)
            continue
        if role == "label" and not isinstance(kind, (T.NumericType, T.BooleanType)):
            raise InputError(f'the label column "{column}" is of type {kind.simpleString()}: a number is needed')
        number = role.startswith(("score", "rank", "weight", "reference"))
        if number and not isinstance(kind, T.NumericType):
            raise InputError(f'the {role} column "{column}" is of type {kind.simpleString()}: a number is needed')
        if role in ("group", "item") and isinstance(kind, (T.ArrayType, T.MapType, T.StructType, T.VariantType)):
            raise InputError(f'the {role} column "{column}" is of type {kind.simpleString()}: a plain value is needed')
    refuse_unnamed(roles, plan)
    if roles.true_items is not None:
        check_truth_schema(schema, schema, roles)


def check_truth_schema(schema: T.StructType, truth: T.StructType, roles: Roles) -> None:
    """Refuse a truth whose group key or item is of another kind than that of the lists: nothing would be found."""
    for role, column, truth_column in joined_columns(roles):
        kind, truth_kind = schema[column].dataType, truth[truth_column].dataType
        if _family(kind) != _family(truth_kind):
            refuse_other_kind(role, column, kind.simpleString(), truth_column, truth_kind.simpleString())


def _family(kind: T.DataType) -> str:
    """Types of one family hold values that can be equal."""
    if isinstance(kind, T.ArrayType):
        return f"array of {_family(kind.elementType)}"
    families = {"integer": T.IntegralType, "float": T.FractionalType, "text": T.StringType}
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
    columns[LABEL] = nothing if roles.label is None else label_of(named(roles.label), schema[roles.label].dataType)
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
    if plan.joins:
        columns[TRUTH] = F.lit(not roles.scores)
        if not roles.scores and roles.label is None:
            columns[LABEL] = F.when(columns[ITEM].isNotNull(), F.lit(1).cast("tinyint"))
    return frame.select(*(column.alias(name) for name, column in columns.items()))


def _sent(impressions: DataFrame, plan: Plan) -> DataFrame:
    """The columns of ``impressions`` that a bucket needs; without a group table, text keys as their hashes."""
    names = [key_column(index) for index in range(len(plan.keys))]
    kinds = [impressions.schema[name].dataType for name in names]
    if plan.group_table or not _worth_hashing(kinds):
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
    return len(kinds) > 1 or isinstance(kinds[0], (T.StringType, T.BinaryType))
