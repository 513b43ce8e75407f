"""The merging of several histograms. Equal bins become one bin, and their amounts are added."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparkrank import native
from sparkrank.histogram.bins import BinRule
from sparkrank.histogram.count import DENSE_BINS_PER_ROW, filled_places, has_loop, loop_coding
from sparkrank.numeric.array_types import Ints
from sparkrank.numeric.exact_sums import Amounts
from sparkrank.numeric.ordered_integers import Coding, Range, bin_scores
from sparkrank.numeric.overflow import INT64_MAX
from sparkrank.numeric.segments import run_starts

_MAX_BIN_ROWS = 2**31  # one number holds both counts of a bin


def is_dense(span: int, parts: Sequence[NDArray[np.integer[Any]]]) -> bool:
    return span <= DENSE_BINS_PER_ROW * sum(map(len, parts))


class Whole(NamedTuple):
    """Integers, stored as the lowest (``least``) and the differences from it (``above``), in any integer type."""

    least: int
    above: NDArray[np.integer[Any]]

    @property
    def most(self) -> int:
        return self.least + int(self.above.max(initial=0))

    @property
    def furthest(self) -> int:
        return max(abs(self.most), abs(self.least + int(self.above.min(initial=0))))


class CodedBins(NamedTuple):
    """The bins of one histogram. ``fill(codes)`` writes the ascending codes of the bins into the array ``codes``.

    ``pos`` and ``neg`` are the amounts of positives and negatives. ``offset`` is None if all are 0.
    """

    fill: Callable[[Ints], None]
    pos: Whole
    neg: Whole
    offset: Whole | None


class MergedBins(NamedTuple):
    """The ascending numbers of merged ``bins``, with the sums of their positives, negatives and offsets."""

    bins: Ints
    pos: Ints
    neg: Ints
    offset: Ints


def merge_by_loops(coding: Coding, scores: Range, parts: Sequence[CodedBins]) -> MergedBins | None:
    """Return the merged bins of histograms (``parts``) by loops; None if bins are too far apart or sums overflow."""
    lowest, highest = coding.codes(np.array(scores)).tolist()
    span = highest - lowest + 1
    offsets = [part.offset for part in parts if part.offset is not None]
    serves = (
        is_dense(span, [part.pos.above for part in parts])
        and sum(part.pos.most + part.neg.most for part in parts) < _MAX_BIN_ROWS
        and sum(offset.furthest for offset in offsets) <= INT64_MAX
    )
    if not native.runs("merge", serves):
        return None
    counted, inside = np.zeros(span, np.int64), np.zeros(span if offsets else 0, np.int64)
    room = np.empty(max(len(part.pos.above) for part in parts), np.int64)
    for part in parts:
        codes = room[: len(part.pos.above)]
        part.fill(codes)
        native.blocks.add(counted, codes, lowest, *part.pos, native.blocks.RELEVANT)
        native.blocks.add(counted, codes, lowest, *part.neg, 1)
        if part.offset is not None:
            native.blocks.add(inside, codes, lowest, *part.offset, 1)
    place, pos, neg = filled_places(counted)
    offset = inside[place] if offsets else np.zeros(len(pos), np.int64)
    place += lowest
    return MergedBins(coding.numbers(place), pos, neg, offset)


def fill_codes(coding: Coding, bins: Ints, codes: Ints) -> None:
    if native.runs("codes", has_loop(coding)):
        native.blocks.codes(*loop_coding(coding), np.ascontiguousarray(bins), codes)
    else:
        codes[:] = coding.codes(bin_scores(bins))


def codes_of(coding: Coding, bins: Ints) -> Ints:
    codes = np.empty(len(bins), np.int64)
    fill_codes(coding, bins, codes)
    return codes


@dataclass(frozen=True)
class JoinedInPlace:
    """The ``bins`` of several histograms, joined in an array of ``span`` elements.

    ``places`` contains, for each histogram, the indices of its bins in that array; ``filled`` contains those of all.
    """

    bins: Ints
    places: Sequence[Ints]
    span: int
    filled: Ints

    def sum(self, amounts: Sequence[Amounts]) -> Amounts:
        sums = np.zeros((self.span, *amounts[0].shape[1:]), amounts[0].dtype)
        for place, of_part in zip(self.places, amounts, strict=True):
            sums[place] += of_part  # no part has a bin twice
        return sums[self.filled]


@dataclass(frozen=True)
class JoinedBySorting:
    """Joined bins that are far apart. ``order`` sorts the bins. ``first`` is the start of each run of equal bins."""

    bins: Ints
    order: Ints
    first: Ints

    def sum(self, amounts: Sequence[Amounts]) -> Amounts:
        together: Amounts = np.add.reduceat(np.concatenate(amounts)[self.order], self.first)
        return together


def merge_bins(rule: BinRule, bins: Sequence[Ints]) -> JoinedInPlace | JoinedBySorting:
    """Join the bin numbers of several histograms, by an array or by sorting. Each array of numbers must ascend."""
    scores = range_of(bins)
    coding = rule.coding(scores)
    lowest, highest = coding.codes(np.array(scores)).tolist()
    span = highest - lowest + 1
    if not is_dense(span, bins):
        together = np.concatenate(bins)
        order = np.argsort(together)
        ascending = together[order]
        first = run_starts(ascending)
        return JoinedBySorting(ascending[first], order, first)
    is_filled = np.zeros(span, np.bool_)
    places = [codes_of(coding, numbers) - lowest for numbers in bins]
    for place in places:
        is_filled[place] = True
    filled = np.flatnonzero(is_filled)
    return JoinedInPlace(coding.numbers(filled + lowest), places, span, filled)


def range_of(bins: Sequence[Ints]) -> Range:
    """Return the scores of the lowest and the highest bin in all arrays of ``bins``. Each array ascends."""
    ends = np.array([min(numbers[0] for numbers in bins), max(numbers[-1] for numbers in bins)])
    return Range(*bin_scores(ends).tolist())
