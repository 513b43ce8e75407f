"""The merged states of a day, as the kinds of metric read their values off them. Pure numpy and pyarrow.

A metric of score bins is measured in two steps: the terms of its bins, which may be taken from ranges of scores
apart (:mod:`sparkrank.histogram.threshold_sweep`), and its value from their totals.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from sparkrank.histogram.bins import BinRule
from sparkrank.histogram.threshold_sweep import BinSteps, Extent, Rates, RowSteps, Sweep, Terms, joined
from sparkrank.metrics.needs import GROUPS
from sparkrank.metrics.slices import ALL, slice_name
from sparkrank.numeric.array_types import Floats
from sparkrank.numeric.cached import cached
from sparkrank.numeric.exact_sums import rounded
from sparkrank.states import Partials, ScoreHistogram, ScoreSeries
from sparkrank.states.keys import StateKey, Subject
from sparkrank.states.means import Mean
from sparkrank.states.part_bins import BinsOfParts, PartSeries

if TYPE_CHECKING:
    from sparkrank.metrics.kinds import HistogramMetric
    from sparkrank.metrics.metric import Metric
    from sparkrank.metrics.plan import Plan


LEAST_EXCESS = 1e-12  # of unequal parts: no more groups than its inverse are told from none
SWEPT_AT_ONCE = 2**14  # bins: the dozen arrays of a sweep have 1.5 MB together
RATED_AT_ONCE = 2**20  # bins whose rates are sorted together


@dataclass(frozen=True)
class Measured:
    """The ``terms`` of one metric over all bins, of ``extent``."""

    terms: Terms
    extent: Extent


@dataclass(frozen=True)
class MetricRow:
    """What the table ``metrics`` says of a metric of one (model, slice, slice value), beside what it is.

    ``n_groups`` is None where that is not known, ``error_bound`` where its kind has none. ``blocks`` is how many bins
    it was read off, 0 where it reads none. ``noise_floor`` is about what the value would be by chance alone, None where
    its kind has none.
    """

    value: float
    n_undefined: int
    n_rows: int
    weight: float
    n_groups: int | None = None
    error_bound: float | None = None
    blocks: int = 0
    noise_floor: float | None = None

    @classmethod
    def pooled(
        cls,
        value: float,
        rows: int,
        weight: float,
        *,
        n_groups: int | None = None,
        error_bound: float = 0.0,
        blocks: int = 0,
    ) -> MetricRow:
        """The row of a metric that has one value, which may be undefined, over all ``rows`` together."""
        return cls(value, int(math.isnan(value)), rows, weight, n_groups, error_bound, blocks)


class WithoutParts(NamedTuple):
    """The ``value`` of a metric as the parts add up to it, and its values ``without`` each part (parts).

    ``sizes`` (parts) are the numbers of groups of each part, ``weights`` (parts) what is divided by without it.
    """

    value: float
    without: Floats
    sizes: Floats
    weights: Floats


@dataclass(frozen=True)
class Merged:
    """The states of a day or a window; ``measured`` are the metrics of bins that are not among the ``partials``."""

    partials: Partials
    measured: Mapping[StateKey, Measured] = field(default_factory=dict)

    @cached_property
    def means(self) -> dict[StateKey, Mean]:
        """Every mean over groups."""
        return self.partials.means.results()

    def measure_bins(self, subject: Subject, asked: Sequence[tuple[Metric, HistogramMetric]]) -> None:
        """Measure the metrics ``asked`` of one (model, slice, slice value), those that share bins in one sweep."""
        by_rule: dict[BinRule, list[tuple[Metric, HistogramMetric]]] = {}
        for metric, declaration in asked:
            if self.measured_of(subject, metric) is None:
                by_rule.setdefault(declaration.rule_of(metric), []).append((metric, declaration))
        for rule, sharing in by_rule.items():
            bins = self.partials.blocks.get(ScoreSeries(*subject, rule), ScoreHistogram.empty(rule))
            for (metric, _), found in zip(sharing, measure_each(bins, sharing), strict=True):
                self._of_bins[subject.state(metric)] = found

    def measured_of(self, subject: Subject, metric: Metric) -> Measured | None:
        """The terms of ``metric``, where they were measured."""
        key = subject.state(metric)
        return self.measured.get(key) or self._of_bins.get(key)

    @cached_property
    def _of_bins(self) -> dict[StateKey, Measured]:
        """What :meth:`measure_bins` found."""
        return {}

    @cached
    def without_parts(self, subject: Subject, metric: Metric) -> WithoutParts | None:
        """The values of ``metric`` without each part of the groups of one (model, slice, slice value)."""
        return metric.declaration.without_parts(self, subject, metric)

    @cached
    def bins_of_parts(self, subject: Subject, rule: BinRule, of: str = "") -> BinsOfParts | None:
        """The bins of parts of one (model, slice, slice value) by a coarse ``rule``; None where there are none.

        They are of the scores of rows, or of the values of groups of the metric ``of``.
        """
        found = self.partials.parts.histograms.by_series.get(PartSeries(subject.model, subject.slice, rule, of))
        return None if found is None else found.of_value(rule, subject.slice_value)

    def sizes_of_parts(self, subject: Subject) -> Floats | None:
        """The number of groups of each part (parts); None where there are no parts."""
        groups = self.partials.parts.sums.of(subject, GROUPS)
        return None if groups is None else rounded(groups)

    def groups_of_parts(self, subject: Subject) -> int | None:
        """The number of groups of all parts; None where there are no parts, or no group is evaluated."""
        sizes = self.sizes_of_parts(subject)
        return None if sizes is None else int(sizes.sum()) or None

    def n_effective(self, subject: Subject, metric: Metric, *, clustered: bool) -> float | None:
        """How many equal groups would carry as much as those of one (model, slice, slice value), at most all of them.

        ``clustered``: a group may have come on several days.
        """
        number = metric.declaration.n_effective(self, subject, metric, clustered=clustered)
        groups = self.groups_of_parts(subject)
        return number if number is None or groups is None else min(number, float(groups))

    def row(self, subject: Subject, metric: Metric) -> MetricRow:
        """What there is to say of ``metric`` for one (model, slice, slice value)."""
        return metric.declaration.row(self, subject, metric)


class Side(NamedTuple):
    """One side of a comparison: a (model, slice, slice value) among the states of a day or a window."""

    merged: Merged
    subject: Subject


def effective_number(of_parts: Floats) -> float | None:
    """How many equal groups would carry as much, from what each part carries (parts); 0 where none carries any.

    With S_j the share of part j of g, and all groups in any part alike likely, g Σ S_j² is on average 1 + (g - 1) / n.
    Few parts leave it uncertain: by some 20 % with 64, 40 % with 16.

    Examples
    --------
    >>> import numpy as np
    >>> effective_number(np.array([3.0, 1.0])), effective_number(np.array([1.0, 0.0, 0.0]))
    (4.0, 1.0)
    """
    whole, parts = of_parts.sum(), len(of_parts)
    if parts < 2:
        return None
    if not whole > 0:
        return 0.0
    excess = (parts * float(((of_parts / whole) ** 2).sum()) - 1) / (parts - 1)
    return 1 / max(excess, LEAST_EXCESS)


def steps_of(bins: ScoreHistogram, score_sums: bool = False) -> BinSteps:
    """``bins`` from the highest score down."""
    sums = bins.score_sum[::-1] if score_sums else None
    return BinSteps(bins.pos[::-1], bins.neg[::-1], bins.rows[::-1], sums)


def measure(bins: ScoreHistogram, metric: Metric, declaration: HistogramMetric) -> Measured:
    """The terms of all ``bins``."""
    return measure_each(bins, [(metric, declaration)])[0]


def measure_each(bins: ScoreHistogram, asked: Sequence[tuple[Metric, HistogramMetric]]) -> list[Measured]:
    """The terms of all ``bins`` for each metric, from one sweep of those in the order of scores."""
    in_order = [each for each in asked if not each[1].by_rate]
    extent = bins.extent(counts_bins=not in_order)
    swept, through = sweep_each(bins, in_order, extent)
    found = iter(swept)
    extent = replace(extent, bins=extent.bins if through is None else through.bins)
    return [
        _measure_by_rate(bins, metric, declaration, extent.bins)
        if declaration.by_rate
        else Measured(next(found), extent)
        for metric, declaration in asked
    ]


def sweep_each(
    bins: ScoreHistogram,
    asked: Sequence[tuple[Metric, HistogramMetric]],
    day: Extent,
    above: Extent | None = None,
) -> tuple[list[Terms], Extent | None]:
    """The terms of ``bins``, which follow the rows ``above`` them in a ``day``, for each metric.

    With them comes the extent of the rows above and of these, or None where no metric is asked for.
    Bins are swept a few thousand at a time, which stay in the processor's cache.
    """
    found: list[list[Terms]] = [[] for _ in asked]
    through: Extent | None = None
    for sums in {declaration.score_sums for _, declaration in asked}:
        through = above
        for steps in bins.steps_from_above(SWEPT_AT_ONCE, sums) if not bins.is_empty else [steps_of(bins, sums)]:
            sweep = Sweep(steps, day, through)
            through = sweep.through
            for terms, (metric, declaration) in zip(found, asked, strict=True):
                if declaration.score_sums == sums:
                    terms.append(declaration.terms_of(sweep, metric))
    return [Terms.merged(terms) for terms in found], through


def rates_of(bins: ScoreHistogram) -> Rates:
    """The rates of ``bins``."""
    if bins.is_empty:
        return Rates.of(steps_of(bins))
    every = bins.steps_from_above(RATED_AT_ONCE)
    first, *others = (Rates.of(steps.steps() if isinstance(steps, RowSteps) else steps) for steps in every)
    return first.merged(*others)


def _measure_by_rate(bins: ScoreHistogram, metric: Metric, declaration: HistogramMetric, count: int) -> Measured:
    least = int(metric.number("min_rows"))
    if least <= 1:
        return measure_rates(rates_of(bins), metric, declaration, count)
    steps = joined(steps_of(bins), least)
    return measure_rates(Rates.of(steps), metric, declaration, len(steps.rows))


def measure_rates(rates: Rates, metric: Metric, declaration: HistogramMetric, bins: int) -> Measured:
    """The terms of ``bins`` bins in the order of their ``rates``."""
    all_ = Extent.of(rates.steps)
    extent = Extent(all_.pos, all_.neg, all_.rows, bins)
    return Measured(declaration.terms_of(Sweep(rates.steps, extent), metric), extent)


def slices_of(partials: Partials, plan: Plan) -> list[tuple[str, str | None]]:
    """Every (slice, value) of the day, the whole day first, values in the order of their texts, None last."""
    names = map(slice_name, plan.slices)
    return [(ALL, ALL), *((name, value) for name in names for value in partials.slice_values(name))]


def subjects_of(partials: Partials, plan: Plan) -> list[Subject]:
    """Every (model, slice, value) that has states: of a window, a model may lack the values of days before its own.

    Values of slices with fewer than ``plan.least_groups`` groups are not among them.
    """
    there = {key.subject for found in (partials.means.results(), partials.sums.limbs()) for key in found}
    small = small_slices(partials, plan)
    values = [value for value in slices_of(partials, plan) if value not in small]
    every = (Subject(model, *value) for model in plan.models for value in values)
    return [subject for subject in every if subject in there]


def small_slices(partials: Partials, plan: Plan) -> set[tuple[str, str | None]]:
    """The (slice, value) that have fewer than ``plan.least_groups`` groups in every model; none where nothing tells."""
    if plan.least_groups <= 1:
        return set()
    sums = partials.sums.results()
    known = [(key.subject, mean.n_groups) for key, mean in partials.means.results().items()]
    known += [(key.subject, int(total)) for key, total in sums.items() if key.name == GROUPS]
    of_parts = ((subject, partials.parts.sums.of(subject, GROUPS)) for subject in {key.subject for key in sums})
    known += [(subject, int(rounded(groups).sum())) for subject, groups in of_parts if groups is not None]
    most: dict[tuple[str, str | None], int] = {}
    for subject, groups in known:
        most[subject[1:]] = max(groups, most.get(subject[1:], 0))
    return {value for value, groups in most.items() if value[0] != ALL and groups < plan.least_groups}
