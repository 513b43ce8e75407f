"""The state under every metric of a whole day: rows counted by block of score and class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparkrank.errors import StateError
from sparkrank.kernels.blocks import BlockRule, block_scores, count_blocks, score_sums
from sparkrank.kernels.judgments import Floats
from sparkrank.kernels.order import Flags, Ints, run_starts


class Series(NamedTuple):
    """Whose blocks these are: one model, one value of one slice, one rule."""

    model: str
    slice: str
    slice_value: str
    rule: BlockRule


@dataclass(frozen=True)
class ScoreBlocks:
    """Blocks in ascending order of score: ``block`` number, ``pos`` and ``neg`` rows, ``offset`` of the scores.

    Numbers and offsets are those of :mod:`sparkrank.kernels.blocks`.
    """

    rule: BlockRule
    block: Ints
    pos: Ints
    neg: Ints
    offset: Ints

    @classmethod
    def empty(cls, rule: BlockRule) -> ScoreBlocks:
        none = np.empty(0, np.int64)
        return cls(rule, none, none, none, none)

    @classmethod
    def of(cls, rule: BlockRule, scores: NDArray[np.floating], flags: Flags, sums: bool) -> ScoreBlocks:
        """The blocks of rows with ``scores`` (no NaN), relevant where ``flags``; ``sums`` asks for score sums."""
        return cls(rule, *count_blocks(rule, scores, flags, sums))

    def merge(self, *others: ScoreBlocks) -> ScoreBlocks:
        """The blocks of all rows together. Raises :class:`StateError` when the rules differ."""
        for other in others:
            if other.rule != self.rule:
                raise StateError(f"blocks of {self.rule} do not merge with blocks of {other.rule}: the edges differ")
        parts = (self, *others)
        block = np.concatenate([part.block for part in parts])
        order = np.argsort(block)  # whole numbers add up to the same in any order, so equal blocks may stand anyhow
        first = run_starts(block[order])
        if len(first) == 0:
            return self

        def summed(name: str) -> Ints:
            values = np.concatenate([getattr(part, name) for part in parts])[order]
            return np.add.reduceat(values, first)

        return ScoreBlocks(self.rule, block[order][first], summed("pos"), summed("neg"), summed("offset"))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled in the narrowest integers that hold the counts: most blocks of a bucket hold a row or two."""
        return _widened, (self.rule, self.block, *map(_narrowed, (self.pos, self.neg, self.offset)))

    @property
    def score(self) -> Floats:
        """The score of each block."""
        return block_scores(self.block)

    @property
    def score_sum(self) -> Floats:
        """The sum of the scores of each block's rows."""
        return score_sums(self.rule, self.block, self.pos + self.neg, self.offset)


def _narrowed(whole: Ints) -> NDArray[np.signedinteger[Any]]:
    for kind in (np.int8, np.int16, np.int32):
        limits = np.iinfo(kind)
        if len(whole) == 0 or (whole.min() >= limits.min and whole.max() <= limits.max):
            return whole.astype(kind)
    return whole


def _widened(rule: BlockRule, block: Ints, *counts: NDArray[np.signedinteger[Any]]) -> ScoreBlocks:
    return ScoreBlocks(rule, block, *(count.astype(np.int64) for count in counts))
