"""Rows counted by score block: the blocks of a bucket's rows in ascending order, with positives and negatives."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparkrank.kernels.blocks import BlockRule
from sparkrank.kernels.coding import OFFSET_BITS, Coding
from sparkrank.kernels.exact import LIMBS, PART_ROWS, Amounts, limbs_in_turn, parts
from sparkrank.kernels.judgments import Floats
from sparkrank.kernels.order import Ints, run_starts, stable_order
from sparkrank.kernels.rowsums import ScoredRows
from sparkrank.kernels.segments import WHOLE, Segments

# Blocks are counted in place where they span no more than this many for each row: an array that stays in the cache.
DENSE_BLOCKS_PER_ROW = 4
# A processor that adds to a place again before the last sum is there waits for it (3 ns a row where most rows share a
# place), so rows in turn count in this many places of a block where blocks are few.
LANES = 4
FEW_BLOCKS = 64
# Steps of so many rows of one block add up to 2^53 at most, so float64 adds them exactly; of more, in two halves.
EXACT_ROWS = 1 << (53 - OFFSET_BITS)
STEP_HALF = 1 << OFFSET_BITS // 2


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


class Counted(NamedTuple):
    """Rows counted by block, blocks in ascending order: see :class:`sparkrank.states.ScoreBlocks`."""

    block: Ints
    pos: Amounts
    neg: Amounts
    offset: Amounts
    weighted_rows: Ints | None = None


def count_blocks(rule: BlockRule, rows: ScoredRows, sums: bool, segments: Segments = WHOLE) -> list[Counted]:
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
    places = span * segments.count
    in_place = places <= DENSE_BLOCKS_PER_ROW * len(rows.scores)
    lanes = LANES if in_place and places <= FEW_BLOCKS else 1
    code, steps = _coded(coding, rows, sums and rule.kind != "exact", lowest if in_place else 0, lanes)
    cells = _in_place(coding, code, lowest, span, lanes, segments) if in_place else _sorted(coding, code, segments)
    positives = rows.positives(rule.rel)
    if weighted:
        limbs = rows.weight_limbs()
        weight = _limb_sums(cells, limbs, positives)
        offset = np.zeros_like(weight) if steps is None else _limb_sums(cells, limbs_in_turn(steps, rows.room().limb))
        return _by_segment(cells, weight, _limb_sums(cells, limbs) - weight, offset, cells.rows)
    count = cells.count(positives)
    offsets = np.zeros_like(count) if steps is None else _whole_sums(cells, steps)
    return _by_segment(cells, count, cells.rows - count, offsets)


def _whole_sums(cells: InPlace | Sorted, steps: Floats) -> Ints:
    """The sum over each block of ``steps``, which are whole. A single group may have more than :data:`EXACT_ROWS`."""
    if len(steps) <= EXACT_ROWS:
        return cells.sum(steps).astype(np.int64)
    upper = np.floor(steps / STEP_HALF)
    lower = cells.sum(steps - upper * STEP_HALF).astype(np.int64)
    return cells.sum(upper).astype(np.int64) * STEP_HALF + lower


def _by_segment(
    cells: InPlace | Sorted, pos: Amounts, neg: Amounts, offset: Amounts, rows: Ints | None = None
) -> list[Counted]:
    """Blocks that stand segment after segment, apart."""
    return [
        Counted(cells.block[a:z], pos[a:z], neg[a:z], offset[a:z], None if rows is None else rows[a:z])
        for a, z in itertools.pairwise(cells.starts.tolist())
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


def _in_place(coding: Coding, place: Ints, lowest: int, span: int, lanes: int, segments: Segments) -> InPlace:
    """The rows counted in an array of ``span`` places for each segment; ``place`` becomes the place in it."""
    if segments.code is not None:
        place += segments.code * np.int64(span * lanes)
    places = span * segments.count
    rows = _tally(place, places, lanes)
    kept = np.flatnonzero(rows)
    code = kept if segments.code is None else kept % span
    starts = np.searchsorted(kept, np.arange(segments.count + 1) * span)
    return InPlace(coding.numbers(code + lowest), rows[kept], starts, place, places, lanes, kept)


def _tally(place: Ints, span: int, lanes: int, weights: Floats | None = None) -> NDArray[Any]:
    """The rows at each of ``span`` places, or the sum of their ``weights``, all lanes together."""
    counted = np.bincount(place, weights=weights, minlength=span * lanes)
    return counted if lanes == 1 else counted.reshape(span, lanes).sum(axis=1)


def _sorted(coding: Coding, code: Ints, segments: Segments) -> Sorted:
    """The rows sorted by segment and code."""
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
    return Sorted(coding.numbers(ascending[first]), np.diff(first, append=len(code)), starts, order, first)


def _limb_sums(cells: InPlace | Sorted, limbs: Iterable[tuple[int, Floats]], chosen: Ints | None = None) -> Floats:
    """The limbs (blocks, 6) of the sum over each block of values cut into ``limbs``, or over its rows ``chosen``."""
    sums = np.zeros((len(cells.block), LIMBS))
    for index, limb in limbs:
        sums[:, index] = cells.sum(limb, chosen)
    return sums
