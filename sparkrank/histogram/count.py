"""Counts of rows by score bin: in an array where bins are close together, by a compiled loop, or else by sorting."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparkrank import native
from sparkrank.histogram.bins import BinRule
from sparkrank.histogram.scored_rows import ScoredRows
from sparkrank.numeric.array_types import Codes, Flags, Floats, Ints
from sparkrank.numeric.exact_sums import LIMBS, UNIT_ARRAY, Amounts, limbs_of, limbs_used, parts
from sparkrank.numeric.ordered_integers import OFFSET_BITS, Bins, Coding, Decimals, LeadingBits
from sparkrank.numeric.segments import WHOLE, Segments, run_starts, stable_order

# Bins that span many places are often close together except for gaps: where some scores are 0, or where scores of both
# signs are cut by their leading bits. Pages of 256 places without a row are left out (4 ns a row).
PAGE_BITS = 8
NO_GAPS = np.empty(0, np.int64)


@dataclass(frozen=True)
class GroupedRows:
    """Rows by bin: the numbers of the ``bins`` in ascending order, and of the ``rows`` of each.

    ``starts`` (segments + 1) is where the bins of each segment start. ``sum`` adds up amounts (one per row) over the
    rows of each bin.
    """

    bins: Ints
    rows: Ints
    starts: Ints
    sum: Callable[[NDArray[Any]], NDArray[Any]]

    def limbs(self, limbs: Iterable[tuple[int, Floats]], flags: Flags | None = None) -> Floats:
        """The limbs (bins, 6) of the sum over each bin, or over its rows with ``flags``, of values with ``limbs``."""
        sums = np.zeros((len(self.bins), LIMBS))
        for index, limb in limbs:
            sums[:, index] = self.sum(limb if flags is None else np.where(flags, limb, 0.0))
        return sums


class Places(NamedTuple):
    """The ``span`` places that count codes from ``lowest`` up; ``gaps`` are the codes left out before each page."""

    lowest: int
    span: int
    gaps: Ints

    def codes(self, place: Ints) -> Ints:
        """The codes that the places ``place`` count."""
        return place + self.lowest + (self.gaps[place >> PAGE_BITS] if len(self.gaps) else 0)


def page_gaps(filled: Flags) -> tuple[int, Ints, Ints]:
    """The number of places in ``filled`` pages, and those left out before each filled page and before each page."""
    pages = np.flatnonzero(filled)
    gaps = (pages - np.arange(len(pages))) << PAGE_BITS
    before = np.zeros(len(filled), np.int64)
    before[pages] = gaps
    return len(pages) << PAGE_BITS, gaps, before


def in_place(coding: Coding, code: Ints, places: Places, segments: Segments, most: int) -> GroupedRows:
    """The rows counted in an array of ``places`` for each segment, of more than ``most`` in the pages with rows."""
    place, span, gaps = code - places.lowest, places.span, places.gaps
    if span > most:
        filled_pages = np.zeros((span >> PAGE_BITS) + 1, np.bool_)
        filled_pages[place >> PAGE_BITS] = True
        span, gaps, before = page_gaps(filled_pages)
        place -= before[place >> PAGE_BITS]
    if segments.code is not None:
        place += segments.code * np.int64(span)
    rows = np.bincount(place, minlength=span * segments.count)
    filled = np.flatnonzero(rows)
    bins = coding.numbers(Places(places.lowest, span, gaps).codes(filled % span))
    starts = np.searchsorted(filled, np.arange(segments.count + 1) * span)
    return GroupedRows(bins, rows[filled], starts, lambda amounts: np.bincount(place, amounts, len(rows))[filled])


def by_sorting(coding: Coding, code: Ints, segments: Segments) -> GroupedRows:
    """The rows sorted by segment and ``code``."""
    order = np.argsort(code)
    if segments.code is None:
        ascending = code[order]
        first = run_starts(ascending)
        starts = np.array([0, len(first)])
    else:
        order = stable_order(segments.code, order)
        ascending, segment = code[order], segments.code[order]
        first = run_starts(ascending, segment)
        starts = np.searchsorted(segment[first], np.arange(segments.count + 1))
    bins, rows = coding.numbers(ascending[first]), np.diff(first, append=len(code))
    return GroupedRows(bins, rows, starts, lambda amounts: np.add.reduceat(amounts[order], first))


_NO_INTS = np.empty(0, np.int64)  # for a loop: no page is left out, or no sum is requested
_NO_LIMBS = np.empty((0, LIMBS))
_NO_SEGMENTS = np.empty(0, np.int32)  # for a loop: all rows are in one segment


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
    """The bins of ``rows`` counted in ``places`` by compiled loops; None where pages have over ``most`` places."""
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
    # all limbs of all bins would outgrow the cache
    of_positives, of_negatives = np.zeros((2, len(place), used.stop - used.start))
    positives, negatives, steps = np.zeros((3, len(place), LIMBS))
    weights, inside = np.ascontiguousarray(rows.weights), steps if sums else _NO_LIMBS
    native.blocks.weigh(
        *cut_rows, number, weights, used.start, used.stop, UNIT_ARRAY, of_positives, of_negatives, inside
    )
    positives[:, used], negatives[:, used] = of_positives, of_negatives
    return SegmentCounts(bins, starts, positives, negatives, steps, pos + neg)


def filled_places(counted: Ints) -> tuple[Ints, Ints, Ints]:
    """The places of ``counted`` that have rows, and their relevant (``native.blocks.RELEVANT`` each) and other rows."""
    place, pos, neg = (np.empty(np.count_nonzero(counted), np.int64) for _ in range(3))
    native.blocks.kept(counted, place, pos, neg)
    return place, pos, neg


def has_loop(coding: Coding) -> bool:
    return isinstance(coding, (LeadingBits, Decimals, Bins))


def loop_coding(coding: Coding) -> tuple[int, float]:
    """The arguments that make the loops code scores as ``coding`` does."""
    if isinstance(coding, LeadingBits):
        return native.blocks.LEADING_BITS, coding.dropped
    if isinstance(coding, Decimals):
        return native.blocks.DECIMALS, 10.0**coding.size
    assert isinstance(coding, Bins)  # noqa: S101 - has_loop
    return native.blocks.BINS, coding.size


# Rows are counted in an array where its bins are at most this many per row, so that it stays in the cache.
DENSE_BINS_PER_ROW = 4
# Steps of at most this many rows of one bin add up to at most 2^53, so float64 adds them exactly.
EXACT_ROWS = 1 << (53 - OFFSET_BITS)


class SegmentCounts(NamedTuple):
    """The rows of each bin, as in :class:`sparkrank.states.ScoreHistogram`; ``starts`` says where segments begin."""

    bins: Ints
    starts: Ints
    pos: Amounts
    neg: Amounts
    offset: Amounts
    weighted_rows: Ints | None = None


def count_segments(
    rule: BinRule, rows: ScoredRows, sums: bool, segments: Segments = WHOLE, owner: Codes | None = None
) -> SegmentCounts:
    """The bins of the ``rows`` of all segments, which are those of their ``owner`` (n), if any.

    ``offset`` is the sum over the bin's rows of score minus bin score, in units of the bin's width / 2^32, or 0 where
    ``sums`` is false. Of weighted rows amounts are sums in limbs.
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
    code = np.concatenate([coding.codes(scores[part]) for part in parts(len(scores))])
    if (paged or span <= most) and len(scores) <= EXACT_ROWS:
        grouped = in_place(coding, code, Places(lowest, span, NO_GAPS), segments.of(owner), most)
    else:
        grouped = by_sorting(coding, code, segments.of(owner))
    steps = coding.steps(scores, code) if sums else None
    if rows.weights is not None:
        limbs = rows.weight_limbs()
        weight = grouped.limbs(limbs, flags)
        inside = np.zeros_like(weight) if steps is None else grouped.limbs(limbs_of(steps * rows.weights))
        return SegmentCounts(grouped.bins, grouped.starts, weight, grouped.limbs(limbs) - weight, inside, grouped.rows)
    count = grouped.sum(flags.astype(np.int64)).astype(np.int64)
    offset = np.zeros_like(count) if steps is None else grouped.sum(steps.astype(np.int64)).astype(np.int64)
    return SegmentCounts(grouped.bins, grouped.starts, count, grouped.rows - count, offset)
