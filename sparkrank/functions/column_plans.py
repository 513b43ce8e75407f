"""The plans of functions of columns, with the same checks of metrics, definitions and roles as ``sr.evaluate``."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sparkrank.base.errors import SpecError
from sparkrank.inputs.request_plan import plan_request
from sparkrank.inputs.role_table import row_roles
from sparkrank.inputs.roles import Roles
from sparkrank.metrics import AttentionMetric, CatalogueMetric, Definitions, GroupMetric, Metric, Plan, find_preset
from sparkrank.metrics.metric import Declaration, distinct_metrics
from sparkrank.metrics.parameters import WEIGHT, Column, ColumnChoice
from sparkrank.metrics.presets import PresetName
from sparkrank.metrics.sampled_metric import SampledMetric
from sparkrank.metrics.uncertainty import Uncertainty

GROUP = "group"  # the key column, which has the index of the list


@dataclass(frozen=True)
class ColumnPlan:
    """The plan of a function of columns. Its arguments have the roles ``roles``, in this order.

    ``by_group`` is true for metrics of groups, and false for metrics of all rows together.
    """

    plan: Plan
    roles: tuple[str, ...]
    by_group: bool

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the metrics, such as ``ndcg@10``."""
        return tuple(map(str, self.plan.metrics))


def column_plan(
    metrics: Sequence[str | Metric],
    roles: Collection[str],
    settings: Mapping[str, Any],
    preset: PresetName | None = None,
) -> ColumnPlan:
    """Return the plan of ``metrics`` for columns with ``roles``. Raise :class:`SpecError` if no plan is possible."""
    library = find_preset(preset)
    metrics_given = distinct_metrics(metrics, library)
    if not metrics_given:
        raise SpecError('metrics is empty: at least one is needed, for example "ndcg@10"')
    for metric in metrics_given:
        _validate_metric(metric)
    by_group = isinstance(metrics_given[0].declaration, GroupMetric)
    for metric in metrics_given:
        if isinstance(metric.declaration, GroupMetric) != by_group:
            first, other = ("a group", "all rows together") if by_group else ("all rows together", "a group")
            raise SpecError(
                f"{metrics_given[0]} is a metric of {first} and {metric} of {other}: ask for them in two columns"
            )
    named: dict[str, Any] = {role.key: role.key for role in row_roles() if role.key in roles}
    named["rank"] = "rank" if "rank" in roles else None
    label = "label" if "label" in roles else None
    definitions = Definitions.of(library, settings)
    _, plan = plan_request(
        Roles.of(GROUP if by_group else None, label, "score" if "score" in roles else None, **named),
        metrics,
        definitions,
        library,
        group_table=False,
        uncertainty=Uncertainty(off=True),
        has_ties=settings.get("ties") is not None,
    )
    read = [role.key for role in row_roles() if role.key in roles and role.needed(plan)]
    scores = "rank" if plan.by_rank else "score"
    return ColumnPlan(plan, (scores, *(["label"] if label else []), *read), by_group)


_OF_ALL_LISTS = (CatalogueMetric, AttentionMetric, SampledMetric)


def is_of_one_list(declared: Declaration) -> bool:
    """Return whether the metric needs only the rows of one group, and no column named in its text."""
    names_column = any(isinstance(own, (Column, ColumnChoice)) and own.default is None for own in declared.parameters)
    reads_interactions = isinstance(declared, GroupMetric) and declared.reads_interactions
    return not (isinstance(declared, _OF_ALL_LISTS) or names_column or reads_interactions)


def _validate_metric(metric: Metric) -> None:
    """Raise :class:`SpecError` if ``metric`` has no value for a single group, or weighs groups in a mean."""
    one = "and a function of columns has one group at a time"
    if isinstance(metric.declaration, _OF_ALL_LISTS):
        raise SpecError(
            f"{metric} is a property of all lists together, and a function of columns has one list at a time: "
            "sparkrank.evaluate computes it"
        )
    if not is_of_one_list(metric.declaration) or metric.group_metric.value_columns:
        raise SpecError(
            f"{metric} reads more than scores, labels and items, which a function of columns does not take: "
            "sparkrank.evaluate computes it"
        )
    if metric.percentile is not None:
        remedy = f"take a percentile of {metric.group_metric} over the groups"
        raise SpecError(f"{metric} is a percentile over groups, {one}: {remedy}")
    if metric.geometric:
        remedy = f"take the geometric mean of {metric.group_metric} over the groups"
        raise SpecError(f"{metric} is a mean over groups, {one}: {remedy}")
    if WEIGHT.name in dict(metric.settings):
        raise SpecError(
            f"{metric} sets the weight of a group in a mean, {one}: apply the weight where you take the mean"
        )
