"""What stands at a place inside of a column of Spark: the twin of :mod:`sparkrank.sources.nested`."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from sparkrank.engines.spark.values import is_plain, named
from sparkrank.inputs.field_paths import (
    VECTOR_FIELDS,
    Each,
    Element,
    Field,
    Key,
    NanRatings,
    Recommended,
    Shape,
    Step,
    VectorElement,
    places,
    with_nan_ratings,
)
from sparkrank.inputs.roles import Roles

_NAN = float("nan")


def with_nested(frame: DataFrame, roles: Roles, what: str) -> DataFrame:
    """``frame`` with the columns of ``roles`` that lie inside of others, under the names by which these ask for them.

    Raises :class:`sparkrank.base.errors.InputError` where one names no place, or it is not plain which; ``what`` has
    them.
    """
    schema = frame.schema
    found = places(roles, {field.name: shape_of(field.dataType) for field in schema}, what)
    if not found:
        return frame
    columns = {
        name: _after(named(place.column), schema[place.column].dataType, place.steps)[0]
        for name, place in with_nan_ratings(found).items()
    }
    return frame.withColumns(columns)


def shape_of(kind: T.DataType) -> Shape:
    """What :mod:`~sparkrank.inputs.field_paths` knows of ``kind``."""
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


def _after(column: Column, kind: T.DataType, steps: Sequence[Step]) -> tuple[Column, T.DataType]:
    """What stands at the end of ``steps`` in a ``column`` of type ``kind``, and its type."""
    beyond = F.lit(False)
    for step in steps:
        if isinstance(step, Element):
            beyond = beyond | F.coalesce(F.size(column) <= step.place, F.lit(False))
        if isinstance(step, Key) and isinstance(kind, T.MapType):
            column, kind = column.getItem(step.name), kind.valueType
        else:
            column, kind = _step(column, kind, step)
    if not any(isinstance(step, Element) and step.to_number for step in steps):
        return column, kind
    return F.when(beyond, F.lit(_NAN)).otherwise(column.cast("double")), T.DoubleType()


def _step(column: Column, kind: T.DataType, step: Step) -> tuple[Column, T.DataType]:
    if isinstance(step, Field) and isinstance(kind, T.StructType):
        return column.getField(step.name), kind[step.name].dataType
    if isinstance(step, VectorElement):
        return _vector_element(column, kind, step), T.DoubleType()
    element = kind.elementType if isinstance(kind, T.ArrayType) else kind
    if isinstance(step, Element):
        return F.get(column, F.lit(step.place)), element
    if isinstance(step, NanRatings):
        nans = F.filter(column, lambda one: F.isnan(one.getField(step.rating).cast("double")))
        return F.size(nans), T.IntegerType()
    if isinstance(step, Recommended) and isinstance(element, T.StructType):
        return _by_rating(column, step), T.ArrayType(element[step.item].dataType)
    steps = step.steps if isinstance(step, Each) else ()
    inner = element
    for each in steps:
        inner = _step(F.lit(None), inner, each)[1]
    return F.transform(column, lambda one: _after(one, element, steps)[0]), T.ArrayType(inner)


def _vector_element(column: Column, kind: T.DataType, step: VectorElement) -> Column:
    """The element of a vector, which is 0 where a sparse one does not name it, and NaN beyond its end."""
    if isinstance(kind, T.UserDefinedType):
        from pyspark.ml.functions import vector_to_array

        values = vector_to_array(column)
        size, found = F.size(values), F.get(values, F.lit(step.place))
    else:
        of_type, of_size, indices, values = (column.getField(name) for name in VECTOR_FIELDS)
        dense = of_type == 1
        size = F.when(dense, F.size(values)).otherwise(of_size)
        at = (F.array_position(indices, F.lit(step.place).cast("int")) - 1).cast("int")  # -1 where it is not named
        sparse = F.coalesce(F.get(values, at), F.lit(0.0))
        found = F.when(dense, F.get(values, F.lit(step.place))).otherwise(sparse)
    found = F.when(size <= step.place, F.lit(_NAN)).otherwise(found)
    if step.only_of is not None:
        failure = F.raise_error(F.lit(f"\nsparkrank.errors.InputError: {step.refused}\n"))  # found there by its line
        found = F.when(size != step.only_of, failure.cast("double")).otherwise(found)
    if not isinstance(kind, T.UserDefinedType):  # before its size is believed
        sound = F.coalesce(dense, F.lit(False)) | _well_formed(of_type, of_size, indices, values)
        failure = F.raise_error(F.lit(f"\nsparkrank.errors.InputError: {step.malformed}\n"))
        found = F.when(sound, found).otherwise(failure.cast("double"))
    return F.when(column.isNotNull(), found)


def _well_formed(of_type: Column, of_size: Column, indices: Column, values: Column) -> Column:
    """Whether a sparse vector names ascending places below its size, as many as it has values."""
    within = F.forall(indices, lambda place: place.isNotNull() & (place >= 0) & (place < of_size))
    ascends = F.array_sort(F.array_distinct(indices)) == indices
    fits = (of_type == 0) & (of_size >= 0) & (F.size(indices) == F.size(values)) & within & ascends
    return F.coalesce(fits, F.lit(False))


def _by_rating(column: Column, step: Recommended) -> Column:
    """The items, in the order of their structs: a rating, the lowest first once it is negated, then the place.

    Behind those with a rating stand those without one, and last those of which it is NaN.
    """

    def ordered(one: Column, place: Column) -> Column:
        rating = one.getField(step.rating).cast("double")
        last = F.when(rating.isNull(), 1).when(F.isnan(rating), 2).otherwise(0)
        fall = F.when(last > 0, F.lit(0.0)).otherwise(-rating)
        item = one.getField(step.item)
        return F.struct(last.alias("last"), fall.alias("fall"), place.alias("place"), item.alias("item"))

    return F.transform(F.array_sort(F.transform(column, ordered)), lambda one: one.getField("item"))
