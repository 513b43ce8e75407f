"""Rows counted by score bin: the bins of a bucket's rows in ascending order, with positives and negatives.

Where bins lie close together they are places of an array, counted in one compiled pass
(:mod:`sparkrank.native.blocks`) or by numpy; elsewhere rows are sorted by their bin.
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
from sparkrank.numeric.exact_sums import LIMBS, PART_ROWS, Amounts, limbs_in_turn, parts
from sparkrank.numeric.ordered_integers import OFFSET_BITS, Bins, Coding, Decimals, LeadingBits
from sparkrank.numeric.segments import WHOLE, Segments, run_starts, stable_order
from sparkrank.numeric.types import Flags, Floats, Ints

# Blocks that span many places often lie close together but for gaps, as where some scores are 0, or where scores of
# both signs are cut by their leading bits. Pages of 256 places without a row are left out (4 ns a row).
PAGE_BITS = 8
NO_GAPS = np.empty(0, np.int64)


@dataclass(frozen=True)
class InPlace:
    """Rows of blocks that lie close together, counted without sorting (3 ns a row).

    ``block`` are the block numbers in ascending order and ``rows`` the rows of each; ``starts`` (segments + 1) is where
    the blocks of each segment begin. ``place`` is each row's of ``span`` places for each of ``lanes``; ``kept`` are
    those of the ``span`` that hold rows.
    """

    block: Ints
    rows: Ints
    starts: Ints
    place: Ints
    span: int
    lanes: int
    kept: Ints

    def count(self, chosen: Ints) -> Ints:
        """The rows of each block among the rows ``chosen``."""
        return _tally(self.place[chosen], self.span, self.lanes)[self.kept]

    def sum(self, amounts: Floats, chosen: Ints | None = None) -> Floats:
        """The sum of ``amounts`` (one a row) over each block, or over its rows ``chosen``."""
        place = self.place if chosen is None else self.place[chosen]
        weights = amounts if chosen is None else amounts[chosen]
        return np.asarray(_tally(place, self.span, self.lanes, weights)[self.kept], np.float64)


@dataclass(frozen=True)
class Sorted:
    """Rows of blocks that lie far apart, sorted (15 ns a row).

    ``order`` sorts the rows by block, and ``first`` is where each block begins in it.
    """

    block: Ints
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
    """The ``span`` places in which codes from ``lowest`` are counted.

    ``gaps`` are the codes that were left out before each page of places, where any were.
    """

    lowest: int
    span: int
    gaps: Ints

    def codes(self, place: Ints) -> Ints:
        """The codes that are counted at ``place``."""
        return place + self.lowest + (self.gaps[place >> PAGE_BITS] if len(self.gaps) else 0)


def without_gaps(code: Ints, span: int, most: int) -> tuple[int, Ints]:
    """The places that pages with rows take of ``span``, and how many were left out before each of these pages.

    They are left out of ``code`` where the others are ``most`` at most.
    """
    filled = no_pages(span)
    for part in parts(len(code)):
        filled[code[part] >> PAGE_BITS] = True
    left, gaps, before = left_out(filled)
    if left <= most:
        for part in parts(len(code)):
            code[part] -= before[code[part] >> PAGE_BITS]
    return left, gaps


def no_pages(span: int) -> Flags:
    """The pages of ``span`` places, none of them filled."""
    return np.zeros((span >> PAGE_BITS) + 1, np.bool_)


def left_out(filled: Flags) -> tuple[int, Ints, Ints]:
    """The places of the ``filled`` pages, how many are left out before each of these, and before each page of all."""
    pages = np.flatnonzero(filled)
    gaps = (pages - np.arange(len(pages))) << PAGE_BITS
    before = np.zeros(len(filled), np.int64)
    before[pages] = gaps
    return len(pages) << PAGE_BITS, gaps, before


def in_place(coding: Coding, place: Ints, places: Places, lanes: int, segments: Segments) -> InPlace:
    """The rows counted in an array of ``places`` for each segment; ``place`` becomes the place in it."""
    span = places.span
    if segments.code is not None:
        place += segments.code * np.int64(span * lanes)
    rows = _tally(place, span * segments.count, lanes)
    kept = np.flatnonzero(rows)
    block = coding.numbers(places.codes(kept if segments.code is None else kept % span))
    starts = np.searchsorted(kept, np.arange(segments.count + 1) * span)
    return InPlace(block, rows[kept], starts, place, span * segments.count, lanes, kept)


def by_sorting(coding: Coding, code: Ints, base: int, segments: Segments) -> Sorted:
    """The rows sorted by segment and code, which is that above ``base``."""
    order = np.argsort(code)
    if segments.code is None:
        ascending = code[order]
        first = run_starts(ascending)
        starts = np.array([0, len(first)])
    else:
        order = stable_order(segments.code, order)
        ascending, of = code[order], segments.code[order]
        first = run_starts(ascending, of)
        starts = np.searchsorted(of[first], np.arange(segments.count + 1))
    return Sorted(coding.numbers(ascending[first] + base), np.diff(first, append=len(code)), starts, order, first)


def _tally(place: Ints, span: int, lanes: int, weights: Floats | None = None) -> NDArray[Any]:
    """The rows at each of ``span`` places, or the sum of their ``weights``, all lanes together."""
    counted = np.bincount(place, weights=weights, minlength=span * lanes)
    return counted if lanes == 1 else counted.reshape(span, lanes).sum(axis=1)


_ALL = np.empty(0, np.int64)  # no page is left out, or no sum is asked for
_ONE = np.empty(0, np.int32)  # of all rows


class Tallied(NamedTuple):
    """The rows of each block: its number, ascending in each segment, positives, negatives, and the sum of offsets.

    ``starts`` (segments + 1) is where the blocks of each segment begin.
    """

    block: Ints
    starts: Ints
    pos: Ints
    neg: Ints
    offset: Ints


def tallied(
    coding: Coding, scores: Floats, flags: Flags, places: Places, most: int, sums: bool, segments: Segments
) -> Tallied | None:
    """The blocks of rows with ``scores`` (n) and ``flags`` (n), counted in ``places``.

    Where these are more than ``most``, in those of their pages that have rows; None where these are more, too.
    ``sums`` asks for offsets.
    """
    cut = cut_by_loops(coding)
    before = _ALL
    if places.span > most:
        filled = no_pages(places.span)
        native.blocks.pages(*cut, scores, places.lowest, filled.view(np.uint8))
        span, gaps, before = left_out(filled)
        if span > most:
            return None
        places = Places(places.lowest, span, gaps)
    span = places.span
    counted, offsets = np.zeros((2 if sums else 1, segments.count * span), np.int64), _ALL
    if sums:
        offsets = counted[1]
    codes = _ONE if segments.code is None else segments.code
    relevant: NDArray[np.uint8] = flags.view(np.uint8)
    native.blocks.count(*cut, scores, relevant, places.lowest, before, codes, span, counted[0], offsets)
    place, pos, neg = kept(counted[0])
    starts = np.searchsorted(place, np.arange(segments.count + 1) * span)
    block = coding.numbers(places.codes(place if segments.code is None else place % span))
    return Tallied(block, starts, pos, neg, offsets[place] if sums else np.zeros_like(pos))


def kept(counted: Ints) -> tuple[Ints, Ints, Ints]:
    """The places of ``counted`` with rows, and of each its relevant rows and others.

    A relevant row has counted ``native.blocks.RELEVANT`` there, another one 1.
    """
    place, pos, neg = (np.empty(np.count_nonzero(counted), np.int64) for _ in range(3))
    native.blocks.kept(counted, place, pos, neg)
    return place, pos, neg


def has_loop(coding: Coding) -> bool:
    """Whether a compiled loop cuts scores as ``coding`` does."""
    return isinstance(coding, (LeadingBits, Decimals, Bins))


def cut_by_loops(coding: Coding) -> tuple[int, float]:
    """How the loops cut scores as ``coding``, which :func:`has_loop`, does."""
    if isinstance(coding, LeadingBits):
        return native.blocks.LEADING_BITS, coding.dropped
    if isinstance(coding, Decimals):
        return native.blocks.DECIMALS, 10.0**coding.size
    assert isinstance(coding, Bins)  # noqa: S101 - has_loop
    return native.blocks.BINS, coding.size


# Blocks are counted in place where they span no more than this many for each row: an array that stays in the cache.
DENSE_BLOCKS_PER_ROW = 4
# A processor that adds to a place again before the last sum is there waits for it (3 ns a row where most rows share a
# place), so rows in turn count in this many places of a block where blocks are few.
LANES = 4
FEW_BLOCKS = 64
# Steps of so many rows of one block add up to 2^53 at most, so float64 adds them exactly; of more, in two halves.
EXACT_ROWS = 1 << (53 - OFFSET_BITS)
STEP_HALF = 1 << OFFSET_BITS // 2


class Counted(NamedTuple):
    """Rows counted by block, blocks in ascending order: see :class:`sparkrank.states.ScoreHistogram`."""

    block: Ints
    pos: Amounts
    neg: Amounts
    offset: Amounts
    weighted_rows: Ints | None = None


def count_bins(rule: BinRule, rows: ScoredRows, sums: bool, segments: Segments = WHOLE) -> list[Counted]:
    """The blocks of the ``rows`` of each segment in ascending order.

    ``offset`` is the sum over the block's rows of score minus block score, in units of the block's width / 2^32; it
    is left 0 where ``sums`` is false. Where rows have weights, positives, negatives and offsets are sums of them, in
    limbs.
    """
    weighted = rows.weights is not None
    if len(rows.scores) == 0:
        none = np.empty(0, np.int64)
        return [Counted(none, none, none, none, none if weighted else None)] * segments.count
    coding = rule.coding(rows.range())
    lowest, highest = coding.codes(np.array(rows.range())).tolist()
    span = highest - lowest + 1
    most = DENSE_BLOCKS_PER_ROW * len(rows.scores) // segments.count
    paged = most < span <= len(rows.scores) << PAGE_BITS
    sums = sums and rule.kind != "exact"
    if native.runs("count", not weighted and (paged or span <= most) and has_loop(coding)):
        places = Places(lowest, span, NO_GAPS)
        found = tallied(coding, rows.wide(), rows.flags(rule.rel), places, most, sums, segments)
        if found is not None:
            return _by_segment(*found)
    base = lowest if paged or span <= most else 0  # codes of the whole range of float64 have no room for a difference
    lanes = LANES if span <= most and span * segments.count <= FEW_BLOCKS else 1
    code, steps = _coded(coding, rows, sums, base, lanes)
    gaps = NO_GAPS
    if paged:
        span, gaps = without_gaps(code, span, most)
    if span <= most:
        cells: InPlace | Sorted = in_place(coding, code, Places(base, span, gaps), lanes, segments)
    else:
        cells = by_sorting(coding, code, base, segments)
    positives = rows.positives(rule.rel)
    if weighted:
        limbs = rows.weight_limbs()
        weight = _limb_sums(cells, limbs, positives)
        offset = np.zeros_like(weight) if steps is None else _limb_sums(cells, limbs_in_turn(steps, rows.room().limb))
        others = _limb_sums(cells, limbs) - weight
        return _by_segment(cells.block, cells.starts, weight, others, offset, cells.rows)
    count = cells.count(positives)
    offsets = np.zeros_like(count) if steps is None else _whole_sums(cells, steps)
    return _by_segment(cells.block, cells.starts, count, cells.rows - count, offsets)


def _whole_sums(cells: InPlace | Sorted, steps: Floats) -> Ints:
    """The sum over each block of ``steps``, which are whole. A single group may have more than :data:`EXACT_ROWS`."""
    if len(steps) <= EXACT_ROWS:
        return cells.sum(steps).astype(np.int64)
    upper = np.floor(steps / STEP_HALF)
    lower = cells.sum(steps - upper * STEP_HALF).astype(np.int64)
    return cells.sum(upper).astype(np.int64) * STEP_HALF + lower


def _by_segment(
    block: Ints, starts: Ints, pos: Amounts, neg: Amounts, offset: Amounts, rows: Ints | None = None
) -> list[Counted]:
    """Blocks that stand segment after segment, apart."""
    return [
        Counted(block[a:z], pos[a:z], neg[a:z], offset[a:z], None if rows is None else rows[a:z])
        for a, z in itertools.pairwise(starts.tolist())
    ]


def _coded(coding: Coding, rows: ScoredRows, sums: bool, base: int, lanes: int) -> tuple[Ints, Floats | None]:
    """Each row's code above ``base`` in one of ``lanes``, and where ``sums`` its step in the block times its weight."""
    scores, (code, steps, _) = rows.wide(), rows.room()
    lane = np.arange(PART_ROWS) % lanes
    for part in parts(len(scores)):
        codes = coding.codes(scores[part])
        np.subtract(codes, base, out=code[part])
        if lanes > 1:
            code[part] *= lanes
            code[part] += lane[: len(codes)]
        if sums:
            inside = coding.steps(scores[part], codes)
            steps[part] = inside if rows.weights is None else inside * rows.weights[part]
    return code, steps if sums else None


def _limb_sums(cells: InPlace | Sorted, limbs: Iterable[tuple[int, Floats]], chosen: Ints | None = None) -> Floats:
    """The limbs (blocks, 6) of the sum over each block of values cut into ``limbs``, or over its rows ``chosen``."""
    sums = np.zeros((len(cells.block), LIMBS))
    for index, limb in limbs:
        sums[:, index] = cells.sum(limb, chosen)
    return sums
