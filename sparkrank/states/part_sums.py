"""Sums for each part of the groups, from which standard errors are computed.

A part is one of 64 fixed sets of groups, chosen by the hash of the group key, so a user is in the same part every day.
A slice value has 16 parts, and each combines four of the 64.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sparkrank.numeric.array_types import Floats, Ints
from sparkrank.numeric.exact_sums import LIMBS, carried
from sparkrank.numeric.key_hashes import PARTS
from sparkrank.states.keys import StateKey, Subject, by_key, encoded_texts, in_order, rows_by_key

WHOLE_DAY = "all"  # the slice of the whole day
PARTS_OF_SLICE = 16
CARRIED_BYTES = 16 << 20  # bytes of numbers, zeros included, that are carried at a time


def parts_of_slice(name: str) -> int:
    return PARTS if name == WHOLE_DAY else PARTS_OF_SLICE


@dataclass(frozen=True)
class NonzeroSums:
    """The nonzero numbers of one model for all values of one slice. Dense arrays would take gigabytes.

    Each of the ``names`` contains ``columns`` numbers: fewer than six counts, then limbs (floats that make up an exact
    sum). A cell is the index of a slice value times ``parts``, plus the part. ``cells`` lists the n cells with a
    nonzero number. ``used`` lists the u columns with one, numbered through all names. Both lists ascend.
    ``numbers`` has shape (u, n).
    """

    names: tuple[str, ...]
    parts: int
    columns: int
    cells: Ints
    used: Ints
    numbers: Floats

    @classmethod
    def of(cls, names: Sequence[str], parts: int, sums: Floats, cells: Ints | None = None) -> NonzeroSums:
        """Return the nonzero ``sums``, given as an array of shape (n, names, columns).

        Row i is for ``cells[i]``, or for cell i if ``cells`` is None.
        """
        by_column = sums.reshape(len(sums), sums.shape[1] * sums.shape[2]).T
        used, filled = (np.flatnonzero(by_column.any(axis=axis)) for axis in (1, 0))
        numbers = by_column[np.ix_(used, filled)]
        return cls(tuple(names), parts, sums.shape[-1], filled if cells is None else cells[filled], used, numbers)

    def merge(self, others: Sequence[NonzeroSums]) -> NonzeroSums:
        names, every = self.names, [self, *others]
        if any(other.names != names for other in others):
            names = tuple(dict.fromkeys(name for part in every for name in part.names))
            every = [part.with_names(names) for part in every]
        cells, places = _union([part.cells for part in every])
        used, rows = _union([part.used for part in every])
        numbers = np.zeros((len(used), len(cells)))
        for part, row, place in zip(every, rows, places, strict=True):
            if part.numbers.shape == numbers.shape:  # both lists of indices ascend, so they are equal
                numbers += part.numbers
            else:
                numbers[np.ix_(row, place)] += part.numbers
        return replace(self, names=names, cells=cells, used=used, numbers=numbers).carried()

    def with_names(self, names: tuple[str, ...]) -> NonzeroSums:
        place = np.array([names.index(name) for name in self.names], np.int64)
        name, column = np.divmod(self.used, self.columns)
        used = place[name] * self.columns + column
        order = np.argsort(used)
        return replace(self, names=names, used=used[order], numbers=self.numbers[order])

    def moved(self, place: Ints) -> NonzeroSums:
        """Return the same numbers with the slice value of index i at the index ``place[i]``."""
        value, part = np.divmod(self.cells, self.parts)
        cells = place[value] * self.parts + part
        order = np.argsort(cells)
        return replace(self, cells=cells[order], numbers=self.numbers[:, order])

    def carried(self) -> NonzeroSums:
        """Return the same sums with their floats in the form of :func:`sparkrank.numeric.exact_sums.carried`."""
        count, columns = len(self.cells), self.columns
        names_at_a_time = max(1, CARRIED_BYTES // (8 * columns * max(1, count)))
        used, numbers = [np.empty(0, np.int64)], [np.empty((0, count))]
        for first in range(0, len(self.names), names_at_a_time):
            names = min(names_at_a_time, len(self.names) - first)
            start, end = np.searchsorted(self.used, (first * columns, (first + names) * columns))
            dense = np.zeros((names, columns, count))
            by_column = dense.reshape(names * columns, count)
            by_column[self.used[start:end] - first * columns] = self.numbers[start:end]
            limbs = dense[:, columns % LIMBS :].reshape(names, columns // LIMBS, LIMBS, count)  # a view
            limbs[:] = np.moveaxis(carried(np.moveaxis(limbs, 2, -1)), -1, 2)
            filled = np.flatnonzero(by_column.any(axis=1))
            used.append(filled + first * columns)
            numbers.append(by_column[filled])
        together = numbers[1] if len(numbers) == 2 else np.concatenate(numbers)
        kept = together.any(axis=0)
        if kept.all():
            return replace(self, used=np.concatenate(used), numbers=together)
        return replace(self, cells=self.cells[kept], used=np.concatenate(used), numbers=together[:, kept])

    def at(self, value: int, name: str) -> Floats | None:
        """Return the numbers called ``name`` for the slice value at index ``value``. Shape: (parts, columns).

        The result is None if there is no such name.
        """
        if name not in self.names:
            return None
        first, columns = self.names.index(name) * self.columns, self.columns
        inside = slice(*np.searchsorted(self.cells, (value * self.parts, (value + 1) * self.parts)))
        of_name = slice(*np.searchsorted(self.used, (first, first + columns)))
        numbers = np.zeros((self.parts, columns))
        part, column = self.cells[inside] - value * self.parts, self.used[of_name] - first
        numbers[part[:, np.newaxis], column] = self.numbers[of_name, inside].T
        return numbers

    def of_values(self, name: str, values: int) -> Floats:
        """Return the numbers called ``name`` in the first part, for all slice values. Shape: (values, columns)."""
        first, columns = self.names.index(name) * self.columns, self.columns
        of_name = slice(*np.searchsorted(self.used, (first, first + columns)))
        numbers = np.zeros((values, columns))
        value, part = np.divmod(self.cells, self.parts)
        numbers[np.ix_(value[part == 0], self.used[of_name] - first)] = self.numbers[of_name][:, part == 0].T
        return numbers

    def dense(self, cells: Ints) -> Floats:
        """Return all numbers in rows for the n given ``cells``, with zeros where nothing is stored.

        ``cells`` must ascend and include all of ``self.cells``. The shape of the result is (n, names, columns).
        """
        numbers = np.zeros((len(cells), len(self.names) * self.columns))
        numbers[np.ix_(np.searchsorted(cells, self.cells), self.used)] = self.numbers.T
        return numbers.reshape(len(cells), len(self.names), self.columns)


def _union(numbers: Sequence[Ints]) -> tuple[Ints, list[Ints]]:
    """Return the distinct numbers of all arrays, ascending, and the indices of each array's numbers in this union."""
    size = 1 + max((int(array.max()) for array in numbers if len(array)), default=-1)
    there = np.zeros(size, bool)
    for array in numbers:
        there[array] = True
    distinct = np.flatnonzero(there)
    place = np.empty(size, np.int64)
    place[distinct] = np.arange(len(distinct))
    return distinct, [place[array] for array in numbers]


@dataclass(frozen=True)
class SlicedSums:
    """The sums of each model for the ``values`` of one slice, by part (fixed set) of the groups."""

    values: tuple[str | None, ...]
    by_model: Mapping[str, NonzeroSums]

    def __reduce__(self) -> tuple[Any, ...]:
        return SlicedSums, (self.values, self.by_model)

    @cached_property
    def place_of_value(self) -> dict[str | None, int]:
        return {value: place for place, value in enumerate(self.values)}

    def merge(self, others: Sequence[SlicedSums]) -> SlicedSums:
        values, every = self.values, [self, *others]
        if any(other.values != values for other in others):
            values = tuple(sorted({value for part in every for value in part.values}, key=in_order))
            every = [part.with_values(values) for part in every]
        by_model = by_key(part.by_model for part in every)
        return SlicedSums(values, {model: first.merge(rest) for model, (first, *rest) in by_model.items()})

    def with_values(self, values: tuple[str | None, ...]) -> SlicedSums:
        places = {value: place for place, value in enumerate(values)}
        place = np.array([places[value] for value in self.values], np.int64)
        return SlicedSums(values, {model: sums.moved(place) for model, sums in self.by_model.items()})


@dataclass(frozen=True)
class PartSums:
    """Numbers that add up, by slice, model, name and part. For a part without groups, no numbers are stored."""

    by_slice: Mapping[str, SlicedSums] = field(default_factory=dict)

    @property
    def nbytes(self) -> int:
        return sum(sums.numbers.nbytes for sliced in self.by_slice.values() for sums in sliced.by_model.values())

    def merge(self, others: Iterable[PartSums]) -> PartSums:
        by_slice = by_key(part.by_slice for part in (self, *others))
        return PartSums({name: first.merge(rest) for name, (first, *rest) in by_slice.items()})

    def of(self, subject: Subject, name: object) -> Floats | None:
        """Return the numbers called ``name`` in each part, or None if they are missing. Shape: (parts, columns)."""
        sliced_sums = self.by_slice.get(subject.slice)
        if sliced_sums is None or subject.model not in sliced_sums.by_model:
            return None
        place = sliced_sums.place_of_value.get(subject.slice_value)
        return None if place is None else sliced_sums.by_model[subject.model].at(place, str(name))

    def of_each(self, subjects: Sequence[Subject], name: object) -> tuple[NDArray[np.bool_], Floats]:
        """Return flags of the subjects with ``name``, and their numbers in the first part: (n,), (n, columns)."""
        there, numbers = np.zeros(len(subjects), bool), np.zeros((len(subjects), 0))
        by_sums: dict[tuple[str, str], tuple[list[int], list[int]]] = {}
        for place, (model, slice_, value) in enumerate(subjects):
            sliced = self.by_slice.get(slice_)
            if sliced is not None and model in sliced.by_model and value in sliced.place_of_value:
                places, values = by_sums.setdefault((slice_, model), ([], []))
                places.append(place)
                values.append(sliced.place_of_value[value])
        for (slice_, model), (places, values) in by_sums.items():
            sums = self.by_slice[slice_].by_model[model]
            if str(name) in sums.names:
                if not numbers.shape[1]:
                    numbers = np.zeros((len(subjects), sums.columns))
                there[places] = True
                numbers[places] = sums.of_values(str(name), len(self.by_slice[slice_].values))[values]
        return there, numbers

    def rows(self, numbers: pa.Schema) -> pa.Table:
        """Return a table row per name, slice value and part with numbers.

        A slice value without numbers gets a row of zeros for one part.
        """
        schema = pa.schema([*((name, pa.string()) for name in StateKey._fields), ("part", pa.int64()), *numbers])
        tables = []
        for name, sliced in sorted(self.by_slice.items()):
            values = pa.array(sliced.values, pa.string())
            for model, sums in sliced.by_model.items():
                # a value with only undefined metrics has states, too
                empty = np.setdiff1d(np.arange(len(values)), sums.cells // sums.parts) * sums.parts
                cells = np.union1d(sums.cells, empty)
                dense = sums.dense(cells).reshape(-1, sums.columns)
                value, part = np.divmod(np.repeat(cells, len(sums.names)), sums.parts)
                columns = [
                    *(pa.repeat(pa.scalar(text, pa.string()), len(dense)) for text in (model, name)),
                    values.take(pa.array(value)),
                    pa.array(sums.names * len(cells), pa.string()),
                    pa.array(part),
                    *(pa.array(column).cast(field.type) for column, field in zip(dense.T.copy(), numbers, strict=True)),
                ]
                tables.append(pa.Table.from_arrays(columns, schema=schema))
        return pa.concat_tables(tables) if tables else schema.empty_table()

    @classmethod
    def of_rows(cls, rows: pa.Table, columns: Sequence[str]) -> PartSums:
        (values, value), (names, name) = (encoded_texts(rows[column]) for column in ("slice_value", "name"))
        part = rows["part"].to_numpy()
        by_slice: dict[str, dict[str, Ints]] = {}
        for (slice_, model), places in rows_by_key(rows, ("slice", "model")):
            by_slice.setdefault(slice_, {})[model] = places
        sliced = {}
        for slice_, models in by_slice.items():
            codes = sorted(
                np.unique(value[np.concatenate([*models.values()])]).tolist(), key=lambda at: in_order(values[at])
            )
            place, parts = np.zeros(len(values), np.int64), parts_of_slice(slice_)
            place[codes] = np.arange(len(codes))
            by_model = {}
            for model, own in models.items():
                known, measure = np.unique(name[own], return_inverse=True)
                cells, cell = np.unique(place[value[own]] * parts + part[own], return_inverse=True)
                sums = np.zeros((len(cells), len(known), len(columns)))
                for index, column in enumerate(columns):
                    sums[cell, measure, index] = rows[column].take(pa.array(own)).to_numpy()
                by_model[model] = NonzeroSums.of([str(names[place]) for place in known], parts, sums, cells)
            sliced[slice_] = SlicedSums(tuple(values[place] for place in codes), by_model)
        return cls(sliced)
