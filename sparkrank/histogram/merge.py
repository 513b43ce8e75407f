"""Histograms of several parts put together: equal bins become one, and their amounts add up.

Compiled loops (:mod:`sparkrank.native.blocks`) add bins that lie close together, numpy the others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparkrank import native
from sparkrank.histogram.bins import BinRule
from sparkrank.histogram.count import DENSE_BLOCKS_PER_ROW, cut_by_loops, has_loop, kept
from sparkrank.numeric.exact_sums import Amounts
from sparkrank.numeric.ordered_integers import Coding, Range, bin_scores
from sparkrank.numeric.segments import run_starts
from sparkrank.numeric.types import Ints

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


class CodedBins(NamedTuple):
    """The blocks of one part (n, at least one): rows of either class and, where any is not 0, offsets.

    ``fill`` fills in their codes (n, ascending).
    """

    fill: Callable[[Ints], None]
    pos: Whole
    neg: Whole
    offset: Whole | None


class AddedUp(NamedTuple):
    """Blocks in ascending order, as :class:`sparkrank.states.ScoreHistogram` has them."""

    block: Ints
    pos: Ints
    neg: Ints
    offset: Ints


def add_up(coding: Coding, scores: Range, parts: Sequence[CodedBins]) -> AddedUp | None:
    """The blocks of all ``parts``, whose scores are in that range, by compiled loops (4 ns a block).

    None where they lie far apart, or have more rows or larger offsets than one array of whole numbers takes.
    """
    lowest, highest = coding.codes(np.array(scores)).tolist()
    span = highest - lowest + 1
    offsets = [part.offset for part in parts if part.offset is not None]
    serves = (
        is_dense(span, [part.pos.above for part in parts])
        and sum(part.pos.most + part.neg.most for part in parts) < _MOST_ROWS
        and sum(offset.furthest for offset in offsets) <= _MOST
    )
    if not native.runs("merge", serves):
        return None
    counted, inside = np.zeros(span, np.int64), np.zeros(span if offsets else 0, np.int64)
    room = np.empty(max(len(part.pos.above) for part in parts), np.int64)
    for part in parts:
        codes = room[: len(part.pos.above)]
        part.fill(codes)
        native.blocks.add(counted, codes, lowest, *part.pos, native.blocks.RELEVANT)
        native.blocks.add(counted, codes, lowest, *part.neg, 1)
        if part.offset is not None:
            native.blocks.add(inside, codes, lowest, *part.offset, 1)
    place, pos, neg = kept(counted)
    offset = inside[place] if offsets else np.zeros(len(pos), np.int64)
    place += lowest
    return AddedUp(coding.numbers(place), pos, neg, offset)


def fill_codes(coding: Coding, blocks: Ints, codes: Ints) -> None:
    """Fill in the ``codes`` (n) of ``blocks`` (n)."""
    if native.runs("codes", has_loop(coding)):
        native.blocks.codes(*cut_by_loops(coding), np.ascontiguousarray(blocks), codes)
    else:
        codes[:] = coding.codes(bin_scores(blocks))


def codes_of(coding: Coding, blocks: Ints) -> Ints:
    """The codes of ``blocks`` (n)."""
    codes = np.empty(len(blocks), np.int64)
    fill_codes(coding, blocks, codes)
    return codes


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


def merge_bins(rule: BinRule, blocks: Sequence[Ints]) -> JoinedInPlace | JoinedBySorting:
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
    return Range(*bin_scores(ends).tolist())
