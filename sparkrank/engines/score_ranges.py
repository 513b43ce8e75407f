"""The division of a day's exact bins (of equal scores) into ranges of scores, which are merged and swept separately."""

from __future__ import annotations

import itertools
import math
import pickle
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from sparkrank.histogram.bins import BinRule
from sparkrank.histogram.curve_points import sketched
from sparkrank.histogram.threshold_sweep import Extent, Rates, Terms
from sparkrank.metrics import HistogramMetric, Metric, Plan
from sparkrank.metrics.merged import MeasuredTerms, measure_rates, rates_of, sweep_each
from sparkrank.numeric.array_types import Ints
from sparkrank.states import Partials, ScoreHistogram, ScoreSeries
from sparkrank.states.keys import StateKey

# The number of bins that each bucket sends as a sample. A hash of the group assigns rows to buckets, so all samples are
# similar, and the samples of a hundred buckets determine the bounds to within a few per cent of a range.
SAMPLED_BINS = 160

ScoreRanges: TypeAlias = Sequence[tuple[ScoreSeries, int]]  # the series of each range, and its index within the series


def split_exact(partials: Partials) -> tuple[Partials, Partials | None]:
    """Return ``partials`` without its exact histograms, and the exact histograms as partials (None if it has none)."""
    exact = {series: blocks for series, blocks in partials.blocks.items() if series.rule.kind == "exact"}
    if not exact:
        return partials, None
    others = {series: blocks for series, blocks in partials.blocks.items() if series not in exact}
    return replace(partials, blocks=others), Partials(blocks=exact)


def sample_bins(exact: Partials) -> bytes:
    """Return a pickled dict from each series (model and slice value) to its number of bins and a sample of bin numbers.

    The sample consists of evenly spaced bin numbers in ascending order.
    """
    samples = {}
    for series, histogram in exact.blocks.items():
        numbers = histogram.numbers
        at = np.linspace(0, len(numbers) - 1, min(SAMPLED_BINS, len(numbers))).astype(np.int64)
        samples[series] = (len(numbers), numbers[at])
    return pickle.dumps(samples)


@dataclass(frozen=True)
class RangeBounds:
    """The bounds between the ranges of scores of each series (a model in a slice value).

    ``splitters`` maps each series to the lowest bin number of every range except the lowest, in ascending order.
    """

    splitters: Mapping[ScoreSeries, Ints]

    @classmethod
    def of(cls, samples: Iterable[bytes], range_bins: int) -> RangeBounds:
        """Return bounds for ranges of about ``range_bins`` bins, or fewer if ``samples`` have bins in common."""
        counts: dict[ScoreSeries, int] = {}
        numbers: dict[ScoreSeries, list[Ints]] = {}
        for packed in samples:
            for series, (count, of_bucket) in pickle.loads(packed).items():  # noqa: S301 - packed by this run
                counts[series] = counts.get(series, 0) + count
                numbers.setdefault(series, []).append(of_bucket)
        splitters = {}
        for series, samples_of_bins in numbers.items():
            score_ranges = math.ceil(counts[series] / range_bins)
            sampled = np.sort(np.concatenate(samples_of_bins))
            at = (np.arange(1, score_ranges) * len(sampled)) // max(score_ranges, 1)
            splitters[series] = np.unique(sampled[at])
        return cls(splitters)

    def score_ranges(self) -> list[tuple[ScoreSeries, int]]:
        """Return all ranges as pairs of a series and an index within the series. Index 0 has the highest scores."""
        return [(series, place) for series, bounds in self.splitters.items() for place in range(len(bounds) + 1)]

    def pieces(self, exact: Partials) -> Iterator[tuple[int, ScoreHistogram]]:
        """Divide the bins of a bucket by range. Yield the index in :meth:`score_ranges` and the bins of each range."""
        number = 0
        for series, bounds in self.splitters.items():
            histogram = exact.blocks.get(series)
            if histogram is not None:
                ends = [0, *np.searchsorted(histogram.numbers, bounds).tolist(), len(histogram.numbers)]
                for place in range(len(bounds) + 1):
                    start, end = ends[len(bounds) - place], ends[len(bounds) - place + 1]
                    if end > start:
                        yield number + place, histogram.part(start, end)
            number += len(bounds) + 1


@dataclass(frozen=True)
class ExactMetric:
    """A metric whose bins are exact (one per score), with the declaration of the metric."""

    metric: Metric
    declaration: HistogramMetric

    @property
    def joins(self) -> bool:
        """Whether the metric joins adjacent bins, which may lie in different ranges."""
        return self.declaration.by_rate and int(self.metric.number("min_rows")) > 1


def exact_metrics(plan: Plan) -> dict[BinRule, list[ExactMetric]]:
    """Return the metrics whose bins are exact (one per score), by rule. A rule includes a threshold of relevance."""
    by_rule: dict[BinRule, list[ExactMetric]] = {}
    for metric, declaration in plan.histogram_metrics:
        rule = declaration.rule_of(metric)
        if rule.kind == "exact":
            by_rule.setdefault(rule, []).append(ExactMetric(metric, declaration))
    return by_rule


@dataclass(frozen=True)
class Totals:
    """The sums over a range of scores that the driver needs before the sweep of thresholds over the range.

    ``rates`` is None if no metric is computed from rates. ``sketch``, a histogram with coarser bins, is None if no
    curves and no gains are requested.
    """

    extent: Extent
    rates: Rates | None
    sketch: ScoreHistogram | None = None

    @classmethod
    def of(cls, histogram: ScoreHistogram, metrics: Sequence[ExactMetric], curves: bool = False) -> Totals:
        rates = rates_of(histogram) if any(metric.declaration.by_rate for metric in metrics) else None
        return cls(histogram.extent(), rates, sketched(histogram) if curves else None)


@dataclass(frozen=True)
class RangePlace:
    """The position of a range of scores, by the totals of the whole ``day`` and those of all higher ranges (``above``).

    ``above`` is None for the highest range.
    """

    day: Extent
    above: Extent | None


def places(score_ranges: ScoreRanges, totals: Mapping[int, Totals]) -> dict[int, RangePlace]:
    """Return a dict from the number of each non-empty range to the position of the range."""
    found: dict[int, RangePlace] = {}
    for numbers in _days(score_ranges, totals).values():
        sums = list(itertools.accumulate(totals[number].extent for number in numbers))
        found |= {
            number: RangePlace(sums[-1], above) for number, above in zip(numbers, [None, *sums[:-1]], strict=True)
        }
    return found


def _days(score_ranges: ScoreRanges, totals: Mapping[int, Totals]) -> dict[ScoreSeries, list[int]]:
    """Return the numbers of the non-empty ranges of each series (a model in a slice), highest scores first."""
    days: dict[ScoreSeries, list[int]] = {}
    for number in sorted(totals):
        days.setdefault(score_ranges[number][0], []).append(number)
    return days


def sizes(score_ranges: ScoreRanges, totals: Mapping[int, Totals]) -> dict[ScoreSeries, int]:
    """Return the number of bins in each series (a model in a slice)."""
    days = _days(score_ranges, totals)
    return {series: sum(totals[number].extent.bins for number in numbers) for series, numbers in days.items()}


def sketches(score_ranges: ScoreRanges, totals: Mapping[int, Totals]) -> dict[ScoreSeries, ScoreHistogram]:
    """Return the merged sketches (coarser histograms) in ``totals``, for each series that has sketches."""
    merged: dict[ScoreSeries, ScoreHistogram] = {}
    for series, numbers in _days(score_ranges, totals).items():
        parts = [part for number in numbers if (part := totals[number].sketch) is not None]
        if parts:
            merged[series] = parts[0].merge(*parts[1:])
    return merged


def sweep(histogram: ScoreHistogram, place: RangePlace, metrics: Sequence[ExactMetric]) -> list[Terms | None]:
    """Return the terms (sums) that a range adds to each of ``metrics``; None for a metric computed from rates."""
    swept = [(exact.metric, exact.declaration) for exact in metrics if not exact.declaration.by_rate]
    terms, _ = sweep_each(histogram, swept, place.day, place.above)
    swept_terms = iter(terms)
    return [None if exact.declaration.by_rate else next(swept_terms) for exact in metrics]


def exact_terms(
    score_ranges: ScoreRanges,
    totals: Mapping[int, Totals],
    added: Mapping[int, Sequence[Any]],
    exact: Mapping[BinRule, Sequence[ExactMetric]],
) -> dict[StateKey, MeasuredTerms]:
    """Return the terms (sums that make up a value) of all metrics of all series.

    ``added`` maps each range to the terms that :func:`sweep` returned.
    """
    values: dict[StateKey, MeasuredTerms] = {}
    where = places(score_ranges, totals)
    for series, numbers in _days(score_ranges, totals).items():
        day = where[numbers[0]].day
        for index, metric in enumerate(exact[series.rule]):
            if metric.declaration.by_rate:
                rates = [part for number in numbers if (part := totals[number].rates) is not None]
                value = measure_rates(rates[0].merged(*rates[1:]), metric.metric, metric.declaration, day.bins)
            else:
                value = MeasuredTerms(Terms.merged([added[number][index] for number in numbers]), day)
            values[StateKey(*series[:3], str(metric.metric))] = value
    return values
