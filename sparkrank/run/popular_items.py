"""The popularity of items, from a separate pass over the interactions that reads only groups and items.

Stored days may replace the interactions: their states contain counts of the items of relevant rows.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from sparkrank.base import checks
from sparkrank.base.checks import NO_LIMITS
from sparkrank.base.errors import InputError, shorten
from sparkrank.bucket.impressions import ITEM, SINCE, one_array, slice_column, value_column
from sparkrank.bucket.item_columns import item_columns
from sparkrank.engines.request import Request
from sparkrank.inputs.buckets import bucket_count
from sparkrank.inputs.popularity_days import PopularityDays
from sparkrank.metrics import Plan
from sparkrank.metrics.needs import INTERACTIONS
from sparkrank.metrics.uncertainty import Uncertainty
from sparkrank.ranking.value_columns import FIRST_TIMES, POPULARITY
from sparkrank.run.lane import open_lane
from sparkrank.sources.joined_types import fit
from sparkrank.states import Partials
from sparkrank.states.item_table import TARGET_ROWS, HeldItems, ItemTable
from sparkrank.states.items import UNIT
from sparkrank.states.popularity import Popularity
from sparkrank.tables.rows.refusals import validate_past
from sparkrank.tables.stored.stored_popularity import stored_popularity

if TYPE_CHECKING:
    from sparkrank.engines.lanes import Lane


def with_popularity(request: Request, lane: Lane) -> Request:
    """Return ``request`` with the popularity and the first times of items in the plan, if a metric or slice reads them.

    Raise :class:`InputError` if the interactions have no rows (unless they are optional), or items of another type than
    the lists. If stored days replace the interactions, raise the errors of :func:`stored_popularity`.
    """
    plan = request.plan
    if not (plan.reads_popularity or plan.counts_first_times):
        return request
    kind = lane.bucket_schema(plan).field(ITEM).type
    if request.popularity is not None:
        partials, is_optional = _of_stored_days(request.popularity, request), request.popularity.optional
    else:
        side = request.past.get(INTERACTIONS)
        partials = Partials() if side is None else popularity_states_of(request, kind)
        is_optional = side is None or side.optional
    validate_past([] if is_optional else [INTERACTIONS], partials)
    tables = []
    if plan.reads_popularity:
        tables.append(_popularity_table(partials, request, kind))
    if (first := partials.first_times.table) is not None:
        tables.append(ItemTable.of(one_array(first["item"]), {SINCE: one_array(first["time"])}, FIRST_TIMES))
    plan = replace(plan, items=(*plan.items, *map(HeldItems, tables)))
    return replace(request, plan=plan, counts={**request.counts, **partials.counts})


def _popularity_table(partials: Partials, request: Request, kind: pa.DataType) -> ItemTable:
    """Return the columns of popularity that the plan reads, for each item of the interactions."""
    plan = request.plan
    popularity = Popularity.of(partials.items, partials.counts.get((checks.PAST_GROUPS, ""), 0), plan.tiers)
    columns, types, read = popularity.columns(), _types(plan), item_columns(plan, POPULARITY)
    values = {name: columns[column].cast(types[name]) for name, column in read.items()}
    of_column = popularity.totals(request.counts.get((checks.CATALOG_ITEMS, ""), 0))
    if plan.reads_target_rows:
        values[TARGET_ROWS] = popularity.rows
    totals = {name: of_column[column] for name, column in read.items() if column in of_column}
    return ItemTable.of(_as_listed(popularity.items, kind), values, POPULARITY, totals)


def popularity_states_of(request: Request, kind: pa.DataType) -> Partials:
    """Return the counts of the items in the interactions of ``request``, in any lane that reads them.

    Raise :class:`InputError` if the items cannot be equal to items of ``kind``, the type of the lists' items.
    """
    side, roles = request.past[INTERACTIONS], request.roles.past[INTERACTIONS]
    off = Uncertainty(off=True)
    plan = Plan(
        (),
        (),
        roles.group,
        group_table=False,
        item=roles.item,
        shows_items=True,
        uncertainty=off,
        counts_items=True,
        times=(INTERACTIONS,) if request.plan.counts_first_times else (),
    )
    lane = open_lane(Request((side,), None, roles, plan, NO_LIMITS, request.lane, request.spark or request.session))
    lane.check(plan)
    if not fit(kind, other := lane.bucket_schema(plan).field(ITEM).type):
        raise InputError(
            f"the item column is of type {shorten(kind)} in the lists and of type {shorten(other)} in the "
            f'interactions ("{shorten(roles.item)}"): one type is needed'
        )
    solved = lane.evaluate(plan, request.buckets or bucket_count(lane.rows(), request.bucket_rows))
    try:
        counted = solved.partials
        return Partials(items=counted.items, counts=counted.counts, first_times=counted.first_times)
    finally:
        solved.release()


def _of_stored_days(days: PopularityDays, request: Request) -> Partials:
    """Return the counts of items of stored days, their number of rows, and the number of days without counts."""
    items, missing = stored_popularity(days, request.spark or request.session)
    counts = {
        (checks.PAST_ROWS[INTERACTIONS], ""): int((items.coded.shown // UNIT).sum()),
        (checks.DAYS_WITHOUT_POPULARITY, ""): len(missing),
    }
    return Partials(items=items, counts=counts)


def _types(plan: Plan) -> dict[str, pa.DataType]:
    """Return the type of each bucket column of popularity: a number if it is read as a number, otherwise text."""
    numbers = {slice_column(index) for index, source in enumerate(plan.slice_sources) if source.is_number}
    numbers |= {value_column(index) for index, value in enumerate(plan.value_columns) if value.kind == "number"}
    return {name: pa.float64() if name in numbers else pa.string() for name in item_columns(plan, POPULARITY)}


def _as_listed(items: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return ``items``, stored as texts, converted to numbers if the lists' items (of type ``kind``) are numbers."""
    numbers = kind if pa.types.is_floating(kind) else pa.int64() if pa.types.is_integer(kind) else None
    if numbers is None:
        return items
    try:
        return items.cast(numbers)
    except pa.ArrowInvalid:  # rows are checked by their type, but a stored day has only texts
        raise InputError(
            f"the item column is of type {shorten(kind)} in the lists, and the stored days of the interactions have "
            f"items that are no numbers: days of items of this type are needed"
        ) from None
