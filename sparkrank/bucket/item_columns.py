"""The columns of a bucket that are looked up by item in tables of items. The plan contains these tables."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparkrank.base import checks
from sparkrank.bucket.bucket_rows import BucketRows
from sparkrank.bucket.impressions import ITEM, one_array, slice_column, value_column
from sparkrank.metrics import Plan
from sparkrank.ranking.value_columns import POPULARITY, POPULARITY_COLUMNS
from sparkrank.states.item_table import TARGET_ROWS


def item_columns(plan: Plan, table: str | None = None) -> dict[str, str]:
    """Return the bucket columns that are looked up in ``table`` (None: in any table), with their names in the table."""
    slices = {slice_column(index): source.column for index, source in enumerate(plan.slice_sources)}
    values = {value_column(index): value.name for index, value in enumerate(plan.value_columns)}
    of_items = {name: column for name, column in (slices | values).items() if column in plan.item_columns}
    return {name: column for name, column in of_items.items() if table in (None, plan.table_of(column))}


def with_items(rows: BucketRows, plan: Plan, counts: Counter[tuple[str, str]]) -> BucketRows:
    """Return ``rows`` with the columns of their items. Add the number of list rows without an entry to ``counts``.

    An item that the catalog lacks gets nulls. An item that the interactions lack gets the popularity of a new item.
    """
    if not plan.items:
        return rows
    codes, distinct = rows.items()
    taken, is_item = {}, one_array(pc.is_valid(rows.table[ITEM]))
    for items in plan.items:
        place_of_item = items.table.find(distinct)
        place, some_lack = place_of_item[codes], bool((place_of_item < 0).any())
        if (lacking := checks.LACKING_ITEMS.get(items.table.name)) is not None:
            lists = ~rows.truth if (named := rows.valid(ITEM)) is None else ~rows.truth & named
            counts[lacking, ""] += int(np.count_nonzero((place < 0) & lists)) if some_lack else 0
        index, columns = pa.array(place, mask=place < 0 if some_lack else None), item_columns(plan)
        for name, values in items.table.columns.items():
            if name == TARGET_ROWS:  # only shares are taken of it
                continue
            taken[name] = values.take(index)
            if items.table.name == POPULARITY:
                nobody = pa.scalar(POPULARITY_COLUMNS[columns[name]]).cast(values.type)
                taken[name] = pc.if_else(pc.and_(pc.is_null(taken[name]), is_item), nobody, taken[name])
    return rows.appended(taken)
