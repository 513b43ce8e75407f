"""The mergeable histogram of scores: counts of rows by bin and class, for most pooled metrics."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from sparkrank.base.errors import StateError
from sparkrank.histogram.bins import BinRule, score_sums
from sparkrank.histogram.count import count_segments
from sparkrank.histogram.merge import CodedBins, MergedBins, Whole, fill_codes, merge_bins, merge_by_loops, range_of
from sparkrank.histogram.scored_rows import ScoredRows
from sparkrank.histogram.threshold_sweep import BinSteps, Extent, RowSteps
from sparkrank.numeric.array_types import Floats, Ints
from sparkrank.numeric.exact_sums import Amounts, rounded
from sparkrank.numeric.ordered_integers import bin_scores
from sparkrank.numeric.overflow import validate_no_overflow
from sparkrank.numeric.segments import WHOLE, Segments, run_starts

AMOUNTS = ("pos", "neg", "offset")


class ScoreSeries(NamedTuple):
    """The key of a histogram. ``slice_value`` is None for rows with null in the column of the slice."""

    model: str
    slice: str
    slice_value: str | None
    rule: BinRule


@dataclass(frozen=True)
class ScoreHistogram:
    """A histogram of scores. All arrays have one element or row per bin, in ascending order of score.

    ``bins`` are the numbers of the bins. ``pos`` and ``neg`` are the numbers of relevant and of other rows. ``offset``
    is the sum of score minus bin score, in units of the bin's width / 2^32. If rows are weighted, these three are
    weighted sums in limbs (the floats that make up an exact sum) of shape (bins, 6), and ``count`` contains the number
    of rows; otherwise ``count`` is None.
    """

    rule: BinRule
    bins: Ints
    pos: Amounts
    neg: Amounts
    offset: Amounts
    count: Ints | None = None

    @classmethod
    def empty(cls, rule: BinRule) -> ScoreHistogram:
        """Return a histogram without bins, which merges with every histogram of the same rule, weighted or not."""
        none = np.empty(0, np.int64)
        return cls(rule, none, none, none, none)

    @classmethod
    def of_each(cls, rule: BinRule, rows: ScoredRows, sums: bool, segments: Segments = WHOLE) -> list[ScoreHistogram]:
        """Return a histogram for each segment of the ``rows``. ``sums`` is true if sums of scores are needed."""
        bins, starts, *amounts = count_segments(rule, rows, sums, segments)
        return [
            cls(rule, bins[start:end], *(None if column is None else column[start:end] for column in amounts))  # type: ignore[arg-type]
            for start, end in itertools.pairwise(starts.tolist())
        ]

    def merge(self, *others: ScoreHistogram) -> ScoreHistogram:
        """Return the histogram of the rows of this and all ``others`` together.

        Raise :class:`StateError` if rules differ, if only some histograms are weighted, or if a sum exceeds 64 bits.
        """
        for other in others:
            if other.rule != self.rule:
                raise StateError(f"bins of {self.rule} do not merge with bins of {other.rule}: the edges differ")
        parts = [part for part in (self, *others) if not part.is_empty]
        if not parts:
            return self
        weighted = {part.is_weighted for part in parts}
        if len(weighted) > 1:
            raise StateError(f"bins of {self.rule} with weights do not merge with bins without")
        if len(parts) == 1:
            return parts[0]
        if (runs := parts[0].merged_runs(parts[1:])) is not None:
            return runs
        if weighted == {False} and (bins := _merged_by_loops(self.rule, parts)) is not None:
            return ScoreHistogram(self.rule, *bins)
        joined = merge_bins(self.rule, [part.bins for part in parts])
        pos, neg = joined.sum([part.pos for part in parts]), joined.sum([part.neg for part in parts])
        offset, offsets = np.zeros_like(pos), [part.offset for part in parts]
        if any(map(np.count_nonzero, offsets)):  # faster in numpy than any()
            if weighted == {False}:
                validate_no_overflow(offsets, joined.sum, f"the scores of one bin of {self.rule}")
            offset = joined.sum(offsets)
        count = joined.sum([part.rows for part in parts]) if weighted == {True} else None
        return ScoreHistogram(self.rule, joined.bins, pos, neg, offset, count)

    def merged_runs(self, others: Sequence[ScoreHistogram]) -> ScoreHistogram | None:  # noqa: ARG002
        """Return the histogram merged with ``others`` if all keep single rows; otherwise None.

        No histogram may be empty.
        """
        return None

    @property
    def is_empty(self) -> bool:
        return len(self.bins) == 0

    @property
    def is_weighted(self) -> bool:
        return self.count is not None

    @property
    def numbers(self) -> Ints:
        """The bin numbers in ascending order. A histogram that keeps single rows has one number per row."""
        return self.bins

    def part(self, start: int, end: int) -> ScoreHistogram:
        """Return the histogram of only ``numbers[start:end]``. Its arrays share memory with those of this histogram."""
        bins, pos, neg, offset = (column[start:end] for column in (self.bins, self.pos, self.neg, self.offset))
        return ScoreHistogram(self.rule, bins, pos, neg, offset, None if self.count is None else self.count[start:end])

    def coarser(self, rule: BinRule) -> ScoreHistogram:
        """Return the histogram of the same rows in the coarser bins of ``rule``, without sums of scores."""
        number = rule.numbers(self.score)
        first = run_starts(number)  # coarser bins join whole bins, and both are in ascending order of score
        pos, neg = (np.add.reduceat(amounts, first) for amounts in (self.pos, self.neg))
        count = None if self.count is None else np.add.reduceat(self.count, first)
        return ScoreHistogram(rule, number[first], pos, neg, np.zeros_like(pos), count)

    def extent(self, *, counts_bins: bool = True) -> Extent:  # noqa: ARG002
        """Return the sums over all bins. If ``counts_bins`` is false, the number of bins may be too high."""
        return Extent(self.pos.sum(axis=0), self.neg.sum(axis=0), int(self.rows.sum()), len(self.bins))

    def steps_from_above(self, most: int, score_sums: bool = False) -> Iterator[BinSteps | RowSteps]:
        """Yield the bins from the highest score down, ``most`` at a time. ``score_sums`` adds sums of scores."""
        for end in range(len(self.bins), 0, -most):
            some = self.part(max(end - most, 0), end)
            sums = some.score_sum[::-1] if score_sums else None
            yield BinSteps(some.pos[::-1], some.neg[::-1], some.rows[::-1], sums, some.bins[::-1])

    @property
    def rows(self) -> Ints:
        rows: Ints = self.pos + self.neg if self.count is None else self.count
        return rows

    @property
    def positives(self) -> Floats:
        return rounded(self.pos)

    @property
    def negatives(self) -> Floats:
        return rounded(self.neg)

    @property
    def score(self) -> Floats:
        return bin_scores(self.bins)

    @property
    def score_sum(self) -> Floats:
        return score_sums(self.rule, self.bins, rounded(self.pos + self.neg), rounded(self.offset))


def _merged_by_loops(rule: BinRule, parts: Sequence[ScoreHistogram]) -> MergedBins | None:
    scores = range_of([part.bins for part in parts])
    coding = rule.coding(scores)
    coded = [
        CodedBins(
            partial(fill_codes, coding, part.bins),
            Whole(0, part.pos),
            Whole(0, part.neg),
            Whole(0, part.offset) if np.count_nonzero(part.offset) else None,  # faster in numpy than any()
        )
        for part in parts
    ]
    return merge_by_loops(coding, scores, coded)
