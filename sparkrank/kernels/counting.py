"""Rows counted by score block: the blocks of a bucket's rows in ascending order, with positives and negatives."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sparkrank.kernels.blocks import BlockRule
from sparkrank.kernels.coding import Coding
from sparkrank.kernels.exact import LIMBS, Amounts, limbs_in_turn, parts
from sparkrank.kernels.judgments import Floats
from sparkrank.kernels.order import Ints, run_starts, stable_order
from sparkrank.kernels.rowsums import ScoredRows
from sparkrank.kernels.segments import WHOLE, Segments

# Blocks are counted in place where they span no more than this many for each row: an array that stays in the cache.
DENSE_BLOCKS_PER_ROW = 4


@dataclass(frozen=True)
class InPlace:
    """Rows of blocks that lie close together, counted without sorting (3 ns a row).

    ``block`` are the block numbers in ascending order and ``rows`` the rows of each; ``starts`` (segments + 1) is where
    the blocks of each segment begin. ``place`` is each row's of ``span`` places, ``kept`` the places that hold rows.
    """

    block: Ints
    rows: Ints
    starts: Ints
    place: Ints
    span: int
    kept: Ints

    def count(self, chosen: Ints) -> Ints:
        """The rows of each block among the rows ``chosen``."""
        counts: Ints = np.bincount(self.place[chosen], minlength=self.span)[self.kept]
        return counts

    def sum(self, amounts: Floats, chosen: Ints | None = None) -> Floats:
        """The sum of ``amounts`` (one a row) over each block, or over its rows ``chosen``."""
        place = self.place if chosen is None else self.place[chosen]
        weights = amounts if chosen is None else amounts[chosen]
        sums = np.bincount(place, weights=weights, minlength=self.span)[self.kept]
        return np.asarray(sums, np.float64)


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
    in_place = span * segments.count <= DENSE_BLOCKS_PER_ROW * len(rows.scores)
    code, steps = _coded(coding, rows, lowest if in_place else 0, sums and rule.kind != "exact")
    cells = _in_place(coding, code, lowest, span, segments) if in_place else _sorted(coding, code, segments)
    positives = rows.positives(rule.rel)
    if weighted:
        limbs = rows.weight_limbs()
        weight = _limb_sums(cells, limbs, positives)
        offset = np.zeros_like(weight) if steps is None else _limb_sums(cells, limbs_in_turn(steps, rows.room().limb))
        return _by_segment(cells, weight, _limb_sums(cells, limbs) - weight, offset, cells.rows)
    count = cells.count(positives)
    # whole numbers below 2^53 in all, so float64 adds them exactly
    offsets = np.zeros_like(count) if steps is None else cells.sum(steps).astype(np.int64)
    return _by_segment(cells, count, cells.rows - count, offsets)


def _by_segment(
    cells: InPlace | Sorted, pos: Amounts, neg: Amounts, offset: Amounts, rows: Ints | None = None
) -> list[Counted]:
    """Blocks that stand segment after segment, apart."""
    return [
        Counted(cells.block[a:z], pos[a:z], neg[a:z], offset[a:z], None if rows is None else rows[a:z])
        for a, z in itertools.pairwise(cells.starts.tolist())
    ]


def _coded(coding: Coding, rows: ScoredRows, base: int, sums: bool) -> tuple[Ints, Floats | None]:
    """Each row's code above ``base``, and where ``sums`` its step inside the block times its weight."""
    scores, (code, steps, _) = rows.wide(), rows.room()
    for part in parts(len(scores)):
        codes = coding.codes(scores[part])
        np.subtract(codes, base, out=code[part])
        if sums:
            inside = coding.steps(scores[part], codes)
            np.multiply(inside, 1.0 if rows.weights is None else rows.weights[part], out=steps[part])
    return code, steps if sums else None


def _in_place(coding: Coding, place: Ints, lowest: int, span: int, segments: Segments) -> InPlace:
    """The rows counted in an array of ``span`` places for each segment; ``place`` becomes the place in it."""
    if segments.code is not None:
        place += segments.code * np.int64(span)
    places = span * segments.count
    rows = np.bincount(place, minlength=places)
    kept = np.flatnonzero(rows)
    code = kept if segments.code is None else kept % span
    starts = np.searchsorted(kept, np.arange(segments.count + 1) * span)
    return InPlace(coding.numbers(code + lowest), rows[kept], starts, place, places, kept)


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
