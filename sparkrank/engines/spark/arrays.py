"""Selects rows with arrays of items, one row per group. Tasks unpack the arrays (:mod:`sparkrank.sources.arrays`)."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from sparkrank.bucket.impressions import CLUSTER, LIST, TIME, group_weight_column, key_column, slice_column
from sparkrank.engines.spark.values import TEXTS, double_of, item_of, key_of, label_of, named, time_of
from sparkrank.inputs.roles import Roles
from sparkrank.metrics import Plan
from sparkrank.sources.arrays import TRUE_ITEMS, TRUE_LABELS, listed_column

# Element types that Arrow turns into items as Spark does. Spark itself converts all others.
_ALIKE = (T.IntegralType, T.FloatType, T.DoubleType, T.StringType, T.NullType)


def rows_of_arrays(frame: DataFrame, roles: Roles, plan: Plan) -> DataFrame:
    """Return the arrays of ``frame`` and the values all rows of a group share, for tasks to unpack (``exploded``)."""
    # a task that runs again may number rows differently, but the numbers only tell the lists of one table apart
    kinds = {column: frame.schema[column].dataType for _, column in roles.columns()}
    columns = {key_column(index): key_of(named(column), kinds[column]) for index, column in enumerate(roles.group)}
    for index, (column, is_number) in plan.row_slices:
        read = double_of if is_number else item_of
        columns[slice_column(index)] = read(named(column), kinds[column])
    for index, column in enumerate(plan.group_weights):
        columns[group_weight_column(index)] = named(column).cast("double")
    if plan.cluster is not None:
        columns[CLUSTER] = key_of(named(plan.cluster), kinds[plan.cluster])
    if plan.times:
        columns[TIME] = time_of(named(str(roles.time)), kinds[str(roles.time)])
    columns[LIST] = F.monotonically_increasing_id()
    for index, column in enumerate(roles.scores.values()):
        columns[listed_column(index)] = _items(column, kinds[column])
    columns[TRUE_ITEMS] = _items(str(roles.true_items), kinds[str(roles.true_items)])
    if roles.label is not None:
        columns[TRUE_LABELS] = _each(roles.label, kinds[roles.label])
    return frame.select(*(column.alias(name) for name, column in columns.items()))


def _items(column: str, kind: T.DataType) -> Column:
    """Return the arrays of ``column``, with items converted unless Arrow can use the items unchanged."""
    element = _element(kind)
    if isinstance(element, TEXTS):
        return named(column).cast("array<string>")  # without a collation
    if isinstance(element, _ALIKE):
        return named(column)
    return F.transform(named(column), lambda item: item_of(item, element))


def _each(column: str, kind: T.DataType) -> Column:
    """Return the arrays of ``column``, with decimal labels converted. Arrow can use all other labels unchanged."""
    element = _element(kind)
    if isinstance(element, T.DecimalType):
        return F.transform(named(column), lambda label: label_of(label, element))
    return named(column)


def _element(kind: T.DataType) -> T.DataType:
    return kind.elementType if isinstance(kind, T.ArrayType) else kind
