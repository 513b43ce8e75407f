"""The state under every metric of a whole day: rows counted by block of score and class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparkrank.errors import StateError
from sparkrank.kernels.adding import AddedUp, CodedBlocks, Whole, add_up, fill_codes
from sparkrank.kernels.blocks import BlockRule, score_sums
from sparkrank.kernels.coding import block_scores
from sparkrank.kernels.counting import count_blocks
from sparkrank.kernels.judgments import Floats
from sparkrank.kernels.limbs import Amounts, rounded
from sparkrank.kernels.merging import join_blocks, range_of
from sparkrank.kernels.order import Flags, Ints
from sparkrank.kernels.rowsums import ScoredRows
from sparkrank.kernels.segments import WHOLE, Segments
from sparkrank.states.whole import refuse_overflow

AMOUNTS = ("pos", "neg", "offset")


class Series(NamedTuple):
    """Whose blocks these are: one model, one value of one slice, None where rows have none, and one rule."""

    model: str
    slice: str
    slice_value: str | None
    rule: BlockRule


@dataclass(frozen=True)
class ScoreBlocks:
    """Blocks in ascending order of score: ``block`` number, ``pos`` and ``neg`` rows, ``offset`` of the scores.

    Numbers and offsets are those of :mod:`sparkrank.kernels.blocks`. Where rows have weights, ``pos``, ``neg`` and
    ``offset`` are limbs (blocks, 6) of sums of weights, and ``count`` are the rows.
    """

    rule: BlockRule
    block: Ints
    pos: Amounts
    neg: Amounts
    offset: Amounts
    count: Ints | None = None

    @classmethod
    def empty(cls, rule: BlockRule) -> ScoreBlocks:
        """No blocks: they merge with any of the same rule, with weights or without."""
        none = np.empty(0, np.int64)
        return cls(rule, none, none, none, none)

    @classmethod
    def of(
        cls,
        rule: BlockRule,
        scores: NDArray[np.floating],
        flags: Flags,
        sums: bool,
        weights: Floats | None = None,
    ) -> ScoreBlocks:
        """The blocks of rows with ``scores`` (no NaN), relevant where ``flags``; ``sums`` asks for score sums."""
        (blocks,) = cls.of_each(replace(rule, rel=None), ScoredRows(scores, flags, weights), sums)
        return replace(blocks, rule=rule)

    @classmethod
    def of_each(cls, rule: BlockRule, rows: ScoredRows, sums: bool, segments: Segments = WHOLE) -> list[ScoreBlocks]:
        """The blocks of the ``rows`` of each segment, relevant as ``rule`` says; ``sums`` asks for score sums."""
        return [cls(rule, *counted) for counted in count_blocks(rule, rows, sums, segments)]

    def merge(self, *others: ScoreBlocks) -> ScoreBlocks:
        """The blocks of all rows together.

        Raises :class:`StateError` when the rules differ, some have weights and some have none, or a block has so many
        rows that their offsets do not add up in 64 bits.
        """
        for other in others:
            if other.rule != self.rule:
                raise StateError(f"blocks of {self.rule} do not merge with blocks of {other.rule}: the edges differ")
        parts = [part for part in (self, *others) if len(part.block)]
        if not parts:
            return self
        weighted = {part.count is not None for part in parts}
        if len(weighted) > 1:
            raise StateError(f"blocks of {self.rule} with weights do not merge with blocks without")
        if len(parts) == 1:
            return parts[0]
        if weighted == {False} and (added := _added_up(self.rule, parts)) is not None:
            return ScoreBlocks(self.rule, *added)
        joined = join_blocks(self.rule, [part.block for part in parts])
        pos, neg = joined.sum([part.pos for part in parts]), joined.sum([part.neg for part in parts])
        offset, offsets = np.zeros_like(pos), [part.offset for part in parts]
        if any(map(np.count_nonzero, offsets)):  # which numpy says sooner than any()
            if weighted == {False}:
                refuse_overflow(offsets, joined.sum, f"the scores of one block of {self.rule}")
            offset = joined.sum(offsets)
        count = joined.sum([part.rows for part in parts]) if weighted == {True} else None
        return ScoreBlocks(self.rule, joined.block, pos, neg, offset, count)

    @property
    def rows(self) -> Ints:
        """The rows of each block."""
        rows: Ints = self.pos + self.neg if self.count is None else self.count
        return rows

    @property
    def positives(self) -> Floats:
        """The positive rows of each block, or the sum of their weights."""
        return rounded(self.pos)

    @property
    def negatives(self) -> Floats:
        """The negative rows of each block, or the sum of their weights."""
        return rounded(self.neg)

    @property
    def score(self) -> Floats:
        """The score of each block."""
        return block_scores(self.block)

    @property
    def score_sum(self) -> Floats:
        """The sum of the scores of each block's rows, each times its weight."""
        return score_sums(self.rule, self.block, rounded(self.pos + self.neg), rounded(self.offset))


def _added_up(rule: BlockRule, parts: Sequence[ScoreBlocks]) -> AddedUp | None:
    """The blocks of all ``parts`` without weights, where :func:`add_up` takes them."""
    scores = range_of([part.block for part in parts])
    coding = rule.coding(scores)
    coded = [
        CodedBlocks(
            partial(fill_codes, coding, part.block),
            Whole(0, part.pos),
            Whole(0, part.neg),
            Whole(0, part.offset) if np.count_nonzero(part.offset) else None,  # which numpy says sooner than any()
        )
        for part in parts
    ]
    return add_up(coding, scores, coded)
