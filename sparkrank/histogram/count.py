"""Counts of rows by score bin: the bins of a bucket's rows in ascending order, with positives and negatives.

Where bins are close together, rows are counted in an array, in one compiled pass (:mod:`sparkrank.native.blocks`) or by
numpy. Otherwise rows are sorted by bin.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparkrank import native
from sparkrank.histogram.bins import BinRule
from sparkrank.histogram.scored_rows import ScoredRows
from sparkrank.numeric.array_types import Codes, Flags, Floats, Ints
from sparkrank.numeric.exact_sums import LIMBS, PART_ROWS, UNIT_ARRAY, Amounts, iter_limbs, parts
from sparkrank.numeric.ordered_integers import OFFSET_BITS, Bins, Coding, Decimals, LeadingBits
from sparkrank.numeric.segments import WHOLE, Segments, run_starts, stable_order

# Bins that span many places are often close together except for gaps: where some scores are 0, or where scores of both
# signs are cut by their leading bits. Pages of 256 places without a row are left out (4 ns a row).
PAGE_BITS = 8
NO_GAPS = np.empty(0, np.int64)


@dataclass(frozen=True)
class InPlace:
    """Rows of bins that are close together, counted in an array without sorting.

    ``bins`` are the bin numbers in ascending order, and ``rows`` the number of rows of each. ``starts`` (segments + 1)
    is where the bins of each segment start. ``place`` is the place of each row in the array, which has ``span`` places
    with ``copies`` counters each. ``filled`` are the places that have rows.
    """

    bins: Ints
    rows: Ints
    starts: Ints
    place: Ints
    span: int
    copies: int
    filled: Ints

    def count(self, chosen: Ints) -> Ints:
        """The number of ``chosen`` rows in each bin."""
        return _count_places(self.place[chosen], self.span, self.copies)[self.filled]

    def sum(self, amounts: Floats, chosen: Ints | None = None) -> Floats:
        """The sum of ``amounts`` (one per row) over the rows of each bin, or over its ``chosen`` rows."""
        place = self.place if chosen is None else self.place[chosen]
        weights = amounts if chosen is None else amounts[chosen]
        return np.asarray(_count_places(place, self.span, self.copies, weights)[self.filled], np.float64)


@dataclass(frozen=True)
class Sorted:
    """Rows of bins that are far from each other, sorted by bin.

    ``order`` sorts the rows by bin, and ``first`` is where each bin starts in that order.
    """

    bins: Ints
    rows: Ints
    starts: Ints
    order: Ints
    first: Ints

    def count(self, chosen: Ints) -> Ints:
        counted = np.zeros(len(self.order), np.int64)
        counted[chosen] = 1
        return np.add.reduceat(counted[self.order], self.first)

    def sum(self, amounts: Floats, chosen: Ints | None = None) -> Floats:
        if chosen is not None:
            all_, amounts = amounts, np.zeros(len(amounts))
            amounts[chosen] = all_[chosen]
        return np.add.reduceat(amounts[self.order], self.first)


class Places(NamedTuple):
    """The ``span`` places that count codes from ``lowest`` up.

    ``gaps`` is the number of codes left out before each page of places, empty where none are left out.
    """

    lowest: int
    span: int
    gaps: Ints

    def codes(self, place: Ints) -> Ints:
        """The codes that the places ``place`` count."""
        return place + self.lowest + (self.gaps[place >> PAGE_BITS] if len(self.gaps) else 0)


def skip_empty_pages(code: Ints, span: int, most: int) -> tuple[int, Ints]:
    """The number of places in pages with rows, and how many places are left out before each of these pages.

    Where at most ``most`` places remain, moves every ``code`` down by the places left out before it.
    """
    filled = empty_pages(span)
    for part in parts(len(code)):
        filled[code[part] >> PAGE_BITS] = True
    left, gaps, before = page_gaps(filled)
    if left <= most:
        for part in parts(len(code)):
            code[part] -= before[code[part] >> PAGE_BITS]
    return left, gaps


def empty_pages(span: int) -> Flags:
    """A flag for each page of ``span`` places, all false."""
    return np.zeros((span >> PAGE_BITS) + 1, np.bool_)


def page_gaps(filled: Flags) -> tuple[int, Ints, Ints]:
    """The number of places in ``filled`` pages, and how many places are left out before each filled page and before
    each page.
    """
    pages = np.flatnonzero(filled)
    gaps = (pages - np.arange(len(pages))) << PAGE_BITS
    before = np.zeros(len(filled), np.int64)
    before[pages] = gaps
    return len(pages) << PAGE_BITS, gaps, before


def in_place(coding: Coding, place: Ints, places: Places, copies: int, segments: Segments) -> InPlace:
    """The rows counted in an array of ``places`` for each segment. ``place`` becomes the place in that array."""
    span = places.span
    if segments.code is not None:
        place += segments.code * np.int64(span * copies)
    rows = _count_places(place, span * segments.count, copies)
    filled = np.flatnonzero(rows)
    bins = coding.numbers(places.codes(filled if segments.code is None else filled % span))
    starts = np.searchsorted(filled, np.arange(segments.count + 1) * span)
    return InPlace(bins, rows[filled], starts, place, span * segments.count, copies, filled)


def by_sorting(coding: Coding, code: Ints, base: int, segments: Segments) -> Sorted:
    """The rows sorted by segment and ``code``, which is relative to ``base``."""
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
    return Sorted(coding.numbers(ascending[first] + base), np.diff(first, append=len(code)), starts, order, first)


def _count_places(place: Ints, span: int, copies: int, weights: Floats | None = None) -> NDArray[Any]:
    """The number of rows at each of ``span`` places, or the sum of their ``weights``, over all ``copies``."""
    counted = np.bincount(place, weights=weights, minlength=span * copies)
    return counted if copies == 1 else counted.reshape(span, copies).sum(axis=1)


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
    """The bins of ``rows`` as :func:`count_segments` has them, counted in ``places`` by compiled loops.

    Where there are more than ``most`` places, only pages with rows are counted. Returns None where these have more
    places too. ``sums`` requests offsets.
    """
    cut, scores = loop_coding(coding), rows.wide()
    before = _NO_INTS
    if places.span > most:
        filled = empty_pages(places.span)
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
    used = rows.limbs_of_weights()
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
    """The places of ``counted`` that have rows, and the number of relevant and of other rows of each.

    A relevant row counts ``native.blocks.RELEVANT`` in ``counted``, and any other row 1.
    """
    place, pos, neg = (np.empty(np.count_nonzero(counted), np.int64) for _ in range(3))
    native.blocks.kept(counted, place, pos, neg)
    return place, pos, neg


def has_loop(coding: Coding) -> bool:
    """Whether a compiled loop codes scores as ``coding`` does."""
    return isinstance(coding, (LeadingBits, Decimals, Bins))


def loop_coding(coding: Coding) -> tuple[int, float]:
    """The arguments that make the loops code scores as ``coding`` does, which :func:`has_loop`."""
    if isinstance(coding, LeadingBits):
        return native.blocks.LEADING_BITS, coding.dropped
    if isinstance(coding, Decimals):
        return native.blocks.DECIMALS, 10.0**coding.size
    assert isinstance(coding, Bins)  # noqa: S101 - has_loop
    return native.blocks.BINS, coding.size


# Rows are counted in an array where its bins are at most this many per row, so that it stays in the cache.
DENSE_BINS_PER_ROW = 4
# A processor that adds to the same counter twice in a row waits for the first sum (3 ns a row). Where there are at most
# FEW_BINS bins, each has this many counters, which rows use in turn.
COPIES = 4
FEW_BINS = 64
# Steps of at most this many rows of one bin add up to at most 2^53, so float64 adds them exactly. Steps of more rows
# are added in two halves.
EXACT_ROWS = 1 << (53 - OFFSET_BITS)
STEP_HALF = 1 << OFFSET_BITS // 2


class BinCounts(NamedTuple):
    """The rows of each bin, bins in ascending order, as :class:`sparkrank.states.ScoreHistogram` has them."""

    bins: Ints
    pos: Amounts
    neg: Amounts
    offset: Amounts
    weighted_rows: Ints | None = None


class SegmentCounts(NamedTuple):
    """The bins of all segments, as :class:`BinCounts` has those of one; ``starts`` (segments + 1) says where."""

    bins: Ints
    starts: Ints
    pos: Amounts
    neg: Amounts
    offset: Amounts
    weighted_rows: Ints | None = None


def count_bins(rule: BinRule, rows: ScoredRows, sums: bool, segments: Segments = WHOLE) -> list[BinCounts]:
    """The bins of the ``rows`` of each segment in ascending order.

    ``offset`` is the sum over the bin's rows of score minus bin score, in units of the bin's width / 2^32, or 0 where
    ``sums`` is false. Where rows have weights, positives, negatives and offsets are weighted sums in limbs.
    """
    bins, starts, pos, neg, offset, count = count_segments(rule, rows, sums, segments)
    return [
        BinCounts(bins[a:z], pos[a:z], neg[a:z], offset[a:z], None if count is None else count[a:z])
        for a, z in itertools.pairwise(starts.tolist())
    ]


def count_segments(
    rule: BinRule, rows: ScoredRows, sums: bool, segments: Segments = WHOLE, owner: Codes | None = None
) -> SegmentCounts:
    """The bins of all segments together, as :func:`count_bins` has them of each.

    Where rows have an ``owner`` (n), as their group, ``segments`` are those of the owners.
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
    segments = segments.of(owner)
    base = lowest if paged or span <= most else 0  # differences of codes over the whole range of float64 would overflow
    copies = COPIES if span <= most and span * segments.count <= FEW_BINS else 1
    code, steps = _coded(coding, rows, sums, base, copies)
    gaps = NO_GAPS
    if paged:
        span, gaps = skip_empty_pages(code, span, most)
    if span <= most:
        grouped: InPlace | Sorted = in_place(coding, code, Places(base, span, gaps), copies, segments)
    else:
        grouped = by_sorting(coding, code, base, segments)
    positives = rows.positives(rule.rel)
    if weighted:
        limbs = rows.weight_limbs()
        weight = _limb_sums(grouped, limbs, positives)
        offset = (
            np.zeros_like(weight) if steps is None else _limb_sums(grouped, iter_limbs(steps, rows.workspace().limb))
        )
        others = _limb_sums(grouped, limbs) - weight
        return SegmentCounts(grouped.bins, grouped.starts, weight, others, offset, grouped.rows)
    count = grouped.count(positives)
    offsets = np.zeros_like(count) if steps is None else _whole_sums(grouped, steps)
    return SegmentCounts(grouped.bins, grouped.starts, count, grouped.rows - count, offsets)


def _whole_sums(grouped: InPlace | Sorted, steps: Floats) -> Ints:
    """The sum of ``steps``, which are whole, over each bin. One group may have more rows than :data:`EXACT_ROWS`."""
    if len(steps) <= EXACT_ROWS:
        return grouped.sum(steps).astype(np.int64)
    upper = np.floor(steps / STEP_HALF)
    lower = grouped.sum(steps - upper * STEP_HALF).astype(np.int64)
    return grouped.sum(upper).astype(np.int64) * STEP_HALF + lower


def _coded(coding: Coding, rows: ScoredRows, sums: bool, base: int, copies: int) -> tuple[Ints, Floats | None]:
    """Each row's code relative to ``base`` in one of ``copies``, and where ``sums``, its weighted step in the bin."""
    scores, (code, steps, _) = rows.wide(), rows.workspace()
    copy_of_row = np.arange(PART_ROWS) % copies
    for part in parts(len(scores)):
        codes = coding.codes(scores[part])
        np.subtract(codes, base, out=code[part])
        if copies > 1:
            code[part] *= copies
            code[part] += copy_of_row[: len(codes)]
        if sums:
            inside = coding.steps(scores[part], codes)
            steps[part] = inside if rows.weights is None else inside * rows.weights[part]
    return code, steps if sums else None


def _limb_sums(grouped: InPlace | Sorted, limbs: Iterable[tuple[int, Floats]], chosen: Ints | None = None) -> Floats:
    """The limbs (bins, 6) of the sum over each bin, or over its ``chosen`` rows, from the ``limbs`` of the values."""
    sums = np.zeros((len(grouped.bins), LIMBS))
    for index, limb in limbs:
        sums[:, index] = grouped.sum(limb, chosen)
    return sums
