"""Score blocks: the rows of a day whose scores fall together, by a rule that never looks at the range of the scores.

A block is named by a whole number that orders blocks as their scores order: the bits of the block's own score, read
as a float64 and arranged so that they compare as integers do. So any range works, logits and infinities too, and
blocks made on different machines and days meet without having to agree on edges.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

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


# Blocks are counted in place where they span no more than this many for each row: an array that stays in the cache.
DENSE_BLOCKS_PER_ROW = 4


@dataclass(frozen=True)
class Codes:
    """The block of each score: a ``code`` that orders blocks as scores do, and the ``snapped`` score of the block.

    ``numbers`` turns codes into block numbers.
    """

    code: Ints
    snapped: Floats
    numbers: Callable[[Ints], Ints]


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
        if self.rel is None:
            return text
        short = f"{self.rel:g}"
        return f"{text},rel={short if float(short) == self.rel else repr(self.rel)}"

    @classmethod
    def parse(cls, text: str) -> BlockRule:
        """The rule that ``str`` wrote as ``text``."""
        form, _, rel = text.partition(",rel=")
        kind, _, size = form.partition("=")
        return cls(kind, int(size or 0), float(rel) if rel else None)

    def codes(self, scores: NDArray[np.floating[Any]]) -> Codes:
        """The block of each of ``scores`` (no NaN)."""
        wide = scores.astype(np.float64)
        if self.kind == "digits":
            scale = 10.0**self.size
            decimals_left = np.abs(wide) < EXACT_WHOLE / scale
            if decimals_left.all():
                whole = np.rint(wide * scale).astype(np.int64)
                return Codes(whole, whole / scale, lambda codes: block_numbers(codes / scale))
            wide[decimals_left] = np.rint(wide[decimals_left] * scale) / scale
        dropped = MANTISSA_BITS - self.size if self.kind == "bits" else 0
        if dropped:
            wide = ((wide.view(np.int64) >> dropped) << dropped).view(np.float64)
        snapped = wide + 0.0  # turns -0.0 into 0.0
        filled = np.int64((1 << dropped) - 1)  # numbers of negative scores end in ones, those of others in zeros
        return Codes(
            block_numbers(snapped) >> dropped,
            snapped,
            lambda codes: (codes << dropped) | np.where(codes < 0, filled, 0),
        )

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
    rule: BlockRule, scores: NDArray[np.floating[Any]], flags: Flags, sums: bool
) -> tuple[Ints, Ints, Ints, Ints]:
    """The blocks of ``scores`` in ascending order: (block number, positives, negatives, offset).

    ``offset`` is the sum over the block's rows of score minus block score, in units of the block's width / 2^32; it
    is left 0 where ``sums`` is false. Where the blocks lie close together they are counted in place (5 ns a row),
    elsewhere by sorting (15 ns).
    """
    codes = rule.codes(scores)
    code = codes.code
    if len(code) == 0:
        return code, code, code, code
    steps = _steps_inside(rule, scores, codes.snapped) if sums and rule.kind != "exact" else None
    lowest = int(code.min())
    span = int(code.max()) - lowest + 1
    if span <= DENSE_BLOCKS_PER_ROW * len(code):
        place = code - lowest
        rows = np.bincount(place, minlength=span)
        block = np.flatnonzero(rows)
        pos = np.bincount(place[flags], minlength=span)[block]
        # whole numbers below 2^53 in all, so float64 adds them exactly
        offset = None if steps is None else np.bincount(place, weights=steps, minlength=span)[block].astype(np.int64)
        rows, block = rows[block], block + lowest
    else:
        order = np.argsort(code)
        first = run_starts(code[order])
        block, rows = code[order][first], np.diff(first, append=len(code))
        pos = np.add.reduceat(flags[order].astype(np.int64), first)
        offset = None if steps is None else np.add.reduceat(steps[order], first)
    return codes.numbers(block), pos, rows - pos, np.zeros_like(pos) if offset is None else offset


def _steps_inside(rule: BlockRule, scores: NDArray[np.floating[Any]], snapped: Floats) -> Ints:
    """How far each score lies inside its block, in whole units of the block's width / 2^32."""
    unit = rule.width(snapped) / OFFSET_UNITS
    inside = unit > 0  # nothing lies inside a block of a single score, an infinite one among them
    steps = np.subtract(scores, snapped, out=np.zeros(len(scores)), where=inside)
    np.divide(steps, unit, out=steps, where=inside)
    whole: Ints = np.rint(steps).astype(np.int64)
    return whole


def score_sums(rule: BlockRule, block: Ints, rows: Ints, offset: Ints) -> Floats:
    """The sum of the scores of each block."""
    score = block_scores(block)
    return score * rows + offset * (rule.width(score) / OFFSET_UNITS)
