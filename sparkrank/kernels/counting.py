"""Rows counted by score block: the blocks of a bucket's rows in ascending order, with positives and negatives."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from sparkrank import loops
from sparkrank.kernels.blocks import BlockRule
from sparkrank.kernels.cells import NO_GAPS, PAGE_BITS, InPlace, Places, Sorted, by_sorting, in_place, without_gaps
from sparkrank.kernels.coding import OFFSET_BITS, Coding
from sparkrank.kernels.judgments import Floats
from sparkrank.kernels.limbs import LIMBS, PART_ROWS, Amounts, limbs_in_turn, parts
from sparkrank.kernels.order import Ints
from sparkrank.kernels.rowsums import ScoredRows
from sparkrank.kernels.segments import WHOLE, Segments
from sparkrank.kernels.tallied import tallied

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
    most = DENSE_BLOCKS_PER_ROW * len(rows.scores) // segments.count
    paged = most < span <= len(rows.scores) << PAGE_BITS
    sums = sums and rule.kind != "exact"
    if loops.COMPILED and not weighted and (paged or span <= most):
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
