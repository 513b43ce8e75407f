"""Histograms packed for transfer between workers: most of the bytes that the evaluation of a bucket sends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from sparkrank.histogram.bins import BinRule
from sparkrank.histogram.merge import CodedBins, MergedBins, Whole, codes_of, merge_by_loops, range_of
from sparkrank.histogram.row_histogram import BinnedRows, RowHistogram
from sparkrank.histogram.state import ScoreHistogram
from sparkrank.numeric.array_types import Floats
from sparkrank.numeric.narrow_integers import (
    Narrow,
    NarrowAmounts,
    fill_ascending,
    narrow,
    narrow_amounts,
    narrow_ascending,
    widen,
    widen_amounts,
    widen_ascending,
)
from sparkrank.numeric.ordered_integers import Range


@dataclass(frozen=True)
class NarrowHistogram:
    """A packed histogram. A bin of unweighted rows has 4 to 9 bytes instead of 32.

    ``codes`` contains the code of the first bin, and the step from each code to the next. Codes depend on ``scores``,
    the range of scores, which is None without bins.
    """

    rule: BinRule
    scores: Range | None = None
    codes: tuple[int, Narrow] = (0, Narrow(0, 0, []))
    amounts: Sequence[NarrowAmounts] = ()
    count: Narrow | None = None

    @classmethod
    def of(cls, histogram: ScoreHistogram) -> NarrowHistogram | NarrowRows:
        if isinstance(histogram, RowHistogram):
            return NarrowRows.of(histogram)
        if histogram.is_empty:
            return cls(histogram.rule)
        scores = range_of([histogram.bins])
        codes = codes_of(histogram.rule.coding(scores), histogram.bins)
        amounts = [narrow_amounts(numbers) for numbers in (histogram.pos, histogram.neg, histogram.offset)]
        count = None if histogram.count is None else narrow(histogram.count)
        return cls(histogram.rule, scores, narrow_ascending(codes), amounts, count)

    def widened(self) -> ScoreHistogram:
        if self.scores is None:
            return ScoreHistogram.empty(self.rule)
        bins = self.rule.coding(self.scores).numbers(widen_ascending(*self.codes))
        pos, neg, offset = map(widen_amounts, self.amounts)
        return ScoreHistogram(self.rule, bins, pos, neg, offset, None if self.count is None else widen(self.count))


@dataclass(frozen=True)
class NarrowRows:
    """A packed histogram of single rows.

    ``bins`` contains the first bin number and the steps to the next numbers, and ``relevant`` one bit per row.
    ``weights`` is None if each weight is 1.
    """

    rule: BinRule
    bins: tuple[int, Narrow]
    relevant: NDArray[np.uint8]
    weights: Floats | None

    @classmethod
    def of(cls, histogram: RowHistogram) -> NarrowRows:
        rows = histogram.sorted_rows
        return cls(histogram.rule, narrow_ascending(rows.bins), np.packbits(rows.relevant), rows.weights)

    def widened(self) -> ScoreHistogram:
        bins = widen_ascending(*self.bins)
        relevant = np.unpackbits(self.relevant, count=len(bins)).view(np.bool_)
        return RowHistogram(self.rule, [BinnedRows(bins, relevant, self.weights)])


def merged(parts: Sequence[NarrowHistogram | NarrowRows]) -> ScoreHistogram:
    """Merge one or more packed histograms of the same rule, faster than by unpacking all of them first."""
    bins = [part for part in parts if isinstance(part, NarrowHistogram)]
    if len(bins) == len(parts) and (added := _merged_by_loops(bins)) is not None:
        return ScoreHistogram(parts[0].rule, *added)
    first, *others = (part.widened() for part in parts)
    return first.merge(*others)


def _merged_by_loops(parts: Sequence[NarrowHistogram]) -> MergedBins | None:
    filled = [(part, part.scores) for part in parts if part.scores is not None]
    if len(filled) < 2 or any(part.count is not None for part, _ in filled):
        return None
    lowest, highest = zip(*(scores for _, scores in filled), strict=True)
    scores = Range(min(lowest), max(highest))
    coding = parts[0].rule.coding(scores)
    coded = []
    for part, of_part in filled:
        if type(part.rule.coding(of_part)) is not type(coding):  # some scores may be too large for decimals
            return None
        pos, neg, offset = part.amounts
        coded.append(CodedBins(partial(fill_ascending, *part.codes), _whole(pos), _whole(neg), _unless_zero(offset)))
    return merge_by_loops(coding, scores, coded)


def _whole(amounts: NarrowAmounts) -> Whole:
    assert isinstance(amounts, Narrow)  # noqa: S101 - only weighted sums have limbs
    return Whole(amounts.least, amounts.parts[0]) if len(amounts.parts) == 1 else Whole(0, widen(amounts))


def _unless_zero(amounts: NarrowAmounts) -> Whole | None:
    is_zero = isinstance(amounts, Narrow) and not amounts.parts and amounts.least == 0
    return None if is_zero else _whole(amounts)
