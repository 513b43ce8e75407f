"""The merged states of a day or a window, and the computation of metric values from them with numpy and pyarrow only.

A metric of score bins is computed in two steps. The first computes the terms (sums or highest values) of the bins,
perhaps in separate ranges of scores (:mod:`sparkrank.histogram.threshold_sweep`); the second computes the value from
the totals of the terms. *Parts* are 64 fixed subsets of the groups. Intervals are computed from the values without each
part.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple, Protocol, cast

import numpy as np

from sparkrank.base import checks
from sparkrank.histogram.bins import BinRule
from sparkrank.histogram.threshold_sweep import BinSteps, Extent, Rates, RowSteps, Sweep, Terms, joined
from sparkrank.metrics.arithmetic import Arithmetic, OneGroup
from sparkrank.metrics.labels import FIRST, Judging
from sparkrank.metrics.metric import Declaration, Metric
from sparkrank.metrics.needs import Needed, StatePlan, groups_of
from sparkrank.numeric.array_types import Floats, Ints
from sparkrank.numeric.cached import cached
from sparkrank.numeric.exact_sums import rounded
from sparkrank.states import Partials, ScoreHistogram, ScoreSeries
from sparkrank.states.keys import StateKey, Subject
from sparkrank.states.means import Mean
from sparkrank.states.part_bins import BinsOfParts, PartSeries

LEAST_EXCESS = 1e-12  # the least inequality of parts, whose inverse is the highest effective number of groups
SWEPT_AT_ONCE = 2**14  # the number of bins for which the dozen arrays of a sweep take 1.5 MB together
RATED_AT_ONCE = 2**20  # the number of bins whose rates are sorted together


class SweptKind(Protocol):
    """A declaration of a metric with terms that a sweep over score bins computes."""

    @property
    def by_rate(self) -> bool: ...

    @property
    def score_sums(self) -> bool: ...

    def rule_of(self, metric: Metric) -> BinRule: ...

    def terms_of(self, sweep: Sweep, metric: Metric) -> Terms: ...


@dataclass(frozen=True)
class MeasuredTerms:
    """The ``terms`` of a metric over all score bins, and the ``extent`` (totals) of the rows in the bins."""

    terms: Terms
    extent: Extent


@dataclass(frozen=True)
class MetricRow:
    """A row of the table ``metrics``: a metric for one subject (model, slice, slice value).

    ``blocks`` is the number of score bins, or 0.
    """

    value: float
    n_undefined: int
    n_rows: int
    weight: float
    n_groups: int | None = None
    error_bound: float | None = None
    blocks: int = 0
    noise_floor: float | None = None


class MetricColumns(NamedTuple):
    """The fields of several :class:`MetricRow` as arrays, without ``blocks``, and with NaN in place of None."""

    value: Floats
    n_undefined: Ints
    n_rows: Ints
    weight: Floats
    n_groups: Floats
    error_bound: Floats
    noise_floor: Floats

    @classmethod
    def of(cls, rows: Sequence[MetricRow]) -> MetricColumns:
        numbers, counts = (
            [np.array([getattr(row, name) for row in rows], kind) for name in names]
            for kind, names in (
                (np.float64, ("value", "weight", "n_groups", "error_bound", "noise_floor")),
                (np.int64, ("n_undefined", "n_rows")),
            )
        )
        value, weight, *others = numbers
        return cls._make([value, *counts, weight, *others])

    def at(self, places: Ints) -> MetricColumns:
        return MetricColumns._make(column[places] for column in self)


class WithoutParts(NamedTuple):
    """The ``value`` of a metric over all groups, and its values without each part (fixed subset) of the groups.

    The other fields are arrays with one number for each part: ``without`` is the metric's value without the groups of
    the part, ``weights`` is the weight of that value, and ``sizes`` is the number of groups in the part.
    """

    value: float
    without: Floats
    sizes: Floats
    weights: Floats


@dataclass(frozen=True)
class Merged:
    """The states of a day or a window.

    ``exact_terms`` contains the terms of the metrics whose bins ``partials`` lacks.
    """

    partials: Partials
    exact_terms: Mapping[StateKey, MeasuredTerms] = field(default_factory=dict)

    @cached_property
    def means(self) -> dict[StateKey, Mean]:
        return self.partials.means.results()

    def measure_bins(self, subject: Subject, metrics: Sequence[tuple[Metric, SweptKind]]) -> None:
        """Compute the terms of ``metrics`` for ``subject``, and keep them in this object.

        Metrics with the same rule for score bins share a sweep.
        """
        by_rule: dict[BinRule, list[tuple[Metric, SweptKind]]] = {}
        for metric, declaration in metrics:
            if self.terms_of(subject, metric) is None:
                by_rule.setdefault(declaration.rule_of(metric), []).append((metric, declaration))
        for rule, sharing in by_rule.items():
            bins = self.partials.blocks.get(ScoreSeries(*subject, rule), ScoreHistogram.empty(rule))
            for (metric, _), terms in zip(sharing, measure_each(bins, sharing), strict=True):
                self._of_bins[subject.state(metric)] = terms

    def terms_of(self, subject: Subject, metric: Metric) -> MeasuredTerms | None:
        """Return the terms of ``metric`` for ``subject``, or None if no terms have been computed yet."""
        key = subject.state(metric)
        return self.exact_terms.get(key) or self._of_bins.get(key)

    @cached_property
    def _of_bins(self) -> dict[StateKey, MeasuredTerms]:
        return {}

    @cached
    def without_parts(self, subject: Subject, metric: Metric) -> WithoutParts | None:
        """Return the values of ``metric`` for ``subject`` without each part (fixed subset) of the groups, or None."""
        return None if self._lacks_label(metric) else kind_of(metric).without_parts(self, subject, metric)

    @cached
    def bins_of_parts(self, subject: Subject, rule: BinRule, metric: str = "") -> BinsOfParts | None:
        """Return the coarse bins of each part (fixed subset) of the groups: of scores, or of values of ``metric``."""
        series = self.partials.parts.histograms.by_series.get(PartSeries(subject.model, subject.slice, rule, metric))
        return None if series is None else series.of_value(rule, subject.slice_value)

    @cached
    def sizes_of_parts(self, subject: Subject, judging: Judging = FIRST) -> Floats | None:
        groups = self.partials.parts.sums.of(subject, groups_of(judging))
        return None if groups is None else rounded(groups)

    def groups_of_parts(self, subject: Subject, judging: Judging = FIRST) -> int | None:
        """Return the number of groups in all parts together, or None if there are no groups or no parts."""
        sizes = self.sizes_of_parts(subject, judging)
        return None if sizes is None else int(sizes.sum()) or None

    def row(self, subject: Subject, metric: Metric) -> MetricRow:
        row = kind_of(metric).row(self, subject, metric)
        undefined = row.n_groups or 0 if metric.declaration.is_averaged else 1
        return replace(row, value=math.nan, n_undefined=undefined) if self._lacks_label(metric) else row

    def rows(self, subjects: Sequence[Subject], metric: Metric) -> MetricColumns:
        """Return the results of :meth:`row` for all ``subjects``, as columns."""
        if self._lacks_label(metric):
            return MetricColumns.of([self.row(subject, metric) for subject in subjects])
        return kind_of(metric).rows(self, subjects, metric)

    def _lacks_label(self, metric: Metric) -> bool:
        """Return whether no row has a label that ``metric`` names, alone or in a sum. The metric is then undefined."""
        counts = self.partials.counts
        return not all(counts.get((checks.with_label(name), ""), 1) for name in metric.judging.weights)


class SubjectStates(NamedTuple):
    """The merged states of a day or a window, and a ``subject`` (model, slice, slice value)."""

    merged: Merged
    subject: Subject


@dataclass(frozen=True)
class MetricKind(Declaration):
    """The base class of all kinds of metrics: a declaration that also computes values from states."""

    def needed(self, metric: Metric, plan: StatePlan) -> Iterator[Needed]:
        """Yield the states from which ``metric`` is computed.

        A merge of days requires these states of each stored day.
        """
        raise NotImplementedError

    def row(self, merged: Merged, subject: Subject, metric: Metric) -> MetricRow:
        """Return the value of ``metric`` for ``subject``, a (model, slice, slice value), from the ``merged`` states."""
        raise NotImplementedError

    def rows(self, merged: Merged, subjects: Sequence[Subject], metric: Metric) -> MetricColumns:
        """Return the results of :meth:`row` for all ``subjects``, as columns."""
        return MetricColumns.of([self.row(merged, subject, metric) for subject in subjects])

    def effective_numbers(
        self, merged: Merged, subjects: Sequence[Subject], metric: Metric, *, clustered: bool
    ) -> Floats:
        """Return the results of :meth:`n_effective` for all ``subjects``, with NaN in place of None."""
        numbers = [self.n_effective(merged, subject, metric, clustered=clustered) for subject in subjects]
        return np.array(numbers, np.float64)

    def explain(self, group: OneGroup, metric: Metric) -> Arithmetic:
        """Return the calculation of the value of one ``group``.

        For a value over all rows, the calculation is only that of the group's amount.
        """
        raise NotImplementedError

    def without_parts(self, merged: Merged, subject: Subject, metric: Metric) -> WithoutParts | None:  # noqa: ARG002
        """Return the values without each part (fixed subset) of the groups; None if an interval would be misleading."""
        return None

    def mixed_values(self, metric: Metric, *sides: SubjectStates) -> tuple[Floats, int] | None:  # noqa: ARG002
        """Return the values of ``metric`` on halves of the parts (sets of groups), and the number of parts in use.

        There are several ways to divide the parts into halves. ``sides`` contains the states of one or two models. For
        one model, the shape of the values is (1, 2, ways). For two, it is (3, 2, ways): first the values after an
        exchange of halves (:mod:`sparkrank.numeric.signed_parts`), then the values of each model. The result is None
        without such values.
        """
        return None

    def n_effective(self, merged: Merged, subject: Subject, metric: Metric, *, clustered: bool) -> float | None:  # noqa: ARG002
        """Return the effective number of groups, or None if unknown.

        If ``clustered`` is true, a group may occur on several days.
        """
        return None


def kind_of(metric: Metric) -> MetricKind:
    return cast(MetricKind, metric.declaration)


def effective_number(of_parts: Floats) -> float | None:
    """Return n, the number of equal groups that would make the amounts of parts as uneven as ``of_parts``.

    The result is 0 if all amounts are 0, and None for fewer than two parts. Let S_j be the share of part j among g
    parts. n is (g - 1) / (g Σ S_j² - 1), because g Σ S_j² has the mean 1 + (g - 1) / n for n equal groups in random
    parts. The error of n is about 20 % with 64 parts, and 40 % with 16.

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
    """Return ``bins`` as steps of a sweep, from the highest score down; with ``score_sums``, with sums of scores."""
    sums = bins.score_sum[::-1] if score_sums else None
    return BinSteps(bins.pos[::-1], bins.neg[::-1], bins.rows[::-1], sums, bins.bins[::-1])


def measure(bins: ScoreHistogram, metric: Metric, declaration: SweptKind) -> MeasuredTerms:
    return measure_each(bins, [(metric, declaration)])[0]


def measure_each(bins: ScoreHistogram, metrics: Sequence[tuple[Metric, SweptKind]]) -> list[MeasuredTerms]:
    """Return the terms of each metric over all ``bins``. Metrics that need the order of scores share one sweep."""
    in_order = [pair for pair in metrics if not pair[1].by_rate]
    extent = bins.extent(counts_bins=not in_order)
    swept, through = sweep_each(bins, in_order, extent)
    terms = iter(swept)
    extent = replace(extent, bins=extent.bins if through is None else through.bins)
    return [
        _measure_by_rate(bins, metric, declaration, extent.bins)
        if declaration.by_rate
        else MeasuredTerms(next(terms), extent)
        for metric, declaration in metrics
    ]


def sweep_each(
    bins: ScoreHistogram,
    metrics: Sequence[tuple[Metric, SweptKind]],
    day: Extent,
    above: Extent | None = None,
) -> tuple[list[Terms], Extent | None]:
    """Return the terms of each metric over ``bins``, and the extent (totals) of all rows swept so far.

    ``above`` is the extent of the rows with higher scores than those in ``bins``, and ``day`` is the extent of all
    rows. A few thousand bins are swept at a time, so that their arrays stay in the processor's cache.
    """
    parts: list[list[Terms]] = [[] for _ in metrics]
    through: Extent | None = None
    for sums in {declaration.score_sums for _, declaration in metrics}:
        through = above
        for steps in bins.steps_from_above(SWEPT_AT_ONCE, sums) if not bins.is_empty else [steps_of(bins, sums)]:
            sweep = Sweep(steps, day, through)
            through = sweep.through
            for terms, (metric, declaration) in zip(parts, metrics, strict=True):
                if declaration.score_sums == sums:
                    terms.append(declaration.terms_of(sweep, metric))
    return [Terms.merged(terms) for terms in parts], through


def rates_of(bins: ScoreHistogram) -> Rates:
    if bins.is_empty:
        return Rates.of(steps_of(bins))
    every = bins.steps_from_above(RATED_AT_ONCE)
    first, *others = (Rates.of(steps.steps() if isinstance(steps, RowSteps) else steps) for steps in every)
    return first.merged(*others)


def _measure_by_rate(bins: ScoreHistogram, metric: Metric, declaration: SweptKind, count: int) -> MeasuredTerms:
    least = int(metric.number("min_rows"))
    if least <= 1:
        return measure_rates(rates_of(bins), metric, declaration, count)
    steps = joined(steps_of(bins), least)
    return measure_rates(Rates.of(steps), metric, declaration, len(steps.rows))


def measure_rates(rates: Rates, metric: Metric, declaration: SweptKind, bins: int) -> MeasuredTerms:
    """Return the terms of ``metric`` from a sweep over ``rates``, highest first, joined from ``bins`` bins."""
    all_ = Extent.of(rates.steps)
    extent = Extent(all_.pos, all_.neg, all_.rows, bins)
    return MeasuredTerms(declaration.terms_of(Sweep(rates.steps, extent), metric), extent)
