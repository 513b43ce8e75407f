"""Parts of nested columns of Parquet files: of a struct only the fields that have a role are read.

Arrow's datasets read all of a column that has any part asked for. So files are read leaf by leaf here, and what
datasets do besides is done by hand: columns of folders, columns and fields that a file lacks, wider types, conditions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from sparkrank.engine.reading.conditions import Condition
from sparkrank.engine.reading.nested import Each, Element, Field, Place, Recommended, Step
from sparkrank.engine.reading.sizes import batch_rows_of
from sparkrank.engine.reading.taking import taken
from sparkrank.engine.reading.types import is_list, stored_type

Steps: TypeAlias = Sequence[Step]


def leaf_batches(
    fragment: ds.ParquetFileFragment, schema: pa.Schema, columns: Mapping[str, Place], where: Condition
) -> Iterator[pa.RecordBatch]:
    """The ``columns``, each from its place, of the rows of ``fragment`` that ``where`` holds for.

    ``schema`` is that of all files together.
    """
    of_folders = ds.get_partition_keys(fragment.partition_expression)
    physical = fragment.physical_schema
    read = {**{name: Place(name, ()) for name in where.columns}, **columns}
    stored = [place for place in read.values() if place.column not in of_folders]
    leaves = sorted({leaf for place in stored for leaf in _of(physical, place)})
    names = [fragment.metadata.schema.column(leaf).path for leaf in leaves]
    holds = [each for each in (where.of_groups, where.of_rows) if each is not None]
    groups = [group.id for group in fragment.row_groups]
    with fragment.open() as file:
        batches = pq.ParquetFile(file, metadata=fragment.metadata).iter_batches
        at_once = batch_rows_of(fragment, leaves)
        for batch in batches(at_once, row_groups=groups, columns=names, use_threads=False):
            rows = _Rows(pa.table(batch), batch.num_rows, of_folders, schema)
            found = pa.table({name: rows.at(place) for name, place in read.items()})
            for condition in holds:
                found = found.filter(condition)
            yield from found.select(list(columns)).to_batches()


class _Rows:
    """Rows of a file as it has them, to be read as ``schema`` has them."""

    def __init__(self, rows: pa.Table, count: int, of_folders: Mapping[str, object], schema: pa.Schema) -> None:
        self._rows, self._count, self._of_folders, self._schema = rows, count, of_folders, schema

    def at(self, place: Place) -> pa.ChunkedArray:
        kind = self._schema.field(place.column).type
        if place.column in self._of_folders:
            value = pa.scalar(self._of_folders[place.column]).cast(kind)
            return taken(pa.chunked_array([pa.repeat(value, self._count)]), place.steps)
        needed = _pruned(kind, place.steps)
        if place.column not in self._rows.column_names:
            return taken(pa.chunked_array([pa.nulls(self._count, needed)]), place.steps)
        column = self._rows[place.column]
        return taken(column.cast(needed) if column.type != needed else column, place.steps)


def _pruned(kind: pa.DataType, steps: Steps) -> pa.DataType:
    """``kind``, a stored one, with what ``steps`` lead to and nothing beside."""
    if not steps:
        return kind
    step, rest = steps[0], steps[1:]
    if isinstance(step, Field):
        field = kind.field(step.name)
        return pa.struct([field.with_type(_pruned(field.type, rest))])
    if isinstance(step, Recommended):
        return pa.list_(pa.struct([kind.value_type.field(name) for name in (step.item, step.rating)]))
    if isinstance(step, (Each, Element)):
        return pa.list_(_pruned(kind.value_type, step.steps if isinstance(step, Each) else rest))
    return kind


def _of(physical: pa.Schema, place: Place) -> list[int]:
    """The numbers of the leaves of a file that ``place`` needs, as far as the file has them."""
    first = 0
    for field in physical:
        if field.name == place.column:
            return _leaves(field.type, place.steps, first)
        first += _count(field.type)
    return []


def lacks(physical: pa.Schema, kind: pa.DataType, place: Place) -> bool:
    """Whether a file lacks some of what ``place`` is in files where its column is of ``kind``."""
    return len(_of(physical, place)) < _count(_pruned(kind, place.steps))


def _leaves(kind: pa.DataType, steps: Steps, first: int) -> list[int]:
    """The leaves of ``kind``, which begin with number ``first``, that ``steps`` need."""
    if isinstance(kind, pa.BaseExtensionType):
        return _leaves(kind.storage_type, steps, first)
    if is_list(kind) and steps:
        step, rest = steps[0], steps[1:]
        if isinstance(step, Recommended):
            both = map(Field, (step.item, step.rating))
            return [leaf for each in both for leaf in _leaves(kind.value_type, [each], first)]
        return _leaves(kind.value_type, step.steps if isinstance(step, Each) else rest, first)
    if pa.types.is_struct(kind) and steps and isinstance(steps[0], Field):
        for field in kind:
            if field.name == steps[0].name:
                return _leaves(field.type, steps[1:], first)
            first += _count(field.type)
        return []
    return list(range(first, first + _count(kind)))


def _count(kind: pa.DataType) -> int:
    """The leaves of ``kind``."""
    if isinstance(kind, pa.BaseExtensionType):
        return _count(kind.storage_type)
    if pa.types.is_struct(kind):
        return sum(_count(field.type) for field in kind)
    if pa.types.is_map(kind):
        return _count(kind.key_type) + _count(kind.item_type)
    return _count(kind.value_type) if is_list(kind) else 1


def taken_type(kind: pa.DataType, steps: Steps) -> pa.DataType:
    """The type of what ``steps`` lead to inside of a column of type ``kind``."""
    return stored_type(taken(pa.chunked_array([], kind), steps).type)
