"""The rankings of one model in a bucket, and the states computed from them, with only pyarrow and numpy.

States are the sums and counts from which metrics are computed. The limbs of an exact sum are the float64 numbers that
it consists of (:mod:`sparkrank.numeric.exact_sums`). A part is one of up to 64 subsets of the groups.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from sparkrank.base import checks
from sparkrank.bucket.bucket_rows import BucketRows
from sparkrank.bucket.encoding import encode, paired
from sparkrank.bucket.impressions import WEIGHT, value_column
from sparkrank.bucket.lists import ListedRows
from sparkrank.bucket.position_counts import position_sums
from sparkrank.bucket.propensities import weight_sums, weights_of
from sparkrank.bucket.slicing import GroupSlice
from sparkrank.histogram.bins import BinRule
from sparkrank.histogram.count import SegmentCounts, count_segments
from sparkrank.histogram.row_histogram import histograms_of_rows
from sparkrank.histogram.scored_rows import LoggedActions, RowSum, ScoredRows
from sparkrank.metrics import GroupMetric, Metric, Plan
from sparkrank.metrics.arithmetic import Arithmetic, OneGroup
from sparkrank.metrics.group_auc import class_counts
from sparkrank.metrics.group_metric import logarithms
from sparkrank.metrics.labels import FIRST, level_text
from sparkrank.metrics.merged import kind_of
from sparkrank.metrics.needs import (
    NEGATIVES,
    POSITIVES,
    ROWS_AND_WEIGHT,
    amounts_by_group,
    counts_ranks,
    rule_of_values,
)
from sparkrank.metrics.policy_value import OF_ACTIONS, clip_of
from sparkrank.metrics.position_sums import counts_positions
from sparkrank.metrics.propensity import WeighedRows
from sparkrank.metrics.slices import ALL
from sparkrank.metrics.unjudged import Assumption, assumption_of
from sparkrank.numeric.array_types import Codes, Flags, Floats, Ints
from sparkrank.numeric.cached import cached, drop_cached
from sparkrank.numeric.exact_sums import LIMBS, exact_sums, rounded, whole_limbs
from sparkrank.numeric.key_hashes import PARTS
from sparkrank.numeric.segments import WHOLE, Segments, codes_of, count_by, taken
from sparkrank.numeric.whole_units import UnitTable, sums_by_segment
from sparkrank.ranking.distinct_lists import DistinctLists, GroupValues
from sparkrank.ranking.first_rows import first_rows
from sparkrank.ranking.hit_sums import hit_sums, tied_rows
from sparkrank.ranking.ranking import Ranking, Ties
from sparkrank.ranking.value_columns import ValueColumn
from sparkrank.states import Distribution, ItemCounts, ScoreHistogram, ScoreSeries
from sparkrank.states.items import UNIT, with_parts
from sparkrank.states.keys import SliceKey, StateKey
from sparkrank.states.means import MeanRows, ValueSums, equal_sums, weighted_sums
from sparkrank.states.part_sums import parts_of_slice

T = TypeVar("T", bound=np.generic)
# For each set of lists: the lists in each segment and their segments, or None if these are about as many as the groups.
SegmentLists: TypeAlias = "dict[DistinctLists, tuple[Ints, Segments] | None]"
# The quantities available from the sums over hits if all rows have the same weight.
_ROWS = tuple(total.name for total in ROWS_AND_WEIGHT)
_COUNTED = (*_ROWS, POSITIVES, NEGATIVES)
# Amounts of groups are squared in this unit, so that the sum of squares is exact for any possible number of groups.
AMOUNT_UNIT, MOST_AMOUNT = 2.0**15, 2.0**42
EXTREMES: tuple[Ties, Ties] = ("best", "worst")  # if both give the same value, the order of tied rows does not matter
ROUNDING = 2.0**-40  # tolerance for a value out of range, larger than the rounding error of a million terms of 1


class CheckedModel(NamedTuple):
    """A ``model`` with its rows judged by a ``checked_by`` label, which is more reliable than the model's own label.

    ``whole`` flags the groups in which no row lacks that label.
    """

    model: RankedModel
    whole: Flags


@dataclass(frozen=True)
class RankedModel:
    """The rankings of the model ``name`` for all groups of a bucket.

    ``listed`` contains the model's list, taken from the bucket's ``rows``. ``chosen`` flags the groups in which the
    model is evaluated (None means all groups). ``weights`` maps each weight column to the weights of the groups.
    ``assumed`` maps each assumption about rows without a label to the model under this assumption, if there are such
    rows. ``checked`` maps labels that check others to the model with this label.
    """

    name: str
    plan: Plan
    ranking: Ranking
    listed: ListedRows
    rows: BucketRows
    chosen: Flags | None
    weights: Mapping[str, Floats]
    assumed: Mapping[Assumption, RankedModel] = field(default_factory=dict)
    checked: Mapping[str, CheckedModel] = field(default_factory=dict)

    def counts(self) -> dict[tuple[str, str], int]:
        if not self.plan.keys:
            return {(checks.SCORED_ROWS, self.name): len(self.listed.scores)}
        levels = self.plan.levels
        hits = hit_sums(self.ranking, levels[0])
        counted = {
            checks.SCORED_ROWS: int(self.ranking.length.sum()),
            checks.TIED_ROWS: tied_rows(self.ranking, levels[0]),
            checks.UNRETRIEVED_GROUPS: self._count_groups(GroupValues(hits.length == 0, hits.distinct)),
            **{checks.one_class_groups(level_text(level)): self._of_one_class(level) for level in levels},
        }
        counted |= {checks.short_lists(k): self._shorter_than(k) for k in self.plan.full_lengths}
        counted |= {checks.without_value(column.name): self._without(column) for column in self.plan.listed_values}
        if self.weights:
            lacking = np.any([np.isnan(self._chosen(weights)) for weights in self.weights.values()], axis=0)
            counted[checks.WEIGHTLESS_GROUPS] = int(np.count_nonzero(lacking))
        return {(check, self.name): count for check, count in counted.items()}

    def counts_of_metrics(self) -> dict[tuple[str, str], int]:
        """Return counts of groups with values out of range, above that of the ideal list, or decided by ties."""
        plan = self.plan
        counted = {checks.outside_range(*bounds): self._outside(*bounds) for bounds in plan.ranges}
        counted |= {checks.above_ideal(*own): self._outside(own[0], -math.inf, own[1]) for own in plan.beatable}
        counted |= {checks.decided_by_ties(metric): self._decided_by_ties(metric) for metric in plan.own_ordered}
        return {(check, self.name): count for check, count in counted.items()}

    def _without(self, column: ValueColumn) -> int:
        """Count the rows with a score that have no value in ``column``."""
        values = next(own for read, own in self.ranking.columns.items() if getattr(read, "stored", None) == column)
        missing = np.isnan(values) if values.dtype.kind == "f" else values < 0
        return int(np.count_nonzero(self.ranking.of_listed(missing)))

    def _of_one_class(self, level: float | None) -> int:
        """Count the evaluated groups whose list has only relevant or only irrelevant rows, but at least one row."""
        hits = hit_sums(self.ranking, level)
        positives, negatives = class_counts(hits)
        return self._count_groups(GroupValues((hits.length > 0) & ((positives == 0) | (negatives == 0)), hits.distinct))

    def _shorter_than(self, k: int) -> int:
        return self._count_groups(GroupValues(self.ranking.length < k))

    def _outside(self, metric: Metric, low: float, high: float) -> int:
        """Count the evaluated groups whose value of ``metric`` is outside [``low``, ``high``]. NaN is not counted."""
        values = self.values()[str(metric)]
        outside = values.numbers < low - ROUNDING
        outside |= values.numbers > high + ROUNDING
        return self._count_groups(GroupValues(outside, values.distinct)) if outside.any() else 0

    def _decided_by_ties(self, metric: Metric) -> int:
        """Count the evaluated groups in which another order of tied rows might change the result of ``metric``."""
        declared, flags = metric.group_metric.declaration, np.zeros(self.ranking.groups, np.bool_)
        if not isinstance(declared, GroupMetric):  # in a metric of items, a cut-off may divide a tie block
            blocks = self.ranking.blocks
            inside = float(metric.k or 0) - blocks.before
            flags[blocks.group[(inside > 0) & (inside < blocks.size)]] = True
            return self._count_groups(GroupValues(flags))
        best, worst = (
            declared.values_of(self.seen_by(metric).ranked(ties), metric.group_metric).by_group() for ties in EXTREMES
        )
        return self._count_groups(GroupValues(~np.equal(best, worst) & ~(np.isnan(best) & np.isnan(worst))))

    def _count_groups(self, flags: GroupValues) -> int:
        if self.chosen is None:
            return int(flags.segments.count_flagged(flags.numbers)[0])
        return int(np.count_nonzero(self._chosen(flags.by_group())))

    def means(self, groups: GroupSlice) -> Iterator[MeanRows]:
        """Yield, for each group metric, its mean states for all values of the slice ``groups``."""
        evaluated = groups.segments.of(self.chosen)
        n_groups = evaluated.sizes(self._groups_evaluated())
        n_rows = evaluated.sum(self._chosen(self.ranking.judgments.rows_of_group()))
        sums = self._sums(evaluated)
        for metric, _ in self.plan.averaged_metrics:  # in the same order in every bucket
            undefined, averaged, limbs = sums[metric]
            counts = (n_groups, undefined, averaged, n_rows)
            yield MeanRows(self._key(groups, metric), np.column_stack(counts), limbs)
        for metric in self.plan.checked_metrics:
            (found,) = equal_sums([self._chosen(self._differences(metric))], None, evaluated)
            counts = (n_groups, found.undefined, found.averaged, n_rows)
            yield MeanRows(self._key(groups, metric), np.column_stack(counts), found.limbs)

    def _sums(self, evaluated: Segments) -> dict[Metric, ValueSums]:
        by_metric: dict[Metric, ValueSums] = {}
        equal: dict[Segments, dict[Metric, Floats]] = {}
        lists: SegmentLists = {}
        for metric, _ in self.plan.averaged_metrics:
            own, of_lists = self._weights_of(metric), self.added(metric)
            if own is not None and own.distinct is not of_lists.distinct:
                own, of_lists = (GroupValues(numbers.by_group()) for numbers in (own, of_lists))
            values, segments = self._over(of_lists, evaluated, lists)
            if own is None:
                equal.setdefault(segments, {})[metric] = values
                continue
            weights = np.nan_to_num(self._over(own, evaluated, lists)[0])  # a group without a weight is an error
            undefined = np.isnan(values)
            defined, weighed, counted = _counted(values, weights, segments, undefined, self.plan)
            sums = weighted_sums(defined, weighed, counted)
            by_metric[metric] = ValueSums(segments.count_flagged(undefined), counted.sizes(len(defined)), sums)
        for segments, alike in equal.items():
            sums_of_each = equal_sums([*alike.values()], self.plan.definitions.counts_undefined_as, segments)
            by_metric.update(zip(alike, sums_of_each, strict=True))
        return by_metric

    def _over(self, values: GroupValues, evaluated: Segments, lists: SegmentLists) -> tuple[Floats, Segments]:
        """Return the values of evaluated groups and their segments, with one value per distinct list if possible."""
        if evaluated is WHOLE and self.chosen is None:
            return values.numbers, values.segments
        if (distinct := values.distinct) is not None and evaluated.code is not None:
            if distinct not in lists:
                lists[distinct] = distinct.in_segments(self._chosen(distinct.code), evaluated)
            if (shared := lists[distinct]) is not None:
                return values.numbers[shared[0]], shared[1]
        return self._chosen(values.by_group()), evaluated

    @cached
    def values(self) -> dict[str, GroupValues]:
        return {str(metric): self.values_of(metric) for metric, _ in self.plan.group_metrics}

    @cached
    def values_of(self, metric: Metric) -> GroupValues:
        """Return the value of each group for ``metric``, one of :attr:`Plan.group_metrics`."""
        declared = dict(self.plan.group_metrics)[metric]
        return declared.values_of(self.seen_by(metric).ranked(metric.ties), metric)

    @cached
    def added(self, metric: Metric) -> GroupValues:
        """Return the number that each group adds to the mean of ``metric``: its value, or the logarithm of it."""
        values = self.values()[str(metric.group_metric)]
        return logarithms(values, self.plan.definitions.counts_undefined_as) if metric.geometric else values

    @cached
    def _differences(self, metric: Metric) -> Floats:
        """Return the value of each group by the label that checks ``metric``, minus the value by its own label.

        It is NaN in groups that lack the first label in a row. An undefined value counts as in means, or else as 0.
        """
        other, whole = self.checked[str(metric.checked_by)]
        counted_as = self.plan.definitions.counts_undefined_as or 0.0
        by_other, own = (
            np.nan_to_num(model.values_of(metric.group_metric).by_group(), nan=counted_as) for model in (other, self)
        )
        return np.where(whole, by_other - own, np.nan)

    def checked_counts(self) -> dict[tuple[str, str], int]:
        """Return, for each label that checks others, the number of evaluated groups with the label in all rows."""
        whole = {label: self._chosen(checked.whole) for label, checked in self.checked.items()}
        return {(checks.checked_groups(label), self.name): int(flags.sum()) for label, flags in whole.items()}

    def seen_by(self, metric: Metric) -> RankedModel:
        """Return the model with the labels that ``metric`` assumes for rows without a label, if it assumes any."""
        assumption = assumption_of(metric)
        return self if assumption is None else self.assumed.get(assumption, self)

    def ranked(self, ties: Ties | None) -> Ranking:
        return self.ranking if ties is None else self.ranking.under(ties)

    def explained(self, metric: Metric) -> Arithmetic:
        """Return the arithmetic of ``metric`` for the rows of the bucket, which must all belong to one group."""
        scored = self._scored()
        rows = np.arange(len(self.rows)) if scored is None else scored
        one = OneGroup(self.seen_by(metric).ranked(metric.ties), self._scored_rows(), rows)
        return kind_of(metric).explain(one, metric)

    def drop_cached(self) -> None:
        for model in (*self.assumed.values(), *(checked.model for checked in self.checked.values())):
            model.drop_cached()
        orders: set[Ties | None] = {metric.ties for metric in self.plan.metrics}
        for ties in orders | ({*EXTREMES} if self.plan.ordered else set()):
            ranking = self.ranked(ties)
            if ranking is not self.ranking:
                drop_cached(ranking.by_score)
                drop_cached(ranking)
        drop_cached(self.ranking.by_score)
        drop_cached(self.ranking)

    @cached
    def unit_tables(self) -> list[tuple[list[int], UnitTable]]:
        """Return (indices of coarse metrics, table of their values in whole units) for each set of distinct lists."""
        alike: dict[DistinctLists | None, list[int]] = {}
        metrics = self.plan.coarse_metrics
        for place, metric in enumerate(metrics):
            alike.setdefault(self.values()[str(metric)].distinct, []).append(place)
        return [(places, self._unit_table(distinct, places)) for distinct, places in alike.items()]

    def _unit_table(self, distinct: DistinctLists | None, places: Sequence[int]) -> UnitTable:
        metrics = self.plan.coarse_metrics
        values = np.stack([self.values()[str(metrics[place])].numbers for place in places], axis=1)
        code = np.arange(self.ranking.groups, dtype=np.int32) if distinct is None else distinct.code
        if self.chosen is not None:
            code = np.where(self.chosen, code, -1).astype(np.int32)
        return UnitTable.of_values(values, code, self.plan.definitions.counts_undefined_as)

    def part_means(self, parted: GroupSlice, tables: Sequence[tuple[list[int], UnitTable]]) -> Floats:
        """Return Σ weight and Σ weight·value in each part, as six floats each: coarse, fine and checked metrics.

        Shape: (segments, metrics, 12).
        """
        coarse, others = self.plan.coarse_metrics, self.plan.fine_metrics
        checked = self.plan.checked_metrics
        sums = np.zeros((parted.segments.count, len(coarse) + len(others) + len(checked), 2 * LIMBS))
        for places, table in tables:
            counts, limbs = sums_by_segment(table, codes_of(parted.segments, self.ranking.groups), len(sums))
            sums[:, places, :LIMBS] = whole_limbs(counts.ravel()).reshape(limbs.shape)
            sums[:, places, LIMBS:] = limbs
        evaluated = parted.segments.of(self.chosen)
        for place, metric in enumerate(others, len(coarse)):
            values, own = self._chosen(self.added(metric).by_group()), self._weights_of(metric)
            weights = None if own is None else self._chosen(own.by_group())
            sums[:, place] = _weighed(values, weights, evaluated, self.plan)
        for place, metric in enumerate(checked, len(coarse) + len(others)):
            differences = self._chosen(self._differences(metric))
            sums[:, place, :LIMBS] = whole_limbs(evaluated.count_flagged(~np.isnan(differences)))
            sums[:, place, LIMBS:] = exact_sums(np.nan_to_num(differences), evaluated)
        return sums

    def _weights_of(self, metric: Metric) -> GroupValues | None:
        """Return the weight of each group in the mean of ``metric``, or None if all weights are equal."""
        declared = dict(self.plan.averaged_metrics)[metric]
        return declared.weights_of(self.seen_by(metric).ranked(metric.ties), metric, self.weights)

    def heaviest(self) -> Iterator[tuple[tuple[str, str], float]]:
        """Yield ((metric, model), largest weight of a group) for each mean whose weights may differ."""
        for metric in self.plan.fine_metrics:
            own, values = self._weights_of(metric), self.added(metric)
            if own is None:
                continue
            alike = own.distinct is values.distinct and self.chosen is None
            weights, numbers = (
                group_values.numbers if alike else self._chosen(group_values.by_group())
                for group_values in (own, values)
            )
            if self.plan.definitions.counts_undefined_as is None:
                weights = weights[~np.isnan(numbers)]
            yield (str(metric), self.name), float(np.nan_to_num(weights).max(initial=0.0))

    def largest_weight(self) -> Iterator[tuple[str, float]]:
        """Yield (model, largest weight of a row by propensity), if ``plan`` requests weights of rows."""
        for weighed in self.plan.weighed_rows:
            yield self.name, float(self._weighed(weighed)[0].max(initial=0.0))
        for clip in {clip_of(metric) for metric in self.plan.policy_values}:
            yield self.name, float(self._scored_rows().ratios(slice(None), clip).max(initial=0.0))

    @cached
    def _weighed(self, weighed: WeighedRows) -> tuple[Floats, int]:
        return weights_of(self.ranking.judgments, self.chosen, weighed)

    def part_sums(self, parted: GroupSlice, bins: Mapping[BinRule, SegmentCounts]) -> Floats:
        """Return the number of groups and each sum over rows, by part of the groups, as six floats that add up to it.

        Shape: (segments, 1 + sums, 6). If possible, row counts are taken from ``bins``.
        """
        groups = whole_limbs(parted.segments.of(self.chosen).sizes(self._groups_evaluated()))
        rows = None
        if bins and not self.plan.weighted:
            counted = next(iter(bins.values()))
            through = np.concatenate([np.zeros(1, np.int64), np.cumsum(counted.pos + counted.neg)])
            rows = whole_limbs(np.diff(through[counted.starts]))
        sums = [
            rows
            if rows is not None and quantity.name in _ROWS
            else self._scored_rows().sums(quantity, self._segments_of_scored(parted))
            for quantity in self.plan.row_sums
        ]
        return np.stack([groups, *sums], axis=1)

    def part_bins(self, parted: GroupSlice) -> dict[BinRule, SegmentCounts]:
        if not self.plan.parted_rules:
            return {}
        scored, owner = self._scored_rows(), self._group_of_scored()
        rules = self.plan.parted_rules.items()
        return {rule: count_segments(rule, scored, sums, parted.segments, owner) for rule, sums in rules}

    def part_values(self, parted: GroupSlice) -> Iterator[tuple[Metric, SegmentCounts]]:
        """Yield, for each metric of :attr:`Plan.distributions`, the number of groups in each part and bin of values."""
        evaluated = parted.segments.of(self.chosen)
        for metric in self.plan.distributions:
            values, counted = self._in_mean(metric, evaluated)
            weights = np.ones(len(values)) if self.plan.weighted else None  # the table of other bins has weights, too
            groups = ScoredRows(values, np.zeros(len(values), np.bool_), weights)
            yield metric, count_segments(rule_of_values(metric), groups, False, counted)

    def value_of_groups(self, name: str) -> Floats:
        """Return the value with which each group enters the mean of a metric, or NaN if the group is left out."""
        values = self.values()[name].by_group()
        counted_as = self.plan.definitions.counts_undefined_as
        if counted_as is not None:
            values = np.where(np.isnan(values), counted_as, values)
        return values if self.chosen is None else np.where(self.chosen, values, np.nan)

    def distributions(self, groups: GroupSlice) -> Iterator[tuple[StateKey, Distribution]]:
        """Yield a distribution for each metric in :attr:`Plan.distributions` and each slice value.

        It is the distribution of the metric's values over groups.
        """
        evaluated = groups.segments.of(self.chosen)
        for metric in self.plan.distributions:
            values, counted = self._in_mean(metric, evaluated)
            for value, distribution in zip(groups.values, Distribution.of_each(values, counted), strict=True):
                yield StateKey(self.name, groups.name, value, str(metric)), distribution

    def _in_mean(self, metric: Metric, evaluated: Segments) -> tuple[Floats, Segments]:
        values = self._chosen(self.values()[str(metric)].by_group())
        if counts_ranks(metric):  # no value stands for the rank of a group without
            ranked = ~np.isnan(values)
            return values[ranked], evaluated.of(ranked)
        values, _, counted = _counted(values, None, evaluated, np.isnan(values), self.plan)
        return values, counted

    def histograms(self, groups: GroupSlice) -> Iterator[tuple[ScoreSeries, ScoreHistogram]]:
        """Yield a score histogram for each slice value and each rule for score bins that a pooled metric needs."""
        if not self.plan.bin_rules:
            return
        scored, segments = self._scored_rows(), self._segments_of_scored(groups)
        for rule, score_sums in self.plan.bin_rules.items():
            if rule.kind == "exact":
                histograms = histograms_of_rows(rule, scored, segments)
            else:
                histograms = ScoreHistogram.of_each(rule, scored, score_sums, segments)
            for value, histogram in zip(groups.values, histograms, strict=True):
                yield ScoreSeries(self.name, groups.name, value, rule), histogram

    def sums(self, groups: GroupSlice) -> Iterator[tuple[SliceKey, Floats]]:
        """Yield the sums that pooled metrics need (over rows, groups, or amounts of groups), each as six floats."""
        for quantity in self.plan.row_sums:
            yield self._key(groups, quantity), self._scored_rows().sums(quantity, self._segments_of_scored(groups))
        if groups.name == ALL:
            for weighed in self.plan.weighed_rows:
                for name, limbs in weight_sums(weighed.states, *self._weighed(weighed)):
                    yield self._key(groups, name), limbs
        evaluated = groups.segments.of(self.chosen)
        if self.plan.has_item_counts:
            yield self._key(groups, self.plan.groups_sum), whole_limbs(evaluated.sizes(self._groups_evaluated()))
        if counts_positions(self.plan, self.name):
            weights = self.rows.floats(WEIGHT) if self.plan.weighted else None
            scores = self.listed.scores.astype(np.float64, copy=False)
            for name, limbs in position_sums(self.ranking, scores, weights, self.chosen, groups.segments, self.plan):
                yield self._key(groups, name), limbs
        if self.plan.parted_slices(groups.name):
            lists: SegmentLists = {}
            for carrier in self.plan.carriers:
                amounts, segments = self._over(self._carried(carrier), evaluated, lists)
                for name, power in zip(amounts_by_group(carrier), (amounts, amounts**2), strict=True):
                    yield self._key(groups, name), exact_sums(power, segments)

    @cached
    def _carried(self, carrier: RowSum) -> GroupValues:
        """Return the sum ``carrier`` over each group's rows, capped at MOST_AMOUNT, in units of :data:`AMOUNT_UNIT`."""
        if self.plan.weighted or carrier.name not in _COUNTED:
            groups = Segments(self.ranking.groups, self._group_of_scored())
            amount, distinct = rounded(self._scored_rows().sums(carrier, groups)), None
        elif self.plan.group_metrics or self.plan.judging in (None, FIRST):
            hits = hit_sums(self.ranking, carrier.rel)
            positives, negatives = class_counts(hits)
            amounts = {POSITIVES: positives, NEGATIVES: negatives}
            amount, distinct = amounts.get(carrier.name, hits.length.astype(np.float64)), hits.distinct
        else:  # nothing else needs the hits of this label: only their numbers are counted
            judgments, length = self.ranking.judgments, self.ranking.length.astype(np.float64)
            rows, flags = self.ranking.of_listed(judgments.codes), self.ranking.of_listed(judgments.flags(carrier.rel))
            positives = count_by(rows, self.ranking.groups, flags).astype(np.float64)
            amount = {POSITIVES: positives, NEGATIVES: length - positives}.get(carrier.name, length)
            distinct = None
        return GroupValues(np.minimum(amount, MOST_AMOUNT) / AMOUNT_UNIT, distinct)

    def items(self, groups: GroupSlice) -> Iterator[ItemCounts]:
        """Yield the counts of items in the lists of evaluated groups. A relevant item counts only once per group."""
        judgments, chosen = self.ranking.judgments, self.chosen
        for exposure in self.plan.exposures:
            relevant = self._relevant_once(exposure.rel)
            exposed = first_rows(self.ranked(exposure.ties), exposure.k, UNIT, exposure.discount)
            if exposure.once:
                exposed = np.where(self._one_of_each(np.flatnonzero(exposed)), exposed, 0)
            if chosen is not None:  # items of other groups are part of the catalogue, too
                evaluated = chosen[judgments.codes]
                exposed, relevant = np.where(evaluated, exposed, 0), relevant & evaluated
            segments = groups.segments.of(judgments.codes)
            codes, items = self.rows.items()
            yield ItemCounts.of(self._key(groups, exposure), items, codes, exposed, relevant, segments)

    def attention(self, groups: GroupSlice, part: Codes) -> Iterator[ItemCounts]:
        """Yield counts of the attention to each value of a column and of its relevant rows, by ``part`` of groups."""
        judgments, plan = self.ranking.judgments, self.plan
        for exposure in plan.value_exposures:
            column = ValueColumn(str(exposure.by), "category")
            place = self.ranking.columns[column]
            evaluated = place >= 0 if self.chosen is None else (place >= 0) & self.chosen[judgments.codes]
            shown = first_rows(self.ranked(exposure.ties), exposure.k, UNIT, exposure.discount, column)
            relevant = judgments.once(judgments.flags(exposure.rel) & evaluated, place)
            codes, values = encode(self.rows.table[value_column(plan.value_columns.index(column))])
            shown = np.where(evaluated, shown, 0)
            segments = groups.segments.of(judgments.codes)
            yield ItemCounts.of(self._key(groups, exposure), values, codes, shown, relevant, segments)
            if plan.parted_slices(groups.name):
                of_parts = part // (PARTS // parts_of_slice(groups.name))
                by_part = with_parts(of_parts[judgments.codes], codes, values)
                yield ItemCounts.of(self._key(groups, exposure.by_part), *by_part, shown, relevant, segments)

    @cached
    def _relevant_once(self, rel: float | None) -> Flags:
        """Flag one relevant row per item and group, because a log may repeat a relevant item."""
        return self._one_of_each(np.flatnonzero(self.ranking.judgments.flags(rel)))

    def _one_of_each(self, rows: Ints) -> Flags:
        """Flag one of ``rows`` for each pair of a group and an item."""
        judgments = self.ranking.judgments
        pair = paired(judgments.codes[rows], self.rows.items()[0][rows])
        of_pair = np.empty(int(pair.max(initial=-1)) + 1, np.int64)
        of_pair[pair] = rows
        once = np.zeros(len(judgments.codes), np.bool_)
        once[of_pair] = True
        return once

    def _key(self, groups: GroupSlice, what: object) -> SliceKey:
        return SliceKey(self.name, groups.name, groups.values, str(what))

    def _groups_evaluated(self) -> int:
        return self.ranking.groups if self.chosen is None else int(np.count_nonzero(self.chosen))

    def _chosen(self, of_groups: NDArray[T]) -> NDArray[T]:
        return of_groups if self.chosen is None else of_groups[self.chosen]

    @cached
    def _of_evaluated(self) -> Flags | None:
        if self.chosen is None:
            return None
        codes, retrieved = self.ranking.judgments.codes, self.listed.retrieved
        return self.chosen[codes if retrieved is None else codes[retrieved]]

    @cached
    def _scored(self) -> Ints | None:
        """Return the indices of the rows that have a score and are in an evaluated group, or None if all rows are."""
        retrieved, evaluated = self.listed.retrieved, self._of_evaluated()
        if evaluated is None:
            return retrieved
        return np.flatnonzero(evaluated) if retrieved is None else retrieved[evaluated]

    def _segments_of_scored(self, groups: GroupSlice) -> Segments:
        return groups.segments if groups.segments.code is None else groups.segments.of(self._group_of_scored())

    @cached
    def _group_of_scored(self) -> Codes:
        codes, scored = self.ranking.judgments.codes, self._scored()
        return taken(codes, scored)

    @cached
    def _scored_rows(self) -> ScoredRows:
        judgments, scored = self.ranking.judgments, self._scored()
        evaluated = self._of_evaluated()
        scores = self.listed.scores if evaluated is None else self.listed.scores[evaluated]
        weights = self.rows.floats(WEIGHT) if self.plan.weighted else None
        logged = self._logged_actions() if self.plan.policy_values else None
        if scored is None:
            return ScoredRows(scores, judgments.labels, weights, judgments.flags, judgments.judged, logged)
        labels, judged = taken(judgments.labels, scored), judgments.judged
        weights = None if weights is None else taken(weights, scored)
        return ScoredRows(scores, labels, weights, judged=None if judged is None else judged[scored], logged=logged)

    def _logged_actions(self) -> LoggedActions:
        scored = self._scored()
        read = [taken(self.rows.floats(name), scored) if name in self.rows else None for name in OF_ACTIONS]
        propensity, *estimates = read
        assert propensity is not None  # noqa: S101 - the metric reads it
        return LoggedActions(propensity, self._group_of_scored(), *estimates)


def _weighed(values: Floats, weights: Floats | None, segments: Segments, plan: Plan) -> Floats:
    """Return Σ weight and Σ weight·value as limbs of exact sums, shape (segments, 12). Values left out weigh 0."""
    undefined, counted_as = np.isnan(values), plan.definitions.counts_undefined_as
    if undefined.any():
        values = np.where(undefined, counted_as or 0.0, values)
        if counted_as is None:
            weights = np.where(undefined, 0.0, 1.0 if weights is None else weights)
    if weights is None:
        return np.concatenate([whole_limbs(segments.sizes(len(values))), exact_sums(values, segments)], axis=1)
    weights = np.nan_to_num(weights)
    return np.concatenate([exact_sums(summands, segments) for summands in (weights, weights * values)], axis=1)


def _counted(
    values: Floats, weights: Floats | None, segments: Segments, undefined: Flags, plan: Plan
) -> tuple[Floats, Floats | None, Segments]:
    if not undefined.any():
        return values, weights, segments
    if plan.definitions.counts_undefined_as is not None:
        return np.where(undefined, plan.definitions.counts_undefined_as, values), weights, segments
    defined = ~undefined
    return values[defined], None if weights is None else weights[defined], segments.of(defined)
