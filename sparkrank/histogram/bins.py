"""Score blocks: the rows of a day whose scores fall together, by a rule that never looks at the range of the scores.

A block is named by a whole number that orders blocks as their scores order: the bits of the block's own score, read
as a float64 and arranged so that they compare as integers do. So any range works, logits and infinities too, and
blocks made on different machines and days meet without having to agree on edges.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparkrank.numeric.ordered_integers import (
    EXACT_WHOLE,
    EXPONENT,
    OFFSET_UNITS,
    Bins,
    Coding,
    Decimals,
    LeadingBits,
    Mixed,
    Range,
    bin_scores,
)
from sparkrank.numeric.types import Floats, Ints

MOST_BINS = 10**6


@dataclass(frozen=True)
class BinRule:
    """Which scores share a block.

    ``bits``: scores that agree in sign, exponent and the first ``size`` bits of the mantissa, so blocks are
    2^-size wide relative to the score. ``digits``: scores that agree when rounded to ``size`` decimals. ``exact``:
    equal scores. 0.0 and -0.0 are one score under every rule. ``rel`` is the least relevant label; absent, any
    above 0. ``bins``: ``size`` blocks of equal width between 0 and 1, each with its lower edge, the last with both; a
    score outside is taken to the nearest.
    """

    kind: str
    size: int = 0
    rel: float | None = None

    def __str__(self) -> str:
        text = self.kind if self.kind == "exact" else f"{self.kind}={self.size}"
        if self.rel is None:
            return text
        short = f"{self.rel:g}"
        return f"{text},rel={short if float(short) == self.rel else repr(self.rel)}"

    @classmethod
    def parse(cls, text: str) -> BinRule:
        """The rule that ``str`` wrote as ``text``."""
        form, _, rel = text.partition(",rel=")
        kind, _, size = form.partition("=")
        return cls(kind, int(size or 0), float(rel) if rel else None)

    def coding(self, scores: Range) -> Coding:
        """How scores of this range are numbered."""
        if self.kind == "bins":
            return Bins(self.size, scores)
        if self.kind == "digits":
            # half of what float64 holds: no score is rounded up to where it has no decimals left
            few = max(abs(scores.lowest), abs(scores.highest)) < EXACT_WHOLE / 10.0**self.size / 2
            return Decimals(self.size) if few else Mixed(self.size)
        return LeadingBits(self.size if self.kind == "bits" else None, scores)

    def numbers(self, scores: Floats) -> Ints:
        """The number of the block of each of ``scores`` (no NaN)."""
        if len(scores) == 0:
            return np.empty(0, np.int64)
        coding = self.coding(Range.of(scores))
        return coding.numbers(coding.codes(scores))

    def snapped(self, scores: Floats) -> Floats:
        """The score of the block of each of ``scores`` (no NaN)."""
        return bin_scores(self.numbers(scores))

    def width(self, snapped: Floats) -> Floats:
        """The width of the block of each snapped score, 0 where a block is a single score."""
        if self.kind == "exact":
            return np.zeros(len(snapped))
        if self.kind == "bins":
            return np.full(len(snapped), 1.0 / self.size)
        if self.kind == "digits":
            return np.where(np.abs(snapped) < EXACT_WHOLE / 10.0**self.size, 10.0**-self.size, 0.0)
        power = (snapped.view(np.int64) & EXPONENT).view(np.float64)  # the power of two at or below each score
        return np.where(np.isfinite(power), power * 2.0**-self.size, 0.0)


def score_sums(rule: BinRule, block: Ints, weight: Floats, offset: Floats) -> Floats:
    """The sum of the scores of each block, from its ``weight`` (rows, where each weighs 1) and its ``offset``."""
    score = bin_scores(block)
    inside = offset * (rule.width(score) / OFFSET_UNITS)
    with np.errstate(over="ignore"):  # scores near the largest float add up to infinity, as they must
        # rows at infinity that weigh 0 add nothing
        sums: Floats = inside + np.multiply(score, weight, out=np.zeros(len(score)), where=weight > 0)
    return sums
