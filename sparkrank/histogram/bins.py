"""The rules that assign scores to bins. No rule depends on the range of the scores.

Each bin has a representative score. The number of a bin is the bit pattern of this score as a float64, rearranged so
that numbers sort like scores. So the bins of all machines and days match without an exchange of edges.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparkrank.numeric.array_types import Floats, Ints
from sparkrank.numeric.ordered_integers import (
    EXACT_WHOLE,
    EXPONENT,
    OFFSET_UNITS,
    Bins,
    Coding,
    Decimals,
    LeadingBits,
    Range,
    WideDecimals,
    bin_scores,
)

MOST_BINS = 10**6


@dataclass(frozen=True)
class BinRule:
    """A rule that assigns scores to bins. ``kind`` names the rule. 0.0 and -0.0 always share a bin.

    By ``bits``, scores share a bin if they agree in sign, exponent and ``size`` bits of the mantissa. By ``digits``,
    scores share a bin if they are equal when rounded to ``size`` decimals. By ``bins``, there are ``size`` bins of
    equal width from 0 to 1; a bin contains its lower edge, the last bin also its upper edge, and scores outside [0, 1]
    belong to the nearest bin. By ``exact``, only equal scores share a bin. ``rel`` is the lowest relevant label; if it
    is None, all labels above 0 are relevant. ``judging`` names the label, if there are several, and the included rows,
    in the syntax of metrics.

    Examples
    --------
    >>> import numpy as np
    >>> from sparkrank.metrics import BinRule
    >>> rule = BinRule.parse("digits=2")
    >>> rule.snapped(np.array([0.123, 0.118, 0.126])).tolist()
    [0.12, 0.12, 0.13]
    """

    kind: str
    size: int = 0
    rel: float | None = None
    judging: str = ""

    def __str__(self) -> str:
        text = self.kind if self.kind == "exact" else f"{self.kind}={self.size}"
        if self.rel is not None:
            short = f"{self.rel:g}"
            text += f",rel={short if float(short) == self.rel else repr(self.rel)}"
        return f"{text},{self.judging}" if self.judging else text

    @classmethod
    def parse(cls, text: str) -> BinRule:
        form, comma, judging = (text + ",").partition(",label=" if ",label=" in text else ",among=")
        judging = f"{comma}{judging}".strip(",")
        form, _, rel = form.strip(",").partition(",rel=")
        kind, _, size = form.partition("=")
        return cls(kind, int(size or 0), float(rel) if rel else None, judging)

    def coding(self, scores: Range) -> Coding:
        if self.kind == "bins":
            return Bins(self.size, scores)
        if self.kind == "digits":
            # half the range in which float64 has such decimals, so that rounding never moves a score out of it
            few = max(abs(scores.lowest), abs(scores.highest)) < EXACT_WHOLE / 10.0**self.size / 2
            return Decimals(self.size) if few else WideDecimals(self.size)
        return LeadingBits(self.size if self.kind == "bits" else None, scores)

    def numbers(self, scores: Floats) -> Ints:
        if len(scores) == 0:
            return np.empty(0, np.int64)
        coding = self.coding(Range.of(scores))
        return coding.numbers(coding.codes(scores))

    def snapped(self, scores: Floats) -> Floats:
        return bin_scores(self.numbers(scores))

    def width(self, snapped: Floats) -> Floats:
        """Return the width of each bin from ``snapped``, the bin scores; 0 if the bin is a single score."""
        if self.kind == "exact":
            return np.zeros(len(snapped))
        if self.kind == "bins":
            return np.full(len(snapped), 1.0 / self.size)
        if self.kind == "digits":
            return np.where(np.abs(snapped) < EXACT_WHOLE / 10.0**self.size, 10.0**-self.size, 0.0)
        power = (snapped.view(np.int64) & EXPONENT).view(np.float64)  # the power of two at or below each score
        return np.where(np.isfinite(power), power * 2.0**-self.size, 0.0)


def score_sums(rule: BinRule, bins: Ints, weight: Floats, offset: Floats) -> Floats:
    """Return the sum of scores in each bin: ``weight`` (or rows) · bin score + ``offset`` · width of the bin / 2^32."""
    score = bin_scores(bins)
    inside = offset * (rule.width(score) / OFFSET_UNITS)
    with np.errstate(over="ignore"):  # scores near the largest float add up to infinity, which is right
        # rows with infinite scores and weight 0 are left out of the sum
        sums: Floats = inside + np.multiply(score, weight, out=np.zeros(weight.shape), where=weight > 0)
    return sums
