"""Blocks of several parts put together: equal blocks become one, and their amounts add up.

Amounts add exactly, so the order of adding shows nowhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sparkrank import loops
from sparkrank.kernels.blocks import BlockRule
from sparkrank.kernels.coding import Coding, Range, block_scores
from sparkrank.kernels.counting import DENSE_BLOCKS_PER_ROW
from sparkrank.kernels.limbs import Amounts
from sparkrank.kernels.order import Flags, Ints, run_starts
from sparkrank.kernels.tallied import cut_by_loops


@dataclass(frozen=True)
class JoinedInPlace:
    """Blocks that lie close together: each part is added to one array of ``span`` places (6 ns a block).

    ``places`` are those of the blocks of each part, ``kept`` the places that hold any.
    """

    block: Ints
    places: Sequence[Ints]
    span: int
    kept: Ints

    def sum(self, amounts: Sequence[Amounts]) -> Amounts:
        """The sum over equal blocks of ``amounts``, one array for each part."""
        sums = np.zeros((self.span, *amounts[0].shape[1:]), amounts[0].dtype)
        for place, of_part in zip(self.places, amounts, strict=True):
            if loops.COMPILED and of_part.ndim == 1:
                loops.blocks.add(sums, place, of_part)
            else:
                sums[place] += of_part  # a part has a block once
        return sums[self.kept]


@dataclass(frozen=True)
class JoinedBySorting:
    """Blocks that lie far apart, sorted (23 ns a block): ``first`` is where equal blocks begin in ``order``."""

    block: Ints
    order: Ints
    first: Ints

    def sum(self, amounts: Sequence[Amounts]) -> Amounts:
        together: Amounts = np.add.reduceat(np.concatenate(amounts)[self.order], self.first)
        return together


def join_blocks(rule: BlockRule, blocks: Sequence[Ints]) -> JoinedInPlace | JoinedBySorting:
    """The block numbers of all parts together; ``blocks`` are those of each, ascending, with one at least."""
    scores = block_scores(np.array([min(each[0] for each in blocks), max(each[-1] for each in blocks)]))
    coding = rule.coding(Range(*scores.tolist()))
    lowest, highest = coding.codes(scores).tolist()
    span = highest - lowest + 1
    if span > DENSE_BLOCKS_PER_ROW * sum(map(len, blocks)):
        together = np.concatenate(blocks)
        order = np.argsort(together)
        ascending = together[order]
        first = run_starts(ascending)
        return JoinedBySorting(ascending[first], order, first)
    filled = np.zeros(span, np.bool_)
    places = [_filled_in(filled, coding, each, lowest) for each in blocks]
    kept = np.flatnonzero(filled)
    return JoinedInPlace(coding.numbers(kept + lowest), places, span, kept)


def _filled_in(filled: Flags, coding: Coding, blocks: Ints, lowest: int) -> Ints:
    """The places of ``blocks`` (n), which are their codes above ``lowest``, once ``filled`` (span) is set there."""
    cut = cut_by_loops(coding) if loops.COMPILED else None
    if cut is None:
        places = coding.codes(block_scores(blocks)) - lowest
        filled[places] = True
    else:
        places = np.empty(len(blocks), np.int64)
        loops.blocks.places(*cut, np.ascontiguousarray(blocks), lowest, places, filled.view(np.uint8))
    return places
