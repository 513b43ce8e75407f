"""A histogram that keeps single rows, for bins with mostly one row each, as is common for exact bins.

A row takes 9 bytes, or 17 with a weight; a bin would take 32 bytes, or 160 with limbs (floats of exact sums). Rows are
kept in sorted runs.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from functools import cached_property
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from sparkrank import native
from sparkrank.histogram.bins import BinRule
from sparkrank.histogram.scored_rows import ScoredRows
from sparkrank.histogram.state import ScoreHistogram
from sparkrank.histogram.threshold_sweep import BinSteps, Extent, RowSteps
from sparkrank.numeric.array_types import Flags, Floats, Ints
from sparkrank.numeric.exact_sums import exact_sum
from sparkrank.numeric.free_memory import ensure_free
from sparkrank.numeric.segments import WHOLE, Segments, run_starts

# If there are fewer distinct bins than this share of the rows, bins take no more memory than rows.
LEAST_DISTINCT = 0.5
SAMPLED_ROWS = 256
MOST_RUNS = 256  # if there are more runs, a sweep sorts all rows at once
SAMPLED_OF_PART = 4  # the ends of the parts of a sweep are chosen from this many rows of each run per part
_NO_WEIGHTS = np.empty(0)


class BinnedRows(NamedTuple):
    """Rows in ascending order of bin number.

    ``relevant`` contains a flag per row. If ``weights`` is None, each weight is 1.
    """

    bins: Ints
    relevant: Flags
    weights: Floats | None = None

    def part(self, start: int, end: int) -> BinnedRows:
        weights = None if self.weights is None else self.weights[start:end]
        return BinnedRows(self.bins[start:end], self.relevant[start:end], weights)

    def distinct(self) -> int:
        return int(np.count_nonzero(self.bins[1:] != self.bins[:-1])) + (len(self.bins) > 0)

    def histogram(self, rule: BinRule) -> ScoreHistogram:
        first, steps = run_starts(self.bins), RowSteps(self.relevant, self.weights).steps()
        pos, neg = steps.pos, steps.neg
        if len(first) < len(self.bins):
            pos, neg = (np.add.reduceat(amounts, first) for amounts in (pos, neg))
        count = None if self.weights is None else np.diff(first, append=len(self.bins))
        return ScoreHistogram(rule, self.bins[first], pos, neg, np.zeros_like(pos), count)


def sorted_rows(runs: Sequence[BinnedRows], are_sorted: bool = True) -> BinnedRows:
    """Merge one or more ``runs`` into rows sorted by bin. ``are_sorted`` is true if each run is sorted."""
    rows, weighted = sum(len(run.bins) for run in runs), runs[0].weights is not None
    ensure_free(rows * (17 if weighted else 9), "sorting rows by exact bins")
    if not native.runs("order of rows"):
        bins, relevant = (np.concatenate([getattr(run, name) for run in runs]) for name in ("bins", "relevant"))
        order = np.argsort(bins, kind="stable")  # this sort merges sorted runs
        weights = np.concatenate([run.weights for run in runs if run.weights is not None])[order] if weighted else None
        return BinnedRows(bins[order], relevant[order], weights)
    filled = [run for run in runs if len(run.bins)]
    weights = np.empty(rows) if weighted else _NO_WEIGHTS
    bins, relevant = np.empty(rows, np.int64), np.empty(rows, np.bool_)
    given = [
        (
            np.ascontiguousarray(run.bins),
            np.ascontiguousarray(run.relevant).view(np.uint8),
            _NO_WEIGHTS if run.weights is None else np.ascontiguousarray(run.weights),
        )
        for run in filled
    ]
    native.blocks.sort_rows(given, are_sorted, bins, relevant.view(np.uint8), weights)
    return BinnedRows(bins, relevant, weights if weighted else None)


BIN_BYTES = 32  # the number, both counts and the offset of a bin


class RowHistogram(ScoreHistogram):
    """A histogram of single rows, in one or more sorted ``runs``. Bins are computed when a caller reads them."""

    runs: tuple[BinnedRows, ...]

    def __init__(self, rule: BinRule, runs: Sequence[BinnedRows]) -> None:
        self.__dict__.update(rule=rule, runs=tuple(runs))

    def __reduce__(self) -> tuple[Any, ...]:
        return RowHistogram, (self.rule, self.runs)

    @property
    def sorted_rows(self) -> BinnedRows:
        if len(self.runs) > 1:
            self.__dict__["runs"] = (sorted_rows(self.runs),)  # keeping the old runs would take as much memory again
        (rows,) = self.runs
        return rows

    @property
    def is_empty(self) -> bool:
        return not any(len(run.bins) for run in self.runs)

    @property
    def is_weighted(self) -> bool:
        return self.runs[0].weights is not None

    @cached_property
    def _in_bins(self) -> ScoreHistogram:
        ensure_free(self.sorted_rows.distinct() * BIN_BYTES, "a histogram of exact bins")
        return self.sorted_rows.histogram(self.rule)

    def merged_runs(self, others: Sequence[ScoreHistogram]) -> ScoreHistogram | None:
        if not all(isinstance(other, RowHistogram) for other in others):
            return None
        runs = [run for histogram in (self, *others) if isinstance(histogram, RowHistogram) for run in histogram.runs]
        together = RowHistogram(self.rule, runs)
        return together._in_bins if _share_bins(runs) else together

    @property
    def numbers(self) -> Ints:
        return self.sorted_rows.bins

    def part(self, start: int, end: int) -> ScoreHistogram:
        return RowHistogram(self.rule, [self.sorted_rows.part(start, end)])

    def extent(self, *, counts_bins: bool = True) -> Extent:
        rows = sum(len(run.bins) for run in self.runs)
        if self.is_weighted:
            pos, neg = (
                np.sum([exact_sum(run.weights[flags]) for run, flags in of_class if run.weights is not None], axis=0)
                for of_class in zip(*(((run, run.relevant), (run, ~run.relevant)) for run in self.runs), strict=True)
            )
        else:
            relevant = sum(np.count_nonzero(run.relevant) for run in self.runs)
            pos, neg = np.array([relevant, rows - relevant])
        return Extent(pos, neg, rows, self.sorted_rows.distinct() if counts_bins else rows)

    def steps_from_above(self, most: int, score_sums: bool = False) -> Iterator[BinSteps | RowSteps]:
        for some in self._parts_from_above(most):
            if not score_sums and some.distinct() == len(some.bins):
                weights = None if some.weights is None else some.weights[::-1]
                yield RowSteps(some.relevant[::-1], weights, some.bins[::-1])
            else:
                yield from some.histogram(self.rule).steps_from_above(most, score_sums)

    def _parts_from_above(self, most: int) -> Iterator[BinnedRows]:
        """Yield the rows in parts of about ``most`` rows, highest bins first. A part is sorted only when it is read."""
        runs = self.runs if len(self.runs) <= MOST_RUNS else (self.sorted_rows,)
        step = max(most // (SAMPLED_OF_PART * len(runs)), 1) if len(runs) > 1 else most
        sample = np.sort(np.concatenate([run.bins[step::step] for run in runs]))
        bounds = np.unique(sample[max(most // step, 1) - 1 :: max(most // step, 1)])
        ends = [[0, *np.searchsorted(run.bins, bounds).tolist(), len(run.bins)] for run in runs]
        for place in reversed(range(len(bounds) + 1)):
            some = [
                run.part(bounds_of_run[place], bounds_of_run[place + 1])
                for run, bounds_of_run in zip(runs, ends, strict=True)
            ]
            part = sorted_rows(some) if len(some) > 1 else some[0]
            if len(part.bins):
                yield part


for _name in ("bins", "pos", "neg", "offset", "count"):
    setattr(RowHistogram, _name, property(attrgetter(f"_in_bins.{_name}")))


def _share_bins(runs: Sequence[BinnedRows]) -> bool:
    """Return whether most rows in a sample of the smallest run share a bin with a row of the largest run."""
    filled = sorted((run for run in runs if len(run.bins)), key=lambda run: len(run.bins))
    if len(filled) < 2:
        return False
    few, many = filled[0].bins, filled[-1].bins
    sample = few[:: max(len(few) // SAMPLED_ROWS, 1)]
    at = np.minimum(np.searchsorted(many, sample), len(many) - 1)
    return bool(np.count_nonzero(many[at] == sample) > LEAST_DISTINCT * len(sample))


def histograms_of_rows(rule: BinRule, rows: ScoredRows, segments: Segments = WHOLE) -> list[ScoreHistogram]:
    """Return a histogram of each segment by the exact ``rule``. Single rows are kept unless many rows share bins."""
    if len(rows.scores) == 0:
        return [ScoreHistogram.empty(rule)] * segments.count
    bits = rows.wide().view(np.int64)
    bins = bits if bits.min() >= 0 else rule.numbers(rows.wide())  # bit patterns of scores from 0 are bin numbers
    everything = BinnedRows(bins, rows.flags(rule.rel), rows.weights)
    if segments.code is None:
        of_segments = [everything]
    else:
        bins, relevant = segments.by_segment(everything.bins), segments.by_segment(everything.relevant)
        weights = None if rows.weights is None else segments.by_segment(rows.weights)
        apart, starts = BinnedRows(bins, relevant, weights), segments.starts(len(rows.scores)).tolist()
        of_segments = [apart.part(start, end) for start, end in itertools.pairwise(starts)]
    return [_of_unsorted(rule, of_segment) for of_segment in of_segments]


def _of_unsorted(rule: BinRule, rows: BinnedRows) -> ScoreHistogram:
    if not len(rows.bins):
        return ScoreHistogram.empty(rule)
    ordered = sorted_rows([rows], are_sorted=False)
    if ordered.distinct() < LEAST_DISTINCT * len(ordered.bins):
        return ordered.histogram(rule)
    return RowHistogram(rule, [ordered])
