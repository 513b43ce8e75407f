"""What stands at a place inside of a column (:mod:`sparkrank.engine.reading.nested`), in Arrow.

All of a column is taken at once, by offsets: there is no loop over rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sparkrank.engine.reading.nested import (
    VECTOR_FIELDS,
    Each,
    Element,
    Field,
    Recommended,
    Shape,
    Step,
    VectorElement,
)
from sparkrank.engine.reading.types import list_parts, plain_array, plain_type
from sparkrank.engine.reading.values import is_number
from sparkrank.errors import InputError
from sparkrank.kernels.order import Flags, Ints

DENSE = 1  # the type of a vector that has all its values


def shape_of(kind: pa.DataType) -> Shape:
    """What :mod:`~sparkrank.engine.reading.nested` knows of ``kind``."""
    text, plain = str(kind), plain_type(kind)
    if pa.types.is_list(plain) or pa.types.is_large_list(plain):
        return Shape(text, element=shape_of(plain.value_type))
    if not pa.types.is_struct(plain):
        is_plain = not pa.types.is_nested(plain) and not pa.types.is_interval(plain)
        return Shape(text, is_plain, is_number(plain))
    fields = {field.name: field.type for field in plain}
    if tuple(fields) == VECTOR_FIELDS and pa.types.is_list(fields["values"]) and pa.types.is_list(fields["indices"]):
        return Shape("vector", is_vector=True)
    return Shape(text, fields={name: shape_of(of) for name, of in fields.items()})


def taken(column: pa.ChunkedArray, steps: Sequence[Step]) -> pa.ChunkedArray:
    """The values of ``column`` at the end of ``steps``, in plain types.

    Raises :class:`InputError` where a vector has another size than the only one that it may have.
    """
    if not column.num_chunks:
        return pa.chunked_array([_after(pa.nulls(0, plain_type(column.type)), steps)])
    return pa.chunked_array([_after(plain_array(chunk), steps) for chunk in column.chunks])


def _after(values: pa.Array, steps: Sequence[Step]) -> pa.Array:
    for step in steps:
        values = plain_array(_step(values, step))
    return values


def _step(values: pa.Array, step: Step) -> pa.Array:
    if isinstance(step, Field):
        return pc.struct_field(values, step.name)
    if isinstance(step, Element):
        return _element(values, step.place)
    if isinstance(step, VectorElement):
        return _vector_element(values, step)
    ends, items = list_parts(values)
    items = _after(items, step.steps) if isinstance(step, Each) else _by_rating(ends, items, step)
    kind = pa.large_list(items.type) if pa.types.is_large_list(values.type) else pa.list_(items.type)
    return _lists(kind, ends, items, values)


def _lists(kind: pa.DataType, ends: Ints, items: pa.Array, like: pa.Array) -> pa.Array:
    """Arrays of ``items``, with nulls where ``like`` has them; each ends at its one of ``ends``, which begin with 0."""
    wide = pa.types.is_large_list(kind)
    offsets = pa.array(ends, pa.int64() if wide else pa.int32())
    mask = like.is_null() if like.null_count else None
    return (pa.LargeListArray if wide else pa.ListArray).from_arrays(offsets, items, kind, mask=mask)


def _element(arrays: pa.Array, place: int) -> pa.Array:
    """The element at ``place`` of each array. Where it has none there is null, or NaN, as in a bad row, for a float."""
    ends, items = list_parts(arrays)
    lengths = np.diff(ends)
    found = items.take(pa.array(ends[:-1] + place, mask=place >= lengths))
    return _nan_beyond(found, _valid(arrays) & (place >= lengths))


def _nan_beyond(values: pa.Array, beyond: Flags) -> pa.Array:
    if not pa.types.is_floating(values.type) or not beyond.any():
        return values
    return pc.if_else(pa.array(beyond), pa.scalar(float("nan"), values.type), values)


def _valid(values: pa.Array) -> Flags:
    return np.asarray(values.is_valid().to_numpy(zero_copy_only=False), np.bool_)


def _vector_element(vectors: pa.Array, step: VectorElement) -> pa.Array:
    """The element of each vector, which is 0 where a sparse one does not name it, and NaN beyond its end."""
    kinds, sizes = (_whole(pc.struct_field(vectors, name)) for name in VECTOR_FIELDS[:2])
    (named, places), (ends, values) = (list_parts(pc.struct_field(vectors, name)) for name in VECTOR_FIELDS[2:])
    numbers = _floats(values)
    is_there, dense, lengths = _valid(vectors), kinds == DENSE, np.diff(ends)
    sizes = np.where(dense, lengths, sizes)
    if step.only_of is not None and (sizes[is_there] != step.only_of).any():
        raise InputError(step.refused)
    found = np.zeros(len(vectors))
    within = np.flatnonzero(dense & (step.place < lengths))
    found[within] = numbers[ends[within] + step.place]
    hits = np.flatnonzero(_whole(places) == step.place)
    rows = np.searchsorted(named, hits, side="right") - 1
    behind = hits - named[rows]
    hits = np.flatnonzero(~dense[rows] & (behind < lengths[rows]))
    found[rows[hits]] = numbers[ends[rows[hits]] + behind[hits]]
    found[step.place >= sizes] = np.nan
    return pa.array(found, mask=~is_there)


def _whole(values: pa.Array) -> Ints:
    return np.asarray(values.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False), np.int64)


def _floats(values: pa.Array) -> NDArray[np.float64]:
    return np.asarray(values.cast(pa.float64()).to_numpy(zero_copy_only=False), np.float64)  # a null is NaN


def _by_rating(ends: Ints, structs: pa.Array, step: Recommended) -> pa.Array:
    """The items of arrays that end at ``ends``, in each of them the highest rating first, and the others behind."""
    items = pc.struct_field(structs, step.item)
    ratings: NDArray[Any] = _floats(pc.struct_field(structs, step.rating).cast(pa.float64(), safe=False))
    first = np.zeros(len(items) + 1, np.bool_)
    first[ends] = True
    falls = (ratings[1:] <= ratings[:-1]) | np.isnan(ratings[1:]) | first[1:-1]
    if falls.all():  # as ALS gives them
        return items
    array = np.repeat(np.arange(len(ends) - 1), np.diff(ends))
    return items.take(pa.array(np.lexsort((-ratings, array))))  # stable, NaN last
