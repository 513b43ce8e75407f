"""Integers (codes) in the order of score bins. There is one coding for each kind of bin rule.

Codes are small if possible, so that rows can be counted in an array indexed by code. The number of a bin does not
depend on the coding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from sparkrank import native
from sparkrank.numeric.array_types import Floats, Ints

MANTISSA_BITS = 52
EXPONENT = np.int64(0x7FF << MANTISSA_BITS)  # the bits of a float64 that hold its exponent
_ONE = np.int64(0x3FF << MANTISSA_BITS)  # the bits of 1.0
_WITHOUT_SIGN = np.int64(2**63 - 1)
EXACT_WHOLE = 2.0**52  # from here on a float64 has no fractional bits

# A row's offset inside its bin is in units of the bin's width / 2^32, so that the scores of a bin add up in whole
# numbers: exactly, in any order. 2^31 rows of one bin fit (:mod:`sparkrank.numeric.overflow` refuses larger sums), and
# a mean score is right to width / 2^33.
OFFSET_BITS = 32
OFFSET_UNITS = 2.0**OFFSET_BITS


class Range(NamedTuple):
    """The lowest and the highest score of an array."""

    lowest: float
    highest: float

    @classmethod
    def of(cls, scores: Floats) -> Range:
        if native.runs("range of scores"):
            return cls(*native.blocks.ends(np.ascontiguousarray(scores)))
        return cls(float(scores.min()), float(scores.max()))


class Coding(Protocol):
    """A mapping from the scores in a range to small integers (codes), and from codes to bin numbers."""

    def codes(self, scores: Floats) -> Ints:
        """Return the code of each score's bin. Codes are integers that ascend with the bins."""

    def numbers(self, codes: Ints) -> Ints:
        """Return the bin number of each of ``codes``."""

    def steps(self, scores: Floats, codes: Ints) -> Floats:
        """Return each score minus the score of its bin, in whole units of the bin's width / 2^32."""


def bin_numbers(snapped: Floats) -> Ints:
    bits = snapped.view(np.int64)
    if bits.min(initial=0) == 0:  # no score is negative: no new memory is needed
        return bits
    return bits ^ ((bits >> 63) & _WITHOUT_SIGN)


def bin_scores(numbers: Ints) -> Floats:
    return (numbers ^ ((numbers >> 63) & _WITHOUT_SIGN)).view(np.float64)


class LeadingBits:
    """Bins of scores with the same first ``size`` mantissa bits. If ``size`` is None, only equal scores share a bin."""

    def __init__(self, size: int | None, scores: Range) -> None:
        self.dropped = 0 if size is None else MANTISSA_BITS - size
        self._positive = scores.lowest > 0
        # Below this score a bin is so narrow that its unit is not a float64, and every offset is 0.
        narrow = 2.0 ** max(-1022, (size or 0) - 1042)
        self._wide = scores.lowest >= narrow
        self._narrow = narrow

    def codes(self, scores: Floats) -> Ints:
        if self._positive:
            return scores.view(np.int64) >> self.dropped
        codes = bin_numbers(scores) >> self.dropped
        codes[codes == -1] = 0  # -0.0, and scores that are cut to it
        return codes

    def numbers(self, codes: Ints) -> Ints:
        numbers: Ints = codes << self.dropped
        if codes.min(initial=0) < 0:
            filled = np.int64((1 << self.dropped) - 1)  # numbers of negative scores end in ones, all others in zeros
            numbers |= np.where(codes < 0, filled, 0)
        return numbers

    def steps(self, scores: Floats, codes: Ints) -> Floats:  # noqa: ARG002 - the bits of the scores suffice
        low = scores.view(np.int64) & np.int64((1 << self.dropped) - 1)
        low |= _ONE
        steps = low.view(np.float64)  # 1 plus the value of the dropped bits
        steps -= 1.0
        steps *= 2.0 ** (MANTISSA_BITS + OFFSET_BITS - self.dropped)
        np.rint(steps, out=steps)
        if not self._positive:
            np.copysign(steps, scores, out=steps)
        if not self._wide:
            steps *= np.abs(scores) >= self._narrow
        return steps


@dataclass(frozen=True)
class Decimals:
    """Bins of scores rounded to ``size`` decimals, for scores small enough to have so many decimals."""

    size: int

    def codes(self, scores: Floats) -> Ints:
        whole = scores * 10.0**self.size
        return np.rint(whole, out=whole).astype(np.int64)

    def numbers(self, codes: Ints) -> Ints:
        return bin_numbers(codes / 10.0**self.size)

    def steps(self, scores: Floats, codes: Ints) -> Floats:
        return _steps(scores, codes / 10.0**self.size, 10.0**self.size * OFFSET_UNITS)


@dataclass(frozen=True)
class WideDecimals:
    """Bins of scores rounded to ``size`` decimals, if some scores are infinite or too large for decimals."""

    size: int

    def codes(self, scores: Floats) -> Ints:
        snapped, scale = scores.copy(), 10.0**self.size
        decimals_left = np.abs(snapped) < EXACT_WHOLE / scale
        snapped[decimals_left] = np.rint(snapped[decimals_left] * scale) / scale
        snapped += 0.0  # turns -0.0 into 0.0
        return bin_numbers(snapped)

    def numbers(self, codes: Ints) -> Ints:
        return codes

    def steps(self, scores: Floats, codes: Ints) -> Floats:
        snapped = bin_scores(codes)
        inside = np.abs(snapped) < EXACT_WHOLE / 10.0**self.size  # elsewhere a bin is a single score
        steps = np.zeros(len(scores))
        steps[inside] = _steps(scores[inside], snapped[inside], 10.0**self.size * OFFSET_UNITS)
        return steps


@dataclass(frozen=True)
class Bins:
    """``size`` bins of equal width between 0 and 1. Scores outside that range belong to the nearest bin."""

    size: int
    scores: Range

    def codes(self, scores: Floats) -> Ints:
        inside = self._inside(scores)
        place = inside * self.size
        whole = np.floor(place)
        place -= whole
        rounding = self.size * 2.0**-52
        if not (place.min() > rounding and place.max() < 1 - rounding):
            # rounding may have moved a product over the edge of a bin
            whole += inside >= (whole + 1) / self.size
            whole -= inside < whole / self.size
            np.minimum(whole, self.size - 1, out=whole)
        return whole.astype(np.int64)

    def numbers(self, codes: Ints) -> Ints:
        return bin_numbers(codes / self.size)

    def steps(self, scores: Floats, codes: Ints) -> Floats:
        return _steps(self._inside(scores), codes / self.size, self.size * OFFSET_UNITS)

    def _inside(self, scores: Floats) -> Floats:
        if self.scores.lowest >= 0 and self.scores.highest <= 1:
            return scores
        return np.clip(scores, 0.0, 1.0)


def _steps(scores: Floats, snapped: Floats, units: float) -> Floats:
    """Return how far each score lies above its ``snapped`` score, as a whole multiple of 1 / ``units``."""
    steps = scores - snapped
    steps *= units
    return np.rint(steps, out=steps)
