"""Count the popularity of items in a pass of its own over the interactions, which reads groups and items alone."""

from __future__ import annotations

from sparkrank.base.checks import NO_LIMITS
from sparkrank.engines.request import Request
from sparkrank.inputs.buckets import bucket_count
from sparkrank.metrics import Plan
from sparkrank.metrics.needs import INTERACTIONS
from sparkrank.metrics.uncertainty import Uncertainty
from sparkrank.run.lane import open_lane
from sparkrank.states.popularity import Popularity, Tiers


def popularity_of(request: Request, tiers: Tiers) -> Popularity:
    """Return the popularity of the items in the interactions of ``request``, in any lane that reads them."""
    side, roles = request.past[INTERACTIONS], request.roles.past[INTERACTIONS]
    off = Uncertainty(off=True)
    plan = Plan(
        (), (), roles.group, group_table=False, item=roles.item, shows_items=True, uncertainty=off, counts_items=True
    )
    lane = open_lane(Request((side,), None, roles, plan, NO_LIMITS, request.lane, request.spark or request.session))
    lane.check(plan)
    solved = lane.evaluate(plan, request.buckets or bucket_count(lane.rows(), request.bucket_rows))
    try:
        return Popularity.of(solved.partials.items, tiers)
    finally:
        solved.release()
