"""The mergeable state of catalogue metrics: how often each item is shown, and in how many groups it is relevant.

Its size is that of the catalogue: one row for every distinct item of the input, including the item's text.
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

from sparkrank.numeric.array_types import Flags, Ints
from sparkrank.numeric.overflow import validate_no_overflow_by_key
from sparkrank.numeric.segments import WHOLE, Segments
from sparkrank.states.keys import SliceKey, StateKey, rows_by_key
from sparkrank.tables.schemas import ITEMS as TABLE

ITEM_KEY = ("model", "slice", "slice_value", "exposure", "item")
ITEM_SCHEMA = TABLE.schema
ITEM_AMOUNTS = ("shown", "relevant")
UNIT = 2**32  # the count of a row that is shown; where a cut-off divides tied rows, each counts a share of it


def rows_shown(exposure: Ints) -> float:
    """The number of rows that ``exposure`` counts. The units of 2^31 rows do not fit 64 bits."""
    whole, part = (int(units.sum()) for units in np.divmod(exposure, UNIT))
    return (whole * UNIT + part) / UNIT


@dataclass(frozen=True)
class ItemCounts:
    """A row of :data:`ITEM_SCHEMA` for every item, with ``shown`` in units of :data:`UNIT`.

    ``exposure`` names what is counted. Rows of the input without an item are not counted.
    """

    table: pa.Table

    @classmethod
    @functools.cache  # Arrow takes 0.15 ms to make the table, and every bucket needs it
    def empty(cls) -> ItemCounts:
        return cls(ITEM_SCHEMA.empty_table())

    @classmethod
    def of(
        cls, key: SliceKey, items: pa.ChunkedArray, shown: Ints, relevant: Flags, segments: Segments = WHOLE
    ) -> ItemCounts:
        """The items of rows with the amounts ``shown`` and ``relevant`` (n each), for each value of the key's slice.

        ``segments`` assigns the rows to the values of the slice. At most one row of an item in a group is ``relevant``.
        """
        columns = {"item": items.cast(pa.string()), "shown": shown, "relevant": relevant.astype(np.int64)}
        by = ["item"]
        if segments.code is not None:
            columns["value"] = segments.code
            by.append("value")
        rows = pa.table(columns)
        sums = rows.filter(pc.is_valid(rows["item"])).group_by(by, use_threads=False)
        summed = sums.aggregate([(name, "sum") for name in ITEM_AMOUNTS])
        values = pa.array(key.values, pa.string())
        own = pa.repeat(values[0], summed.num_rows) if segments.code is None else values.take(summed["value"])
        model, of, name = (
            pa.repeat(pa.scalar(text, pa.string()), summed.num_rows) for text in (key.model, key.slice, key.name)
        )
        return cls(
            pa.table(
                [model, of, own, name, summed["item"], *(summed[f"{each}_sum"] for each in ITEM_AMOUNTS)],
                schema=ITEM_SCHEMA,
            )
        )

    @classmethod
    def all_of(cls, parts: Sequence[ItemCounts]) -> ItemCounts:
        """The merged counts of ``parts``, or empty counts without any."""
        return parts[0].merge(*parts[1:]) if parts else cls.empty()

    def merge(self, *others: ItemCounts) -> ItemCounts:
        """The counts of all groups together. No group may be in two of the parts.

        Raises :class:`sparkrank.errors.StateError` where the count of an item does not fit 64 bits.
        """
        tables = [part.table for part in (self, *others) if part.table.num_rows]
        if not tables:  # old versions of Arrow take 0.9 GB to group nothing
            return self
        validate_no_overflow_by_key(tables, ITEM_KEY, "shown", "the times that an item is shown")
        rows = pa.concat_tables(tables)
        summed = rows.group_by(list(ITEM_KEY), use_threads=False).aggregate([(name, "sum") for name in ITEM_AMOUNTS])
        columns = [*(summed[name] for name in ITEM_KEY), *(summed[f"{name}_sum"] for name in ITEM_AMOUNTS)]
        return ItemCounts(pa.table([column.combine_chunks() for column in columns], schema=ITEM_SCHEMA))

    def sizes(self) -> list[tuple[StateKey, int]]:
        """The number of items of each (model, slice, slice value, exposure)."""
        series = list(ITEM_KEY[:-1])
        counted = self.table.group_by(series, use_threads=False).aggregate([([], "count_all")]).to_pylist()
        return [(StateKey(*(row[name] for name in series)), row["count_all"]) for row in counted]

    def amounts(self, key: StateKey) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The amounts (shown, relevant) of every item of a (model, slice, slice value, exposure)."""
        places = self._places.get(key, np.zeros(0, np.int64))
        shown, relevant = self._amounts
        return shown[places], relevant[places]

    @cached_property
    def _places(self) -> dict[tuple[str | None, ...], Ints]:
        return dict(rows_by_key(self.table, ITEM_KEY[:-1]))

    @cached_property
    def _amounts(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        return self.table["shown"].to_numpy(), self.table["relevant"].to_numpy()


def items_table(items: ItemCounts) -> pa.Table:
    """The counts as a table, sorted by key."""
    return items.table.sort_by([(name, "ascending") for name in ITEM_KEY])
