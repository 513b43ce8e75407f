"""The columns of a bucket from those of a DataFrame: the twin of :mod:`sparkrank.sources.columns`."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from sparkrank.bucket.impressions import (
    ITEM,
    LABEL,
    TRUTH,
    group_weight_column,
    key_column,
    score_column,
    slice_column,
)
from sparkrank.engines.spark.values import FITS, READERS, TEXTS, named
from sparkrank.inputs.role_table import GROUP, GROUP_WEIGHT, SCORE, SLICE, Role, row_roles
from sparkrank.inputs.role_table import LABEL as OF_LABEL
from sparkrank.inputs.roles import Roles
from sparkrank.metrics import Plan
from sparkrank.sources.joined_types import check_roles, joined_columns, raise_different_types, sides_of_slices


def check_schema(schema: T.StructType, roles: Roles, plan: Plan, what: str = "input") -> None:
    """Refuse the schema of ``what`` if some role's column is missing or of a type that the role cannot have."""
    check_roles(
        roles, schema.fieldNames(), lambda column: schema[column].dataType, FITS, lambda kind: kind.simpleString(), what
    )
    roles.validate_required_roles(plan)
    if roles.true_items is not None:
        check_truth_schema(schema, schema, roles)


def check_truth_schema(schema: T.StructType, truth: T.StructType, roles: Roles) -> None:
    """Refuse a truth whose group key or item is of another kind than that of the lists, because nothing would match."""
    for role, column, truth_column in joined_columns(roles):
        kind, truth_kind = schema[column].dataType, truth[truth_column].dataType
        if not _fit(kind, truth_kind):
            raise_different_types(role, column, kind.simpleString(), truth_column, truth_kind.simpleString())
    for column in sides_of_slices(roles):
        kind, truth_kind = schema[column].dataType, truth[column].dataType
        if isinstance(kind, T.IntegralType) != isinstance(truth_kind, T.IntegralType):
            raise_different_types(SLICE.name, column, kind.simpleString(), column, truth_kind.simpleString())


def _fit(kind: T.DataType, other: T.DataType) -> bool:
    """Whether values of the two types can be equal, or one of the types has no values."""
    if isinstance(kind, T.ArrayType) and isinstance(other, T.ArrayType):
        return _fit(kind.elementType, other.elementType)
    return T.NullType() in (kind, other) or _family(kind) == _family(other)


def _family(kind: T.DataType) -> str:
    """The family of a type. Only values of one family can be equal."""
    families: dict[str, type | tuple[type, ...]] = {"integer": T.IntegralType, "float": T.FractionalType, "text": TEXTS}
    if isinstance(kind, T.DecimalType):
        return kind.simpleString()
    return next((name for name, family in families.items() if isinstance(kind, family)), kind.simpleString())


def bucket_rows(frame: DataFrame, roles: Roles, plan: Plan) -> DataFrame:
    """The rows of one side with the columns of a bucket. Columns that only the other side has are null."""
    schema = frame.schema
    nothing = F.lit(None)
    columns = {key_column(index): _read(schema, GROUP, column) for index, column in enumerate(roles.group)}
    for index, column in enumerate(plan.slice_columns):
        columns[slice_column(index)] = _read(schema, SLICE, column)
    for index, column in enumerate(plan.group_weights):  # a truth has none: the weight of a group comes from its list
        columns[group_weight_column(index)] = nothing if not roles.scores else _read(schema, GROUP_WEIGHT, column)
    no_label = nothing if plan.joins else nothing.cast("tinyint")
    columns[LABEL] = no_label if roles.label is None else _read(schema, OF_LABEL, roles.label)
    scores = [_read(schema, SCORE, column) for column in roles.scores.values()]
    for index, score in enumerate(scores or [nothing] * len(plan.models)):
        columns[score_column(index)] = -score if roles.by_rank else score
    for role in row_roles():
        if role.needed(plan):
            name = roles.of_rows.get(role.key)
            columns[role.key] = F.lit(role.missing) if name is None else _read(schema, role, name)
    if plan.joins:
        columns[TRUTH] = F.lit(not roles.scores)
        if not roles.scores and roles.label is None:
            columns[LABEL] = F.when(columns[ITEM].isNotNull(), F.lit(1).cast("tinyint"))
    return frame.select(*(column.alias(name) for name, column in columns.items()))


def _read(schema: T.StructType, role: Role, column: str) -> Column:
    return READERS[role.reads](named(column), schema[column].dataType)
