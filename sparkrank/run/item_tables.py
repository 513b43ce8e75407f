"""The tables of items, read before the evaluation and sent to the workers, which look items up in them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from sparkrank.bucket.item_columns import item_columns
from sparkrank.engines.request import Request
from sparkrank.ranking.value_columns import CATALOG, POPULARITY
from sparkrank.run.catalog_items import with_catalog
from sparkrank.run.popular_items import with_popularity
from sparkrank.states.item_table import TARGET_ROWS, ItemTable

if TYPE_CHECKING:
    from sparkrank.engines.lanes import Lane


def with_item_tables(request: Request, lane: Lane) -> Request:
    """Return ``request`` with the catalog and the popularity of items in the plan. ``lane`` sends them to workers once.

    If a metric compares with the rows of the interactions, the catalog also contains their number for each item.
    """
    request = with_popularity(with_catalog(request, lane), lane)
    plan = request.plan
    tables = {items.table.name: items.table for items in plan.items}
    if plan.reads_target_rows and CATALOG in tables:
        tables[CATALOG] = _with_rows(tables[CATALOG], tables[POPULARITY])
    if not item_columns(plan, POPULARITY):
        tables.pop(POPULARITY, None)
    return replace(request, plan=replace(plan, items=tuple(map(lane.shared, tables.values()))))


def _with_rows(catalog: ItemTable, popularity: ItemTable) -> ItemTable:
    """Return ``catalog`` with the number of rows of each item in the interactions."""
    counts = np.append(popularity.columns[TARGET_ROWS].to_numpy(), 0)  # the last number is for items that no group had
    return replace(catalog, columns={**catalog.columns, TARGET_ROWS: pa.array(counts[popularity.find(catalog.items)])})
