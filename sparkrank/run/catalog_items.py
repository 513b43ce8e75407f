"""The catalog (a table of items), read before the evaluation with only the columns in use.

Evaluations of buckets look up items in the catalog.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparkrank.base import checks
from sparkrank.base.checks import NO_LIMITS
from sparkrank.base.errors import InputError, MissingColumnError, NoInputError, SpecError, itemize, shorten
from sparkrank.bucket.bucket_rows import vectors
from sparkrank.bucket.impressions import ITEM, SINCE, TIME, one_array, slice_column, value_column
from sparkrank.bucket.item_columns import item_columns
from sparkrank.engines.request import CatalogRows, Request
from sparkrank.inputs.catalog_columns import CatalogPlan
from sparkrank.metrics.slices import ALL
from sparkrank.numeric.text_arrays import encoded_column
from sparkrank.ranking.value_columns import CATALOG, ValueColumn
from sparkrank.run.lane import open_lane
from sparkrank.sources.joined_types import fit
from sparkrank.states.item_table import HeldItems, ItemTable, repeated_items
from sparkrank.states.items import ItemCounts
from sparkrank.states.keys import StateKey

LEAST_ITEM_BYTES = 8  # an item is a 64-bit number, or a text with a 64-bit offset

if TYPE_CHECKING:
    from sparkrank.engines.lanes import Lane
    from sparkrank.metrics import Plan
    from sparkrank.states import Partials


def with_catalog(request: Request, lane: Lane) -> Request:
    """Return ``request`` with its catalog in the plan.

    Raise :class:`InputError` if the catalog has no rows, an item twice, items of another type than the lists, or more
    than ``most_bytes`` bytes, and :class:`SpecError` if the catalog lacks a column.
    """
    if request.catalog is None:
        return request
    table = _read(request.catalog, request)
    kind, other = lane.bucket_schema(request.plan).field(ITEM).type, table.items.type
    if not fit(kind, other):
        raise InputError(
            f"the item column is of type {shorten(kind)} in the lists and of type "
            f"{str(other).removeprefix('large_')} in the catalog "
            f'("{shorten(request.catalog.item)}"): one type is needed'
        )
    if SINCE in table.columns:
        _validate_since(lane.bucket_schema(request.plan).field(TIME).type, table.columns[SINCE].type, request.catalog)
    counts = {**request.counts, (checks.CATALOG_ITEMS, ""): len(table.items)}
    plan = replace(request.plan, items=(*request.plan.items, HeldItems(table)))
    return replace(request, plan=plan, counts=counts)


def _validate_since(kind: pa.DataType, other: pa.DataType, catalog: CatalogRows) -> None:
    if kind != other and pa.null() not in (kind, other):
        raise InputError(
            f"the time column is of type {shorten(kind)} in the lists and of type {shorten(other)} in the catalog "
            f'("{shorten(catalog.since)}"): one type is needed'
        )


def with_catalogue(partials: Partials, plan: Plan) -> Partials:
    """Return ``partials`` with counts of all items of the catalog (0 for items in no list).

    The attention due to values (by items of the catalog or by rows of the interactions) is added too.
    """
    tables = [items.table for items in plan.items] if plan.exposures else []
    keys = [StateKey(model, ALL, ALL, str(exposure)) for model in plan.models for exposure in plan.exposures]
    counted = [ItemCounts.of_catalogue(table.items, keys) for table in tables if table.name == CATALOG]
    for table, (exposure, against) in itertools.product((items.table for items in plan.items), plan.item_targets):
        name = value_column(plan.value_columns.index(ValueColumn(str(exposure.by), "category")))
        if name in table.columns:
            keys = [StateKey(model, ALL, ALL, exposure.of_target(against)) for model in plan.models]
            counted.append(ItemCounts.of_target(*table.counts(name, against), keys))
    return replace(partials, items=partials.items.merge(*counted))


def _read(catalog: CatalogRows, request: Request) -> ItemTable:
    plan = request.plan
    own = CatalogPlan.of_items(plan, catalog.item, catalog.since if CATALOG in plan.times else None)
    roles = own.roles
    names = [*map(slice_column, range(len(own.slices))), *map(value_column, range(len(own.columns)))]
    try:
        lane = open_lane(Request((catalog.rows,), None, roles, own, NO_LIMITS, spark=request.spark or request.session))
        lane.check(own)
    except MissingColumnError as error:
        raise SpecError(str(error)) from None
    side = catalog.rows
    if side.path is not None and side.format == "parquet" and side.where is None and not lane.takes_time_zone:
        _refuse_large(lane.rows() * LEAST_ITEM_BYTES, "at least ", request)  # by the footers, before the rows are read
    of_times = [] if own.since is None else [TIME]
    tables = lane.picked(own, None, partial(_columns_of_items, names=[ITEM, *names, *of_times]))
    if not tables:
        raise NoInputError("the catalog has no rows")
    rows = pa.concat_tables(tables, promote_options="permissive")
    items = one_array(rows[ITEM])
    if repeated := repeated_items(items):
        count = f"{len(repeated):,} items" if len(repeated) > 1 else "1 item"
        raise InputError(f'catalog names {count} twice, the first is "{shorten(repeated[0])}"')
    columns = {name: _held(rows[read]) for name, read in zip(item_columns(plan, CATALOG), names, strict=True)}
    columns |= {SINCE: one_array(rows[TIME])} if of_times else {}
    table = ItemTable.of(items, columns)
    _refuse_large(table.nbytes, "", request)
    return table


def _refuse_large(size: int, at_least: str, request: Request) -> None:
    """Raise :class:`InputError` if ``size``, in bytes, exceeds the limit of the catalog of ``request``."""
    assert request.catalog is not None  # noqa: S101 - it is what is large
    if size > (most := request.catalog.most_bytes):
        used = itemize(dict.fromkeys(request.plan.item_columns))
        raise InputError(
            f"the catalog takes {at_least}{_shown(size)} of items and the columns {used}, but catalog.most_bytes "
            f"allows {_shown(most)}: put these columns into the rows"
        )


def _shown(size: int) -> str:
    return f"{size / 2**20:,.1f} MiB" if size >= 2**20 else f"{size:,} bytes"


def _columns_of_items(rows: pa.Table, names: list[str]) -> pa.Table:
    return rows.select(names).filter(pc.is_valid(rows[ITEM]))


def _held(column: pa.ChunkedArray) -> pa.Array:
    """Return ``column`` as one array. Texts and arrays of numbers are encoded, because few of them are distinct."""
    if pa.types.is_list(column.type):
        return encoded_column(vectors(_of_one_length(column)))
    is_text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    return encoded_column(column) if is_text else one_array(column)


def _of_one_length(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return arrays of numbers. Arrays of unusual length are replaced by empty ones, which make rows bad.

    The usual length is the most frequent one; of two equally frequent lengths, the larger one.
    """
    lengths = pc.list_value_length(column)
    counts = np.bincount(lengths.drop_null().to_numpy())
    if np.count_nonzero(counts[1:]) < 2:
        return column
    usual = len(counts) - 1 - int(np.argmax(counts[:0:-1]))
    return pc.if_else(pc.equal(lengths, usual), column, pa.scalar([], column.type))
