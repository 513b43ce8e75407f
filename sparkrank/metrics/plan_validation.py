"""The making of a plan from requested metrics, with checks that metrics, definitions and columns fit together."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from sparkrank.base.errors import MetricError, SpecError, hint, shorten
from sparkrank.metrics.definitions import DEFAULTS, Definitions
from sparkrank.metrics.labels import FIRST, Judging, validate_label_names_of
from sparkrank.metrics.metric import Metric, distinct_metrics
from sparkrank.metrics.parameters import NEED_AN_ORDER, Name
from sparkrank.metrics.plan import Plan
from sparkrank.metrics.policy_value import validate_policy_value
from sparkrank.metrics.position_sums import validate_position_depth
from sparkrank.metrics.presets import Preset
from sparkrank.metrics.propensity import ROLE
from sparkrank.metrics.rank_comparison import REF
from sparkrank.metrics.resolution import with_own_label, with_own_ties, without_first_label
from sparkrank.metrics.slices import Slice, Slices, is_of_relevant, named_slices, pools, slice_name
from sparkrank.metrics.uncertainty import Comparison
from sparkrank.metrics.unjudged import validate_assumptions
from sparkrank.ranking.ranking import Ties


def plan_of(
    metrics: Sequence[str | Metric],
    models: Sequence[str],
    keys: Sequence[str],
    definitions: Definitions = DEFAULTS,
    *,
    preset: Preset | None = None,
    order: Ties | None = None,
    group_table: bool = True,
    slices: Slices | Sequence[Slice] = (),
    labels: Sequence[str] = (),
    own_labels: Mapping[str, Judging] = MappingProxyType({}),
    **settings: Any,
) -> Plan:
    """Return the plan for ``metrics``, parsed with the defaults of ``preset``. ``settings`` contains further fields.

    If ``preset`` has an order for tied rows, that order is used instead of ``order``. ``own_labels`` maps each model
    with a label of its own to that label.

    Raise :class:`MetricError` if a metric is unknown or incompatible with ``definitions``, and :class:`SpecError` if
    models or keys do not fit, for example if the group table would have two columns of the same name.

    Examples
    --------
    >>> from sparkrank.metrics import plan_of
    >>> plan = plan_of(["MAP@5", "auc"], models=["score"], keys=["user"])
    >>> [str(metric) for metric in plan.metrics]
    ['ap@5', 'auc']
    """
    order = order if preset is None or preset.order is None else preset.order
    requests = distinct_metrics(metrics, preset)
    own_labels = _own_labels(own_labels, labels)
    judgings = dict.fromkeys([own_labels.get(model, FIRST) for model in models] if own_labels else [FIRST])
    of_labels = [with_own_label(metric, judging) for metric in requests for judging in judgings]
    of_first = {metric: without_first_label(metric, labels) for metric in of_labels}
    of_request = {metric: with_own_ties(own, definitions, order) for metric, own in of_first.items()}
    plan = Plan(
        (*dict.fromkeys(of_request.values()),),
        tuple(models),
        tuple(keys),
        definitions,
        group_table and bool(keys),
        slices=named_slices(slices),
        order=order,
        labels=tuple(labels),
        own_labels=tuple(own_labels.items()),
        requests=requests if own_labels else (),
        ordered=tuple(named for metric, named in of_request.items() if metric.ties is None and named.ties is not None),
        **settings,
    )
    validate_plan(plan)
    return plan


def _own_labels(named: Mapping[str, Judging], labels: Sequence[str]) -> dict[str, Judging]:
    """Return the models' own labels, without those that are the first of ``labels``.

    Raise :class:`SpecError` for an unknown label.
    """
    for model, own in named.items():
        validate_label_names_of(f"the score of {shorten(model)}", own.names, labels)
    first = {model: own._replace(label=None) if own.label in labels[:1] else own for model, own in named.items()}
    return {model: own for model, own in first.items() if own != FIRST}


def validate_plan(plan: Plan) -> None:
    """Raise :class:`SpecError` if a metric of ``plan`` does not fit the plan's definitions, models or keys."""
    _validate_labels(plan)
    _validate_expectations(plan)
    if plan.definitions.unjudged == "drop":
        validate_assumptions([metric.group_metric for metric in plan.metrics])
    _validate_groups(plan)
    _validate_references(plan)
    for metric in plan.policy_values:
        validate_policy_value(metric, plan.models, joins=plan.joins, weighted=plan.weighted, groups=bool(plan.keys))
    _validate_top(plan)
    validate_position_depth(plan)
    _validate_gains(plan)
    for name in plan.disparities:
        if name not in (names := [slice_name(columns) for columns in plan.slices]):
            raise SpecError(f'disparities names "{shorten(name)}", which is not a slice{hint(name, names)}')
    texts = {str(metric).lower() for metric, _ in plan.group_metrics} if plan.group_table else ()
    for key in plan.keys:
        if key.lower() in texts:  # Spark ignores the case of column names
            of_metric = "has the name of a metric, a column of the group table: rename it"
            raise SpecError(f'the group column "{shorten(key)}" {of_metric}')
    if plan.compare is not None:
        validate_comparison(plan, plan.compare)
        if not plan.keys:
            raise SpecError("compare needs groups, which are the units of a comparison, but no group column is named")


def _validate_labels(plan: Plan) -> None:
    for metric in plan.metrics:
        validate_label_names_of(metric, metric.judging.names, plan.labels)
        if metric.checked_by is not None:
            _validate_checked(metric, metric.checked_by, plan)
        if metric.judging != FIRST and ROLE in metric.roles:
            raise MetricError(
                f"{metric} reads propensities, which belong to the first label, {shorten(plan.labels[0])}, in all "
                "rows: leave out label and among, also of models, or evaluate it apart with its label named first"
            )
    if plan.own_labels and not any(own.judging == FIRST and own.declaration.reads_labels for own in plan.requests):
        model = shorten(plan.own_labels[0][0])
        raise SpecError(
            f"the score of {model} has a label of its own, but no metric reads it: each names its own label"
        )


def _validate_checked(metric: Metric, checked_by: str, plan: Plan) -> None:
    validate_label_names_of(metric, [checked_by], plan.labels)
    if (metric.judging.label or plan.labels[0]) == checked_by:
        raise MetricError(f"{metric} is checked by the label that it reads, {checked_by}: name another label")
    if plan.joins:
        raise MetricError(f"{metric} needs both labels in the rows of the lists, and here a truth has the labels")
    partial = {"unjudged=drop": plan.definitions.unjudged == "drop", "exclude": plan.exclude is not None}
    for setting in (setting for setting, holds in partial.items() if holds):
        raise MetricError(f"{metric} needs whole lists, but {setting} leaves rows out: remove that setting")
    for columns in filter(is_of_relevant, plan.slices):
        raise MetricError(
            f"{metric} has no values for the slice {slice_name(columns)}: its two labels make different rows relevant"
        )


def _validate_gains(plan: Plan) -> None:
    if plan.gains and not plan.gains_rules:
        raise SpecError("gains come from the score bins of auc, capture or lift, but none of these is requested")


def _validate_expectations(plan: Plan) -> None:
    positions = plan.definitions.positions
    for metric in (metric.bare for metric in plan.metrics):
        if positions != "dense" and metric.ties is not None:
            raise MetricError(f"{metric} orders tied rows, but positions={positions} takes them as given")
    if not plan.by_rank:  # ranks order the rows, unless some ranks are equal
        for metric, reason in unexpected(plan):
            raise MetricError(
                f"{metric} is not computed under ties=expected ({reason}): set ties to {NEED_AN_ORDER}, for all or, as "
                f"in {metric.with_ties('item')}, for this metric"
            )


def unexpected(plan: Plan) -> Iterator[tuple[Metric, str]]:
    """Yield pairs (metric, reason) for the metrics of ``plan`` that cannot be computed if rows are tied."""
    if plan.definitions.positions != "dense":
        return  # given positions stay as they are: rows at the same position form one step
    for metric in (metric.bare for metric in plan.metrics):
        reason = metric.declaration.unexpected(metric) if plan.ties_of(metric) == "expected" else None
        if reason is not None:
            yield metric, reason


def _validate_groups(plan: Plan) -> None:
    if plan.keys:
        return
    for metric in plan.metrics:
        if metric.declaration.needs_groups:
            raise SpecError(f"{metric} is a metric of groups, but no group column is named")
    for name in ("duplicates", "population", "unretrieved", "positions"):
        if (word := getattr(plan.definitions, name)) != getattr(DEFAULTS, name):
            raise SpecError(f"{name}={word} is a setting of groups, but no group column is named")


def _validate_top(plan: Plan) -> None:
    name = next((slice_name(columns) for columns in plan.slices if pools(columns)), None)
    if name is None:
        return
    if not plan.group_metrics and not plan.has_item_counts and not (plan.has_parts and plan.uncertainty.slices):
        needed = "ask for a metric of groups, or leave uncertainty on" if plan.keys else "name a group column"
        raise SpecError(f"top of the slice {shorten(name)} counts groups, and no state of this run does: {needed}")
    for metric, declared in plan.histogram_metrics:
        if declared.rule_of(metric).kind == "exact":
            own = f"{metric} keeps each score of each value of {shorten(name)}"
            raise SpecError(f"{own}, which top cannot bound: ask for it without exact, or for the slice without top")


def _validate_references(plan: Plan) -> None:
    for reference, metric in plan.ref_metrics:
        orders = metric.declaration.parameter(REF.name, str(metric))
        known = [*(orders.choices if isinstance(orders, Name) else ()), *plan.models]
        if reference not in known:
            near = hint(reference, known)
            raise MetricError(f"ref={shorten(reference)} of {shorten(metric)} names no order{near}")
        if reference in REF.choices and reference in plan.models:
            means = f"may mean the {reference} or the model of that name: rename the model"
            raise MetricError(f"ref={reference} of {shorten(metric)} {means}")


def validate_comparison(plan: Plan, comparison: Comparison) -> None:
    """Raise :class:`SpecError` if ``comparison`` is invalid, or if no model shares a metric with the baseline."""
    comparison.validate_models(plan.models)
    own = [metric for metric in plan.metrics if (comparison.baseline, metric) not in plan.absent]
    others = [model for model in plan.models if model != comparison.baseline]
    if all(pair in plan.absent for pair in itertools.product(others, own)):
        raise SpecError(
            f"compare.baseline is {shorten(comparison.baseline)}, but all other models read other labels: name the "
            f"label in a metric, as in {own[0].with_label(plan.labels[-1])}, to compare models by one"
        )
