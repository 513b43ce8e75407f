"""A column of a Spark DataFrame as a bucket takes it: the twins of :mod:`sparkrank.engine.values`."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as T


def named(name: str) -> Column:
    return F.col("`" + name.replace("`", "``") + "`")


def key_of(column: Column, kind: T.DataType) -> Column:
    return (column + F.lit(0).cast(kind)) if isinstance(kind, (T.FloatType, T.DoubleType)) else column  # -0.0 is 0.0


def item_of(column: Column, kind: T.DataType) -> Column:
    """Whole numbers and texts as they are, floats as those of 64 bits, anything else as text."""
    if isinstance(kind, (T.FloatType, T.DoubleType)):
        return key_of(column.cast("double"), kind)
    return column if isinstance(kind, (T.IntegralType, T.StringType)) else column.cast("string")


def float_of(column: Column, kind: T.DataType) -> Column:
    return column if isinstance(kind, (T.FloatType, T.DoubleType)) else column.cast("double")


def label_of(column: Column, kind: T.DataType) -> Column:
    if isinstance(kind, T.BooleanType):
        return column.cast("tinyint")
    return column.cast("double") if isinstance(kind, T.DecimalType) else column
