"""The upper hull of a curve of false and true positives: the isotonic fit of labels by score.

All scores between two corners of the hull have one fitted rate, their share of positives. Such scores are a pool of the
pool-adjacent-violators algorithm.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sparkrank.numeric.array_types import Flags, Floats
from sparkrank.numeric.segments import run_starts

# Two products of rounded differences differ by no more than this share of them if they are equal without rounding.
ROUNDING = 2.0**-50
# Products of multiples of this number up to 1 are exact, and so are their differences.
EXACT_UNIT = 2.0**-26
MOST_PASSES = 64  # over all points; the points left after them are decided one by one
UNITS = 2**1074  # of which each float64 is a multiple


@dataclass(frozen=True)
class UpperHull:
    """The points of a curve that may be corners of its upper hull, from (0, 0), in ascending order of both numbers.

    Points that are certainly not corners are left out. Whole numbers decide about the others when the hull is read, so
    that the same curve gives the same bits for all divisions.
    """

    fp: Floats
    tp: Floats

    @classmethod
    def of(cls, fp: Floats, tp: Floats) -> UpperHull:
        """Return the hull of the points (``fp``, ``tp``), which must ascend in both."""
        first = run_starts(fp, tp)
        fp, tp = fp[first], tp[first]
        for _ in range(MOST_PASSES):
            stays = np.ones(len(fp), np.bool_)
            stays[1:-1] = ~_below(fp, tp)
            if stays.all():
                break
            fp, tp = fp[stays], tp[stays]
        return cls(fp, tp)

    @classmethod
    def merged(cls, parts: Sequence[UpperHull]) -> UpperHull:
        """Return the hull of the points of ``parts``, hulls of successive parts of the curve."""
        return cls.of(*(np.concatenate([getattr(part, name) for part in parts]) for name in ("fp", "tp")))

    def squared_error(self) -> float:
        """Return the squared error of the fit: Σ p·n / (p + n) for p positives and n negatives between two corners."""
        fp, tp = self._corners()
        pos, neg = np.diff(tp), np.diff(fp)
        return math.fsum((pos * (neg / (pos + neg))).tolist())

    def _corners(self) -> tuple[Floats, Floats]:
        corners: list[tuple[int, int]] = []
        kept: list[int] = []
        points = [(0.0, 0.0), *zip(self.fp.tolist(), self.tp.tolist(), strict=True)]
        for place, point in enumerate(points):
            x, y = map(_whole, point)
            if corners and (x, y) == corners[-1]:
                continue
            while len(corners) > 1 and _turns_left(corners[-2], corners[-1], (x, y)):
                corners.pop()
                kept.pop()
            corners.append((x, y))
            kept.append(place)
        fp, tp = np.array([points[place] for place in kept]).T
        return fp, tp


def _below(fp: Floats, tp: Floats) -> Flags:
    """Return flags of the inner points that are certainly no corners: on or below the line between their neighbours."""
    left, right = np.diff(fp), np.diff(tp)
    one, other = right[:-1] * left[1:], right[1:] * left[:-1]
    is_exact = all(np.array_equal(points, np.rint(points / EXACT_UNIT) * EXACT_UNIT) for points in (fp, tp))
    return other >= one if is_exact else other > one + ROUNDING * (one + other)


def _whole(number: float) -> int:
    part, unit = number.as_integer_ratio()
    return part * (UNITS // unit)


def _turns_left(first: tuple[int, int], second: tuple[int, int], third: tuple[int, int]) -> bool:
    """Return whether ``second`` is on the line between the other two points or below it."""
    (x0, y0), (x1, y1), (x2, y2) = first, second, third
    return (y1 - y0) * (x2 - x1) <= (y2 - y1) * (x1 - x0)
