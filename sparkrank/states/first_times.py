"""The mergeable state of the first time at which any group had an item."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa

from sparkrank.states.item_table import plain_items


@dataclass(frozen=True, eq=False)
class FirstTimes:
    """The first time of each item: ``table`` has the columns ``item`` and ``time``; None without items."""

    table: pa.Table | None = None

    @classmethod
    def of(cls, items: pa.ChunkedArray, times: pa.ChunkedArray) -> FirstTimes:
        """Return the first of the ``times`` of each of ``items``. A null counts only if the item lacks other times."""
        return cls(_first(pa.table({"item": plain_items(items), "time": times})))

    @classmethod
    def merged(cls, parts: Iterable[FirstTimes]) -> FirstTimes:
        tables = [part.table for part in parts if part.table is not None]
        return cls(_first(pa.concat_tables(tables, promote_options="permissive"))) if tables else cls()


def _first(rows: pa.Table) -> pa.Table:
    return rows.group_by("item", use_threads=False).aggregate([("time", "min")]).rename_columns(["item", "time"])
