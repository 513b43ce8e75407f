"""The groups of one model with the worst values of a metric: examples to look at."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from sparkrank.base.errors import MetricError, SpecError, did_you_mean, listed, shortened
from sparkrank.bucket.group_rows import MODEL
from sparkrank.comparison.group_pairs import Side
from sparkrank.comparison.group_tables import GroupTable
from sparkrank.comparison.largest_changes import is_higher_better, largest_first
from sparkrank.comparison.runs import counted_undefined
from sparkrank.metrics import Metric

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def worst_groups(table: GroupTable, model: str, metric: str, top: int) -> list[tuple[Any, ...]]:
    """The keys of the ``top`` groups of ``model`` whose value of ``metric`` is the worst, equal ones by key.

    A group where the metric is undefined has the value that it counts; where it counts none, it is not among them.
    Raises :class:`SpecError` where the table lacks the metric.
    """
    if top < 1:
        raise SpecError(f"worst is {top}: a whole number from 1 is needed")
    metric = _column_of(table, metric)
    counted_as = counted_undefined(table.definitions.get(metric))
    sign = -1.0 if is_higher_better(metric) else 1.0
    if table.is_frame:
        return _by_spark(table.rows, table.keys, model, metric, counted_as, sign, top)
    side = Side(table, model)
    values = side.values(metric)
    if counted_as is not None:
        values = np.where(np.isnan(values), counted_as, values)
    keys = pa.schema([table.schema.field(name) for name in table.keys])
    numbers = np.arange(len(values))
    chosen = largest_first(side, numbers, values * sign, np.flatnonzero(~np.isnan(values)), keys, top)
    rows = side.rows_at(chosen, keys.names)
    return list(zip(*(rows[name].to_pylist() for name in keys.names), strict=True))


def _column_of(table: GroupTable, text: str) -> str:
    """The column of the metric that ``text`` means in any spelling."""
    name = text
    with suppress(MetricError):
        name = text if text in table.metrics else str(Metric.parse(text))
    if name not in table.metrics:
        problem = f'the group table {table.place} has no metric "{shortened(text)}"'
        raise SpecError(f"{problem}{did_you_mean(name, table.metrics)} (there are: {listed(table.metrics)})")
    return name


def _by_spark(
    rows: DataFrame | Any,
    keys: list[str],
    model: str,
    metric: str,
    counted_as: float | None,
    sign: float,
    top: int,
) -> list[tuple[Any, ...]]:
    from pyspark.sql import functions as F

    from sparkrank.engines.spark.values import named

    value = named(metric)
    counted = F.when(F.isnan(value), F.lit(counted_as)).otherwise(value)
    own = rows.where(named(MODEL) == model).select(*map(named, keys), (counted * -sign).alias("value of it"))
    first = own.where(named("value of it").isNotNull()).orderBy("`value of it`", *map(named, keys)).limit(top)
    return [tuple(row[name] for name in keys) for row in first.collect()]
