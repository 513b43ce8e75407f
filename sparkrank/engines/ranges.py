"""Exact bins of a day in ranges of scores, each merged and swept apart. Pure numpy and pyarrow."""

from __future__ import annotations

import math
import pickle
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from sparkrank.histogram.curves import sketched
from sparkrank.histogram.threshold_sweep import Extent, Rates, Sweep, Terms
from sparkrank.metrics import Metric, Plan
from sparkrank.metrics.kinds import HistogramMetric
from sparkrank.metrics.merged import Measured, measure_rates, steps_of
from sparkrank.numeric.types import Ints
from sparkrank.states import Partials, ScoreHistogram, Series
from sparkrank.states.keys import StateKey

# Block numbers that a bucket of a million rows gives as a sample of its blocks. Buckets are cut by a hash of the group,
# so their samples are alike, and a hundred buckets place the cuts to a few per cent of a range.
SAMPLE = 160

ScoreRanges: TypeAlias = Sequence[tuple[Series, int]]  # of each range its series and its place in it


def apart(partials: Partials) -> tuple[Partials, Partials | None]:
    """``partials`` without exact blocks, and these, where there are any."""
    exact = {series: blocks for series, blocks in partials.blocks.items() if series.rule.kind == "exact"}
    if not exact:
        return partials, None
    others = {series: blocks for series, blocks in partials.blocks.items() if series not in exact}
    return replace(partials, blocks=others), Partials(blocks=exact)


def sample(exact: Partials) -> bytes:
    """Block numbers of each series at equal steps, with the number of blocks."""
    samples = {}
    for series, blocks in exact.blocks.items():
        at = np.linspace(0, len(blocks.block) - 1, min(SAMPLE, len(blocks.block))).astype(np.int64)
        samples[series] = (len(blocks.block), blocks.block[at])
    return pickle.dumps(samples)


@dataclass(frozen=True)
class RangeBounds:
    """Where the blocks of each series are cut: ascending block numbers, each the lowest of a range but the last."""

    splitters: Mapping[Series, Ints]

    @classmethod
    def of(cls, samples: Iterable[bytes], range_bins: int) -> RangeBounds:
        """Bounds of ranges of about ``range_bins``, or fewer where buckets have blocks in common."""
        counts: dict[Series, int] = {}
        numbers: dict[Series, list[Ints]] = {}
        for packed in samples:
            for series, (count, of_bucket) in pickle.loads(packed).items():  # noqa: S301 - packed by this run
                counts[series] = counts.get(series, 0) + count
                numbers.setdefault(series, []).append(of_bucket)
        splitters = {}
        for series, found in numbers.items():
            score_ranges = math.ceil(counts[series] / range_bins)
            sampled = np.sort(np.concatenate(found))
            at = (np.arange(1, score_ranges) * len(sampled)) // max(score_ranges, 1)
            splitters[series] = np.unique(sampled[at])
        return cls(splitters)

    def score_ranges(self) -> list[tuple[Series, int]]:
        """Every (series, place from the highest scores down)."""
        return [(series, place) for series, cuts in self.splitters.items() for place in range(len(cuts) + 1)]

    def pieces(self, exact: Partials) -> Iterator[tuple[int, ScoreHistogram]]:
        """The blocks of a bucket by the number of their range (its place in :meth:`score_ranges`)."""
        number = 0
        for series, cuts in self.splitters.items():
            blocks = exact.blocks.get(series)
            if blocks is not None:
                ends = [0, *np.searchsorted(blocks.block, cuts).tolist(), len(blocks.block)]
                for place in range(len(cuts) + 1):
                    start, end = ends[len(cuts) - place], ends[len(cuts) - place + 1]
                    if end > start:
                        yield number + place, _part(blocks, start, end)
            number += len(cuts) + 1


def _part(blocks: ScoreHistogram, start: int, end: int) -> ScoreHistogram:
    block, pos, neg, offset = (each[start:end] for each in (blocks.block, blocks.pos, blocks.neg, blocks.offset))
    return ScoreHistogram(
        blocks.rule, block, pos, neg, offset, None if blocks.count is None else blocks.count[start:end]
    )


@dataclass(frozen=True)
class Asked:
    """A metric that reads exact blocks, with its declaration."""

    metric: Metric
    declaration: HistogramMetric

    @property
    def joins(self) -> bool:
        """Whether the metric joins neighbouring blocks, which may lie in two ranges."""
        return self.declaration.by_rate and int(self.metric.number("min_rows")) > 1


def exact_metrics(plan: Plan) -> dict[float | None, list[Asked]]:
    """The metrics that read exact blocks, by the least relevant label of their rule."""
    found: dict[float | None, list[Asked]] = {}
    for metric, declaration in plan.histogram_metrics:
        rule = declaration.rule(metric)
        if rule.kind == "exact":
            found.setdefault(rule.rel, []).append(Asked(metric, declaration))
    return found


@dataclass(frozen=True)
class Totals:
    """What the driver must know of a range before it is swept.

    Its ``extent``; its ``rates`` where a metric asks for them; and a ``sketch`` of its blocks where curves are asked
    for.
    """

    extent: Extent
    rates: Rates | None
    sketch: ScoreHistogram | None = None

    @classmethod
    def of(cls, blocks: ScoreHistogram, asked: Sequence[Asked], curves: bool = False) -> Totals:
        steps = steps_of(blocks)
        rates = Rates.of(steps) if any(each.declaration.by_rate for each in asked) else None
        return cls(Extent.of(steps), rates, sketched(blocks) if curves else None)


@dataclass(frozen=True)
class Place:
    """Where a range stands: the extent of its day, and that of the ranges above it."""

    day: Extent
    above: Extent | None


def places(score_ranges: ScoreRanges, totals: Mapping[int, Totals]) -> dict[int, Place]:
    """The place of each range that has blocks."""
    found: dict[int, Place] = {}
    for numbers in _days(score_ranges, totals).values():
        before: list[Extent | None] = [None]
        for number in numbers:
            above, extent = before[-1], totals[number].extent
            before.append(extent if above is None else above + extent)
        day = before.pop()
        assert day is not None  # noqa: S101 - a day has a range
        found |= {number: Place(day, above) for number, above in zip(numbers, before, strict=True)}
    return found


def _days(score_ranges: ScoreRanges, totals: Mapping[int, Totals]) -> dict[Series, list[int]]:
    """The ranges of each series that have blocks, the highest scores first."""
    days: dict[Series, list[int]] = {}
    for number in sorted(totals):
        days.setdefault(score_ranges[number][0], []).append(number)
    return days


def sizes(score_ranges: ScoreRanges, totals: Mapping[int, Totals]) -> dict[Series, int]:
    """How many blocks each series has."""
    days = _days(score_ranges, totals)
    return {series: sum(totals[number].extent.blocks for number in numbers) for series, numbers in days.items()}


def sketches(score_ranges: ScoreRanges, totals: Mapping[int, Totals]) -> dict[Series, ScoreHistogram]:
    """The sketch of each series, where the totals hold some."""
    found: dict[Series, ScoreHistogram] = {}
    for series, numbers in _days(score_ranges, totals).items():
        parts = [part for number in numbers if (part := totals[number].sketch) is not None]
        if parts:
            found[series] = parts[0].merge(*parts[1:])
    return found


def sweep(blocks: ScoreHistogram, place: Place, asked: Sequence[Asked]) -> list[Terms | None]:
    """What a range adds to each metric: terms, or None where the totals hold it."""
    sweeps: dict[bool, Sweep] = {}
    added: list[Terms | None] = []
    for each in asked:
        if each.declaration.by_rate:
            added.append(None)
            continue
        sums = each.declaration.score_sums
        if sums not in sweeps:
            sweeps[sums] = Sweep(steps_of(blocks, sums), place.day, place.above)
        added.append(each.declaration.terms(sweeps[sums]))
    return added


def measured(
    score_ranges: ScoreRanges,
    totals: Mapping[int, Totals],
    added: Mapping[int, Sequence[Any]],
    exact: Mapping[float | None, Sequence[Asked]],
) -> dict[StateKey, Measured]:
    """Every metric of every series from what its ranges add (:func:`sweep`)."""
    found: dict[StateKey, Measured] = {}
    where = places(score_ranges, totals)
    for series, numbers in _days(score_ranges, totals).items():
        day = where[numbers[0]].day
        for index, each in enumerate(exact[series.rule.rel]):
            if each.declaration.by_rate:
                rates = [part for number in numbers if (part := totals[number].rates) is not None]
                value = measure_rates(rates[0].merged(*rates[1:]), each.declaration, day.blocks)
            else:
                value = Measured(Terms.merged([added[number][index] for number in numbers]), day)
            found[StateKey(*series[:3], str(each.metric))] = value
    return found
