"""The kinds of metric: which states each needs, how they come of a ranked bucket, and how they become a row.

A bucket (:mod:`sparkrank.bucket.ranked`) computes a whole part of a plan at once, from what the kind says of each
metric of it: the values and weights of its groups, the exposure, the sums over rows, the rule of bins. Where the states
are merged, :meth:`~sparkrank.metrics.declaration.Declaration.row` reads the value off them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol

import numpy as np

from sparkrank.errors import MetricError, shown
from sparkrank.histogram.bins import BinRule
from sparkrank.histogram.scored_rows import RowSum
from sparkrank.histogram.threshold_sweep import Sweep, Sweeps, Terms, by_rate, value_of
from sparkrank.metrics import outside
from sparkrank.metrics.declaration import Declaration, Part
from sparkrank.metrics.merged import Measured, Merged, MetricRow, WithoutParts, measure
from sparkrank.metrics.needs import GROUPS, ROWS_AND_WEIGHT, Exposure, Needed, of_parts
from sparkrank.metrics.parameters import TIES, WEIGHT, Parameter
from sparkrank.numeric.array_types import Floats, Ints
from sparkrank.numeric.exact_sums import LIMBS, rounded, total
from sparkrank.ranking.distinct_lists import DistinctLists, GroupValues
from sparkrank.ranking.ranking import Ranking
from sparkrank.states import Distribution, ScoreHistogram, Series
from sparkrank.states.forms import (
    BLOCKS_KIND,
    DISTRIBUTION_FORM,
    ITEM_FORM,
    MEAN_FORM,
    PAIR_FORM,
    PART_MEAN_FORM,
    PART_SUM_FORM,
    PARTS_KIND,
    SUM_FORM,
)
from sparkrank.states.items import rows_shown
from sparkrank.states.keys import Subject
from sparkrank.states.means import NO_GROUPS
from sparkrank.states.part_bins import BinsOfParts, coarse

if TYPE_CHECKING:
    from sparkrank.metrics.metric import Metric
    from sparkrank.metrics.plan import Plan


class ListSums(Protocol):
    """Sums over the lists of a ranking, one for each of the ``distinct`` of its groups, or per group without these."""

    @property
    def distinct(self) -> DistinctLists | None: ...


@dataclass(frozen=True)
class GroupMetric(Declaration):
    """A metric of one group, averaged over groups.

    ``values`` gives one float64 per group of the bucket, NaN where the metric is undefined, and ``weights`` the weight
    of each group in the mean; where it is None or gives None, all weigh the same. Both are made of the ranking, or of
    the ``sums`` over its lists where these are named: per distinct list then, where the sums have distinct ones.
    """

    parts: ClassVar[tuple[Part, ...]] = ("groups",)
    is_averaged: ClassVar[bool] = True
    heading: ClassVar[str] = "Metrics of a group"
    about: ClassVar[str] = "A value for each group; the number is their mean over groups."
    computed_by: ClassVar[tuple[str, ...]] = ("values",)
    common: tuple[Parameter, ...] = (TIES, WEIGHT)
    values: Callable[[Any, Metric], Floats] = lambda ranking, metric: np.empty(0)
    weights: Callable[[Any, Metric], Floats | None] | None = None
    sums: Callable[[Ranking, Metric], ListSums] | None = None

    def needed(self, metric: Metric, plan: Plan) -> Iterator[Needed]:
        of_groups = metric.of_groups
        yield Needed(MEAN_FORM.kind, str(of_groups), str(metric), plan.definition(of_groups))
        if metric.percentile is not None:
            yield Needed(DISTRIBUTION_FORM.kind, str(of_groups), str(metric), plan.definition(of_groups))
            return
        if plan.has_parts:
            yield Needed(PART_MEAN_FORM.kind, str(of_groups), str(metric), of_parts(plan.definition(of_groups)))
            yield Needed(PART_SUM_FORM.kind, GROUPS, str(metric), of_parts(plan.settings))
        if plan.compare is not None and metric in plan.paired_metrics:
            compared = f"{plan.definition(of_groups)}; compared with {plan.compare.baseline}"
            yield Needed(PAIR_FORM.kind, str(of_groups), str(metric), compared)

    def row(self, merged: Merged, subject: Subject, metric: Metric) -> MetricRow:
        key = subject.state(metric.of_groups)
        mean = merged.means.get(key, NO_GROUPS)  # of a window in which it met the model that it compares with nowhere
        if metric.percentile is None:
            return MetricRow(
                mean.value, mean.n_undefined, mean.n_rows, mean.weight, n_groups=mean.n_groups, stderr=mean.stderr
            )
        # one without a value has no row in the table of a day, so a merge meets none
        groups = merged.partials.distributions.get(key, Distribution.empty())
        value, bound = groups.quantile(metric.percentile / 100)
        weight = float(groups.histogram.neg.sum())
        return MetricRow(value, mean.n_undefined, mean.n_rows, weight, n_groups=mean.n_groups, error_bound=bound)

    def without_parts(self, merged: Merged, subject: Subject, metric: Metric) -> WithoutParts | None:
        sums = merged.partials.parts.means.of(subject, metric.of_groups)
        sizes = merged.sizes_of_parts(subject)
        if sums is None or sizes is None or metric.percentile is not None:
            return None
        all_ = sums.sum(axis=0)
        left = all_ - sums
        together = total(all_[:LIMBS])
        if not together:
            return None
        with np.errstate(invalid="ignore", divide="ignore"):
            weight, weighted = rounded(left[:, :LIMBS]), rounded(left[:, LIMBS:])
            return WithoutParts(total(all_[LIMBS:]) / together, weighted / weight, sizes)

    def values_of(self, ranking: Ranking, metric: Metric) -> GroupValues:
        """The value of each group."""
        sums = self._sums_of(ranking, metric)
        distinct = None if sums is None else sums.distinct
        values = outside.called(metric, "values", self.values, ranking if sums is None else sums, metric)
        if metric.outside is not None:
            _refuse_other_than(ranking.groups if distinct is None else len(distinct.rows), values, metric)
        return GroupValues(values, distinct)

    def _sums_of(self, ranking: Ranking, metric: Metric) -> ListSums | None:
        """The sums over the lists; raises :class:`MetricError` where a metric from outside gives something else."""
        if self.sums is None:
            return None
        sums = outside.called(metric, "sums", self.sums, ranking, metric)
        if metric.outside is not None and not isinstance(getattr(sums, "distinct", 0), DistinctLists | None):
            raise MetricError(f"the sums of {metric} are {shown(sums)}: sums over lists, with distinct, are needed")
        return sums

    def is_weighted(self, metric: Metric) -> bool:
        """Whether groups may weigh differently in its mean."""
        own = metric.outside is not None and self.weights is not None
        return own or metric.word(WEIGHT.name) != "uniform"

    def weights_of(self, ranking: Ranking, metric: Metric, of_columns: Mapping[str, Floats]) -> GroupValues | None:
        """The weight of each group; None where all weigh the same. ``of_columns`` (groups) are those of columns."""
        if metric.weight_column is not None:
            return GroupValues(of_columns[metric.weight_column])
        if self.weights is not None:
            sums = self._sums_of(ranking, metric)
            of = ranking if sums is None else sums
            weights = outside.called(metric, "weights", self.weights, of, metric)
            if weights is not None:
                distinct = None if sums is None else sums.distinct
                if metric.outside is not None:
                    _refuse_weights(ranking.groups if distinct is None else len(distinct.rows), weights, metric)
                return GroupValues(weights, distinct)
        match metric.word("weight"):
            case "rows":
                return GroupValues(ranking.length.astype(np.float64))
            case "relevant":
                rel = metric.rel if "rel" in self.defaults else None
                return GroupValues(ranking.judgments.relevant(rel).astype(np.float64))
        return None


def _refuse_other_than(count: int, values: object, metric: Metric, what: str = "values") -> None:
    """Raise :class:`MetricError` where the values of a metric from outside are no float64 for each of the groups."""
    if not (isinstance(values, np.ndarray) and values.dtype == np.float64 and values.shape == (count,)):
        found = f"{values.dtype} of shape {values.shape}" if isinstance(values, np.ndarray) else shown(values)
        raise MetricError(
            f"the {what} of {metric} are {found}: an array of {count} float64 is needed, one for each group"
        )


def _refuse_weights(count: int, weights: Floats, metric: Metric) -> None:
    """Raise :class:`MetricError` where weights from outside are no numbers from 0, one for each of the groups."""
    _refuse_other_than(count, weights, metric, "weights")
    bad = ~((weights >= 0) & (weights < np.inf))
    if bad.any():
        raise MetricError(f"a weight of {metric} is {weights[bad][0]:g}: a number from 0 is needed for each group")


@dataclass(frozen=True)
class CatalogueMetric(Declaration):
    """A property of all lists together, from how often each item is shown in the first k.

    ``value`` takes of every item its exposure (in units of :data:`sparkrank.states.items.UNIT`) and the number of
    groups in which it is relevant, the number of groups, and the metric.
    """

    parts: ClassVar[tuple[Part, ...]] = ("items",)
    heading: ClassVar[str] = "Metrics over lists"
    about: ClassVar[str] = "Properties of all lists together."
    computed_by: ClassVar[tuple[str, ...]] = ("value",)
    common: tuple[Parameter, ...] = (TIES,)
    refused: tuple[tuple[str, str], ...] = (("weight", "in what all lists show no group has a weight of its own"),)
    value: Callable[[Ints, Ints, int, Metric], float] = lambda exposure, relevant, groups, metric: float("nan")

    @property
    def reads_labels(self) -> bool:
        return "rel" in self.defaults

    def needed(self, metric: Metric, plan: Plan) -> Iterator[Needed]:
        exposure = str(Exposure.of(metric))
        of = "" if plan.item is None else f" of {plan.item}"  # items of arrays are those of the lists
        yield Needed(ITEM_FORM.kind, exposure, str(metric), f"{exposure}{of}; {plan.settings}")
        yield Needed(SUM_FORM.kind, GROUPS, str(metric), f"{GROUPS}; {plan.settings}")
        yield from _sums_needed(metric, plan, ROWS_AND_WEIGHT)

    def row(self, merged: Merged, subject: Subject, metric: Metric) -> MetricRow:
        """Its weight is the number of rows that are shown."""
        shown_rows, relevant = merged.partials.items.amounts(subject.state(Exposure.of(metric)))
        sums = merged.partials.sums.results()
        groups = int(sums.get(subject.state(GROUPS), 0))
        rows = int(sums.get(subject.state(ROWS_AND_WEIGHT[0]), 0))
        found = outside.called(metric, "value", self.value, shown_rows, relevant, groups, metric)
        value = outside.number(metric, "value", found)
        return MetricRow.pooled(value, rows, rows_shown(shown_rows), n_groups=groups)


def _sums_needed(metric: Metric, plan: Plan, sums: Sequence[RowSum]) -> Iterator[Needed]:
    for each in sums:
        yield Needed(SUM_FORM.kind, str(each), str(metric), f"{each}; {plan.settings}")


@dataclass(frozen=True)
class PooledValue:
    """A metric of the whole day: its value, NaN where it is undefined, and for binned scores how far the exact value
    may be from it.
    """

    value: float
    error_bound: float = 0.0


@dataclass(frozen=True)
class PooledTotals:
    """What the rows of a day add up to, as a metric of the whole day reads it.

    ``limbs`` (6) are of the row sums that the metric names. The others are of its blocks: the exact sums of its terms,
    the highest of them, and the amounts of positives and negatives, all on one scale.
    """

    limbs: Mapping[RowSum, Floats]
    terms: Sequence[float] = ()
    highest: Sequence[float] = ()
    positives: float = 0.0
    negatives: float = 0.0

    def sum(self, *added: RowSum, without: Sequence[RowSum] = ()) -> float:
        """The float64 nearest to the sums ``added`` less those ``without``, which lie among them.

        Sums that are rounded first would leave of two that are close a wrong difference, or one below 0.
        """
        return total(np.concatenate([*(self.limbs[each] for each in added), *(-self.limbs[each] for each in without)]))


@dataclass(frozen=True)
class PooledMetric(Declaration):
    """A metric of the whole day: ``value`` of exact ``sums`` over its rows with a score."""

    parts: ClassVar[tuple[Part, ...]] = ("rows",)
    needs_groups: ClassVar[bool] = False
    heading: ClassVar[str] = "Pooled metrics"
    about: ClassVar[str] = "All rows with a score as one classification, whatever their group."
    computed_by: ClassVar[tuple[str, ...]] = ("value",)
    cutoff: Literal["optional", "none"] = "none"
    refused: tuple[tuple[str, str], ...] = (
        ("ties", "of all rows together equal scores share a bin"),
        ("weight", "its rows are weighted by the column that the input names as weight"),
    )
    is_row_mean: bool = False  # a mean of values of rows, by their weight
    sums: Callable[[Metric], tuple[RowSum, ...]] = lambda metric: ()
    value: Callable[[PooledTotals, Metric], PooledValue] = lambda totals, metric: PooledValue(float("nan"))

    def needed(self, metric: Metric, plan: Plan) -> Iterator[Needed]:
        # also of bins alone: off these sums the values of a slice are read
        sums = (*self.sums_of(metric), *ROWS_AND_WEIGHT)
        yield from _sums_needed(metric, plan, sums)
        if plan.has_parts:
            for name in (GROUPS, *map(str, sums)):
                yield Needed(PART_SUM_FORM.kind, name, str(metric), of_parts(plan.settings))

    def row(self, merged: Merged, subject: Subject, metric: Metric) -> MetricRow:
        totals = PooledTotals(self._limbs(merged, subject, metric))
        rows, weight = map(totals.sum, ROWS_AND_WEIGHT)
        found = self._value_of(totals, metric)
        return MetricRow.pooled(found.value, int(rows), weight, error_bound=found.error_bound)

    def without_parts(self, merged: Merged, subject: Subject, metric: Metric) -> WithoutParts | None:
        sizes, sums = merged.sizes_of_parts(subject), self._parts_of_sums(merged, subject, metric)
        if sizes is None or sums is None:
            return None
        all_ = {each: limbs.sum(axis=0) for each, limbs in sums.items()}
        without = np.full(len(sizes), np.nan)
        for part in np.flatnonzero(sizes).tolist():
            left = {each: all_[each] - limbs[part] for each, limbs in sums.items()}
            without[part] = self._value_of(PooledTotals(left), metric).value
        return WithoutParts(self._value_of(PooledTotals(all_), metric).value, without, sizes)

    def _parts_of_sums(self, merged: Merged, subject: Subject, metric: Metric) -> dict[RowSum, Floats] | None:
        """The limbs (parts, 6) of the sums that the metric reads; None where there are no parts."""
        found = {}
        for each in (*ROWS_AND_WEIGHT, *self.sums_of(metric)):
            limbs = merged.partials.parts.sums.of(subject, each)
            if limbs is None:
                return None
            found[each] = limbs
        return found

    def sums_of(self, metric: Metric) -> tuple[RowSum, ...]:
        """The sums that the metric reads."""
        return outside.row_sums(metric, self.sums)

    def _value_of(self, totals: PooledTotals, metric: Metric) -> PooledValue:
        """The value; raises :class:`MetricError` where a metric from outside gives something else."""
        found = outside.called(metric, "value", self.value, totals, metric)
        if metric.outside is not None:
            if not isinstance(found, PooledValue):
                raise MetricError(f"the value of {metric} is {shown(found)}: a PooledValue is needed")
            outside.number(metric, "value", found.value)
            outside.number(metric, "error_bound", found.error_bound)
        return found

    def _limbs(self, merged: Merged, subject: Subject, metric: Metric) -> dict[RowSum, Floats]:
        limbs, none = merged.partials.sums.limbs(), np.zeros(LIMBS)
        return {each: limbs.get(subject.state(each), none) for each in (*ROWS_AND_WEIGHT, *self.sums_of(metric))}


@dataclass(frozen=True)
class HistogramMetric(PooledMetric):
    """A metric of the whole day from its score blocks.

    ``rule`` says which scores share a block. ``terms`` are what each block adds in a sweep from the highest score down,
    or, ``by_rate``, from the highest empirical rate. ``at_once``: they take the
    :class:`~sparkrank.histogram.threshold_sweep.Sweeps` of several days, too. ``score_sums``: it reads the sums of
    scores. ``curve``: the one that it is the area under.
    """

    parts: ClassVar[tuple[Part, ...]] = ("rows", "bins")
    computed_by: ClassVar[tuple[str, ...]] = ("value", "terms")
    rule: Callable[[Metric], BinRule] = lambda metric: BinRule("exact")
    terms: Callable[[Sweep], Terms] = lambda sweep: Terms.of()
    by_rate: bool = False
    at_once: bool = False
    score_sums: bool = False
    curve: Literal["roc", "pr"] | None = None

    def needed(self, metric: Metric, plan: Plan) -> Iterator[Needed]:
        rule = str(self.rule_of(metric))
        yield Needed(BLOCKS_KIND, rule, str(metric), f"{rule}; {plan.settings}")
        yield from super().needed(metric, plan)
        if plan.has_parts:
            of_part = str(coarse(self.rule_of(metric)))
            yield Needed(PARTS_KIND, of_part, str(metric), of_parts(f"{of_part}; {plan.settings}"))

    def row(self, merged: Merged, subject: Subject, metric: Metric) -> MetricRow:
        """Of bins that are not among the states, as exact ones of a large day, the terms were measured apart."""
        measured = merged.measured.get(subject.state(metric))
        if measured is None:
            rule = self.rule_of(metric)
            bins = merged.partials.blocks.get(Series(*subject, rule), ScoreHistogram.empty(rule))
            measured = measure(bins, metric, self)
        extent = measured.extent
        found = self._value_of_bins(measured, self._limbs(merged, subject, metric), metric)
        weight = value_of(np.asarray(extent.pos + extent.neg))
        return MetricRow.pooled(found.value, extent.rows, weight, error_bound=found.error_bound, blocks=extent.bins)

    def rule_of(self, metric: Metric) -> BinRule:
        """The rule of the bins that the metric reads."""
        return outside.bin_rule(metric, self.rule)

    def terms_of(self, sweep: Sweep, metric: Metric) -> Terms:
        """The terms of the bins of ``sweep``."""
        return outside.terms_of_bins(metric, self.terms, sweep)

    def _value_of_bins(self, measured: Measured, limbs: Mapping[RowSum, Floats], metric: Metric) -> PooledValue:
        extent, terms = measured.extent, measured.terms
        positives, negatives = (value_of(amount) * extent.scale for amount in (extent.pos, extent.neg))
        totals = PooledTotals(limbs, terms.sums, terms.highest.tolist(), positives, negatives)
        return self._value_of(totals, metric)

    def without_parts(self, merged: Merged, subject: Subject, metric: Metric) -> WithoutParts | None:
        """By coarse bins, and so is the value: they serve the differences that parts make."""
        sizes, sums = merged.sizes_of_parts(subject), self._parts_of_sums(merged, subject, metric)
        of_parts = merged.bins_of_parts(subject, coarse(self.rule_of(metric)))
        if sizes is None or sums is None or of_parts is None:
            return None
        all_ = {each: limbs.sum(axis=0) for each, limbs in sums.items()}
        there = np.flatnonzero(sizes)
        left = [{each: all_[each] - limbs[part] for each, limbs in sums.items()} for part in there]
        without = np.full(len(sizes), np.nan)
        if self.at_once and not (self.by_rate and metric.number("min_rows") > 1):
            together, *found = self._values_at_once(of_parts, there, [all_, *left], metric)
        else:
            together = self._value_of_bins(measure(of_parts.together, metric, self), all_, metric).value
            found = [
                self._value_of_bins(measure(of_parts.without(int(part)), metric, self), limbs, metric).value
                for part, limbs in zip(there, left, strict=True)
            ]
        without[there] = found
        return WithoutParts(together, without, sizes)

    def _values_at_once(
        self, of_parts: BinsOfParts, parts: Ints, limbs: Sequence[Mapping[RowSum, Floats]], metric: Metric
    ) -> list[float]:
        """The value over all groups, and over all but those of each of the ``parts``."""
        pos, neg, score_sum = of_parts.amounts_without(tuple(parts.tolist()), score_sums=self.score_sums)
        rows, least = pos + neg, float(of_parts.rows is None)
        if self.by_rate:
            pos, neg = by_rate(pos, neg)
        sweeps = Sweeps(pos, neg, rows, least, score_sum)
        terms = self.terms_of(sweeps, metric)
        added, highest = terms.limbs.T, terms.highest.T
        positives, negatives = (np.ravel(each).tolist() for each in (sweeps.positives, sweeps.negatives))
        of_days = (
            PooledTotals(
                limbs[day],
                added[day].tolist() if len(added) else (),
                highest[day].tolist() if len(highest) else (),
                positives[day],
                negatives[day],
            )
            for day in range(len(limbs))
        )
        return [self._value_of(totals, metric).value for totals in of_days]
