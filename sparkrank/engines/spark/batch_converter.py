"""The conversion of columns to bucket rows: Spark sends columns with roles to tasks, in which Arrow converts them."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from sparkrank.bucket.impressions import LIST
from sparkrank.engines.spark.batches import arrow_schema, gathered_rows, named, read_batches
from sparkrank.inputs.field_paths import EveryElement, MapKey, PathStep, Place, Shape, StructField, places
from sparkrank.inputs.roles import Roles
from sparkrank.metrics import Plan
from sparkrank.sources.columns import bucket_tables, needed_columns
from sparkrank.sources.joined_types import TYPE_NAME, type_name
from sparkrank.sources.nested import columns_at, nested_schema, shape_of
from sparkrank.sources.sizes import elements_in
from sparkrank.sources.values import is_array

Leaf: TypeAlias = tuple[str, ...]  # a column, and the names of the fields and map keys that lead to a value inside it


@dataclass(frozen=True)
class FrameSide:
    """The rows of one input (a side) in a DataFrame, with the ``roles`` of its columns.

    ``what`` is its name in messages.
    """

    frame: DataFrame
    roles: Roles
    what: str

    @cached_property
    def inner_places(self) -> dict[str, Place]:
        """The place of each column with a role that is nested in another column, by name."""
        return places(self.roles, {field.name: _shape(field) for field in self._stored}, self.what)

    @cached_property
    def schema(self) -> pa.Schema:
        """The Arrow schema of all columns. A column inside another column has the name that roles use."""
        return nested_schema(self._stored, self.inner_places)

    @cached_property
    def _stored(self) -> pa.Schema:
        """The Arrow schema of the columns of the DataFrame, with Spark's names of their types."""
        names = (field.dataType.simpleString() for field in self.frame.schema)
        fields = zip(arrow_schema(self.frame), names, strict=True)
        return pa.schema([field.with_metadata({TYPE_NAME: name}) for field, name in fields])

    def leaf(self, name: str) -> tuple[Leaf, tuple[PathStep, ...]]:
        """Return the path of the values that Spark sends for the column ``name``, and the further steps in tasks."""
        place = self.inner_places.get(name, Place(name, ()))
        leaf, steps = [place.column], list(place.steps)
        while steps and (names := _names_in(steps[0])):
            leaf += names
            steps.pop(0)
        return tuple(leaf), tuple(steps)

    def sent(self, plan: Plan, schema: pa.Schema) -> tuple[DataFrame, BatchConverter]:
        """Return the rows that Spark sends, and the converter of these rows to bucket rows.

        ``schema`` is the schema of the bucket rows of all inputs.
        """
        leaves: dict[Leaf, str] = {}
        at, columns = {}, []
        for name in needed_columns(self.roles, plan):
            leaf, steps = self.leaf(name)
            if leaf not in leaves:
                leaves[leaf] = f"sent_{len(leaves)}"
                column = column_of(leaf) if steps else _without_collation(column_of(leaf), self.schema.field(name).type)
                columns.append(column.alias(leaves[leaf]))
            at[name] = Place(leaves[leaf], steps)
        if self.roles.arrays:
            # a task that runs again may number rows differently, but the numbers only tell the lists of one run apart
            columns.append(F.monotonically_increasing_id().alias(LIST))
        rows = self.frame.select(*columns)
        return rows, BatchConverter(arrow_schema(rows), at, self.roles, plan, schema)


def _shape(field: pa.Field) -> Shape:
    shape = shape_of(field.type)
    return shape if shape.is_vector else shape._replace(text=type_name(field))


def _names_in(step: PathStep) -> list[str]:
    """Return the names by which Spark follows ``step``, also into each struct of an array; empty if only tasks can."""
    if isinstance(step, (StructField, MapKey)):
        return [step.name]
    steps = step.steps if isinstance(step, EveryElement) else ()
    names = [inner.name for inner in steps if isinstance(inner, StructField)]
    return names if len(names) == len(steps) else []


def column_of(leaf: Leaf) -> Column:
    """Return the column of ``leaf``, or the field inside the column at the end of ``leaf``: all that Spark sends."""
    column, *names = leaf
    return functools.reduce(Column.getItem, names, named(column))


def _without_collation(column: Column, kind: pa.DataType) -> Column:
    """Return ``column`` with plain strings, which are equal only if their bytes are, if ``kind`` contains texts."""
    if is_array(kind) and pa.types.is_string(kind.value_type):
        return column.cast("array<string>")
    return column.cast("string") if pa.types.is_string(kind) else column


@dataclass(frozen=True)
class BatchConverter:
    """A converter of batches of one input, with the schema ``sent``, to bucket rows with ``schema``.

    ``at`` maps each column of ``roles`` to its place in the batches.
    """

    sent: pa.Schema
    at: Mapping[str, Place]
    roles: Roles
    plan: Plan
    schema: pa.Schema

    def tables(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
        """Yield the bucket rows of ``batches``, in tables of about as many rows as a task gathers at once."""
        arrays = [self.at[name].column for name in self.roles.arrays]
        for rows in gathered_rows(batches, self.sent, lambda batch: elements_in(batch, arrays)):
            first = rows[LIST][0].as_py() if arrays else 0
            yield from bucket_tables([columns_at(rows, self.at)], self.roles, self.plan, self.schema, first)

    def read(self, packed: Iterable[bytes]) -> Iterator[pa.Table]:
        """Yield the bucket rows of the batches from :func:`sparkrank.engines.spark.batches.arrow_batches`."""
        return self.tables(read_batches(packed, self.sent))
