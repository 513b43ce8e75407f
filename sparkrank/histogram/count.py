"""Counts of rows by score bin.

Compiled loops count rows in an array if bins are close together; otherwise rows are sorted.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparkrank import native
from sparkrank.histogram.bins import BinRule
from sparkrank.histogram.scored_rows import ScoredRows
from sparkrank.numeric.array_types import Codes, Flags, Floats, Ints
from sparkrank.numeric.exact_sums import LIMBS, UNIT_ARRAY, Amounts, limbs_of, limbs_used, row_slices
from sparkrank.numeric.ordered_integers import Bins, Coding, Decimals, LeadingBits
from sparkrank.numeric.segments import WHOLE, Segments, run_starts, stable_order

# Bins that span many array elements are often close together except for gaps, as when some scores are 0, or when scores
# of both signs are cut to their leading bits. Pages of 256 elements without a row are left out, which takes 4 ns a row.
PAGE_BITS = 8
NO_GAPS = np.empty(0, np.int64)


class Places(NamedTuple):
    """The layout of an array of ``span`` counts by the code of a bin, from the code ``lowest`` up.

    Pages (blocks) of codes without rows are skipped. ``gaps`` contains the number of codes skipped before each page of
    the array.
    """

    lowest: int
    span: int
    gaps: Ints

    def codes(self, place: Ints) -> Ints:
        return place + self.lowest + (self.gaps[place >> PAGE_BITS] if len(self.gaps) else 0)


def page_gaps(filled: Flags) -> tuple[int, Ints, Ints]:
    """Return the number of elements in pages (blocks) that are ``filled``, and two arrays of the elements skipped.

    The first array contains the elements skipped before each filled page, the second those before every page.
    """
    pages = np.flatnonzero(filled)
    gaps = (pages - np.arange(len(pages))) << PAGE_BITS
    before = np.zeros(len(filled), np.int64)
    before[pages] = gaps
    return len(pages) << PAGE_BITS, gaps, before


_NO_INTS = np.empty(0, np.int64)  # tells a loop that no page is left out, or that no sum is requested
_NO_LIMBS = np.empty((0, LIMBS))
_NO_SEGMENTS = np.empty(0, np.int32)  # tells a loop that all rows are in one segment


def count_by_loops(
    rule: BinRule,
    coding: Coding,
    rows: ScoredRows,
    sums: bool,
    places: Places,
    most: int,
    segments: Segments,
    owner: Codes | None = None,
) -> SegmentCounts | None:
    """Count the rows in each bin by compiled loops. Return None if this needs more than ``most`` elements."""
    cut, scores = loop_coding(coding), rows.wide()
    before = _NO_INTS
    if places.span > most:
        filled = np.zeros((places.span >> PAGE_BITS) + 1, np.bool_)
        native.blocks.pages(*cut, scores, places.lowest, filled.view(np.uint8))
        span, gaps, before = page_gaps(filled)
        if span > most:
            return None
        places = Places(places.lowest, span, gaps)
    span, weighted = places.span, rows.weights is not None
    counted, offsets = np.zeros((2 if sums and not weighted else 1, segments.count * span), np.int64), _NO_INTS
    if sums and not weighted:
        offsets = counted[1]
    codes = _NO_SEGMENTS if segments.code is None else segments.code
    relevant: NDArray[np.uint8] = rows.flags(rule.rel).view(np.uint8)
    owners = _NO_SEGMENTS if owner is None else owner
    cut_rows = (*cut, scores, relevant, places.lowest, before, codes, owners, span)
    native.blocks.count(*cut_rows, counted[0], offsets)
    place, pos, neg = filled_places(counted[0])
    starts = np.searchsorted(place, np.arange(segments.count + 1) * span)
    bins = coding.numbers(places.codes(place if segments.code is None else place % span))
    if rows.weights is None:
        return SegmentCounts(bins, starts, pos, neg, offsets[place] if sums else np.zeros_like(pos))
    number = np.empty(segments.count * span, np.int32)
    number[place] = np.arange(len(place), dtype=np.int32)
    used = limbs_used(np.ascontiguousarray(rows.weights))
    # the array of all six limbs would be larger than the cache
    of_positives, of_negatives = np.zeros((2, len(place), used.stop - used.start))
    positives, negatives, steps = np.zeros((3, len(place), LIMBS))
    weights, inside = np.ascontiguousarray(rows.weights), steps if sums else _NO_LIMBS
    native.blocks.weigh(
        *cut_rows, number, weights, used.start, used.stop, UNIT_ARRAY, of_positives, of_negatives, inside
    )
    positives[:, used], negatives[:, used] = of_positives, of_negatives
    return SegmentCounts(bins, starts, positives, negatives, steps, pos + neg)


def filled_places(counted: Ints) -> tuple[Ints, Ints, Ints]:
    """Return the indices of nonzero elements of ``counted``, and the numbers of relevant and other rows in each."""
    place, pos, neg = (np.empty(np.count_nonzero(counted), np.int64) for _ in range(3))
    native.blocks.kept(counted, place, pos, neg)
    return place, pos, neg


def has_loop(coding: Coding) -> bool:
    return isinstance(coding, (LeadingBits, Decimals, Bins))


def loop_coding(coding: Coding) -> tuple[int, float]:
    """Return the arguments by which compiled loops compute the same codes of scores as ``coding``."""
    if isinstance(coding, LeadingBits):
        return native.blocks.LEADING_BITS, coding.dropped
    if isinstance(coding, Decimals):
        return native.blocks.DECIMALS, 10.0**coding.size
    assert isinstance(coding, Bins)  # noqa: S101 - has_loop
    return native.blocks.BINS, coding.size


# Rows are counted in an array if it has at most this many bins per row, so that it stays in the cache.
DENSE_BINS_PER_ROW = 4


class SegmentCounts(NamedTuple):
    """Bins of all segments, with columns as in :class:`sparkrank.states.ScoreHistogram`.

    The bins of segment i are ``starts[i]:starts[i + 1]``. ``weighted_rows`` contains the numbers of weighted rows, or
    is None without weights.
    """

    bins: Ints
    starts: Ints
    pos: Amounts
    neg: Amounts
    offset: Amounts
    weighted_rows: Ints | None = None


def count_segments(
    rule: BinRule, rows: ScoredRows, sums: bool, segments: Segments = WHOLE, owner: Codes | None = None
) -> SegmentCounts:
    """Count the ``rows`` of each segment by bin.

    If ``owner`` is given, it contains the index of each row's group, and ``segments`` divides groups. In the result,
    ``offset`` is the sum of score minus bin score over the rows of each bin, in units of the bin's width / 2^32; it is
    0 if ``sums`` is false. For weighted rows, ``pos``, ``neg`` and ``offset`` are weighted sums of six floats.
    """
    weighted = rows.weights is not None
    if len(rows.scores) == 0:
        none = np.empty(0, np.int64)
        starts = np.zeros(segments.count + 1, np.int64)
        return SegmentCounts(none, starts, none, none, none, none if weighted else None)
    coding = rule.coding(rows.range())
    lowest, highest = coding.codes(np.array(rows.range())).tolist()
    span = highest - lowest + 1
    most = DENSE_BINS_PER_ROW * len(rows.scores) // segments.count
    paged = most < span <= len(rows.scores) << PAGE_BITS
    sums = sums and rule.kind != "exact"
    if native.runs("count", (paged or span <= most) and has_loop(coding)):
        counted = count_by_loops(rule, coding, rows, sums, Places(lowest, span, NO_GAPS), most, segments, owner)
        if counted is not None:
            return counted
    scores, flags = rows.wide(), rows.flags(rule.rel)
    code = np.concatenate([coding.codes(scores[part]) for part in row_slices(len(scores))])
    segments = segments.of(owner)
    order = np.argsort(code)
    if segments.code is not None:
        order = stable_order(segments.code, order)
    code, segment = code[order], np.zeros(len(code), np.int32) if segments.code is None else segments.code[order]
    first = run_starts(code, segment)
    bins, starts = coding.numbers(code[first]), np.searchsorted(segment[first], np.arange(segments.count + 1))
    rows_of, flags = np.diff(first, append=len(code)), flags[order]
    steps = coding.steps(scores[order], code) if sums else np.zeros(len(code))
    if rows.weights is not None:
        weights = rows.weights[order]
        amounts = (np.where(flags, weights, 0.0), np.where(flags, 0.0, weights), steps * weights)
        pos, neg, offset = (_limbs_of_bins(values, first) for values in amounts)
        return SegmentCounts(bins, starts, pos, neg, offset, rows_of)
    pos, offset = (np.add.reduceat(values.astype(np.int64), first) for values in (flags, steps))
    return SegmentCounts(bins, starts, pos, rows_of - pos, offset)


def _limbs_of_bins(values: Floats, first: Ints) -> Floats:
    """Return the sum of ``values`` over each bin, as limbs. ``first`` has the start of each bin. Shape: (bins, 6)."""
    sums = np.zeros((len(first), LIMBS))
    for index, limb in limbs_of(values):
        sums[:, index] = np.add.reduceat(limb, first)
    return sums
