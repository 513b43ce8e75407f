"""The key of a state: for all values of a slice at once, and the rows of a table that have it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa

from sparkrank.numeric.segments import run_starts
from sparkrank.numeric.types import Floats, Ints

S = TypeVar("S", bound="KeyedSums")


class Subject(NamedTuple):
    """Whose states these are: those of one model, over one value of one slice; None is the value of rows without one.

    The whole day is the value ``all`` of the slice ``all``.
    """

    model: str
    slice: str
    slice_value: str | None

    def state(self, name: object) -> StateKey:
        """The key of its state called ``name``."""
        return StateKey(*self, str(name))


class StateKey(NamedTuple):
    """The key of one state: whose it is, and the ``name`` of what is measured.

    The name is the metric of a mean or a distribution, the quantity of a sum, the rule of a histogram, what is counted
    of items.
    """

    model: str
    slice: str
    slice_value: str | None
    name: str

    @property
    def subject(self) -> Subject:
        """Whose state it is."""
        return Subject(*self[:3])


class SliceKey(NamedTuple):
    """The states of ``model``, of the ``values`` (v) of ``slice``, by the ``name`` of what is measured."""

    model: str
    slice: str
    values: Sequence[str | None]
    name: str


@dataclass(frozen=True)
class KeyedRows:
    """A row of ``numbers`` (rows, columns) for every value of every key, each key once."""

    keys: tuple[SliceKey, ...]
    numbers: Floats

    @classmethod
    def of(cls, parts: Sequence[tuple[SliceKey, Floats]], columns: int) -> KeyedRows:
        """The rows of several keys, each with the numbers (v, columns) of its values."""
        numbers = [of for _, of in parts]
        return cls(tuple(key for key, _ in parts), np.concatenate([np.empty((0, columns)), *numbers]))

    @property
    def num_rows(self) -> int:
        return len(self.numbers)

    def table(self, schema: pa.Schema) -> pa.Table:
        """The rows as a table of ``schema``: the key, and a column for each number."""
        lengths = [len(key.values) for key in self.keys]
        texts = [
            np.repeat(np.array([key.model for key in self.keys], object), lengths),
            np.repeat(np.array([key.slice for key in self.keys], object), lengths),
            [value for key in self.keys for value in key.values],
            np.repeat(np.array([key.name for key in self.keys], object), lengths),
        ]
        columns = [pa.array(column, pa.string()) for column in texts]
        # an array for each column would take twice as long
        together, rows = pa.array(self.numbers.T.ravel()), self.num_rows
        for index, kind in enumerate(schema.types[len(columns) :]):
            column = together.slice(index * rows, rows)
            columns.append(column if column.type == kind else column.cast(kind))
        return pa.Table.from_arrays(columns, schema=schema)


class KeyedSums:
    """A state of numbers by key, which add up: exactly, for they are whole numbers and limbs.

    Buckets give it as :class:`KeyedRows`, which add up as arrays where all have the same keys. The table is made when
    somebody asks for it: that of the means of a bucket takes half a millisecond, and to add tables up a third more.
    """

    schema: ClassVar[pa.Schema]  # of the table: the texts of the key, then the numbers
    key: ClassVar[tuple[str, ...]]

    def __init__(self, rows: pa.Table | KeyedRows) -> None:
        self.rows = rows

    @classmethod
    def empty(cls: type[S]) -> S:  # noqa: PYI019 - typing.Self is of Python 3.11
        return cls(cls.schema.empty_table())

    @cached_property
    def table(self) -> pa.Table:
        """A row for every value of every key."""
        return self.rows if isinstance(self.rows, pa.Table) else self.rows.table(self.schema)

    def merge(self: S, *others: S) -> S:  # noqa: PYI019
        """What stands under one key in all together, added up."""
        filled = [each.rows for each in (self, *others) if each.rows.num_rows]
        keyed = [rows for rows in filled if isinstance(rows, KeyedRows)]
        if keyed and len(keyed) == len(filled) and all(rows.keys == keyed[0].keys for rows in keyed):
            sums = np.sum([rows.numbers for rows in keyed], axis=0, initial=0.0)
            return type(self)(KeyedRows(keyed[0].keys, sums))
        together = pa.concat_tables([each.table for each in (self, *others)])
        summed = [name for name in self.schema.names if name not in self.key]
        merged = together.group_by(list(self.key), use_threads=False).aggregate([(name, "sum") for name in summed])
        columns = [merged[name if name in self.key else f"{name}_sum"].combine_chunks() for name in self.schema.names]
        return type(self)(pa.Table.from_arrays(columns, schema=self.schema))


def in_order(value: Any) -> Any:
    """What to sort by where a text may be None, or a key hold such: None stands behind every text, as in Arrow."""
    if isinstance(value, tuple):
        return tuple(map(in_order, value))
    return (value is None, value or "")


def rows_by_key(rows: pa.Table, names: Sequence[str]) -> Iterator[tuple[tuple[Any, ...], Ints]]:
    """Each key that ``rows`` have in the columns of texts ``names``, and the places of its rows, ascending.

    It takes one pass for all keys: a slice may have thousands.
    """
    code = np.zeros(rows.num_rows, np.int64)
    for name in names:
        texts = rows[name].combine_chunks().dictionary_encode()
        indices = texts.indices.fill_null(len(texts.dictionary))  # None is a value as others are
        code = code * (len(texts.dictionary) + 1) + indices.to_numpy()
    found = pa.array(code).dictionary_encode()
    numbers = found.indices.to_numpy()
    if len(found.dictionary) <= 2**16:  # which numpy sorts by their digits
        numbers = numbers.astype(np.uint16)
    order = np.argsort(numbers, kind="stable")
    starts = run_starts(numbers[order])
    keys = zip(*(rows[name].take(pa.array(order[starts])).to_pylist() for name in names), strict=True)
    for key, (start, end) in zip(keys, itertools.pairwise([*starts, len(order)]), strict=True):
        yield key, order[start:end]
