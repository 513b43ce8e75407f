"""The class of metrics of a label checked by a more reliable label: ``ndcg(label=machine,checked_by=human)@10``.

The value is the mean by the first label over all groups, plus the mean difference (second label - first label) over the
groups whose rows all have the second label (prediction-powered inference; Angelopoulos et al., Science 2023).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, SupportsIndex

import numpy as np

from sparkrank.metrics.labels import CHECKED_BY, PARAMETERS
from sparkrank.metrics.merged import Merged, MetricKind, MetricRow, WithoutParts, effective_number
from sparkrank.metrics.metric import Declaration, Metric, PlanPart
from sparkrank.metrics.needs import Needed, StatePlan, groups_of, part_definition
from sparkrank.metrics.parameters import UNJUDGED, Parameter
from sparkrank.numeric.exact_sums import LIMBS, rounded
from sparkrank.numeric.exact_sums import total as exact_total
from sparkrank.states.forms import MEAN_FORM, PART_MEAN_FORM, PART_SUM_FORM
from sparkrank.states.keys import Subject
from sparkrank.states.means import NO_GROUPS

LEAST_CHECKED = 30  # groups; with fewer differences, their standard error is unreliable
OF_LABELS: tuple[Parameter, ...] = (*PARAMETERS, CHECKED_BY)
UNDEFINED = f"fewer than {LEAST_CHECKED} groups have the label of checked_by in all rows"


@dataclass(frozen=True)
class CheckedMetric(MetricKind):
    """A metric whose mean over all groups by one label is corrected by a more reliable label of some groups.

    The metric has two states: the mean of the metric without ``checked_by``, and, under its own string, the mean
    difference between both labels. The difference is undefined for a group with a row without the second label. A value
    that is undefined by either label counts by the rule ``undefined``, or else as 0, in both means. The metric of
    groups is ``of``; all other fields are copies of the fields of ``of``.
    """

    parts: ClassVar[tuple[PlanPart, ...]] = ("checked",)
    heading: ClassVar[str] = "Metrics of checked labels"
    about: ClassVar[str] = "The mean by a label that all groups have, corrected by a surer label of some of them."
    label_parameters: ClassVar[tuple[Parameter, ...]] = OF_LABELS
    of: MetricKind = field(kw_only=True)

    def __reduce_ex__(self, protocol: SupportsIndex) -> str | tuple[Any, ...]:
        return checked, (self.of,)

    def range_of(self, metric: Metric) -> tuple[float, float]:
        lowest, highest = self.of.range_of(metric)
        return 2 * lowest - highest, 2 * highest - lowest

    def values_of_groups(self, metric: Metric) -> Metric:
        return metric.without(CHECKED_BY.name)

    def needed(self, metric: Metric, plan: StatePlan) -> Iterator[Needed]:
        for own in (metric.group_metric, metric):
            definition = plan.definition(own)
            yield Needed(MEAN_FORM.kind, str(own), str(metric), definition)
            if plan.has_parts:
                yield Needed(PART_MEAN_FORM.kind, str(own), str(metric), part_definition(definition, plan))
        if plan.has_parts:
            yield Needed(
                PART_SUM_FORM.kind, groups_of(metric.judging), str(metric), part_definition(plan.settings, plan)
            )

    def row(self, merged: Merged, subject: Subject, metric: Metric) -> MetricRow:
        plain, correction = (merged.means.get(subject.state(own), NO_GROUPS) for own in (metric.group_metric, metric))
        value, undefined = math.nan, plain.n_groups
        if correction.n_averaged >= LEAST_CHECKED:
            summed = plain.value * plain.weight if plain.weight else 0.0
            value, undefined = summed / plain.n_groups + correction.value, plain.n_undefined
        return MetricRow(value, undefined, plain.n_rows, float(plain.n_groups), n_groups=plain.n_groups)

    def without_parts(self, merged: Merged, subject: Subject, metric: Metric) -> WithoutParts | None:
        sums = (merged.partials.parts.means.of(subject, own) for own in (metric.group_metric, metric))
        (plain, correction), sizes = sums, merged.sizes_of_parts(subject, metric.judging)
        if plain is None or correction is None or sizes is None:
            return None
        whole, differences = plain[:, LIMBS:], correction.sum(axis=0)
        groups, count = sizes.sum(), exact_total(differences[:LIMBS])
        if not count:
            return None
        value = exact_total(whole.sum(axis=0)) / groups + exact_total(differences[LIMBS:]) / count
        left = differences - correction
        with np.errstate(invalid="ignore", divide="ignore"):
            without = rounded(whole.sum(axis=0) - whole) / (groups - sizes)
            without += rounded(left[:, LIMBS:]) / rounded(left[:, :LIMBS])
        return WithoutParts(value, without, sizes, groups - sizes)

    def n_effective(self, merged: Merged, subject: Subject, metric: Metric, *, clustered: bool) -> float | None:
        """Return the effective number of checked groups, usually far fewer than all groups."""
        sums = merged.partials.parts.means.of(subject, metric) if clustered else None
        if sums is not None:
            return effective_number(rounded(sums[:, :LIMBS])) or None
        return float(merged.means.get(subject.state(metric), NO_GROUPS).n_averaged) or None


def checked(of: MetricKind) -> CheckedMetric:
    """Return the declaration for metrics of ``of`` with the parameter ``checked_by``."""
    copied = {own.name: getattr(of, own.name) for own in fields(Declaration)}
    copied["undefined"] = UNDEFINED
    copied["interval"] = "none" if of.interval == "none" else "t"
    copied["check"] = _check_of(of.check)
    return CheckedMetric(**copied, of=of)


def _check_of(check: Callable[[Metric], str | None]) -> Callable[[Metric], str | None]:
    return lambda metric: check(metric) or _why_not_checked(metric)


def _why_not_checked(metric: Metric) -> str | None:
    """Return the reason why ``metric`` cannot be corrected by another label, or None."""
    given = dict(metric.settings)
    if given.get("label") == metric.checked_by:
        return f"is checked by the label that it reads, {metric.checked_by}"
    if str(given.get("gain")).startswith("{"):
        return "gives checked_by with a gain of several labels, which are not checked one by one: name one label"
    reasons = {
        "among": "whole lists are checked, and among leaves rows out",
        UNJUDGED.name: "a list is checked where every row has a label",
        "propensity": "it is not known how a second label came to be seen",
        "sampled": "sampled candidates have one relevant row by any label",
    }
    weighed = {
        name: "in the correction each group counts once"
        for name, *uniform in metric.declaration.alike
        if metric.word(name) not in uniform
    }
    named = next((name for name in (*reasons, *weighed) if given.get(name) is not None or name in weighed), None)
    if named is None:
        return None
    return f"gives {named} with checked_by: {(reasons | weighed)[named]}"
