"""The state under every property of lists as a whole: how often each item is shown, and in how many groups relevant.

Its size is that of the catalogue: a row for every distinct item of the input, its text included.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sparkrank.kernels.order import Flags, Ints

SCHEMA = pa.schema([("item", pa.string()), ("shown", pa.int64()), ("relevant", pa.int64())])


@dataclass(frozen=True)
class ItemCounts:
    """A row of :data:`SCHEMA` for every item, ``shown`` in units of :data:`sparkrank.kernels.exposure.UNIT`.

    ``groups`` is the number of groups. Rows without an item are one item of their own.
    """

    table: pa.Table
    groups: int

    @classmethod
    def of(cls, items: pa.ChunkedArray, shown: Ints, relevant: Flags, groups: int) -> ItemCounts:
        """The items of rows, with what each row adds."""
        whole = pa.array(relevant.astype(np.int64))
        return cls(_summed(pa.table([items.cast(pa.string()), pa.array(shown), whole], schema=SCHEMA)), groups)

    def merge(self, *others: ItemCounts) -> ItemCounts:
        """The counts of all groups together; no group may be in two of them."""
        parts = (self, *others)
        return ItemCounts(_summed(pa.concat_tables([part.table for part in parts])), sum(part.groups for part in parts))

    def numbers(self, column: str) -> NDArray[np.int64]:
        """``shown`` or ``relevant`` of every item."""
        values: NDArray[np.int64] = self.table[column].to_numpy()
        return values


def _summed(rows: pa.Table) -> pa.Table:
    sums = rows.group_by("item", use_threads=False).aggregate([("shown", "sum"), ("relevant", "sum")])
    columns = [sums["item"], sums["shown_sum"], sums["relevant_sum"]]
    return pa.Table.from_arrays([column.combine_chunks() for column in columns], schema=SCHEMA)
