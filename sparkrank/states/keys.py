"""The keys of states, and states that consist of numbers for each key, in arrays or in table rows."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa

from sparkrank.numeric.array_types import Floats, Ints
from sparkrank.numeric.cached import cached
from sparkrank.numeric.segments import run_starts
from sparkrank.numeric.text_arrays import encoded_column

S = TypeVar("S", bound="KeyedSums")
K = TypeVar("K")
V = TypeVar("V")


class Subject(NamedTuple):
    """A model and one value of a slice (None for a missing value). The slice ``all`` is the whole day."""

    model: str
    slice: str
    slice_value: str | None

    def state(self, name: object) -> StateKey:
        return StateKey(*self, str(name))


class StateKey(NamedTuple):
    """The key of one state. ``name`` is the name of a metric, a sum over rows, a bin rule or an exposure of items."""

    model: str
    slice: str
    slice_value: str | None
    name: str

    @property
    def subject(self) -> Subject:
        return Subject(*self[:3])


class SliceKey(NamedTuple):
    """The keys of one model's states with the same ``name``, one for each of the ``values`` of a slice."""

    model: str
    slice: str
    values: tuple[str | None, ...]
    name: str

    @property
    def without_values(self) -> tuple[str, str, str]:
        return self.model, self.slice, self.name


@dataclass(frozen=True)
class KeyedRows:
    """Numbers by key: ``numbers`` contains one row for every value of every key. Shape: (rows, columns).

    The ``keys`` are distinct.
    """

    keys: tuple[SliceKey, ...]
    numbers: Floats

    @classmethod
    def of(cls, parts: Sequence[tuple[SliceKey, Floats]], columns: int) -> KeyedRows:
        numbers = [part for _, part in parts]
        return cls(tuple(key for key, _ in parts), np.concatenate([np.empty((0, columns)), *numbers]))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle only the columns with a nonzero number, because most sums use only half of their columns."""
        used = np.flatnonzero(self.numbers.any(axis=0))
        return _keyed_rows, (self.keys, self.numbers.shape[1], used, self.numbers[:, used])

    @property
    def num_rows(self) -> int:
        return len(self.numbers)

    def merge(self, others: Sequence[KeyedRows]) -> KeyedRows:
        """Return the sums of the numbers of rows with the same key. If keys differ, slice values are sorted."""
        if all(other.keys == self.keys for other in others):
            sums = self.numbers + 0.0  # a copy, in which zeros have no sign
            for part in others:
                sums += part.numbers
            return KeyedRows(self.keys, sums)
        every = [self, *others]
        values = _all_values(every)
        place = {name: {value: place for place, value in enumerate(known)} for name, known in values.items()}
        starts: dict[tuple[str, str, str], int] = {}  # by model, slice and name
        count = 0
        for key in itertools.chain.from_iterable(part.keys for part in every):
            if key.without_values not in starts:
                starts[key.without_values] = count
                count += len(values[key.slice])
        sums = np.zeros((count, self.numbers.shape[1]))
        for part in every:
            places = {
                (name, some): np.array([place[name][value] for value in some], np.int64)
                for name, some in dict.fromkeys((key.slice, key.values) for key in part.keys)
            }
            rows = [starts[key.without_values] + places[key.slice, key.values] for key in part.keys]
            sums[np.concatenate(rows)] += part.numbers
        keys = (SliceKey(model, name, values[name], measure) for model, name, measure in starts)
        return KeyedRows(tuple(keys), sums)

    def table(self, schema: pa.Schema) -> pa.Table:
        lengths = [len(key.values) for key in self.keys]
        texts = [
            np.repeat(np.array([key.model for key in self.keys], object), lengths),
            np.repeat(np.array([key.slice for key in self.keys], object), lengths),
            [value for key in self.keys for value in key.values],
            np.repeat(np.array([key.name for key in self.keys], object), lengths),
        ]
        columns = [pa.array(column, pa.string()) for column in texts]
        # making an array for each column would take twice as long
        together, rows = pa.array(self.numbers.T.ravel()), self.num_rows
        for index, kind in enumerate(schema.types[len(columns) :]):
            column = together.slice(index * rows, rows)
            columns.append(column if column.type == kind else column.cast(kind))
        return pa.Table.from_arrays(columns, schema=schema)


def _keyed_rows(keys: tuple[SliceKey, ...], columns: int, used: Ints, numbers: Floats) -> KeyedRows:
    every = np.zeros((len(numbers), columns))
    every[:, used] = numbers
    return KeyedRows(keys, every)


def _all_values(every: Sequence[KeyedRows]) -> dict[str, tuple[str | None, ...]]:
    """Return, for each slice, the values that occur in any of the states ``every``, sorted as strings, None last."""
    by_slice: dict[str, dict[tuple[str | None, ...], None]] = {}  # most keys of a slice have the same values
    for key in itertools.chain.from_iterable(rows.keys for rows in every):
        by_slice.setdefault(key.slice, {})[key.values] = None
    return {name: tuple(sorted({*itertools.chain(*tuples)}, key=in_order)) for name, tuples in by_slice.items()}


class KeyedSums:
    """A state of numbers by key that add up exactly, as :class:`KeyedRows` or as a table.

    The merged state has the form :class:`KeyedRows` only if all merged states have it.
    """

    schema: ClassVar[pa.Schema]  # of the table: first the texts of the key, then the numbers
    key: ClassVar[tuple[str, ...]]

    def __init__(self, rows: pa.Table | KeyedRows) -> None:
        self.rows = rows

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.rows,)

    @classmethod
    def empty(cls: type[S]) -> S:  # noqa: PYI019 - typing.Self is of Python 3.11
        return cls(cls.schema.empty_table())

    @cached_property
    def table(self) -> pa.Table:
        return self.rows if isinstance(self.rows, pa.Table) else self.rows.table(self.schema)

    @cached
    def subjects(self) -> list[Subject]:
        """Return the distinct subjects of the rows."""
        if not self.table.num_rows:  # old versions of Arrow take 0.9 GB to group an empty table
            return []
        names = list(Subject._fields)
        distinct = self.table.select(names).group_by(names, use_threads=False).aggregate([])
        return [Subject(*row) for row in zip(*(distinct[name].to_pylist() for name in names), strict=True)]

    @property
    def nbytes(self) -> int:
        rows = self.rows
        return int(rows.nbytes if isinstance(rows, pa.Table) else rows.numbers.nbytes)

    def merge(self: S, *others: S) -> S:  # noqa: PYI019
        filled = [state.rows for state in (self, *others) if state.rows.num_rows]
        if not filled:  # old versions of Arrow take 0.9 GB to group an empty table
            return self
        keyed = [rows for rows in filled if isinstance(rows, KeyedRows)]
        if len(keyed) == len(filled):
            return type(self)(keyed[0].merge(keyed[1:]))
        together = pa.concat_tables([state.table for state in (self, *others)])
        summed = [name for name in self.schema.names if name not in self.key]
        merged = together.group_by(list(self.key), use_threads=False).aggregate([(name, "sum") for name in summed])
        columns = [merged[name if name in self.key else f"{name}_sum"].combine_chunks() for name in self.schema.names]
        return type(self)(pa.Table.from_arrays(columns, schema=self.schema))


def by_key(parts: Iterable[Mapping[K, V]]) -> dict[K, list[V]]:
    gathered: dict[K, list[V]] = {}
    for part in parts:
        for key, value in part.items():
            gathered.setdefault(key, []).append(value)
    return gathered


def in_order(value: Any) -> Any:
    """Return a sort key for a string or None, or for a tuple of strings and Nones. None comes last, as in Arrow."""
    if isinstance(value, tuple):
        return tuple(map(in_order, value))
    return (value is None, value or "")


def encoded_texts(column: pa.ChunkedArray) -> tuple[list[str | None], Ints]:
    """Return the distinct strings of a column followed by None, and the index of each row's value in that list."""
    texts = encoded_column(column.cast(pa.string()))
    known = [*texts.dictionary.to_pylist(), None]
    return known, texts.indices.fill_null(len(known) - 1).to_numpy().astype(np.int64)


def rows_by_key(rows: pa.Table, names: Sequence[str]) -> Iterator[tuple[tuple[Any, ...], Ints]]:
    """Yield each distinct key in the string columns ``names`` of ``rows``, with the ascending indices of its rows."""
    code = np.zeros(rows.num_rows, np.int64)
    for name in names:
        texts = encoded_column(rows[name])
        indices = texts.indices.fill_null(len(texts.dictionary))  # None is a value like any other
        code = code * (len(texts.dictionary) + 1) + indices.to_numpy()
    keys_of_rows = pa.array(code).dictionary_encode()
    numbers = keys_of_rows.indices.to_numpy()
    if len(keys_of_rows.dictionary) <= 2**16:  # numpy sorts 16-bit integers by radix
        numbers = numbers.astype(np.uint16)
    order = np.argsort(numbers, kind="stable")
    starts = run_starts(numbers[order])
    keys = zip(*(rows[name].take(pa.array(order[starts])).to_pylist() for name in names), strict=True)
    for key, (start, end) in zip(keys, itertools.pairwise([*starts, len(order)]), strict=True):
        yield key, order[start:end]
