"""Turns DataFrame columns into bucket columns. Spark's version of :mod:`sparkrank.sources.columns`."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from sparkrank.bucket.impressions import (
    ITEM,
    LABEL,
    LIST,
    MODEL,
    PAST,
    TRUTH,
    group_weight_column,
    key_column,
    label_column,
    score_column,
    slice_column,
    value_column,
)
from sparkrank.engines.spark.values import FITS, READERS, TEXTS, named, time_kind
from sparkrank.inputs.role_table import GROUP, GROUP_WEIGHT, SCORE, VALUES, Role, row_roles, slice_role
from sparkrank.inputs.role_table import LABEL as OF_LABEL
from sparkrank.inputs.roles import Roles
from sparkrank.metrics import Plan
from sparkrank.sources.columns import past_number
from sparkrank.sources.joined_types import check_joined, check_roles


def check_schema(schema: T.StructType, roles: Roles, plan: Plan, what: str = "input") -> None:
    """Raise an error if a role's column is missing or of a wrong type. Messages call the input ``what``."""
    names, text_of = schema.fieldNames(), lambda kind: kind.simpleString()
    check_roles(roles, names, lambda column: schema[column].dataType, FITS, text_of, what, plan)
    roles.validate_required_roles(plan)
    if roles.true_items is not None:
        check_joined_schemas(schema, schema, roles, roles)


def check_joined_schemas(
    schema: T.StructType,
    other: T.StructType,
    roles: Roles,
    beside: Roles,
    sides: tuple[str, str] = ("lists", "truth"),
) -> None:
    """Raise an error if two inputs cannot be joined, as :func:`sparkrank.sources.joined_types.check_joined` does."""
    check_joined(
        lambda column: schema[column].dataType,
        lambda column: other[column].dataType,
        roles,
        beside,
        _fit,
        lambda kind: isinstance(kind, T.IntegralType),
        time_kind,
        lambda kind: kind.simpleString(),
        sides,
    )


def _fit(kind: T.DataType, other: T.DataType) -> bool:
    """Return whether values of the two types can be equal. The null type, which has no values, fits every type."""
    if isinstance(kind, T.ArrayType):  # beside a table of the past, the array of a list meets plain items
        return _fit(kind.elementType, other.elementType if isinstance(other, T.ArrayType) else other)
    return T.NullType() in (kind, other) or _family(kind) == _family(other)


def _family(kind: T.DataType) -> str:
    """Return the family of a type. Values can be equal only if their types belong to the same family."""
    families: dict[str, type | tuple[type, ...]] = {"integer": T.IntegralType, "float": T.FractionalType, "text": TEXTS}
    if isinstance(kind, T.DecimalType):
        return kind.simpleString()
    return next((name for name, family in families.items() if isinstance(kind, family)), kind.simpleString())


def bucket_rows(frame: DataFrame, roles: Roles, plan: Plan) -> DataFrame:
    """Return the lists or the truth with bucket columns. Columns that only the other of the two has are null."""
    schema = frame.schema
    nothing = F.lit(None)
    columns = {key_column(index): _read(schema, GROUP, column) for index, column in enumerate(roles.group)}
    for index, source in plan.row_slices:
        columns[slice_column(index)] = nothing if roles.of_past else _read(schema, slice_role(source), source.column)
    for index, column in enumerate(plan.group_weights):  # weights of groups come from the lists, not from a truth
        columns[group_weight_column(index)] = nothing if not roles.scores else _read(schema, GROUP_WEIGHT, column)
    for index, value in plan.row_values:
        is_read = value in roles.values  # a truth has gains alone
        columns[value_column(index)] = _read(schema, VALUES[value.kind], value.name) if is_read else nothing
    columns |= _labels(schema, roles, plan)
    scores = [_read(schema, SCORE, column) for column in roles.scores.values()]
    for index, score in enumerate(scores or [nothing] * plan.scores_of_row):
        columns[score_column(index)] = -score if roles.by_rank else score
    for role in row_roles():
        if role.needed(plan):
            name = roles.of_rows.get(role.key)
            missing = nothing if roles.of_past else F.lit(role.missing)
            columns[role.key] = missing if name is None else _read(schema, role, name)
    if plan.long:
        columns[MODEL] = _model_number(columns[MODEL], roles, plan)
    if plan.joins:
        is_truth = not roles.scores and roles.of_past is None
        columns[TRUTH] = F.lit(is_truth)
        if is_truth and roles.label is None:
            columns[LABEL] = F.when(columns[ITEM].isNotNull(), F.lit(1).cast("tinyint"))
    if plan.past:
        columns[PAST] = F.lit(past_number(roles, plan)).cast("tinyint")
        if plan.arrays:
            columns[LIST] = nothing
    return frame.select(*(column.alias(name) for name, column in columns.items()))


def _labels(schema: T.StructType, roles: Roles, plan: Plan) -> dict[str, Column]:
    """Return the columns of the labels, null where the side has none."""
    no_label = F.lit(None) if plan.joins else F.lit(None).cast("tinyint")
    columns = {LABEL: no_label if roles.label is None else _read(schema, OF_LABEL, roles.label)}
    for label, index in plan.further_labels.items():
        is_named = label in roles.labels
        columns[label_column(index)] = _read(schema, OF_LABEL, roles.labels[label]) if is_named else no_label
    return columns


def _model_number(name: Column, roles: Roles, plan: Plan) -> Column:
    """Return the index of the row's model in the plan, found by ``name`` or by the row's input. Null in the truth."""
    if not plan.models:  # the names of the models are not known yet
        return name
    number = F.lit(None)
    if MODEL in roles.of_rows:
        place = F.array_position(F.array(*map(F.lit, plan.models)), name)  # counted from 1, and 0 for an unknown name
        number = F.nullif(place, F.lit(0)) - 1
    elif roles.scores:
        (model,) = roles.scores
        number = F.lit(plan.models.index(model))
    return number.cast("smallint")


def _read(schema: T.StructType, role: Role, column: str) -> Column:
    return READERS[role.reads](named(column), schema[column].dataType)
