"""Score blocks: the rows of a day whose scores fall together, by a rule that never looks at the range of the scores.

A block is named by a whole number that orders blocks as their scores order: the bits of the block's own score, read
as a float64 and arranged so that they compare as integers do. So any range works, logits and infinities too, and
blocks made on different machines and days meet without having to agree on edges.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sparkrank.kernels.judgments import Floats
from sparkrank.kernels.order import Flags, Ints, run_starts

MANTISSA_BITS = 52
EXPONENT = np.int64(0x7FF << MANTISSA_BITS)  # the bits of a float64 that hold its exponent
EXACT_WHOLE = 2.0**52  # from here on a float64 has no decimals left to round

# A row's place inside its block is kept in units of the block's width / 2^32, so that the scores of a block add up in
# whole numbers: exactly, in any order. 2^31 rows of one block fit, and a mean score is right to width / 2^33.
OFFSET_UNITS = 2.0**32


@dataclass(frozen=True)
class BlockRule:
    """Which scores share a block.

    ``bits``: scores that agree in sign, exponent and the first ``size`` bits of the mantissa, so blocks are
    2^-size wide relative to the score. ``digits``: scores that agree when rounded to ``size`` decimals. ``exact``:
    equal scores. 0.0 and -0.0 are one score under every rule. ``rel`` is the least relevant label; absent, any
    above 0.
    """

    kind: str
    size: int = 0
    rel: float | None = None

    def __str__(self) -> str:
        text = self.kind if self.kind == "exact" else f"{self.kind}={self.size}"
        return text if self.rel is None else f"{text},rel={self.rel:g}"

    def snap(self, scores: NDArray[np.floating]) -> Floats:
        """The score of the block of each of ``scores`` (no NaN), as float64."""
        wide = scores.astype(np.float64)
        if self.kind == "digits":
            decimals_left = np.abs(wide) < EXACT_WHOLE / 10.0**self.size
            wide[decimals_left] = np.round(wide[decimals_left], self.size)
        elif self.kind == "bits":
            dropped = MANTISSA_BITS - self.size
            wide = ((wide.view(np.int64) >> dropped) << dropped).view(np.float64)
        return wide + 0.0  # turns -0.0 into 0.0

    def width(self, snapped: Floats) -> Floats:
        """The width of the block of each snapped score, 0 where a block is a single score."""
        if self.kind == "exact":
            return np.zeros(len(snapped))
        if self.kind == "digits":
            return np.where(np.abs(snapped) < EXACT_WHOLE / 10.0**self.size, 10.0**-self.size, 0.0)
        power = (snapped.view(np.int64) & EXPONENT).view(np.float64)  # the power of two at or below each score
        return np.where(np.isfinite(power), power * 2.0**-self.size, 0.0)


def block_numbers(snapped: Floats) -> Ints:
    """Whole numbers that compare as the scores do."""
    bits = snapped.view(np.int64)
    return bits ^ ((bits >> 63) & np.int64(2**63 - 1))


def block_scores(numbers: Ints) -> Floats:
    """The score of each block: the inverse of :func:`block_numbers`."""
    return (numbers ^ ((numbers >> 63) & np.int64(2**63 - 1))).view(np.float64)


def count_blocks(
    rule: BlockRule, scores: NDArray[np.floating], flags: Flags, sums: bool
) -> tuple[Ints, Ints, Ints, Ints]:
    """The blocks of ``scores`` in ascending order: (block number, positives, negatives, offset).

    ``offset`` is the sum over the block's rows of score minus block score, in units of the block's width / 2^32; it
    is left 0 where ``sums`` is false, which spares half of the time.
    """
    snapped = rule.snap(scores)
    numbers = block_numbers(snapped)
    if sums:
        order = np.argsort(numbers)
        ordered = numbers[order]
    else:
        ordered = np.sort(numbers)
    first = run_starts(ordered)
    block = ordered[first]
    rows = np.diff(first, append=len(ordered))
    positive = np.sort(numbers[flags])
    first_positive = run_starts(positive)
    pos = np.zeros(len(block), np.int64)
    pos[np.searchsorted(block, positive[first_positive])] = np.diff(first_positive, append=len(positive))
    offset = np.zeros(len(block), np.int64)
    if sums and len(block) and rule.kind != "exact":
        offset = np.add.reduceat(_steps_inside(rule, scores, snapped)[order], first)
    return block, pos, rows - pos, offset


def _steps_inside(rule: BlockRule, scores: NDArray[np.floating], snapped: Floats) -> Ints:
    """How far each score lies inside its block, in whole units of the block's width / 2^32."""
    unit = rule.width(snapped) / OFFSET_UNITS
    inside = unit > 0
    steps = np.zeros(len(scores), np.int64)
    steps[inside] = np.rint((scores[inside] - snapped[inside]) / unit[inside])
    return steps


def score_sums(rule: BlockRule, block: Ints, rows: Ints, offset: Ints) -> Floats:
    """The sum of the scores of each block."""
    score = block_scores(block)
    return score * rows + offset * (rule.width(score) / OFFSET_UNITS)
