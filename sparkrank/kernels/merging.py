"""Blocks of several parts put together by numpy: equal blocks become one, and their amounts add up.

Amounts add exactly, so the order of adding shows nowhere. Where :mod:`sparkrank.kernels.adding` serves, it is sooner.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sparkrank.kernels.adding import codes_of, is_dense
from sparkrank.kernels.blocks import BlockRule
from sparkrank.kernels.coding import Range, block_scores
from sparkrank.kernels.limbs import Amounts
from sparkrank.kernels.order import Ints, run_starts


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
    scores = range_of(blocks)
    coding = rule.coding(scores)
    lowest, highest = coding.codes(np.array(scores)).tolist()
    span = highest - lowest + 1
    if not is_dense(span, blocks):
        together = np.concatenate(blocks)
        order = np.argsort(together)
        ascending = together[order]
        first = run_starts(ascending)
        return JoinedBySorting(ascending[first], order, first)
    filled = np.zeros(span, np.bool_)
    places = [codes_of(coding, each) - lowest for each in blocks]
    for place in places:
        filled[place] = True
    held = np.flatnonzero(filled)
    return JoinedInPlace(coding.numbers(held + lowest), places, span, held)


def range_of(blocks: Sequence[Ints]) -> Range:
    """The scores of the lowest and the highest of the numbers in ``blocks``, those of each part ascending."""
    ends = np.array([min(each[0] for each in blocks), max(each[-1] for each in blocks)])
    return Range(*block_scores(ends).tolist())
