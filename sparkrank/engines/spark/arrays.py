"""A row per group with arrays of items, as the rows of lists and truth that it stands for (Spark).

The twin of :mod:`sparkrank.engines.arrow.arrays`: one array of rows is put together per group and exploded, so the
input is read once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from sparkrank.bucket.impressions import (
    ITEM,
    LABEL,
    LIST,
    TRUTH,
    group_weight_column,
    key_column,
    score_column,
    slice_column,
)
from sparkrank.engines.field_paths import nan_ratings
from sparkrank.engines.spark.values import item_of, key_of, named
from sparkrank.metrics import Plan
from sparkrank.roles import Roles

Element: TypeAlias = Callable[[Column, Column], Column]  # of an element and its place in the array, from 0
_ROWS = "rows"
_NAN = float("nan")


def array_rows(frame: DataFrame, roles: Roles, plan: Plan) -> DataFrame:
    """The bucket rows of lists and of truth that the arrays of ``frame`` hold.

    A row of ``frame`` has a number that lasts as long as the task that gave it. Of a task that runs again every row may
    get another one, but all rows of a key are of one run of it to whoever solves their bucket.
    """
    kinds = {column: frame.schema[column].dataType for _, column in roles.columns()}
    row = _Row(_element(kinds[str(roles.true_items)]), _label_type(roles, kinds), len(plan.models))
    parts = [
        F.transform(_filled(column, kinds[column]), row.listed(index, _rated(frame, column)))
        for index, column in enumerate(roles.scores.values())
    ]
    true_items = str(roles.true_items)
    parts.append(F.transform(_filled(true_items, kinds[true_items]), row.true(_label(roles))))
    if roles.label is not None:
        last = F.size(_filled(true_items, kinds[true_items]))
        parts.append(F.transform(_labels_beyond(_filled(roles.label, kinds[roles.label]), last), row.beyond))
    keys = [key_of(named(column), kinds[column]).alias(key_column(i)) for i, column in enumerate(roles.group)]
    keys += [
        item_of(named(column), kinds[column]).alias(slice_column(i)) for i, column in enumerate(plan.slice_columns)
    ]
    keys += [named(column).cast("double").alias(group_weight_column(i)) for i, column in enumerate(plan.group_weights)]
    keys.append(F.monotonically_increasing_id().alias(LIST))
    names = [*map(key_column, range(len(roles.group))), *map(slice_column, range(len(plan.slice_columns))), LIST]
    names += map(group_weight_column, range(len(plan.group_weights)))
    exploded = frame.select(*keys, F.concat(*parts).alias(_ROWS)).select(*names, F.inline_outer(_ROWS))
    return exploded.withColumn(TRUTH, F.coalesce(TRUTH, F.lit(False)))  # null in a group of which all arrays are empty


class _Row(NamedTuple):
    """The struct of a row: the kind of true items, its label's type, and how many scores it has."""

    item: T.DataType
    label: str
    models: int

    def listed(self, index: int, rated: Column | None) -> Element:
        """Elements of a list; the score of those behind the first ``rated`` is NaN."""

        def score(place: Column) -> Column:
            return -(place + 1) if rated is None else F.when(place >= rated, F.lit(_NAN)).otherwise(-(place + 1))

        return lambda item, place: self._of(item, None, index, score(place), False)

    def true(self, label: Element) -> Element:
        return lambda item, place: self._of(
            item, F.when(item_of(item, self.item).isNotNull(), label(item, place)), None, None, True
        )

    def beyond(self, label: Column) -> Column:
        return self._of(F.lit(None).cast(self.item), label, None, None, True)

    def _of(self, item: Column, label: Column | None, index: int | None, score: Column | None, truth: bool) -> Column:
        nothing = F.lit(None)
        scores = [nothing if score is None or model != index else score for model in range(self.models)]
        return F.struct(
            item_of(item, self.item).cast(_item_type(self.item)).alias(ITEM),
            (nothing if label is None else label).cast(self.label).alias(LABEL),
            *(each.cast("double").alias(score_column(model)) for model, each in enumerate(scores)),
            F.lit(truth).alias(TRUTH),
        )


def _rated(frame: DataFrame, column: str) -> Column | None:
    """How many items of each list have a rating that is not NaN; None where there are no ratings."""
    beside = nan_ratings(column)
    return F.size(named(column)) - named(beside) if beside in frame.columns else None


def _filled(column: str, kind: T.DataType) -> Column:
    return F.coalesce(named(column), F.array().cast(kind))


def _labels_beyond(labels: Column, true_items: Column) -> Column:
    """The labels behind the last of as many ``true_items`` as a row has; nulls fill up and say nothing."""
    return F.filter(labels, lambda label, place: (place >= true_items) & label.isNotNull())


def _label(roles: Roles) -> Element:
    """The label of a true item from its place (from 0): null where the array of labels is the shorter one."""
    if roles.relevance == "reciprocal_rank":
        return lambda item, place: F.lit(1.0) / (place + 1)
    column = roles.label
    if column is None:
        return lambda item, place: F.lit(1)
    return lambda item, place: F.get(named(column), place)


def _element(kind: T.DataType) -> T.DataType:
    return kind.elementType if isinstance(kind, T.ArrayType) else kind


def _item_type(kind: T.DataType) -> str:
    if isinstance(kind, (T.FloatType, T.DoubleType)):
        return "double"
    return "bigint" if isinstance(kind, T.IntegralType) else "string"


def _label_type(roles: Roles, kinds: dict[str, T.DataType]) -> str:
    if roles.relevance == "reciprocal_rank":
        return "double"
    element = T.ByteType() if roles.label is None else _element(kinds[roles.label])
    if isinstance(element, (T.BooleanType, T.NullType)):
        return "tinyint"
    return "double" if isinstance(element, T.DecimalType) else element.simpleString()
