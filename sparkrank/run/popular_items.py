"""Count the popularity of items in a pass of its own over the interactions, which reads groups and items alone."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from sparkrank.base.checks import NO_LIMITS
from sparkrank.base.errors import InputError, shorten
from sparkrank.bucket.impressions import ITEM, slice_column, value_column
from sparkrank.bucket.item_columns import item_columns
from sparkrank.engines.request import Request
from sparkrank.inputs.buckets import bucket_count
from sparkrank.metrics import Plan
from sparkrank.metrics.needs import INTERACTIONS
from sparkrank.metrics.uncertainty import Uncertainty
from sparkrank.ranking.value_columns import POPULARITY
from sparkrank.run.lane import open_lane
from sparkrank.sources.joined_types import fit
from sparkrank.states import Partials
from sparkrank.states.item_table import TARGET_ROWS, HeldItems, ItemTable
from sparkrank.states.popularity import Popularity
from sparkrank.tables.rows.refusals import validate_past

if TYPE_CHECKING:
    from sparkrank.engines.lanes import Lane


def with_popularity(request: Request, lane: Lane) -> Request:
    """Return ``request`` with the popularity of items in the plan.

    Raise :class:`InputError` if the interactions have no rows, unless they are optional, or items of another type than
    the lists.
    """
    plan = request.plan
    if not plan.reads_popularity:
        return request
    kind = lane.bucket_schema(plan).field(ITEM).type
    side = request.past.get(INTERACTIONS)
    partials = Partials() if side is None else popularity_states_of(request, kind)
    validate_past([] if side is None or side.optional else [INTERACTIONS], partials)
    popularity = Popularity.of(partials.items, plan.tiers)
    columns, types = popularity.columns(), _types(plan)
    values = {name: columns[column].cast(types[name]) for name, column in item_columns(plan, POPULARITY).items()}
    if plan.reads_target_rows:
        values[TARGET_ROWS] = popularity.rows
    table = ItemTable.of(_as_listed(popularity.items, kind), values, POPULARITY)
    plan = replace(plan, items=(*plan.items, HeldItems(table)))
    return replace(request, plan=plan, counts={**request.counts, **partials.counts})


def popularity_states_of(request: Request, kind: pa.DataType) -> Partials:
    """Return the counts of the items in the interactions of ``request``, in any lane that reads them.

    Raise :class:`InputError` if the items cannot be equal to items of the type ``kind``, that of the lists.
    """
    side, roles = request.past[INTERACTIONS], request.roles.past[INTERACTIONS]
    off = Uncertainty(off=True)
    plan = Plan(
        (), (), roles.group, group_table=False, item=roles.item, shows_items=True, uncertainty=off, counts_items=True
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
        return replace(Partials(), items=solved.partials.items, counts=solved.partials.counts)
    finally:
        solved.release()


def _types(plan: Plan) -> dict[str, pa.DataType]:
    """Return the type of each bucket column of popularity: numbers where they are read as such, and else texts."""
    numbers = {slice_column(index) for index, source in enumerate(plan.slice_sources) if source.is_number}
    numbers |= {value_column(index) for index, value in enumerate(plan.value_columns) if value.kind == "number"}
    return {name: pa.float64() if name in numbers else pa.string() for name in item_columns(plan, POPULARITY)}


def _as_listed(items: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return ``items``, which states may hold as texts, as numbers if the items of lists (of type ``kind``) are."""
    if pa.types.is_floating(kind):
        return items.cast(kind)
    return items.cast(pa.int64()) if pa.types.is_integer(kind) else items
