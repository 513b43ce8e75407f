"""The reasons why a plan needs the roles item and label. The message about a missing role begins with its reason."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sparkrank.metrics.fairness import AGAINST, RELEVANT
from sparkrank.metrics.rank_comparison import REF
from sparkrank.metrics.slices import is_of_relevant, slice_name
from sparkrank.metrics.unjudged import assumption_of
from sparkrank.ranking.judgments import LABEL

if TYPE_CHECKING:
    from sparkrank.metrics.plan import Plan


def item_reason(plan: Plan) -> str | None:
    """Return the reason why ``plan`` needs the item column, or None if no metric or setting needs it."""
    return next(_uses_of_item(plan), None)


def _uses_of_item(plan: Plan) -> Iterator[str]:
    """Yield the reasons why the item column is needed, each as the beginning of a message."""
    if plan.definitions.ties == "item":
        yield "ties=item orders tied rows by item"
    yield from (f"ties=item of {metric} orders tied rows by item" for metric in plan.metrics if metric.ties == "item")
    if plan.joins or plan.past:
        yield f"{'lists and truth' if plan.joins else 'rows and what was before'} are joined by item"
    if plan.long and plan.models:
        yield "rows of several models are joined by item"
    if plan.definitions.duplicates != "keep":
        yield "duplicates are found by item"
    yield from (f"{what} looks up {column} by item" for column, what in plan.item_columns.items())
    yield from ["times are compared by item"] if plan.times else []
    if plan.stores_popularity:
        yield "popularity counts items"
    yield from (f"{metric.with_ties(None)} counts items" for metric, _ in plan.catalogue_metrics)


def label_reason(plan: Plan) -> str | None:
    """Return the reason why ``plan`` needs labels, or None if no metric or setting needs labels."""
    if plan.definitions.unjudged == "drop":
        return "unjudged=drop drops rows without a label"
    if plan.definitions.population in ("truth", "both"):
        return f"population={plan.definitions.population} chooses groups with labels"
    for columns in filter(is_of_relevant, plan.slices):
        return f"the slice {slice_name(columns)} reads labels"
    if plan.stores_popularity or plan.position_depth:
        counting = "popularity counts" if plan.stores_popularity else "the table positions counts"
        return f"{counting} rows with a label above 0"
    for metric in (metric.bare for metric in plan.metrics):
        defaults = metric.declaration.defaults
        other_order = REF.name in defaults and metric.word(REF.name) != LABEL and "rel" not in defaults
        other_target = AGAINST.name in defaults and metric.word(AGAINST.name) != RELEVANT
        reads_labels = metric.declaration.reads_labels and not other_order and not other_target
        if reads_labels or assumption_of(metric) is not None:
            return f"{metric} reads labels"
    return None
