"""What the parts of a plan rule out together, though each may be asked for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sparkrank.errors import MetricError, SpecError, did_you_mean, listed, shortened
from sparkrank.metrics.common import NEED_AN_ORDER
from sparkrank.metrics.comparison import REF
from sparkrank.metrics.declaration import DayMetric

if TYPE_CHECKING:
    from sparkrank.metrics.metric import Metric
    from sparkrank.metrics.plan import Plan


def refuse_contradictions(plan: Plan) -> None:
    """Raise :class:`MetricError` where a metric does not go with the definitions or compares with an order that is not
    there, and :class:`SpecError` where the group table would have two columns of one name.
    """
    _refuse_what_has_no_expectation(plan)
    _refuse_groups(plan)
    _refuse_unknown_references(plan)
    _refuse_keys_like_metrics(plan)


def _refuse_what_has_no_expectation(plan: Plan) -> None:
    positions = plan.definitions.positions
    for metric in (metric.of_groups for metric in plan.metrics):
        if positions != "dense" and metric.ties is not None:
            raise MetricError(f"{metric} orders tied rows, but positions={positions} takes them as given")
    if not plan.by_rank:  # ranks are an order, unless some of them are equal
        for metric, reason in unexpected(plan):
            raise MetricError(
                f"{metric} is not computed under ties=expected ({reason}): set ties to {NEED_AN_ORDER}, for all or, as "
                f"in {metric.with_ties('item')}, for this metric"
            )


def unexpected(plan: Plan) -> Iterator[tuple[Metric, str]]:
    """The metrics that are not computed where rows are tied, and why."""
    if plan.definitions.positions != "dense":
        return  # given positions are taken as they are, rows of one position as one step
    for metric in (metric.of_groups for metric in plan.metrics):
        reason = metric.declaration.unexpected(metric) if plan.ties_of(metric) == "expected" else None
        if reason is not None:
            yield metric, reason


def _refuse_groups(plan: Plan) -> None:
    """Refuse what is of groups where there are none."""
    if plan.keys:
        return
    for metric in plan.metrics:
        if not isinstance(metric.declaration, DayMetric):
            raise SpecError(f"{metric} is a metric of groups, but no group column is named")
    definitions = plan.definitions
    chosen = {"duplicates": "keep", "population": "all", "unretrieved": "zero", "positions": "dense"}
    for name, needless in chosen.items():
        if (word := getattr(definitions, name)) != needless:
            raise SpecError(f"{name}={word} is a setting of groups, but no group column is named")


def _refuse_unknown_references(plan: Plan) -> None:
    for reference, metric in plan.asked_references:
        known = [*REF.choices, *plan.models]
        if reference not in known:
            told = f"ref={shortened(reference)} of {shortened(metric)} names no order{did_you_mean(reference, known)}"
            raise MetricError(f"{told} (allowed: {listed(known)})")
        if reference in REF.choices and reference in plan.models:
            raise MetricError(
                f"ref={reference} of {shortened(metric)} may mean the {reference} or the model of that name: "
                f"rename the model"
            )


def _refuse_keys_like_metrics(plan: Plan) -> None:
    texts = {str(metric).lower() for metric, _ in plan.group_metrics} if plan.group_table else ()
    for key in plan.keys:
        if key.lower() in texts:  # in Spark, names that differ in case alone are one
            raise SpecError(
                f'the group column "{shortened(key)}" has the name of a metric, a column of the group table: rename it'
            )
