"""Blocks of several parts added up by compiled loops (:mod:`sparkrank.loops.blocks`), where they lie close together.

It gives the bits that :mod:`sparkrank.kernels.merging` gives, whatever the order of the parts. Sums of weights are left
to numpy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparkrank import loops
from sparkrank.kernels.coding import Coding, Range, block_scores
from sparkrank.kernels.counting import DENSE_BLOCKS_PER_ROW
from sparkrank.kernels.order import Ints
from sparkrank.kernels.tallied import cut_by_loops, kept

_MOST_ROWS = 2**31  # of a block: both of its counts stand in one number
_MOST = 2**63 - 1


def is_dense(span: int, parts: Sequence[NDArray[np.integer[Any]]]) -> bool:
    """Whether the blocks of ``parts`` may be added up in an array of ``span`` places."""
    return span <= DENSE_BLOCKS_PER_ROW * sum(map(len, parts))


class Whole(NamedTuple):
    """Whole numbers (n) as what they are ``above`` the ``least``, in an array of any width."""

    least: int
    above: NDArray[np.integer[Any]]

    @property
    def most(self) -> int:
        """No number is larger."""
        return self.least + int(self.above.max(initial=0))

    @property
    def furthest(self) -> int:
        """No number is further from 0."""
        return max(abs(self.most), abs(self.least + int(self.above.min(initial=0))))


class CodedBlocks(NamedTuple):
    """The blocks of one part (n, at least one): rows of either class and, where any is not 0, offsets.

    ``fill`` fills in their codes (n, ascending).
    """

    fill: Callable[[Ints], None]
    pos: Whole
    neg: Whole
    offset: Whole | None


class AddedUp(NamedTuple):
    """Blocks in ascending order, as :class:`sparkrank.states.ScoreBlocks` has them."""

    block: Ints
    pos: Ints
    neg: Ints
    offset: Ints


def add_up(coding: Coding, scores: Range, parts: Sequence[CodedBlocks]) -> AddedUp | None:
    """The blocks of all ``parts``, whose scores are in that range, by compiled loops (4 ns a block).

    Nothing where they lie far apart, or have more rows or larger offsets than one array of whole numbers takes.
    """
    lowest, highest = coding.codes(np.array(scores)).tolist()
    span = highest - lowest + 1
    offsets = [part.offset for part in parts if part.offset is not None]
    if not (
        loops.COMPILED
        and is_dense(span, [part.pos.above for part in parts])
        and sum(part.pos.most + part.neg.most for part in parts) < _MOST_ROWS
        and sum(offset.furthest for offset in offsets) <= _MOST
    ):
        return None
    counted, inside = np.zeros(span, np.int64), np.zeros(span if offsets else 0, np.int64)
    room = np.empty(max(len(part.pos.above) for part in parts), np.int64)
    for part in parts:
        codes = room[: len(part.pos.above)]
        part.fill(codes)
        loops.blocks.add(counted, codes, lowest, *part.pos, loops.blocks.RELEVANT)
        loops.blocks.add(counted, codes, lowest, *part.neg, 1)
        if part.offset is not None:
            loops.blocks.add(inside, codes, lowest, *part.offset, 1)
    place, pos, neg = kept(counted)
    offset = inside[place] if offsets else np.zeros(len(pos), np.int64)
    place += lowest
    return AddedUp(coding.numbers(place), pos, neg, offset)


def fill_codes(coding: Coding, blocks: Ints, codes: Ints) -> None:
    """Fill in the ``codes`` (n) of ``blocks`` (n)."""
    cut = cut_by_loops(coding) if loops.COMPILED else None
    if cut is None:
        codes[:] = coding.codes(block_scores(blocks))
    else:
        loops.blocks.codes(*cut, np.ascontiguousarray(blocks), codes)


def codes_of(coding: Coding, blocks: Ints) -> Ints:
    """The codes of ``blocks`` (n)."""
    codes = np.empty(len(blocks), np.int64)
    fill_codes(coding, blocks, codes)
    return codes
