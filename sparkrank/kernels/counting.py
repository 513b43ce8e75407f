"""Rows counted by score block: the blocks of a bucket's rows in ascending order, with positives and negatives."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sparkrank.kernels.blocks import BlockRule
from sparkrank.kernels.coding import Coding
from sparkrank.kernels.exact import LIMBS, Amounts, limbs_in_turn, parts
from sparkrank.kernels.judgments import Floats
from sparkrank.kernels.order import Ints, run_starts
from sparkrank.kernels.rowsums import ScoredRows

# Blocks are counted in place where they span no more than this many for each row: an array that stays in the cache.
DENSE_BLOCKS_PER_ROW = 4


@dataclass(frozen=True)
class InPlace:
    """Rows of blocks that lie close together, counted without sorting (1 ns a row).

    ``block`` are the block numbers in ascending order and ``rows`` the rows of each. ``place`` is each row's of
    ``span`` places, ``kept`` the places that hold rows.
    """

    block: Ints
    rows: Ints
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


def count_blocks(rule: BlockRule, rows: ScoredRows, sums: bool) -> Counted:
    """The blocks of ``rows`` in ascending order.

    ``offset`` is the sum over the block's rows of score minus block score, in units of the block's width / 2^32; it
    is left 0 where ``sums`` is false. Where rows have weights, positives, negatives and offsets are sums of them, in
    limbs.
    """
    weighted = rows.weights is not None
    if len(rows.scores) == 0:
        none = np.empty(0, np.int64)
        return Counted(none, none, none, none, none if weighted else None)
    coding = rule.coding(rows.range())
    lowest, highest = coding.codes(np.array(rows.range())).tolist()
    span = highest - lowest + 1
    in_place = span <= DENSE_BLOCKS_PER_ROW * len(rows.scores)
    code, steps = _coded(coding, rows, lowest if in_place else 0, sums and rule.kind != "exact")
    cells = _in_place(coding, code, lowest, span) if in_place else _sorted(coding, code)
    positives = rows.positives(rule.rel)
    if weighted:
        limbs = rows.weight_limbs()
        weight = _limb_sums(cells, limbs, positives)
        offset = np.zeros_like(weight) if steps is None else _limb_sums(cells, limbs_in_turn(steps, rows.room().limb))
        return Counted(cells.block, weight, _limb_sums(cells, limbs) - weight, offset, cells.rows)
    count = cells.count(positives)
    # whole numbers below 2^53 in all, so float64 adds them exactly
    offsets = np.zeros_like(count) if steps is None else cells.sum(steps).astype(np.int64)
    return Counted(cells.block, count, cells.rows - count, offsets)


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


def _in_place(coding: Coding, place: Ints, lowest: int, span: int) -> InPlace:
    rows = np.bincount(place, minlength=span)
    kept = np.flatnonzero(rows)
    return InPlace(coding.numbers(kept + lowest), rows[kept], place, span, kept)


def _sorted(coding: Coding, code: Ints) -> Sorted:
    order = np.argsort(code)
    ascending = code[order]
    first = run_starts(ascending)
    return Sorted(coding.numbers(ascending[first]), np.diff(first, append=len(code)), order, first)


def _limb_sums(cells: InPlace | Sorted, limbs: Iterable[tuple[int, Floats]], chosen: Ints | None = None) -> Floats:
    """The limbs (blocks, 6) of the sum over each block of values cut into ``limbs``, or over its rows ``chosen``."""
    sums = np.zeros((len(cells.block), LIMBS))
    for index, limb in limbs:
        sums[:, index] = cells.sum(limb, chosen)
    return sums
