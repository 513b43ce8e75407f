"""Values inside nested Spark columns, at paths that roles name. Spark's version of :mod:`sparkrank.sources.nested`."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from sparkrank.engines.spark.failures import as_raised
from sparkrank.engines.spark.values import is_plain, named
from sparkrank.inputs.field_paths import (
    NAN_RATING,
    VECTOR_FIELDS,
    Each,
    Element,
    MapKey,
    PathStep,
    Recommended,
    Shape,
    StructField,
    VectorElement,
    places,
)
from sparkrank.inputs.roles import Roles

_NAN = float("nan")


def with_nested(frame: DataFrame, roles: Roles, what: str) -> DataFrame:
    """Return ``frame`` with a column, named as in ``roles``, for each role whose value is inside another column."""
    schema = frame.schema
    nested = places(roles, {field.name: shape_of(field.dataType) for field in schema}, what)
    if not nested:
        return frame
    columns = {
        name: _after(named(place.column), schema[place.column].dataType, place.steps)[0]
        for name, place in nested.items()
    }
    # A column that replaces its own source goes last. Otherwise Spark would take the others from the replacement.
    last = {name: column for name, column in columns.items() if name in frame.columns}
    beside = {name: column for name, column in columns.items() if name not in last}
    return frame.withColumns(beside).withColumns(last)


def shape_of(kind: T.DataType) -> Shape:
    """Return the :class:`Shape` that describes the type ``kind`` to :mod:`~sparkrank.inputs.field_paths`."""
    text = kind.simpleString()
    if _is_vector(kind):
        return Shape("vector", is_vector=True)
    if isinstance(kind, T.ArrayType):
        return Shape(text, element=shape_of(kind.elementType))
    if isinstance(kind, T.MapType) and isinstance(kind.keyType, T.StringType):
        return Shape(text, value=shape_of(kind.valueType))
    if isinstance(kind, T.StructType):
        return Shape(text, fields={field.name: shape_of(field.dataType) for field in kind})
    is_number = isinstance(kind, (T.NumericType, T.NullType))
    return Shape(text, is_number or (not isinstance(kind, T.UserDefinedType) and is_plain(kind)), is_number)


def _is_vector(kind: T.DataType) -> bool:
    stored = kind.sqlType() if isinstance(kind, T.UserDefinedType) else kind
    return isinstance(stored, T.StructType) and tuple(stored.fieldNames()) == VECTOR_FIELDS


def _after(column: Column, kind: T.DataType, steps: Sequence[PathStep]) -> tuple[Column, T.DataType]:
    """Follow ``steps`` into ``column`` of type ``kind``. Returns the value at the end of the path, and its type."""
    beyond = F.lit(False)
    for step in steps:
        if isinstance(step, Element):
            beyond = beyond | F.coalesce(F.size(column) <= step.place, F.lit(False))
        if isinstance(step, MapKey) and isinstance(kind, T.MapType):
            column, kind = column.getItem(step.name), kind.valueType
        else:
            column, kind = _step(column, kind, step)
    if not any(isinstance(step, Element) and step.to_number for step in steps):
        return column, kind
    return F.when(beyond, F.lit(_NAN)).otherwise(column.cast("double")), T.DoubleType()


def _step(column: Column, kind: T.DataType, step: PathStep) -> tuple[Column, T.DataType]:
    if isinstance(step, StructField) and isinstance(kind, T.StructType):
        return column.getField(step.name), kind[step.name].dataType
    if isinstance(step, VectorElement):
        return _vector_element(column, kind, step), T.DoubleType()
    element = kind.elementType if isinstance(kind, T.ArrayType) else kind
    if isinstance(step, Element):
        return F.get(column, F.lit(step.place)), element
    if isinstance(step, Recommended) and isinstance(element, T.StructType):
        return _by_rating(column, step), T.ArrayType(element[step.item].dataType)
    steps = step.steps if isinstance(step, Each) else ()
    inner = element
    for inner_step in steps:
        inner = _step(F.lit(None), inner, inner_step)[1]
    return F.transform(column, lambda one: _after(one, element, steps)[0]), T.ArrayType(inner)


def _vector_element(column: Column, kind: T.DataType, step: VectorElement) -> Column:
    """Return an element of a vector: 0 if a sparse vector does not list the element, NaN beyond the end."""
    if isinstance(kind, T.UserDefinedType):
        from pyspark.ml.functions import vector_to_array

        values = vector_to_array(column)
        size, element = F.size(values), F.get(values, F.lit(step.place))
    else:
        of_type, of_size, indices, values = (column.getField(name) for name in VECTOR_FIELDS)
        dense = of_type == 1
        size = F.when(dense, F.size(values)).otherwise(of_size)
        at = (F.array_position(indices, F.lit(step.place).cast("int")) - 1).cast("int")  # -1 where it is not listed
        sparse = F.coalesce(F.get(values, at), F.lit(0.0))
        element = F.when(dense, F.get(values, F.lit(step.place))).otherwise(sparse)
    element = F.when(size <= step.place, F.lit(_NAN)).otherwise(element)
    if step.only_of is not None:
        element = F.when(size != step.only_of, _failure(step.refused)).otherwise(element)
    return F.when(column.isNotNull(), element)


def _failure(sentence: str) -> Column:
    """Return a numeric column that raises the error message ``sentence`` when evaluated (see :func:`as_raised`)."""
    return F.raise_error(F.lit(as_raised(sentence))).cast("double")


def _by_rating(column: Column, step: Recommended) -> Column:
    """Sort items by descending rating, then position. Items without a rating go last; a NaN rating raises an error."""

    def ordered(one: Column, place: Column) -> Column:
        rating = one.getField(step.rating).cast("double")
        fall = F.when(rating.isNull(), F.lit(0.0)).when(F.isnan(rating), _failure(NAN_RATING)).otherwise(-rating)
        item = one.getField(step.item)
        return F.struct(rating.isNull().alias("last"), fall.alias("fall"), place.alias("place"), item.alias("item"))

    return F.transform(F.array_sort(F.transform(column, ordered)), lambda one: one.getField("item"))
