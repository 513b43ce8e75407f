"""Converts Spark columns to the types that buckets use. Spark's version of :mod:`sparkrank.sources.values`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pyarrow as pa
from pyspark.errors import PySparkTypeError
from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.pandas.types import to_arrow_type

from sparkrank.inputs.role_table import Reader, Takes
from sparkrank.ranking.value_columns import SEPARATOR

# Sessions may keep the declared length of a table's texts. Elsewhere all texts are strings.
TEXTS = (T.StringType, T.CharType, T.VarcharType)


def named(name: str) -> Column:
    return F.col("`" + name.replace("`", "``") + "`")


def arrow_type(kind: T.DataType) -> pa.DataType:
    """Return the Arrow type for values of the Spark type ``kind``, whatever the session's settings are."""
    if isinstance(kind, TEXTS):
        return pa.string()
    if isinstance(kind, T.ArrayType):  # also for arrays of the null type, which pyspark's own function refuses
        return pa.list_(arrow_type(kind.elementType))
    # pyspark's own function treats the time zone differently by version
    return pa.timestamp("us", "UTC") if isinstance(kind, T.TimestampType) else to_arrow_type(kind)


def is_plain(kind: T.DataType) -> bool:
    """Return whether values of type ``kind`` are not nested and have an Arrow type, which some intervals lack."""
    try:
        return not pa.types.is_nested(arrow_type(kind))
    except PySparkTypeError:
        return False


def key_of(column: Column, kind: T.DataType) -> Column:
    """Return ``column`` as keys. Strings lose their collation, so that only strings of equal bytes are equal."""
    if isinstance(kind, (T.FloatType, T.DoubleType)):
        return column + F.lit(0).cast(kind)  # -0.0 is 0.0
    return column.cast("string") if isinstance(kind, TEXTS) else column


def item_of(column: Column, kind: T.DataType) -> Column:
    """Return ``column`` as items: integers and strings unchanged, floats as doubles, other types as strings.

    NaN becomes null. The strings do not depend on the session. Instants are in UTC, where no hour occurs twice.
    Decimals are not formatted by Spark SQL, whose settings choose between ``0E-7`` and ``0.0000000``.
    """
    if isinstance(kind, (T.FloatType, T.DoubleType)):
        return F.when(~F.isnan(column), key_of(column.cast("double"), T.DoubleType()))
    if isinstance(kind, T.TimestampType):
        since = F.unix_micros(column) * F.lit(timedelta(microseconds=1))
        column = F.lit("1970-01-01").cast("timestamp_ntz") + since
    if isinstance(kind, T.DecimalType):
        return F.when(column.isNotNull(), F.format_string("%s", column))
    return column if isinstance(kind, T.IntegralType) else column.cast("string")


def float_of(column: Column, kind: T.DataType) -> Column:
    return column if isinstance(kind, (T.FloatType, T.DoubleType)) else column.cast("double")


def label_of(column: Column, kind: T.DataType) -> Column:
    if isinstance(kind, (T.BooleanType, T.NullType)):
        return column.cast("tinyint")
    return column.cast("double") if isinstance(kind, T.DecimalType) else column


def text_of(column: Column, _: T.DataType) -> Column:
    return column.cast("string")


def double_of(column: Column, _: T.DataType) -> Column:
    return column.cast("double")


def time_of(column: Column, kind: T.DataType) -> Column:
    return column.cast("bigint") if isinstance(kind, T.IntegralType) else column


def joined_texts(column: Column, _: T.DataType) -> Column:
    return F.nullif(F.array_join(column.cast("array<string>"), SEPARATOR), F.lit(""))


def arrays_of_doubles(column: Column, _: T.DataType) -> Column:
    return column.cast("array<double>")


def is_number(kind: T.DataType) -> bool:
    """Return whether ``kind`` is a numeric type, or the type of a column that has only nulls."""
    return isinstance(kind, (T.NumericType, T.NullType))


def time_kind(kind: T.DataType) -> str | None:
    """Return which kind of time ``kind`` is, as :func:`sparkrank.sources.values.time_kind` does."""
    kinds: dict[str, type[T.DataType]] = {
        "whole number": T.IntegralType,
        "date": T.DateType,
        "instant": T.TimestampType,
        "timestamp without a zone": T.TimestampNTZType,
        "null": T.NullType,
    }
    return next((name for name, own in kinds.items() if isinstance(kind, own)), None)


def _is_label(kind: T.DataType) -> bool:
    return is_number(kind) or isinstance(kind, T.BooleanType)


def _is_slice_value(kind: T.DataType) -> bool:
    return isinstance(kind, (*TEXTS, T.IntegralType, T.BooleanType, T.DateType, T.NullType))


# Keyed by the names that the table of roles uses.
READERS: dict[Reader, Callable[[Column, T.DataType], Column]] = {
    "key": key_of,
    "item": item_of,
    "label": label_of,
    "float": float_of,
    "double": double_of,
    "text": text_of,
    "name": text_of,
    "time": time_of,
    "texts": joined_texts,
    "doubles": arrays_of_doubles,
}
FITS: dict[Takes, Callable[[T.DataType], bool]] = {
    "plain": is_plain,
    "slice": _is_slice_value,
    "category": lambda kind: _is_slice_value(kind) or is_number(kind),
    "number": is_number,
    "label": _is_label,
    "time": lambda kind: time_kind(kind) is not None,
    "array": lambda kind: isinstance(kind, T.ArrayType) and is_plain(kind.elementType),
    "numbers": lambda kind: isinstance(kind, T.ArrayType) and _is_label(kind.elementType),
}
