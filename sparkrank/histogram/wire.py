"""Score blocks in few bytes, as they go between workers: they are most of what a bucket sends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from sparkrank.histogram.bins import BinRule
from sparkrank.histogram.merge import AddedUp, CodedBins, Whole, add_up, codes_of, range_of
from sparkrank.histogram.state import ScoreHistogram
from sparkrank.numeric.narrow_integers import (
    Narrow,
    NarrowAmounts,
    fill_ascending,
    narrow,
    narrow_amounts,
    narrow_ascending,
    widen,
    widen_amounts,
    widen_ascending,
)
from sparkrank.numeric.ordered_integers import Range


@dataclass(frozen=True)
class NarrowHistogram:
    """Score blocks by the codes that they have among ``scores``, or none: the first code, and the steps to the others.

    Most blocks of a bucket are neighbours and hold a row or two, and most weights need three limbs of six. So a block
    of unweighted rows takes 4 to 9 bytes instead of 32.
    """

    rule: BinRule
    scores: Range | None = None
    codes: tuple[int, Narrow] = (0, Narrow(0, 0, []))
    amounts: Sequence[NarrowAmounts] = ()
    count: Narrow | None = None

    @classmethod
    def of(cls, blocks: ScoreHistogram) -> NarrowHistogram:
        """``blocks`` in few bytes."""
        if len(blocks.block) == 0:
            return cls(blocks.rule)
        scores = range_of([blocks.block])
        codes = codes_of(blocks.rule.coding(scores), blocks.block)
        amounts = [narrow_amounts(each) for each in (blocks.pos, blocks.neg, blocks.offset)]
        count = None if blocks.count is None else narrow(blocks.count)
        return cls(blocks.rule, scores, narrow_ascending(codes), amounts, count)

    def widened(self) -> ScoreHistogram:
        """The blocks that this stands for."""
        if self.scores is None:
            return ScoreHistogram.empty(self.rule)
        block = self.rule.coding(self.scores).numbers(widen_ascending(*self.codes))
        pos, neg, offset = map(widen_amounts, self.amounts)
        return ScoreHistogram(self.rule, block, pos, neg, offset, None if self.count is None else widen(self.count))


def merged(parts: Sequence[NarrowHistogram]) -> ScoreHistogram:
    """The blocks that ``parts`` of one rule, one at least, stand for, together: half the time of widening them first.

    Raises :class:`sparkrank.errors.StateError` as :meth:`ScoreHistogram.merge` does.
    """
    if (added := _added_up(parts)) is not None:
        return ScoreHistogram(parts[0].rule, *added)
    first, *others = (part.widened() for part in parts)
    return first.merge(*others)


def _added_up(parts: Sequence[NarrowHistogram]) -> AddedUp | None:
    """The blocks of all ``parts`` without weights, where :func:`add_up` takes them."""
    found = [(part, part.scores) for part in parts if part.scores is not None]
    if len(found) < 2 or any(part.count is not None for part, _ in found):
        return None
    lowest, highest = zip(*(scores for _, scores in found), strict=True)
    scores = Range(min(lowest), max(highest))
    coding = parts[0].rule.coding(scores)
    coded = []
    for part, of_part in found:
        if type(part.rule.coding(of_part)) is not type(coding):  # few scores may be too large to have decimals
            return None
        pos, neg, offset = part.amounts
        coded.append(CodedBins(partial(fill_ascending, *part.codes), _whole(pos), _whole(neg), _unless_zero(offset)))
    return add_up(coding, scores, coded)


def _whole(amounts: NarrowAmounts) -> Whole:
    assert isinstance(amounts, Narrow)  # noqa: S101 - only sums of weights have limbs
    return Whole(amounts.least, amounts.parts[0]) if len(amounts.parts) == 1 else Whole(0, widen(amounts))


def _unless_zero(amounts: NarrowAmounts) -> Whole | None:
    is_zero = isinstance(amounts, Narrow) and not amounts.parts and amounts.least == 0
    return None if is_zero else _whole(amounts)
