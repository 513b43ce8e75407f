"""The columns of a bucket that are looked up by item, in tables that the plan takes to every worker."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa

from sparkrank.base import checks
from sparkrank.bucket.bucket_rows import BucketRows
from sparkrank.bucket.encoding import encode
from sparkrank.bucket.impressions import ITEM, slice_column, value_column
from sparkrank.metrics import Plan
from sparkrank.ranking.value_columns import CATALOG


def item_columns(plan: Plan) -> dict[str, str]:
    """Return the names of the bucket columns that are looked up by item, with the column that each is."""
    slices = {slice_column(index): source.column for index, source in enumerate(plan.slice_sources)}
    values = {value_column(index): value.name for index, value in enumerate(plan.value_columns)}
    return {name: column for name, column in (slices | values).items() if column in plan.item_columns}


def with_items(rows: BucketRows, plan: Plan, counts: Counter[tuple[str, str]]) -> BucketRows:
    """Return ``rows`` with the columns of their items, null where a table lacks the item. Counts such rows of lists."""
    if not plan.items:
        return rows
    codes, distinct = encode(rows.table[ITEM])
    table = rows.table
    for items in plan.items:
        place = items.table.find(distinct)[codes]
        if items.table.name == CATALOG:
            lists = ~rows.truth if (named := rows.valid(ITEM)) is None else ~rows.truth & named
            counts[checks.LACKING_ITEMS, ""] += int(np.count_nonzero((place < 0) & lists))
        index = pa.array(place, mask=place < 0)
        for name, values in items.table.columns.items():
            table = table.append_column(name, values.take(index))
    return BucketRows(table)
