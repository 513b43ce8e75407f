"""The state under every property of lists as a whole: how often each item is shown, and in how many groups relevant.

Its size is that of the catalogue: a row for every distinct item of the input, its text included.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sparkrank.numeric.overflow import refuse_overflow_by_key
from sparkrank.numeric.segments import WHOLE, Segments
from sparkrank.numeric.types import Flags, Ints
from sparkrank.states.keys import SliceKey, StateKey, rows_by_key
from sparkrank.tables.schemas import ITEMS as TABLE

KEY = ("model", "slice", "slice_value", "exposure", "item")
ITEMS = TABLE.schema
AMOUNTS = ("shown", "relevant")
UNIT = 2**32  # what a row that is shown counts: of tied rows that a cut-off parts, each counts a share


def rows_shown(exposure: Ints) -> float:
    """How many rows all of ``exposure`` are: 2^31 of them are more units than 64 bits hold."""
    whole, part = (int(units.sum()) for units in np.divmod(exposure, UNIT))
    return (whole * UNIT + part) / UNIT


@dataclass(frozen=True)
class ItemCounts:
    """A row of :data:`ITEMS` for every item, ``shown`` in units of :data:`UNIT`.

    ``exposure`` says what is counted. Rows of the input without an item are not counted.
    """

    table: pa.Table

    @classmethod
    @functools.cache  # Arrow takes 0.15 ms to make the table, and every bucket has one
    def empty(cls) -> ItemCounts:
        return cls(ITEMS.empty_table())

    @classmethod
    def of(
        cls, key: SliceKey, items: pa.ChunkedArray, shown: Ints, relevant: Flags, segments: Segments = WHOLE
    ) -> ItemCounts:
        """The items of the rows of each value of the key's slice (``segments``), with what each row adds.

        Of the rows of an item in a group one at most is ``relevant``.
        """
        columns = {"item": items.cast(pa.string()), "shown": shown, "relevant": relevant.astype(np.int64)}
        by = ["item"]
        if segments.code is not None:
            columns["value"] = segments.code
            by.append("value")
        rows = pa.table(columns)
        sums = rows.filter(pc.is_valid(rows["item"])).group_by(by, use_threads=False)
        summed = sums.aggregate([(name, "sum") for name in AMOUNTS])
        values = pa.array(key.values, pa.string())
        own = pa.repeat(values[0], summed.num_rows) if segments.code is None else values.take(summed["value"])
        model, of, name = (
            pa.repeat(pa.scalar(text, pa.string()), summed.num_rows) for text in (key.model, key.slice, key.name)
        )
        return cls(
            pa.table([model, of, own, name, summed["item"], *(summed[f"{each}_sum"] for each in AMOUNTS)], schema=ITEMS)
        )

    @classmethod
    def all_of(cls, parts: Sequence[ItemCounts]) -> ItemCounts:
        """The counts of several parts of a bucket together."""
        return parts[0].merge(*parts[1:]) if parts else cls.empty()

    def merge(self, *others: ItemCounts) -> ItemCounts:
        """The counts of all groups together; no group may be in two of them.

        Raises :class:`sparkrank.errors.StateError` where an item is shown so often that 64 bits do not hold it.
        """
        tables = [part.table for part in (self, *others)]
        refuse_overflow_by_key(tables, KEY, "shown", "the times that an item is shown")
        rows = pa.concat_tables(tables)
        summed = rows.group_by(list(KEY), use_threads=False).aggregate([(name, "sum") for name in AMOUNTS])
        columns = [*(summed[name] for name in KEY), *(summed[f"{name}_sum"] for name in AMOUNTS)]
        return ItemCounts(pa.table([column.combine_chunks() for column in columns], schema=ITEMS))

    def sizes(self) -> list[tuple[StateKey, int]]:
        """How many items each of the first columns of the key has."""
        series = list(KEY[:-1])
        counted = self.table.group_by(series, use_threads=False).aggregate([([], "count_all")]).to_pylist()
        return [(StateKey(*(row[name] for name in series)), row["count_all"]) for row in counted]

    def amounts(self, key: StateKey) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(shown, relevant) of every item under the first columns of the key."""
        places = self._places.get(key, np.zeros(0, np.int64))
        shown, relevant = self._amounts
        return shown[places], relevant[places]

    @cached_property
    def _places(self) -> dict[tuple[str | None, ...], Ints]:
        return dict(rows_by_key(self.table, KEY[:-1]))

    @cached_property
    def _amounts(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        return self.table["shown"].to_numpy(), self.table["relevant"].to_numpy()


def items_table(items: ItemCounts) -> pa.Table:
    """The counts in the order of their key."""
    return items.table.sort_by([(name, "ascending") for name in KEY])
