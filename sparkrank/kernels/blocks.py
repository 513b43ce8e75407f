"""Score blocks: the rows of a day whose scores fall together, by a rule that never looks at the range of the scores.

A block is named by a whole number that orders blocks as their scores order: the bits of the block's own score, read
as a float64 and arranged so that they compare as integers do. So any range works, logits and infinities too, and
blocks made on different machines and days meet without having to agree on edges.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparkrank.kernels.exact import Amounts, exact_sums
from sparkrank.kernels.judgments import Floats
from sparkrank.kernels.order import Flags, Ints, run_starts, stable_order
from sparkrank.kernels.segments import WHOLE, Segments

MANTISSA_BITS = 52
EXPONENT = np.int64(0x7FF << MANTISSA_BITS)  # the bits of a float64 that hold its exponent
MOST_BINS = 10**6
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
    def parse(cls, text: str) -> BlockRule:
        """The rule that ``str`` wrote as ``text``."""
        form, _, rel = text.partition(",rel=")
        kind, _, size = form.partition("=")
        return cls(kind, int(size or 0), float(rel) if rel else None)

    def codes(self, scores: NDArray[np.floating[Any]]) -> Codes:
        """The block of each of ``scores`` (no NaN)."""
        wide = scores.astype(np.float64)
        if self.kind == "bins":
            wide = np.clip(wide, 0.0, 1.0)
            whole = np.floor(wide * self.size).astype(np.int64)
            whole += wide >= (whole + 1) / self.size  # the product may have been rounded over an edge
            whole -= wide < whole / self.size
            np.minimum(whole, self.size - 1, out=whole)
            return Codes(whole, whole / self.size, lambda codes: block_numbers(codes / self.size))
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
        if self.kind == "bins":
            return np.full(len(snapped), 1.0 / self.size)
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


@dataclass(frozen=True)
class InPlace:
    """Rows of blocks that lie close together, counted without sorting (5 ns a row).

    ``block`` are the block numbers in ascending order and ``rows`` the rows of each; ``starts`` (segments + 1) is where
    the blocks of each segment begin. ``place`` is each row's of ``span`` places, ``kept`` the places that hold rows.
    """

    block: Ints
    rows: Ints
    starts: Ints
    place: Ints
    span: int
    kept: Ints

    def count(self, flags: Flags) -> Ints:
        """The rows of each block where ``flags``."""
        counts: Ints = np.bincount(self.place[flags], minlength=self.span)[self.kept]
        return counts

    def sum(self, amounts: Floats) -> Floats:
        """The sum of ``amounts`` (one a row) over each block."""
        sums = np.bincount(self.place, weights=amounts, minlength=self.span)[self.kept]
        return np.asarray(sums, np.float64)


@dataclass(frozen=True)
class Sorted:
    """Rows of blocks that lie far apart, sorted (15 ns a row).

    ``order`` sorts the rows by block, and ``first`` is where each block begins in it.
    """

    block: Ints
    rows: Ints
    starts: Ints
    order: Ints
    first: Ints

    def count(self, flags: Flags) -> Ints:
        return np.add.reduceat(flags[self.order].astype(np.int64), self.first)

    def sum(self, amounts: Floats) -> Floats:
        return np.add.reduceat(amounts[self.order], self.first)


class Counted(NamedTuple):
    """Rows counted by block, blocks in ascending order: see :class:`sparkrank.states.ScoreBlocks`."""

    block: Ints
    pos: Amounts
    neg: Amounts
    offset: Amounts
    weighted_rows: Ints | None = None


def count_blocks(
    rule: BlockRule,
    scores: NDArray[np.floating[Any]],
    flags: Flags,
    sums: bool,
    weights: Floats | None = None,
    segments: Segments = WHOLE,
) -> list[Counted]:
    """The blocks of the ``scores`` of each segment in ascending order, ``flags`` telling the positives.

    ``offset`` is the sum over the block's rows of score minus block score, in units of the block's width / 2^32; it
    is left 0 where ``sums`` is false. With ``weights`` (one a row, from 0), positives, negatives and offsets are sums
    of them, in limbs.
    """
    if rule.kind == "bins":
        scores = np.clip(scores, 0.0, 1.0)
    codes = rule.codes(scores)
    if len(codes.code) == 0:
        none = np.empty(0, np.int64)
        return [Counted(none, none, none, none, None if weights is None else none)] * segments.count
    steps = _steps_inside(rule, scores, codes.snapped) if sums and rule.kind != "exact" else None
    cells = _cells(codes, segments)
    if weights is not None:
        count = len(cells.block)
        pos = exact_sums(np.where(flags, weights, 0.0), count, cells.sum)
        offset = np.zeros_like(pos) if steps is None else exact_sums(weights * steps, count, cells.sum)
        neg = exact_sums(weights, count, cells.sum) - pos
        return _by_segment(cells, pos, neg, offset, cells.rows)
    positives = cells.count(flags)
    # whole numbers below 2^53 in all, so float64 adds them exactly
    offsets = np.zeros_like(positives) if steps is None else cells.sum(steps).astype(np.int64)
    return _by_segment(cells, positives, cells.rows - positives, offsets)


def _by_segment(
    cells: InPlace | Sorted, pos: Amounts, neg: Amounts, offset: Amounts, rows: Ints | None = None
) -> list[Counted]:
    """Blocks that stand segment after segment, apart."""
    return [
        Counted(cells.block[a:z], pos[a:z], neg[a:z], offset[a:z], None if rows is None else rows[a:z])
        for a, z in itertools.pairwise(cells.starts.tolist())
    ]


def _cells(codes: Codes, segments: Segments) -> InPlace | Sorted:
    """The rows by segment and block, in the cheaper of the two ways."""
    code = codes.code
    lowest = int(code.min())
    span = int(code.max()) - lowest + 1
    places = span * segments.count
    if places <= DENSE_BLOCKS_PER_ROW * len(code):
        place = code - lowest
        if segments.code is not None:
            place += segments.code * np.int64(span)
        rows = np.bincount(place, minlength=places)
        kept = np.flatnonzero(rows)
        starts = np.searchsorted(kept, np.arange(segments.count + 1) * span)
        return InPlace(codes.numbers(kept % span + lowest), rows[kept], starts, place, places, kept)
    order = np.argsort(code)
    if segments.code is None:
        first = run_starts(code[order])
        starts = np.array([0, len(first)])
    else:
        order = stable_order(segments.code, order)
        of = segments.code[order]
        first = run_starts(code[order], of)
        starts = np.searchsorted(of[first], np.arange(segments.count + 1))
    return Sorted(codes.numbers(code[order][first]), np.diff(first, append=len(code)), starts, order, first)


def _steps_inside(rule: BlockRule, scores: NDArray[np.floating[Any]], snapped: Floats) -> Floats:
    """How far each score lies inside its block, in whole units of the block's width / 2^32."""
    unit = rule.width(snapped) / OFFSET_UNITS
    inside = (unit > 0) & np.isfinite(scores)  # nothing lies inside a block of a single score
    steps = np.subtract(scores, snapped, out=np.zeros(len(scores)), where=inside)
    np.divide(steps, unit, out=steps, where=inside)
    whole: Floats = np.rint(steps, out=steps)
    return whole


def score_sums(rule: BlockRule, block: Ints, weight: Floats, offset: Floats) -> Floats:
    """The sum of the scores of each block, from its ``weight`` (rows, where each weighs 1) and its ``offset``."""
    score = block_scores(block)
    inside = offset * (rule.width(score) / OFFSET_UNITS)
    with np.errstate(over="ignore"):  # scores near the largest float add up to infinity, as they must
        # rows at infinity that weigh 0 add nothing
        sums: Floats = inside + np.multiply(score, weight, out=np.zeros(len(score)), where=weight > 0)
    return sums
