"""The kinds of metric: which states each needs, how they come of a ranked bucket, and how they become a row.

A bucket (:mod:`sparkrank.bucket.ranked`) computes a whole part of a plan at once, from what the kind says of each
metric of it: the values and weights of its groups, the exposure, the sums over rows, the rule of bins. Where the states
are merged, :meth:`~sparkrank.metrics.declaration.Declaration.row` reads the value off them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol

import numpy as np

from sparkrank.base.errors import MetricError, shown
from sparkrank.histogram.bins import BinRule
from sparkrank.histogram.bins import score_sums as bin_sums
from sparkrank.histogram.scored_rows import RowSum
from sparkrank.histogram.threshold_sweep import Sweep, Sweeps, Terms, by_rate, value_of
from sparkrank.metrics import outside
from sparkrank.metrics.arithmetic import Arithmetic, OneGroup, TermTable, given, list_table, total
from sparkrank.metrics.declaration import Declaration, Part, Scale
from sparkrank.metrics.merged import Measured, Merged, MetricRow, Side, WithoutParts, effective_number, measure
from sparkrank.metrics.needs import (
    GROUPS,
    NEGATIVES,
    POSITIVES,
    ROWS_AND_WEIGHT,
    Exposure,
    Needed,
    amounts_by_group,
    of_parts,
)
from sparkrank.metrics.parameters import TIES, WEIGHT, Parameter
from sparkrank.numeric.array_types import Floats, Ints
from sparkrank.numeric.exact_sums import LIMBS, rounded
from sparkrank.numeric.exact_sums import total as exact_total
from sparkrank.numeric.segments import Segments, sum_by
from sparkrank.numeric.signed_parts import mixtures
from sparkrank.ranking.distinct_lists import DistinctLists, GroupValues
from sparkrank.ranking.ranking import Ranking
from sparkrank.states import Distribution, ScoreHistogram
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
from sparkrank.states.items import UNIT, rows_shown
from sparkrank.states.keys import Subject
from sparkrank.states.means import NO_GROUPS
from sparkrank.states.part_bins import VALUES, BinsOfParts, coarse, rule_name
from sparkrank.states.part_sums import parts_of_slice

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

    The fields of :class:`~sparkrank.metrics.declaration.Declaration` name, document and limit it; these say how its
    values come about. Its value is undefined where ``values`` gives NaN for every group.

    Parameters
    ----------
    values : callable (Ranking or sums, Metric) -> float64 array (groups)
        The value of each group of a bucket, in the metric's own unit; NaN where it is undefined for the group. Of
        ``sums`` that have distinct lists, one for each of those (lists).
    weights : callable (Ranking or sums, Metric) -> float64 array (groups) or None, optional
        How much each group counts in the mean: a finite number from 0, of any unit. The length is that of ``values``.
        Where it is not given, or gives None, all groups count the same, unless the text of the metric has a ``weight``.
    sums : callable (Ranking, Metric) -> ListSums, optional
        Sums over the lists of a ranking, as :func:`~sparkrank.metrics.hit_sums` makes them. Where they are given,
        ``values`` and ``weights`` take these in place of the ranking.
    arithmetic : callable (Ranking, Metric) -> Arithmetic, optional
        The terms and the steps by which the value comes of the rows of a ranking of one group, for
        ``sparkrank explain``. Without it, a value is shown beside the list alone.
    common : tuple of Parameter
        The parameters that all metrics of this kind have: ``ties`` and ``weight``.

    Examples
    --------
    >>> import numpy as np, pyarrow as pa, sparkrank as sr
    >>> length = sr.register(sr.GroupMetric(
    ...     name="list_length",
    ...     title="rows of a list",
    ...     formula="rows with a score",
    ...     undefined="never",
    ...     reference="ours",
    ...     highest=np.inf,
    ...     values=lambda ranking, metric: ranking.length.astype(np.float64),
    ... ))
    >>> rows = pa.table({"user": ["a", "a", "b"], "score": [3.0, 2.0, 1.0], "clicked": [1, 0, 1]})
    >>> sr.evaluate(rows, ["list_length"], group="user", score="score", label="clicked")["list_length"]
    1.5
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
    arithmetic: Callable[[Ranking, Metric], Arithmetic] | None = None

    def needed(self, metric: Metric, plan: Plan) -> Iterator[Needed]:
        of_groups = metric.of_groups
        yield Needed(MEAN_FORM.kind, str(of_groups), str(metric), plan.definition(of_groups))
        if metric.percentile is not None:
            yield Needed(DISTRIBUTION_FORM.kind, str(of_groups), str(metric), plan.definition(of_groups))
            if plan.has_parts:
                name, definition = rule_name(VALUES, str(of_groups)), of_parts(plan.definition(of_groups), plan)
                yield Needed(PARTS_KIND, name, str(metric), definition, optional=True)
            return
        if plan.has_parts:
            yield Needed(PART_MEAN_FORM.kind, str(of_groups), str(metric), of_parts(plan.definition(of_groups), plan))
            yield Needed(PART_SUM_FORM.kind, GROUPS, str(metric), of_parts(plan.settings, plan))
        if plan.compare is not None and metric in plan.paired_metrics:
            compared = f"{plan.definition(of_groups)}; compared with {plan.compare.baseline}"
            yield Needed(PAIR_FORM.kind, str(of_groups), str(metric), compared)

    def row(self, merged: Merged, subject: Subject, metric: Metric) -> MetricRow:
        key = subject.state(metric.of_groups)
        mean = merged.means.get(key, NO_GROUPS)  # of a window in which it met the model that it compares with nowhere
        if metric.percentile is None:
            return MetricRow(mean.value, mean.n_undefined, mean.n_rows, mean.weight, n_groups=mean.n_groups)
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
        together = exact_total(all_[:LIMBS])
        if not together:
            return None
        with np.errstate(invalid="ignore", divide="ignore"):
            weight, weighted = rounded(left[:, :LIMBS]), rounded(left[:, LIMBS:])
            return WithoutParts(exact_total(all_[LIMBS:]) / together, weighted / weight, sizes, weight)

    def n_effective(self, merged: Merged, subject: Subject, metric: Metric, *, clustered: bool) -> float | None:
        """By the weights of groups in the mean."""
        if clustered:
            sums = merged.partials.parts.means.of(subject, metric.of_groups)
            weights = merged.sizes_of_parts(subject) if sums is None else rounded(sums[:, :LIMBS])
            return None if weights is None else effective_number(weights) or None
        return merged.means.get(subject.state(metric.of_groups), NO_GROUPS).n_effective or None

    def values_of(self, ranking: Ranking, metric: Metric) -> GroupValues:
        """The value of each group."""
        sums = self._sums_of(ranking, metric)
        distinct = None if sums is None else sums.distinct
        values = outside.called(metric, "values", self.values, ranking if sums is None else sums, metric)
        if metric.outside is not None:
            _validate_values(ranking.groups if distinct is None else len(distinct.rows), values, metric)
        return GroupValues(values, distinct)

    def explain(self, group: OneGroup, metric: Metric) -> Arithmetic:
        if self.arithmetic is None:
            judgments, ranking = group.ranking.judgments, group.ranking
            hit = judgments.flags(metric.rel if "rel" in self.defaults else None)[ranking.row]
            value = self.values_of(ranking, metric).of_groups()[0]
            steps = [
                given("R", judgments.relevant(metric.rel if "rel" in self.defaults else None)[0]),
                given("length of the list", ranking.length[0]),
                given(str(metric), value),
            ]
            return Arithmetic.of([list_table(ranking, {"relevant": hit.astype(np.float64)})], steps, [NOT_TOLD])
        found = outside.called(metric, "arithmetic", self.arithmetic, group.ranking, metric)
        if metric.outside is not None and not isinstance(found, Arithmetic):
            raise MetricError(f"the arithmetic of {metric} is {shown(found)}: Arithmetic.of(...) is needed")
        return found

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
                    _validate_weights(ranking.groups if distinct is None else len(distinct.rows), weights, metric)
                return GroupValues(weights, distinct)
        match metric.word("weight"):
            case "rows":
                return GroupValues(ranking.length.astype(np.float64))
            case "relevant":
                rel = metric.rel if "rel" in self.defaults else None
                return GroupValues(ranking.judgments.relevant(rel).astype(np.float64))
        return None


NOT_TOLD = "its declaration has no arithmetic: the value comes of a function"


def _validate_values(count: int, values: object, metric: Metric, what: str = "values") -> None:
    """Raise :class:`MetricError` where the values of a metric from outside are no float64 for each of the groups."""
    if not (isinstance(values, np.ndarray) and values.dtype == np.float64 and values.shape == (count,)):
        found = f"{values.dtype} of shape {values.shape}" if isinstance(values, np.ndarray) else shown(values)
        raise MetricError(
            f"the {what} of {metric} are {found}: an array of {count} float64 is needed, one for each group"
        )


def _validate_weights(count: int, weights: Floats, metric: Metric) -> None:
    """Raise :class:`MetricError` where weights from outside are no numbers from 0, one for each of the groups."""
    _validate_values(count, weights, metric, "weights")
    bad = ~((weights >= 0) & (weights < np.inf))
    if bad.any():
        raise MetricError(f"a weight of {metric} is {weights[bad][0]:g}: a number from 0 is needed for each group")


@dataclass(frozen=True)
class CatalogueMetric(Declaration):
    """A property of all lists together, from how often each item is shown in the first k.

    Its value is undefined where ``value`` gives NaN.

    Parameters
    ----------
    value : callable (int64 array (items), int64 array (items), int, Metric) -> float
        Takes the exposure of every item, in units of :data:`sparkrank.states.items.UNIT` (a row that is shown for
        certain has one unit); the number of groups in which the item is relevant; the number of groups; and the metric.
        The second has a meaning where the metric has the parameter ``rel``, so that labels are needed. Gives the value,
        NaN where it is undefined.
    common : tuple of Parameter
        The parameters that all metrics of this kind have: ``ties``.

    Examples
    --------
    >>> import numpy as np, pyarrow as pa, sparkrank as sr
    >>> items = sr.register(sr.CatalogueMetric(
    ...     name="items_shown",
    ...     title="number of items that are shown",
    ...     formula="items in the first k of some list",
    ...     undefined="never",
    ...     reference="ours",
    ...     highest=np.inf,
    ...     value=lambda exposure, relevant, groups, metric: float(np.sum(exposure > 0)),
    ... ))
    >>> rows = pa.table({"user": ["a", "a", "b"], "item": ["x", "y", "x"], "score": [3.0, 2.0, 1.0]})
    >>> sr.evaluate(rows, ["items_shown@1"], group="user", item="item", score="score")["items_shown@1"]
    1.0
    """

    parts: ClassVar[tuple[Part, ...]] = ("items",)
    heading: ClassVar[str] = "Metrics over lists"
    about: ClassVar[str] = "Properties of all lists together."
    computed_by: ClassVar[tuple[str, ...]] = ("value",)
    common: tuple[Parameter, ...] = (TIES,)
    interval: Scale = "none"
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

    def explain(self, group: OneGroup, metric: Metric) -> Arithmetic:
        """How often the list of the group shows each of its items, which is what it adds to those of all lists."""
        from sparkrank.metrics.exposure import shown as exposed  # which declares metrics of this kind

        ranking, judgments = group.ranking, group.ranking.judgments
        columns = {"shown": exposed(ranking, metric.k)[ranking.row] / UNIT}
        if "rel" in self.defaults:
            columns["relevant"] = judgments.flags(metric.rel)[ranking.row].astype(np.float64)
        return Arithmetic.of([list_table(ranking, columns)], [total("rows shown", "shown")], [OF_ALL_LISTS])


OF_ALL_LISTS = "the value is of all lists together: this list adds what it shows to how often each item is shown"
OF_ALL_ROWS = "the value is of the rows of all groups together: these rows add so much to its sums"


def _sums_needed(metric: Metric, plan: Plan, sums: Sequence[RowSum]) -> Iterator[Needed]:
    for each in sums:
        yield Needed(SUM_FORM.kind, str(each), str(metric), f"{each}; {plan.settings}")


def _weights_without(sums: Mapping[RowSum, Floats]) -> Floats:
    """The weight of rows without each part."""
    weights = sums[ROWS_AND_WEIGHT[1]]
    return rounded(weights.sum(axis=0) - weights)


@dataclass(frozen=True)
class PooledValue:
    """The value of a pooled metric.

    Parameters
    ----------
    value : float
        The value, in the metric's own unit; NaN where it is undefined.
    error_bound : float
        How far the value of exact scores may lie from ``value``, in the same unit: 0 where it is exact. NaN where the
        value is undefined and could have a bound.
    noise_floor : float, optional
        About what the value would be by chance alone, with as many rows, where the true one is the lowest. Differences
        of values that have one are tested by swapped parts.

    Examples
    --------
    >>> PooledValue(0.75)
    PooledValue(value=0.75, error_bound=0.0, noise_floor=None)
    """

    value: float
    error_bound: float = 0.0
    noise_floor: float | None = None


ROWS, SCORES, BIN = "rows", "row score", "score bin"  # of the terms of pooled metrics


@dataclass(frozen=True)
class PooledTotals:
    """What the rows with a score add up to, as a pooled metric reads it.

    Parameters
    ----------
    limbs : mapping of RowSum to float64 array (6)
        The exact sums over rows that the metric names, and those of rows and weight, in limbs: :meth:`sum` reads them.
    terms : sequence of float
        The sum over all score bins of each of the metric's terms. Empty where the metric reads no bins.
    highest : sequence of float
        The highest over all score bins of each of the terms that are no sums; minus infinity where there are no bins.
    positives, negatives : float
        The weight of relevant rows and of others in the unit of the sweep that the terms come from: a power of two,
        which brings the sum of both to between 1/2 and 1. Both are 0 where the metric reads no bins.

    Examples
    --------
    >>> import numpy as np
    >>> from sparkrank.metrics import RowSum
    >>> from sparkrank.numeric.exact_sums import exact_sum
    >>> hits, rows = RowSum("positives"), RowSum("rows")
    >>> totals = PooledTotals({hits: exact_sum(np.array([1.0, 1.0])), rows: exact_sum(np.ones(8))})
    >>> totals.sum(hits) / totals.sum(rows), totals.sum(rows, without=[hits])
    (0.25, 6.0)
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
        return exact_total(
            np.concatenate([*(self.limbs[each] for each in added), *(-self.limbs[each] for each in without)])
        )


@dataclass(frozen=True)
class PooledMetric(Declaration):
    """A pooled metric: one ``value`` of exact ``sums`` over all rows with a score, whatever their group.

    Its value is undefined where ``value`` gives NaN, as it should where there is no row.

    Parameters
    ----------
    sums : callable (Metric) -> tuple of RowSum
        The sums over rows that it reads. Those of rows and of their weight are always there.
    value : callable (PooledTotals, Metric) -> PooledValue
        The value, from these sums. Without a weight column, every row weighs 1.
    is_row_mean : bool
        Whether the value is the mean of values of rows, by their weight.
    carriers : callable (Metric) -> tuple of RowSum
        What its value rests on, as the positives and the negatives of an AUC: the groups that have most of it decide
        how sure the value is. The weight of rows where it is not given.

    Examples
    --------
    >>> import math, pyarrow as pa, sparkrank as sr
    >>> from sparkrank.metrics import PooledValue, RowSum
    >>> hits, weight = RowSum("positives"), RowSum("weight")
    >>> def share(totals, metric):
    ...     return PooledValue(totals.sum(hits) / totals.sum(weight) if totals.sum(weight) else math.nan)
    >>> rate = sr.register(sr.PooledMetric(
    ...     name="click_rate",
    ...     title="clicks over rows",
    ...     formula="P / (P + N)",
    ...     undefined="no rows",
    ...     reference="ours",
    ...     sums=lambda metric: (hits, weight),
    ...     value=share,
    ... ))
    >>> rows = pa.table({"score": [3.0, 2.0, 1.0, 0.0], "clicked": [1, 0, 0, 0]})
    >>> sr.evaluate(rows, ["click_rate"], score="score", label="clicked")["click_rate"]
    0.25
    """

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
    carriers: Callable[[Metric], tuple[RowSum, ...]] = lambda metric: (ROWS_AND_WEIGHT[1],)
    sums: Callable[[Metric], tuple[RowSum, ...]] = lambda metric: ()
    value: Callable[[PooledTotals, Metric], PooledValue] = lambda totals, metric: PooledValue(float("nan"))

    def needed(self, metric: Metric, plan: Plan) -> Iterator[Needed]:
        # also of bins alone: off these sums the values of a slice are read
        sums = (*self.sums_of(metric), *ROWS_AND_WEIGHT)
        yield from _sums_needed(metric, plan, sums)
        if plan.has_parts:
            for name in (GROUPS, *map(str, sums)):
                yield Needed(PART_SUM_FORM.kind, name, str(metric), of_parts(plan.settings, plan))
            for carrier in self.carriers_of(metric):
                for name in amounts_by_group(carrier):
                    yield Needed(SUM_FORM.kind, name, str(metric), f"{name}; {plan.settings}", optional=True)

    def n_effective(self, merged: Merged, subject: Subject, metric: Metric, *, clustered: bool) -> float | None:
        """By the carrier that the fewest groups would carry."""
        found = [
            self._carried(merged, subject, metric, carrier, clustered=clustered) for carrier in self.carriers_of(metric)
        ]
        return min((each for each in found if each is not None), default=None)

    def _carried(
        self, merged: Merged, subject: Subject, metric: Metric, carrier: RowSum, *, clustered: bool
    ) -> float | None:
        """By groups, or by parts where these may come again, or were not counted; 0 where none has any.

        Parts have the sums that the metric reads alone: of others, groups that come again count each time.
        """
        sums = merged.partials.sums.results()
        amount, squares = (sums.get(subject.state(name)) for name in amounts_by_group(carrier))
        by_groups = None if amount is None or squares is None else amount**2 / squares if squares else 0.0
        if by_groups is not None and not clustered:
            return by_groups
        of_parts = self._carried_by_parts(merged, subject, metric, carrier)
        return by_groups if of_parts is None else effective_number(of_parts)

    def _carried_by_parts(
        self,
        merged: Merged,
        subject: Subject,
        metric: Metric,
        carrier: RowSum,
    ) -> Floats | None:
        """How much of ``carrier`` each part has (parts), as the sums of parts say it; None where they do not."""
        if carrier.name == NEGATIVES:
            every, positives = (
                self._carried_by_parts(merged, subject, metric, each)
                for each in (ROWS_AND_WEIGHT[1], replace(carrier, name=POSITIVES))
            )
            return None if every is None or positives is None else every - positives
        if carrier not in (*ROWS_AND_WEIGHT, *self.sums_of(metric)):  # another metric's, or nobody's
            return None
        limbs = merged.partials.parts.sums.of(subject, carrier)
        return None if limbs is None else rounded(limbs)

    def row(self, merged: Merged, subject: Subject, metric: Metric) -> MetricRow:
        totals = PooledTotals(self._limbs(merged, subject, metric))
        rows, weight = map(totals.sum, ROWS_AND_WEIGHT)
        found, groups = self._value_of(totals, metric), merged.groups_of_parts(subject)
        return MetricRow.pooled(found.value, int(rows), weight, n_groups=groups, error_bound=found.error_bound)

    def without_parts(self, merged: Merged, subject: Subject, metric: Metric) -> WithoutParts | None:
        sizes, sums = merged.sizes_of_parts(subject), self._parts_of_sums(merged, subject, metric)
        if sizes is None or sums is None:
            return None
        all_ = {each: limbs.sum(axis=0) for each, limbs in sums.items()}
        without = np.full(len(sizes), np.nan)
        for part in np.flatnonzero(sizes).tolist():
            left = {each: all_[each] - limbs[part] for each, limbs in sums.items()}
            without[part] = self._value_of(PooledTotals(left), metric).value
        return WithoutParts(self._value_of(PooledTotals(all_), metric).value, without, sizes, _weights_without(sums))

    def explain(self, group: OneGroup, metric: Metric) -> Arithmetic:
        """What the rows of the group add to the sums that the metric reads."""
        rows = self._terms_of_rows(group, metric)
        steps = [total(name, name, ROWS) for name in rows.columns if name not in (SCORES, BIN)]
        return Arithmetic.of([rows, *self._bins_of(group, metric)], steps, [OF_ALL_ROWS])

    def _terms_of_rows(self, group: OneGroup, metric: Metric) -> TermTable:
        """What each row with a score adds to each sum, the highest score first."""
        scored = group.scored
        each = Segments(len(scored.scores), np.arange(len(scored.scores), dtype=np.int32))
        order = np.argsort(-scored.wide(), kind="stable")
        columns = {SCORES: scored.wide()[order]}
        for quantity in dict.fromkeys((*ROWS_AND_WEIGHT, *self.sums_of(metric))):
            columns[str(quantity)] = rounded(scored.sums(quantity, each))[order]
        return TermTable(ROWS, columns, group.scored_rows[order])

    def _bins_of(self, group: OneGroup, metric: Metric) -> list[TermTable]:  # noqa: ARG002
        return []

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

    def carriers_of(self, metric: Metric) -> tuple[RowSum, ...]:
        """What the value of ``metric`` rests on."""
        return outside.row_sums(metric, self.carriers)

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
    """A pooled metric from score bins.

    Its value is undefined where ``value`` gives NaN, as it should where a class that it divides by has no rows.

    Parameters
    ----------
    rule : callable (Metric) -> BinRule
        Which scores share a bin; each distinct score has one where it is not given.
    terms : callable (Sweep) -> Terms
        What the bins add, in a sweep over the n bins from the highest score down: ``sweep.pos``, ``sweep.neg``,
        ``sweep.tp`` and ``sweep.fp`` are float64 arrays (n) of weights, all divided by one power of two. Bins may come
        in several ranges of scores, whose terms are added up.
    value : callable (PooledTotals, Metric) -> PooledValue
        The value, from the totals of the terms.
    by_rate : bool
        Whether the sweep goes from the highest empirical rate down. Such a metric has the parameter ``min_rows``.
    at_once : bool
        Whether ``terms`` take :class:`~sparkrank.histogram.threshold_sweep.Sweeps`, too: those of several days at once,
        as arrays (days, n).
    score_sums : bool
        Whether the terms read ``sweep.score_sum``, the sum of the scores of each bin.
    curve : {"roc", "pr"}, optional
        The curve that it is the area under.

    Examples
    --------
    The share of pairs of a positive and a negative that are in the right order, where a pair of one bin counts as
    wrong:

    >>> import math, pyarrow as pa, sparkrank as sr
    >>> from sparkrank.metrics import PooledValue, Terms
    >>> def right(totals, metric):
    ...     pairs = totals.positives * totals.negatives
    ...     return PooledValue(totals.terms[0] / pairs if pairs else math.nan)
    >>> strict = sr.register(sr.HistogramMetric(
    ...     name="strict_auc",
    ...     title="AUC in which ties are wrong",
    ...     formula="Σ n_b·(TP - p_b) / (P·N)",
    ...     undefined="P = 0 or N = 0",
    ...     reference="ours",
    ...     terms=lambda sweep: Terms.of((sweep.neg * sweep.tp_above,)),
    ...     value=right,
    ... ))
    >>> rows = pa.table({"score": [3.0, 2.0, 2.0, 1.0], "clicked": [1, 1, 0, 0]})
    >>> sr.evaluate(rows, ["strict_auc"], score="score", label="clicked")["strict_auc"]
    0.75
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
        if plan.has_parts and self.interval != "none":
            of_part = str(coarse(self.rule_of(metric)))
            yield Needed(PARTS_KIND, of_part, str(metric), of_parts(f"{of_part}; {plan.settings}", plan))

    def row(self, merged: Merged, subject: Subject, metric: Metric) -> MetricRow:
        """Of bins that are not among the states, as exact ones of a large day, the terms were measured apart."""
        merged.measure_bins(subject, [(metric, self)])
        measured = merged.measured_of(subject, metric)
        assert measured is not None  # noqa: S101 - it was measured now, if not before
        extent = measured.extent
        found = self._value_of_bins(measured, self._limbs(merged, subject, metric), metric)
        weight, groups = value_of(np.asarray(extent.pos + extent.neg)), merged.groups_of_parts(subject)
        row = MetricRow.pooled(
            found.value, extent.rows, weight, n_groups=groups, error_bound=found.error_bound, blocks=extent.bins
        )
        return replace(row, noise_floor=found.noise_floor)

    def _terms_of_rows(self, group: OneGroup, metric: Metric) -> TermTable:
        rows = super()._terms_of_rows(group, metric)
        rule, scores = self.rule_of(metric), rows.columns[SCORES]
        flags = group.ranking.judgments.flags(rule.rel)[rows.row].astype(np.float64)
        weight = rows.columns[str(ROWS_AND_WEIGHT[1])]
        columns = {BIN: rule.snapped(scores), "positive": weight * flags, "negative": weight * (1 - flags)}
        return TermTable(ROWS, {**rows.columns, **columns}, rows.row)

    def _bins_of(self, group: OneGroup, metric: Metric) -> list[TermTable]:
        (bins,) = ScoreHistogram.of_each(self.rule_of(metric), group.scored, self.score_sums)
        columns = {BIN: bins.score, "positive": bins.positives, "negative": bins.negatives}
        if self.score_sums:
            columns["sum of scores"] = bins.score_sum
        return [TermTable("score bins", {name: column[::-1] for name, column in columns.items()})]

    def _carried_by_parts(self, merged: Merged, subject: Subject, metric: Metric, carrier: RowSum) -> Floats | None:
        """Its bins have both classes, where it is one of these that carries."""
        bins = merged.bins_of_parts(subject, coarse(self.rule_of(metric)))
        if bins is None or carrier.name not in (POSITIVES, NEGATIVES) or carrier.rel != self.rule_of(metric).rel:
            return super()._carried_by_parts(merged, subject, metric, carrier)
        amounts = rounded(bins.pos if carrier.name == POSITIVES else bins.neg)
        return sum_by(bins.part, amounts, parts_of_slice(subject.slice))

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
        if self.interval == "none":
            return None
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
        return WithoutParts(together, without, sizes, _weights_without(sums))

    def _values_at_once(
        self, of_parts: BinsOfParts, parts: Ints, limbs: Sequence[Mapping[RowSum, Floats]], metric: Metric
    ) -> list[float]:
        """The value over all groups, and over all but those of each of the ``parts``."""
        amounts = of_parts.amounts_without(tuple(parts.tolist()), score_sums=self.score_sums)
        return self._values_of(*amounts, float(of_parts.rows is None), limbs, metric)

    def _values_of(
        self,
        pos: Floats,
        neg: Floats,
        score_sum: Floats | None,
        least: float,
        limbs: Sequence[Mapping[RowSum, Floats]],
        metric: Metric,
    ) -> list[float]:
        """The value of each of several days (days, bins), which have these ``limbs``."""
        rows = pos + neg
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

    def mixed_values(self, metric: Metric, *sides: Side) -> tuple[Floats, int] | None:
        known = []
        for merged, subject in sides:
            bins = merged.bins_of_parts(subject, coarse(self.rule_of(metric)))
            sums, sizes = self._parts_of_sums(merged, subject, metric), merged.sizes_of_parts(subject)
            if not self.at_once or bins is None or sums is None or sizes is None:
                return None
            known.append((bins, sums, sizes))
        filled = np.flatnonzero(np.sum([sizes for _, _, sizes in known], axis=0))

        def mixed(of_sides: Sequence[Floats]) -> Floats:
            alone = [(each,) for each in of_sides]
            return np.concatenate(
                [mixtures(filled, *each) for each in ([tuple(of_sides)] if alone[1:] else []) + alone]
            )

        # by score where scores are probabilities, else by rank: two models may have other scales
        order = [bins.together.bins if self.score_sums else bins.ranks for bins, _, _ in known]
        places = np.unique(np.concatenate(order))
        of_bins = zip(known, order, strict=True)
        amounts = mixed(
            [
                bins.amounts_of(len(sizes), np.searchsorted(places, own), len(places))
                for (bins, _, sizes), own in of_bins
            ]
        )
        limbs = {each: mixed([sums[each] for _, sums, _ in known]) for each in known[0][1]}
        pos, neg, offset = np.moveaxis(amounts, 1, 0)
        scores = None
        if self.score_sums:
            scores = bin_sums(coarse(self.rule_of(metric)), places.astype(np.int64), pos + neg, offset)[:, ::-1]
        of_days = [{each: own[day] for each, own in limbs.items()} for day in range(len(pos))]
        least = float(known[0][0].rows is None)
        values = self._values_of(pos[:, ::-1], neg[:, ::-1], scores, least, of_days, metric)
        return np.reshape(values, (2 * len(sides) - 1, 2, -1)), len(filled)
