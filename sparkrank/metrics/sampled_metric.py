"""The class of metrics among all items, estimated from lists of sampled items."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sparkrank.metrics.arithmetic import Arithmetic, OneGroup
from sparkrank.metrics.merged import Merged, MetricKind, MetricRow, WithoutParts, effective_number
from sparkrank.metrics.metric import Metric, PlanPart
from sparkrank.metrics.needs import Needed, StatePlan, groups_of, part_definition, rule_of_values
from sparkrank.metrics.parameters import TIES, Parameter
from sparkrank.numeric.array_types import Floats, Ints
from sparkrank.numeric.exact_sums import rounded
from sparkrank.numeric.ordered_integers import bin_scores
from sparkrank.states.distributions import Distribution
from sparkrank.states.forms import DISTRIBUTION_FORM, MEAN_FORM, PART_SUM_FORM, PARTS_KIND
from sparkrank.states.keys import Subject
from sparkrank.states.means import NO_GROUPS
from sparkrank.states.part_bins import rule_name
from sparkrank.stats.sampled_ranks import estimates, least_error, ranks_of, rough_estimates

FIRST_RANK, SAMPLED, ITEMS, BY, GAMMA, REL = "first_rank", "sampled", "items", "by", "gamma", "rel"


@dataclass(frozen=True)
class SampledMetric(MetricKind):
    """A metric of all groups together, estimated from the ranks of relevant items among sampled items.

    Its states are those of ``first_rank(sampled=m)``: the number of groups with each rank, overall and in each part
    (fixed subset) of the groups. ``gain`` returns the gain of each rank among all items: (ranks, metric) -> float64
    array of the same shape.
    """

    parts: ClassVar[tuple[PlanPart, ...]] = ("ranks",)
    heading: ClassVar[str] = "Metrics of sampled candidates"
    about: ClassVar[str] = "What a metric is among all items, from ranks among a few items that were drawn at random."
    computed_by: ClassVar[tuple[str, ...]] = ("gain",)
    common: tuple[Parameter, ...] = (TIES,)
    refused: tuple[tuple[str, str], ...] = (("weight", "in a distribution of ranks each group counts once"),)
    gain: Callable[[Floats, Metric], Floats] = lambda ranks, metric: np.empty(0)

    def values_of_groups(self, metric: Metric) -> Metric:
        given = dict(metric.settings)
        kept = (SAMPLED, REL, TIES.name, *(parameter.name for parameter in self.label_parameters))
        return Metric(FIRST_RANK, tuple((name, given[name]) for name in kept if name in given))

    def needed(self, metric: Metric, plan: StatePlan) -> Iterator[Needed]:
        ranks = metric.group_metric
        definition = plan.definition(ranks)
        yield Needed(MEAN_FORM.kind, str(ranks), str(metric), definition)
        yield Needed(DISTRIBUTION_FORM.kind, str(ranks), str(metric), definition)
        if plan.has_parts:
            name = rule_name(rule_of_values(ranks), str(ranks))
            yield Needed(PARTS_KIND, name, str(metric), part_definition(definition, plan))
            yield Needed(
                PART_SUM_FORM.kind, groups_of(metric.judging), str(metric), part_definition(plan.settings, plan)
            )

    def row(self, merged: Merged, subject: Subject, metric: Metric) -> MetricRow:
        mean = merged.means.get(subject.state(metric.group_metric), NO_GROUPS)
        counts = self._counts(merged, subject, metric)
        value = float(self._values(counts[None], metric)[0])
        return MetricRow(value, mean.n_undefined, mean.n_rows, float(counts.sum()), mean.n_groups, error_bound=0.0)

    def without_parts(self, merged: Merged, subject: Subject, metric: Metric) -> WithoutParts | None:
        parts, sizes = self._counts_of_parts(merged, subject, metric), merged.sizes_of_parts(subject, metric.judging)
        if parts is None or sizes is None:
            return None
        counts, filled = self._counts(merged, subject, metric), np.flatnonzero(sizes > 0)
        left, without = counts - parts, np.full(len(sizes), np.nan)
        value = float(self._values(counts[None], metric)[0])
        together, *others = self._values(np.concatenate([counts[None], left[filled]]), metric, rough=True).tolist()
        without[filled] = value + (np.array(others) - together)
        return WithoutParts(value, without, sizes, left.sum(axis=1))

    def n_effective(self, merged: Merged, subject: Subject, metric: Metric, *, clustered: bool) -> float | None:
        parts = self._counts_of_parts(merged, subject, metric) if clustered else None
        if parts is not None:
            return effective_number(parts.sum(axis=1)) or None
        return float(self._counts(merged, subject, metric).sum()) or None

    def explain(self, group: OneGroup, metric: Metric) -> Arithmetic:
        raise NotImplementedError  # one group has only a rank, which ``values_of_groups`` explains

    def _counts(self, merged: Merged, subject: Subject, metric: Metric) -> Floats:
        """Return the number of groups with each rank from 1 to m + 1."""
        key = subject.state(metric.group_metric)
        states = merged.partials.distributions.get(key, Distribution.empty()).histogram
        counts: Floats = _by_rank(states.score, states.neg, np.zeros(len(states.score), np.int64), 1, metric)[0]
        return counts

    def _counts_of_parts(self, merged: Merged, subject: Subject, metric: Metric) -> Floats | None:
        """Return the number of groups with each rank, in each part of the groups, or None without parts.

        Shape: (parts, m + 1).
        """
        rule, sizes = rule_of_values(metric.group_metric), merged.sizes_of_parts(subject, metric.judging)
        bins = merged.bins_of_parts(subject, rule, str(metric.group_metric))
        if bins is None or sizes is None:
            return None
        ranks = bin_scores(bins.together.bins)[bins.place]
        return _by_rank(ranks, rounded(bins.neg), bins.part, len(sizes), metric)

    def _values(self, counts: Floats, metric: Metric, *, rough: bool = False) -> Floats:
        """Return the value for each row of ``counts``, the numbers of groups by sampled rank; NaN without groups.

        ``rough`` values are approximations that are faster to compute.
        """
        values, filled = np.full(len(counts), np.nan), counts.any(axis=1)
        if filled.any():
            values[filled] = self._estimated(counts[filled], metric, rough)
        return values

    def _estimated(self, counts: Floats, metric: Metric, rough: bool) -> Floats:
        items, sampled = int(metric.number(ITEMS)), int(metric.number(SAMPLED))
        gains = self.gain(ranks_of(items).middle, metric)
        if metric.word(BY) == "em":
            values: Floats = (rough_estimates if rough else estimates)(counts, gains, items)
            np.clip(values, 0.0, 1.0, out=values)
            return values
        counted = least_error(gains, sampled, items, metric.number(GAMMA))
        mean: Floats = np.einsum("nr,r->n", counts, counted) / counts.sum(axis=1)
        return mean


def _by_rank(ranks: Floats, groups: Floats | Ints, part: Ints, parts: int, metric: Metric) -> Floats:
    count = int(metric.number(SAMPLED)) + 1
    place = part * count + ranks.astype(np.int64) - 1
    summed = np.bincount(place, weights=groups, minlength=parts * count).astype(np.float64)
    return summed.reshape(parts, count)
