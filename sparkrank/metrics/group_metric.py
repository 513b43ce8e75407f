"""The class of metrics with a value for each group that are averaged over groups, such as NDCG."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from sparkrank.base.errors import MetricError, quote
from sparkrank.metrics.arithmetic import Arithmetic, OneGroup, given, list_table
from sparkrank.metrics.checked_metric import OF_LABELS, CheckedMetric, checked
from sparkrank.metrics.merged import Merged, MetricColumns, MetricKind, MetricRow, WithoutParts, effective_number
from sparkrank.metrics.metric import LEAST_VALUE, Metric, PlanPart
from sparkrank.metrics.needs import Needed, StatePlan, groups_of, part_definition, rule_of_values
from sparkrank.metrics.parameters import OF_LISTS, Parameter
from sparkrank.numeric.array_types import Floats
from sparkrank.numeric.elementary import log
from sparkrank.numeric.exact_sums import LIMBS, rounded
from sparkrank.numeric.exact_sums import total as exact_total
from sparkrank.ranking.distinct_lists import DistinctLists, GroupValues
from sparkrank.ranking.ranking import Ranking
from sparkrank.states import Distribution
from sparkrank.states.forms import (
    DISTRIBUTION_FORM,
    MEAN_FORM,
    PAIR_FORM,
    PART_MEAN_FORM,
    PART_SUM_FORM,
    PARTS_KIND,
    SUM_FORM,
)
from sparkrank.states.keys import Subject
from sparkrank.states.means import NO_GROUPS
from sparkrank.states.part_bins import rule_name

NOT_EXPLAINED = "the metric declares no arithmetic: its value is that of a function"


class ListSums(Protocol):
    """Sums over lists of a ranking: one for each of the ``distinct`` lists, or for each group if that is None."""

    @property
    def distinct(self) -> DistinctLists | None: ...


@dataclass(frozen=True)
class GroupMetric(MetricKind):
    """A metric with a value for each group, averaged over groups.

    The fields of :class:`~sparkrank.metrics.metric.Declaration` name, document and limit the metric. The fields below
    define the computation of its values. The metric is undefined if ``values`` returns NaN for every group.

    Parameters
    ----------
    values : callable (Ranking or sums, Metric) -> float64 array (groups)
        Returns the value of each group of a bucket in the unit of the metric, or NaN if it is undefined. If the result
        of ``sums`` has distinct lists, ``values`` returns one value for each of those lists instead.
    weights : callable (Ranking or sums, Metric) -> float64 array (groups) or None, optional
        Returns the weight of each group in the mean, a finite number of at least 0 in any unit. The array has the
        length of the result of ``values``. If ``weights`` is left out or returns None, all groups have the same weight,
        unless the metric's string gives a ``weight``.
    sums : callable (Ranking, Metric) -> ListSums, optional
        Returns sums over the lists of a ranking, as :func:`~sparkrank.metrics.hit_sums` does. If ``sums`` is given,
        ``values`` and ``weights`` receive these sums in place of the ranking.
    arithmetic : callable (Ranking, Metric) -> Arithmetic, optional
        Returns the terms and steps that lead to the value, for a ranking of one group. ``sparkrank explain`` prints
        these or, without ``arithmetic``, only the list and the value.
    reads_labels : bool
        Whether the metric reads the labels of rows. An evaluation without such a metric needs no labels.
    weight_states : callable (Metric) -> tuple of str
        Returns the names of the sums of the weights 1 / propensity over relevant rows, for the table ``quality``.
    common : tuple of Parameter
        The parameters of all metrics of this class: ``ties``, ``weight`` and ``unjudged``.

    Examples
    --------
    >>> import numpy as np, pyarrow as pa, sparkrank as sr
    >>> half = sr.register(sr.GroupMetric(
    ...     name="half_length",
    ...     title="half of the rows of a list",
    ...     formula="rows with a score / 2",
    ...     undefined="never",
    ...     reference="ours",
    ...     highest=np.inf,
    ...     values=lambda ranking, metric: ranking.length / 2,
    ... ))
    >>> rows = pa.table({"user": ["a", "a", "b"], "score": [3.0, 2.0, 1.0], "clicked": [1, 0, 1]})
    >>> sr.evaluate(rows, ["half_length"], group="user", score="score", label="clicked")["half_length"]
    0.75
    """

    parts: ClassVar[tuple[PlanPart, ...]] = ("groups",)
    is_averaged: ClassVar[bool] = True
    heading: ClassVar[str] = "Metrics of a group"
    about: ClassVar[str] = "A value for each group; the number is their mean over groups."
    computed_by: ClassVar[tuple[str, ...]] = ("values",)
    label_parameters: ClassVar[tuple[Parameter, ...]] = OF_LABELS
    common: tuple[Parameter, ...] = OF_LISTS
    reads_labels: bool = True
    weight_states: Callable[[Metric], tuple[str, ...]] = lambda metric: ()
    values: Callable[[Any, Metric], Floats] = lambda ranking, metric: np.empty(0)
    weights: Callable[[Any, Metric], Floats | None] | None = None
    sums: Callable[[Ranking, Metric], ListSums] | None = None
    arithmetic: Callable[[Ranking, Metric], Arithmetic] | None = None

    def checked(self) -> CheckedMetric:
        return checked(self)

    def needed(self, metric: Metric, plan: StatePlan) -> Iterator[Needed]:
        of_groups = metric.group_metric
        for name in self.weight_states(of_groups):
            yield Needed(SUM_FORM.kind, name, str(metric), f"{name}; {plan.settings}", optional=True)
        yield Needed(MEAN_FORM.kind, str(of_groups), str(metric), plan.definition(of_groups))
        if metric.percentile is not None:
            yield Needed(DISTRIBUTION_FORM.kind, str(of_groups), str(metric), plan.definition(of_groups))
            if plan.has_parts:
                name = rule_name(rule_of_values(of_groups), str(of_groups))
                definition = part_definition(plan.definition(of_groups), plan)
                yield Needed(PARTS_KIND, name, str(metric), definition, optional=True)
            return
        if metric.geometric:
            yield Needed(MEAN_FORM.kind, str(metric), str(metric), plan.definition(metric))
        if plan.has_parts:
            yield Needed(PART_MEAN_FORM.kind, str(metric), str(metric), part_definition(plan.definition(metric), plan))
            yield Needed(
                PART_SUM_FORM.kind, groups_of(metric.judging), str(metric), part_definition(plan.settings, plan)
            )
        if plan.compare is not None and metric in plan.paired_metrics:
            compared = f"{plan.definition(of_groups)}; compared with {plan.compare.baseline}"
            yield Needed(PAIR_FORM.kind, str(of_groups), str(metric), compared)

    def row(self, merged: Merged, subject: Subject, metric: Metric) -> MetricRow:
        key = subject.state(metric.group_metric)
        mean = merged.means.get(key, NO_GROUPS)  # missing if the window lacks the model that ``ref`` names
        if metric.percentile is None:
            value = mean.value
            if metric.geometric:
                value = math.exp(merged.means.get(subject.state(metric), NO_GROUPS).value)
            return MetricRow(value, mean.n_undefined, mean.n_rows, mean.weight, n_groups=mean.n_groups)
        # a distribution without values has no rows in the stored tables, so it may be missing after a merge
        groups = merged.partials.distributions.get(key, Distribution.empty())
        value, bound = groups.quantile(metric.percentile / 100)
        weight = float(groups.histogram.neg.sum())
        return MetricRow(value, mean.n_undefined, mean.n_rows, weight, n_groups=mean.n_groups, error_bound=bound)

    def rows(self, merged: Merged, subjects: Sequence[Subject], metric: Metric) -> MetricColumns:
        if metric.percentile is not None:
            return super().rows(merged, subjects, metric)
        means = merged.partials.means.of_subjects(tuple(subjects), str(metric.group_metric))
        value, none = means.value, np.full(len(subjects), np.nan)
        if metric.geometric:
            value = exponentials(merged.partials.means.of_subjects(tuple(subjects), str(metric)).value)
        groups = means.n_groups.astype(np.float64)
        return MetricColumns(value, means.n_undefined, means.n_rows, means.weight, groups, none, none)

    def effective_numbers(
        self, merged: Merged, subjects: Sequence[Subject], metric: Metric, *, clustered: bool
    ) -> Floats:
        if clustered:
            return super().effective_numbers(merged, subjects, metric, clustered=True)
        effective = merged.partials.means.of_subjects(tuple(subjects), str(metric.group_metric)).n_effective
        return np.where(effective != 0, effective, np.nan)

    def without_parts(self, merged: Merged, subject: Subject, metric: Metric) -> WithoutParts | None:
        sums = merged.partials.parts.means.of(subject, metric)
        sizes = merged.sizes_of_parts(subject, metric.judging)
        if sums is None or sizes is None or metric.percentile is not None:
            return None
        all_ = sums.sum(axis=0)
        left = all_ - sums
        together = exact_total(all_[:LIMBS])
        if not together:
            return None
        with np.errstate(invalid="ignore", divide="ignore"):
            weight, weighted = rounded(left[:, :LIMBS]), rounded(left[:, LIMBS:])
            value, without = exact_total(all_[LIMBS:]) / together, weighted / weight
        if metric.geometric:
            value, without = math.exp(value), exponentials(without)
        return WithoutParts(value, without, sizes, weight)

    def n_effective(self, merged: Merged, subject: Subject, metric: Metric, *, clustered: bool) -> float | None:
        if not clustered:
            return merged.means.get(subject.state(metric.group_metric), NO_GROUPS).n_effective or None
        sums = merged.partials.parts.means.of(subject, metric)
        weights = merged.sizes_of_parts(subject, metric.judging) if sums is None else rounded(sums[:, :LIMBS])
        return None if weights is None else effective_number(weights) or None

    def values_of(self, ranking: Ranking, metric: Metric) -> GroupValues:
        values = self._computed("values", self.values, ranking, metric)
        assert values is not None  # noqa: S101 - weights alone may be None
        return values

    def explain(self, group: OneGroup, metric: Metric) -> Arithmetic:
        if self.arithmetic is None:
            judgments, ranking = group.ranking.judgments, group.ranking
            rel = metric.rel if "rel" in self.defaults else None
            hit = judgments.flags(rel)[ranking.row]
            value = self.values_of(ranking, metric).by_group()[0]
            steps = [
                given("R", judgments.relevant(rel)[0]),
                given("length of the list", ranking.length[0]),
                given(str(metric), value),
            ]
            return Arithmetic.of([list_table(ranking, {"relevant": hit.astype(np.float64)})], steps, [NOT_EXPLAINED])
        arithmetic = metric.call("arithmetic", self.arithmetic, group.ranking, metric)
        if metric.outside is not None and not isinstance(arithmetic, Arithmetic):
            raise MetricError(f"the arithmetic of {metric} is {quote(arithmetic)}: Arithmetic.of(...) is needed")
        return arithmetic

    def _computed(
        self, what: str, function: Callable[[Any, Metric], Floats | None], ranking: Ranking, metric: Metric
    ) -> GroupValues | None:
        sums = None if self.sums is None else metric.call("sums", self.sums, ranking, metric)
        if self.sums is not None and not isinstance(getattr(sums, "distinct", 0), DistinctLists | None):
            raise MetricError(f"the sums of {metric} are {quote(sums)}: sums over lists, with distinct, are needed")
        distinct = None if sums is None else sums.distinct
        values: Any = metric.call(what, function, ranking if sums is None else sums, metric)
        if values is None and what == "weights":
            return None
        if metric.outside is not None:
            _validate_values(ranking.groups if distinct is None else len(distinct.rows), values, metric, what)
        return GroupValues(values, distinct)

    def is_weighted(self, metric: Metric) -> bool:
        """Return whether groups may have different weights in the mean of ``metric``."""
        own = metric.outside is not None and self.weights is not None
        return own or any(metric.word(name) not in uniform for name, *uniform in self.alike)

    def weights_of(self, ranking: Ranking, metric: Metric, of_columns: Mapping[str, Floats]) -> GroupValues | None:
        """Return the weight of each group, or None for equal weights. ``of_columns`` maps names to weight columns."""
        if metric.weight_column is not None:
            return GroupValues(of_columns[metric.weight_column])
        if self.weights is not None:
            weights = self._computed("weights", self.weights, ranking, metric)
            if weights is not None:
                return weights
        match metric.word("weight"):
            case "rows":
                return GroupValues(ranking.length.astype(np.float64))
            case "relevant":
                rel = metric.rel if "rel" in self.defaults else None
                return GroupValues(ranking.judgments.relevant(rel).astype(np.float64))
        return None


def logarithms(values: GroupValues, counted_as: float | None) -> GroupValues:
    """Return the logarithms of values, for a geometric mean.

    NaN counts as ``counted_as``, or stays NaN if ``counted_as`` is None.
    """
    numbers = values.numbers if counted_as is None else np.nan_to_num(values.numbers, nan=counted_as)
    added, defined = np.full(len(numbers), np.nan), ~np.isnan(numbers)
    added[defined] = log(np.maximum(numbers[defined], LEAST_VALUE))
    return GroupValues(added, values.distinct)


def exponentials(means: Floats) -> Floats:
    return np.array([*map(math.exp, means.tolist())], np.float64)


def _validate_values(count: int, values: object, metric: Metric, what: str) -> None:
    if not (isinstance(values, np.ndarray) and values.dtype == np.float64 and values.shape == (count,)):
        given_values = f"{values.dtype} of shape {values.shape}" if isinstance(values, np.ndarray) else quote(values)
        raise MetricError(
            f"the {what} of {metric} are {given_values}: an array of {count} float64 is needed, one for each group"
        )
    if what == "weights" and (bad := ~((values >= 0) & (values < np.inf))).any():
        raise MetricError(f"a weight of {metric} is {values[bad][0]:g}: a number from 0 is needed for each group")
