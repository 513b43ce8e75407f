"""Access to values inside Arrow columns, and to the leaf columns of Parquet files with these values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from numpy.typing import NDArray

from sparkrank.base.errors import InputError
from sparkrank.inputs.field_paths import (
    NAN_RATING,
    VECTOR_FIELDS,
    Element,
    EveryElement,
    MapKey,
    PathStep,
    Place,
    RatedItem,
    Shape,
    StructField,
    VectorElement,
)
from sparkrank.numeric.array_types import Flags, Ints
from sparkrank.numeric.memory import is_limited
from sparkrank.numeric.text_arrays import is_text
from sparkrank.sources.conditions import Condition
from sparkrank.sources.integrity import CHECKED
from sparkrank.sources.sizes import batch_rows
from sparkrank.sources.types import is_list, list_parts, lists, plain, plain_array, plain_type, stored_type
from sparkrank.sources.values import is_number

DENSE = 1  # the type code of vectors that store all their values


def shape_of(kind: pa.DataType) -> Shape:
    """Return the :class:`~sparkrank.inputs.field_paths.Shape` of the Arrow type ``kind``."""
    text, plain = str(kind), plain_type(kind)
    if pa.types.is_list(plain) or pa.types.is_large_list(plain):
        return Shape(text, element=shape_of(plain.value_type))
    if pa.types.is_map(plain) and is_text(plain_type(plain.key_type)):
        return Shape(text, value=shape_of(plain.item_type))
    if not pa.types.is_struct(plain):
        is_plain = not pa.types.is_nested(plain) and not pa.types.is_interval(plain)
        return Shape(text, is_plain, is_number(plain))
    fields = {field.name: field.type for field in plain}
    if tuple(fields) == VECTOR_FIELDS and pa.types.is_list(fields["values"]) and pa.types.is_list(fields["indices"]):
        return Shape("vector", is_vector=True)
    return Shape(text, fields={name: shape_of(field) for name, field in fields.items()})


def taken(column: pa.ChunkedArray, steps: Sequence[PathStep]) -> pa.ChunkedArray:
    """Return the values at the end of ``steps`` in ``column``, in plain types. A vector of a wrong size is an error."""
    if not column.num_chunks:
        return pa.chunked_array([_after(pa.nulls(0, plain_type(column.type)), steps)])
    return pa.chunked_array([_after(plain_array(chunk), steps) for chunk in column.chunks])


def columns_at(table: pa.Table, at: Mapping[str, Place]) -> pa.Table:
    """Return a table with the values of ``table`` at each place in ``at``, in plain types."""
    columns = {
        name: taken(table[place.column], place.steps) if place.steps else table[place.column]
        for name, place in at.items()
    }
    return plain(pa.table(columns))


def nested_schema(stored: pa.Schema, nested: Mapping[str, Place]) -> pa.Schema:
    """Return ``stored`` with a column for the values at each place in ``nested``."""
    schema = stored
    for name, place in nested.items():
        column = pa.field(name, taken_type(stored.field(place.column).type, place.steps))
        schema = schema.set(schema.names.index(name), column) if name in schema.names else schema.append(column)
    return schema


def _after(values: pa.Array, steps: Sequence[PathStep]) -> pa.Array:
    beyond = np.zeros(len(values), np.bool_)
    for step in steps:
        if isinstance(step, Element):
            ends, items = list_parts(values)
            missing = step.place >= np.diff(ends)
            beyond |= _valid(values) & missing
            values = items.take(pa.array(ends[:-1] + step.place, mask=missing))
        else:
            values = _step(values, step)
        values = plain_array(values)
    if not any(isinstance(step, Element) and step.to_number for step in steps):
        return values
    return pc.if_else(pa.array(beyond), pa.scalar(float("nan")), values.cast(pa.float64(), safe=False))


def _step(values: pa.Array, step: StructField | MapKey | VectorElement | EveryElement | RatedItem) -> pa.Array:
    if isinstance(step, StructField):
        return pc.struct_field(values, step.name)
    if isinstance(step, MapKey):
        return pc.map_lookup(values, pa.scalar(step.name, values.type.key_type), "first")
    if isinstance(step, VectorElement):
        return _vector_element(values, step)
    ends, items = list_parts(values)
    items = _by_rating(ends, items, step) if isinstance(step, RatedItem) else _after(items, step.steps)
    kind = pa.large_list(items.type) if pa.types.is_large_list(values.type) else pa.list_(items.type)
    return lists(kind, ends, items, values)


def _valid(values: pa.Array) -> Flags:
    return np.asarray(values.is_valid().to_numpy(zero_copy_only=False), np.bool_)


def _vector_element(vectors: pa.Array, step: VectorElement) -> pa.Array:
    """Return an element of each vector: 0 if a sparse vector omits it, NaN if it is beyond the end of the vector."""
    kinds, sizes = (_whole(pc.struct_field(vectors, name)) for name in VECTOR_FIELDS[:2])
    (named, places), (ends, values) = (list_parts(pc.struct_field(vectors, name)) for name in VECTOR_FIELDS[2:])
    numbers = _floats(values)
    is_there, dense, lengths = _valid(vectors), kinds == DENSE, np.diff(ends)
    sizes = np.where(dense, lengths, sizes)
    if step.only_of is not None and (sizes[is_there] != step.only_of).any():
        raise InputError(step.refused)
    elements = np.zeros(len(vectors))
    within = np.flatnonzero(dense & (step.place < lengths))
    elements[within] = numbers[ends[within] + step.place]
    hits = np.flatnonzero(_whole(places) == step.place)
    rows = np.searchsorted(named, hits, side="right") - 1
    behind = hits - named[rows]
    hits = np.flatnonzero(~dense[rows] & (behind < lengths[rows]))
    elements[rows[hits]] = numbers[ends[rows[hits]] + behind[hits]]
    elements[step.place >= sizes] = np.nan
    return pa.array(elements, mask=~is_there)


def _whole(values: pa.Array) -> Ints:
    return np.asarray(values.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False), np.int64)


def _floats(values: pa.Array) -> NDArray[np.float64]:
    return np.asarray(values.cast(pa.float64()).to_numpy(zero_copy_only=False), np.float64)  # a null becomes NaN


def _by_rating(ends: Ints, structs: pa.Array, step: RatedItem) -> pa.Array:
    """Return the items of each array by descending rating, with unrated items last. A NaN rating raises an error."""
    items = pc.struct_field(structs, step.item)
    stored = pc.struct_field(structs, step.rating).cast(pa.float64(), safe=False)
    if pc.any(pc.is_nan(stored)).as_py():
        raise InputError(NAN_RATING)
    ratings: NDArray[Any] = _floats(stored)
    first = np.zeros(len(items) + 1, np.bool_)
    first[ends] = True
    falls = (ratings[1:] <= ratings[:-1]) | np.isnan(ratings[1:]) | first[1:-1]
    if falls.all():  # already sorted, as from ALS
        return items
    array = np.repeat(np.arange(len(ends) - 1), np.diff(ends))
    return items.take(pa.array(np.lexsort((-ratings, array))))  # stable; NaN (no rating) comes last


def leaf_batches(
    fragment: ds.ParquetFileFragment, schema: pa.Schema, columns: Mapping[str, Place], where: Condition
) -> Iterator[pa.RecordBatch]:
    """Yield batches of ``columns``, each read from its place, for the rows of ``fragment`` that meet ``where``."""
    of_folders = ds.get_partition_keys(fragment.partition_expression)
    columns_of_file = pa.struct(fragment.physical_schema)
    read = {**{name: Place(name, ()) for name in where.columns}, **columns}
    stored = [(StructField(place.column), *place.steps) for place in read.values() if place.column not in of_folders]
    leaves = sorted({leaf for steps in stored for leaf in _leaves(columns_of_file, steps, 0)})
    names = [fragment.metadata.schema.column(leaf).path for leaf in leaves]
    groups = [group.id for group in fragment.row_groups]
    at_once = batch_rows(fragment, leaves)
    with fragment.open() as file:
        coded = [place.column for place in read.values() if place.few]  # in a seventh of the time of plain strings
        how = {"read_dictionary": coded, "pre_buffer": not is_limited(), **CHECKED}
        parquet = pq.ParquetFile(file, metadata=fragment.metadata, **how)
        for batch in parquet.iter_batches(at_once, row_groups=groups, columns=names, use_threads=False):
            rows = pa.table({name: _column(batch, place, of_folders, schema) for name, place in read.items()})
            for condition in (where.row_group_filter, where.row_filter):
                rows = rows if condition is None else rows.filter(condition)
            yield from rows.select(list(columns)).to_batches()


def _column(
    batch: pa.RecordBatch, place: Place, of_folders: Mapping[str, object], schema: pa.Schema
) -> pa.ChunkedArray:
    """Return the values at ``place`` in a ``batch`` of one file, in the type that ``schema`` contains for all files."""
    kind = schema.field(place.column).type
    if place.column in of_folders:
        stored = pa.repeat(pa.scalar(of_folders[place.column]).cast(kind), batch.num_rows)
    elif place.column in batch.schema.names:
        stored = batch[place.column]
    else:
        stored = pa.nulls(batch.num_rows, kind)
    if place.few and pa.types.is_dictionary(stored.type) and stored.type.value_type == kind == pa.string():
        return pa.chunked_array([stored])
    column, kind = taken(pa.chunked_array([stored]), place.steps), taken_type(kind, place.steps)
    return column if column.type == kind else column.cast(kind)


def lacks(physical: pa.Schema, place: Place) -> bool:
    """Return whether a file with the schema ``physical`` lacks the column or field at ``place``."""
    try:
        taken_type(physical.field(place.column).type, place.steps)
    except (KeyError, pa.ArrowException):
        return True
    return False


def _leaves(kind: pa.DataType, steps: Sequence[PathStep], first: int) -> list[int]:
    """Return the indices of the leaf columns of ``kind`` that ``steps`` need. Its first leaf has index ``first``."""
    if isinstance(kind, pa.BaseExtensionType):
        return _leaves(kind.storage_type, steps, first)
    if is_list(kind) and steps:
        step, rest = steps[0], steps[1:]
        if isinstance(step, RatedItem):
            both = map(StructField, step)
            return [leaf for field in both for leaf in _leaves(kind.value_type, [field], first)]
        return _leaves(kind.value_type, step.steps if isinstance(step, EveryElement) else rest, first)
    if pa.types.is_struct(kind) and steps and isinstance(steps[0], StructField):
        for field in kind:
            if field.name == steps[0].name:
                return _leaves(field.type, steps[1:], first)
            first += _count(field.type)
        return []  # the file lacks the field
    return list(range(first, first + _count(kind)))


def _count(kind: pa.DataType) -> int:
    """Return the number of leaf columns in ``kind``."""
    if isinstance(kind, pa.BaseExtensionType):
        return _count(kind.storage_type)
    if pa.types.is_struct(kind):
        return sum(_count(field.type) for field in kind)
    if pa.types.is_map(kind):
        return _count(kind.key_type) + _count(kind.item_type)
    return _count(kind.value_type) if is_list(kind) else 1


def taken_type(kind: pa.DataType, steps: Sequence[PathStep]) -> pa.DataType:
    """Return the type of the values at the end of ``steps`` in a column of type ``kind``."""
    return stored_type(taken(pa.chunked_array([], kind), steps).type)
