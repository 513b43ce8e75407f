"""The sums of every part of the groups, from which standard errors are resampled.

A part is one of 64 fixed sets of groups, by the hash of the group key (:mod:`sparkrank.numeric.key_hashes`): the same
user is in the same part on every day. Values of slices have 16 parts, four of the 64 in each.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from sparkrank.numeric.array_types import Flags, Floats, Ints
from sparkrank.numeric.exact_sums import LIMBS, carried
from sparkrank.numeric.key_hashes import PARTS
from sparkrank.states.keys import StateKey, Subject, encoded_texts, in_order

WHOLE_DAY = "all"  # the slice that holds the whole day
PARTS_OF_SLICE = 16


def parts_of_slice(name: str) -> int:
    """The number of parts of each value of the slice ``name``."""
    return PARTS if name == WHOLE_DAY else PARTS_OF_SLICE


class Measure(NamedTuple):
    """What is added up: the model, and the ``name`` of the metric of groups or of the sum over rows."""

    model: str
    name: str


@dataclass(frozen=True)
class PartSums:
    """Numbers that add up, by slice: the values of the slice (v), and an array (v, measures, parts, columns).

    The ``measures`` are the same in all buckets of a run. The columns are counts, fewer than six, and then the limbs of
    sums. A part without groups has zeros.
    """

    measures: tuple[Measure, ...] = ()
    by_slice: Mapping[str, tuple[tuple[str | None, ...], Floats]] = field(default_factory=dict)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled without the parts of values, and the columns, that have zeros: a bucket has few parts of a slice."""
        packed = {}
        for name, (values, sums) in self.by_slice.items():
            value, part = np.nonzero(np.any(sums, axis=-1).any(axis=1))
            found = sums[value, :, part]
            used = np.flatnonzero(found.any(axis=(0, 1)))
            packed[name] = values, sums.shape, value, part, used, found[..., used]
        return _unpacked, (self.measures, packed)

    @property
    def nbytes(self) -> int:
        """The bytes of the arrays."""
        return sum(sums.nbytes for _, sums in self.by_slice.values())

    def merge(self, others: Iterable[PartSums]) -> PartSums:
        """The sums over all of them, which is exact because the numbers are limbs and counts.

        Limbs are carried to one form: the same groups have the same bits, in however many buckets they were.
        """
        filled = [each for each in (self, *others) if each.by_slice]
        if not filled:
            return self
        measures = _all_of(each.measures for each in filled)
        filled = [each.with_measures(measures) for each in filled]
        names = dict.fromkeys(name for each in filled for name in each.by_slice)
        return PartSums(
            measures,
            {name: _added([each.by_slice[name] for each in filled if name in each.by_slice]) for name in names},
        )

    def with_measures(self, measures: Sequence[Measure]) -> PartSums:
        """The same sums under ``measures``, with zeros for those that are not among its own."""
        if tuple(measures) == self.measures:
            return self
        places = {measure: place for place, measure in enumerate(self.measures)}
        there = [(new, places[measure]) for new, measure in enumerate(measures) if measure in places]
        found = {}
        for name, (values, sums) in self.by_slice.items():
            wide = np.zeros((len(values), len(measures), *sums.shape[2:]))
            wide[:, [new for new, _ in there]] = sums[:, [old for _, old in there]]
            found[name] = values, wide
        return PartSums(tuple(measures), found)

    def in_parts(self, part_of: Mapping[str, Ints]) -> PartSums:
        """The same in fewer parts: ``part_of`` has the new part of each, by slice."""
        found = {}
        for name, (values, sums) in self.by_slice.items():
            new = part_of[name]
            added = np.zeros((*sums.shape[:2], int(new.max()) + 1, sums.shape[3]))
            for part in range(added.shape[2]):
                added[:, :, part] = sums[:, :, new == part].sum(axis=2)
            found[name] = values, _carried(added)
        return PartSums(self.measures, found)

    def of(self, subject: Subject, name: object) -> Floats | None:
        """The numbers of each part (parts, columns) of ``name``; None where the subject has none."""
        place = self._places().get(Measure(subject.model, str(name)))
        found = self.by_slice.get(subject.slice)
        if place is None or found is None or subject.slice_value not in found[0]:
            return None
        of_value: Floats = found[1][found[0].index(subject.slice_value), place]
        return of_value

    def _places(self) -> dict[Measure, int]:
        return {measure: place for place, measure in enumerate(self.measures)}

    def rows(self, numbers: pa.Schema) -> pa.Table:
        """A row with the ``numbers`` of every measure for every value and part that has any, and for each value."""
        schema = pa.schema([*((name, pa.string()) for name in StateKey._fields), ("part", pa.int64()), *numbers])
        tables = [schema.empty_table()]
        for name, (values, sums) in sorted(self.by_slice.items()):
            filled: Flags = np.any(sums, axis=-1).any(axis=1)
            filled[~filled.any(axis=1), 0] = True  # a value of undefined metrics alone has states all the same
            value, part = np.nonzero(filled)
            count = len(self.measures)
            measure = np.tile(np.arange(count), len(value))
            value, part = np.repeat(value, count), np.repeat(part, count)
            found = sums[value, measure, part]
            models, names = (pa.array([each[place] for each in self.measures], pa.string()) for place in (0, 1))
            columns = [
                models.take(pa.array(measure)),
                pa.repeat(pa.scalar(name, pa.string()), len(value)),
                pa.array(values, pa.string()).take(pa.array(value)),
                names.take(pa.array(measure)),
                pa.array(part, pa.int64()),
                *(pa.array(each).cast(of.type) for each, of in zip(found.T.copy(), numbers, strict=True)),
            ]
            tables.append(pa.Table.from_arrays(columns, schema=schema))
        return pa.concat_tables(tables)

    @classmethod
    def of_rows(cls, rows: pa.Table, columns: Sequence[str]) -> PartSums:
        """The sums whose :meth:`rows` with the numbers ``columns`` these are, in any order."""
        (models, model), (slices, slice_), (values, value), (names, name) = (
            encoded_texts(rows[column]) for column in StateKey._fields
        )
        pairs, measure = np.unique(model * len(names) + name, return_inverse=True)
        measures = tuple(Measure(str(models[each // len(names)]), str(names[each % len(names)])) for each in pairs)
        numbers = np.column_stack([rows[name].to_numpy().astype(np.float64) for name in columns])
        part = rows["part"].to_numpy()
        by_slice = {}
        for code in np.unique(slice_):
            of, own = str(slices[code]), np.flatnonzero(slice_ == code)
            codes = sorted(np.unique(value[own]).tolist(), key=lambda each: in_order(values[each]))
            at = np.zeros(len(values), np.int64)
            at[codes] = np.arange(len(codes))
            sums = np.zeros((len(codes), len(measures), parts_of_slice(of), len(columns)))
            sums[at[value[own]], measure.reshape(-1)[own], part[own]] = numbers[own]
            by_slice[of] = tuple(values[each] for each in codes), sums
        return cls(measures, by_slice)


def _unpacked(measures: tuple[Measure, ...], packed: Mapping[str, Any]) -> PartSums:
    by_slice = {}
    for name, (values, shape, value, part, used, found) in packed.items():
        sums = np.zeros(shape)
        filled = np.zeros((len(value), shape[1], shape[3]))
        filled[..., used] = found
        sums[value, :, part] = filled
        by_slice[name] = values, sums
    return PartSums(measures, by_slice)


def _all_of(measures: Iterable[tuple[Measure, ...]]) -> tuple[Measure, ...]:
    """Every measure once; those of the first in their order, as all others have them in most merges."""
    return tuple(dict.fromkeys(each for of in measures for each in of))


def _added(parts: Sequence[tuple[tuple[str | None, ...], Floats]]) -> tuple[tuple[str | None, ...], Floats]:
    """The sums of all ``parts``, by value, the values in the order of their texts."""
    first = parts[0][0]
    if all(values == first for values, _ in parts):
        together = parts[0][1] + 0.0
        for _, sums in parts[1:]:  # one after the other: an array of them all would be as large as they are
            together += sums
        return first, _carried(together)
    every = tuple(sorted({value for values, _ in parts for value in values}, key=in_order))
    at = {value: place for place, value in enumerate(every)}
    added = np.zeros((len(every), *parts[0][1].shape[1:]))
    for values, sums in parts:
        added[[at[value] for value in values]] += sums
    return every, _carried(added)


def _carried(sums: Floats) -> Floats:
    """``sums`` whose limbs are in the one form of :func:`carried`."""
    added, counts = divmod(sums.shape[-1], LIMBS)
    limbs = sums[..., counts:]
    sums[..., counts:] = carried(limbs.reshape(*sums.shape[:-1], added, LIMBS)).reshape(limbs.shape)
    return sums
