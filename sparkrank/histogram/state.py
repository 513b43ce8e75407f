"""The mergeable histogram of scores: rows counted by bin and class, from which most pooled metrics are computed."""

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
    """The key of a histogram: model, slice, value of the slice (None for rows without a value), and bin rule."""

    model: str
    slice: str
    slice_value: str | None
    rule: BinRule


@dataclass(frozen=True)
class ScoreHistogram:
    """Bins in ascending order of score: their numbers, positive rows, negative rows, and offsets of scores.

    For weighted rows, amounts are sums in limbs (bins, 6), and ``count`` (otherwise None) has the number of rows.
    """

    rule: BinRule
    bins: Ints
    pos: Amounts
    neg: Amounts
    offset: Amounts
    count: Ints | None = None

    @classmethod
    def empty(cls, rule: BinRule) -> ScoreHistogram:
        """A histogram without bins, which merges with any histogram of the same rule, weighted or not."""
        none = np.empty(0, np.int64)
        return cls(rule, none, none, none, none)

    @classmethod
    def of_each(cls, rule: BinRule, rows: ScoredRows, sums: bool, segments: Segments = WHOLE) -> list[ScoreHistogram]:
        """The histogram of each segment's ``rows``. ``rule`` decides relevance; ``sums`` requests score sums."""
        bins, starts, *amounts = count_segments(rule, rows, sums, segments)
        return [
            cls(rule, bins[start:end], *(None if column is None else column[start:end] for column in amounts))  # type: ignore[arg-type]
            for start, end in itertools.pairwise(starts.tolist())
        ]

    def merge(self, *others: ScoreHistogram) -> ScoreHistogram:
        """The histogram of all rows together.

        Raises :class:`StateError` if rules differ, only some histograms have weights, or offsets do not fit in 64 bits.
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
        """This histogram merged with ``others`` (none empty) if all of them keep rows; otherwise None."""
        return None

    @property
    def is_empty(self) -> bool:
        return len(self.bins) == 0

    @property
    def is_weighted(self) -> bool:
        return self.count is not None

    @property
    def numbers(self) -> Ints:
        """The bin numbers in ascending order: one per bin, or one per row if the histogram keeps rows."""
        return self.bins

    def part(self, start: int, end: int) -> ScoreHistogram:
        """The part with the :attr:`numbers` from ``start`` up to ``end``, in the same memory."""
        bins, pos, neg, offset = (column[start:end] for column in (self.bins, self.pos, self.neg, self.offset))
        return ScoreHistogram(self.rule, bins, pos, neg, offset, None if self.count is None else self.count[start:end])

    def coarser(self, rule: BinRule) -> ScoreHistogram:
        """The same rows in the coarser bins of ``rule``, each of which joins whole bins; without score sums."""
        number = rule.numbers(self.score)
        first = run_starts(number)  # bins are in ascending order of score, and so are the coarser ones
        pos, neg = (np.add.reduceat(amounts, first) for amounts in (self.pos, self.neg))
        count = None if self.count is None else np.add.reduceat(self.count, first)
        return ScoreHistogram(rule, number[first], pos, neg, np.zeros_like(pos), count)

    def extent(self, *, counts_bins: bool = True) -> Extent:  # noqa: ARG002
        """The sums over all bins. Without ``counts_bins``, the number of bins may be too high."""
        return Extent(self.pos.sum(axis=0), self.neg.sum(axis=0), int(self.rows.sum()), len(self.bins))

    def steps_from_above(self, most: int, score_sums: bool = False) -> Iterator[BinSteps | RowSteps]:
        """Yield the bins from the highest score down, at most ``most`` at a time, with score sums if requested."""
        for end in range(len(self.bins), 0, -most):
            some = self.part(max(end - most, 0), end)
            sums = some.score_sum[::-1] if score_sums else None
            yield BinSteps(some.pos[::-1], some.neg[::-1], some.rows[::-1], sums)

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
