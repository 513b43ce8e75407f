"""The state under every metric of a whole day: rows counted by block of score and class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparkrank.errors import StateError
from sparkrank.histogram.bins import BinRule, score_sums
from sparkrank.histogram.count import count_bins
from sparkrank.histogram.merge import AddedUp, CodedBins, Whole, add_up, fill_codes, merge_bins, range_of
from sparkrank.histogram.scored_rows import ScoredRows
from sparkrank.numeric.exact_sums import Amounts, rounded
from sparkrank.numeric.ordered_integers import bin_scores
from sparkrank.numeric.overflow import refuse_overflow
from sparkrank.numeric.segments import WHOLE, Segments
from sparkrank.numeric.types import Flags, Floats, Ints

AMOUNTS = ("pos", "neg", "offset")


class Series(NamedTuple):
    """Whose blocks these are: one model, one value of one slice, None where rows have none, and one rule."""

    model: str
    slice: str
    slice_value: str | None
    rule: BinRule


@dataclass(frozen=True)
class ScoreHistogram:
    """Blocks in ascending order of score: ``block`` number, ``pos`` and ``neg`` rows, ``offset`` of the scores.

    Numbers and offsets are those of :mod:`sparkrank.histogram.bins`. Where rows have weights, ``pos``, ``neg`` and
    ``offset`` are limbs (blocks, 6) of sums of weights, and ``count`` are the rows.
    """

    rule: BinRule
    block: Ints
    pos: Amounts
    neg: Amounts
    offset: Amounts
    count: Ints | None = None

    @classmethod
    def empty(cls, rule: BinRule) -> ScoreHistogram:
        """No blocks: they merge with any of the same rule, with weights or without."""
        none = np.empty(0, np.int64)
        return cls(rule, none, none, none, none)

    @classmethod
    def of(
        cls,
        rule: BinRule,
        scores: NDArray[np.floating],
        flags: Flags,
        sums: bool,
        weights: Floats | None = None,
    ) -> ScoreHistogram:
        """The blocks of rows with ``scores`` (no NaN), relevant where ``flags``; ``sums`` asks for score sums."""
        (blocks,) = cls.of_each(replace(rule, rel=None), ScoredRows(scores, flags, weights), sums)
        return replace(blocks, rule=rule)

    @classmethod
    def of_each(cls, rule: BinRule, rows: ScoredRows, sums: bool, segments: Segments = WHOLE) -> list[ScoreHistogram]:
        """The blocks of the ``rows`` of each segment, relevant as ``rule`` says; ``sums`` asks for score sums."""
        return [cls(rule, *counted) for counted in count_bins(rule, rows, sums, segments)]

    def merge(self, *others: ScoreHistogram) -> ScoreHistogram:
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
            return ScoreHistogram(self.rule, *added)
        joined = merge_bins(self.rule, [part.block for part in parts])
        pos, neg = joined.sum([part.pos for part in parts]), joined.sum([part.neg for part in parts])
        offset, offsets = np.zeros_like(pos), [part.offset for part in parts]
        if any(map(np.count_nonzero, offsets)):  # which numpy says sooner than any()
            if weighted == {False}:
                refuse_overflow(offsets, joined.sum, f"the scores of one block of {self.rule}")
            offset = joined.sum(offsets)
        count = joined.sum([part.rows for part in parts]) if weighted == {True} else None
        return ScoreHistogram(self.rule, joined.block, pos, neg, offset, count)

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
        return bin_scores(self.block)

    @property
    def score_sum(self) -> Floats:
        """The sum of the scores of each block's rows, each times its weight."""
        return score_sums(self.rule, self.block, rounded(self.pos + self.neg), rounded(self.offset))


def _added_up(rule: BinRule, parts: Sequence[ScoreHistogram]) -> AddedUp | None:
    """The blocks of all ``parts`` without weights, where :func:`add_up` takes them."""
    scores = range_of([part.block for part in parts])
    coding = rule.coding(scores)
    coded = [
        CodedBins(
            partial(fill_codes, coding, part.block),
            Whole(0, part.pos),
            Whole(0, part.neg),
            Whole(0, part.offset) if np.count_nonzero(part.offset) else None,  # which numpy says sooner than any()
        )
        for part in parts
    ]
    return add_up(coding, scores, coded)
