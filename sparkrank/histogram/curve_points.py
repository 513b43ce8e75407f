"""The points of ROC and PR curves, reduced for drawing with hardly any change in the area under the curve."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sparkrank.histogram.bins import BinRule
from sparkrank.histogram.state import ScoreHistogram
from sparkrank.histogram.threshold_sweep import Extent, OperatingPoint, Sweep, value_of
from sparkrank.numeric.array_types import Flags, Floats

AREA_MOVES = 1e-4  # how far thinning may move the area: less than a plot or a third decimal shows


@dataclass(frozen=True)
class Points:
    """The points of a curve by descending ``threshold``. Rows with at least this score are predicted positive."""

    x: Floats
    y: Floats
    threshold: Floats

    def select(self, which: Flags) -> Points:
        return Points(self.x[which], self.y[which], self.threshold[which])


def roc_points(sweep: Sweep, scores: Floats) -> Points:
    """Return the point (0, 0), then the false and the true positive rate at the score of each bin.

    The result is empty if all rows are of one class.
    """
    if not sweep.positives or not sweep.negatives:
        return Points(*np.empty((3, 0)))
    return Points(
        np.append(0.0, sweep.fp / sweep.negatives),
        np.append(0.0, sweep.tp / sweep.positives),
        np.append(np.inf, scores),
    )


def roc_area(points: Points) -> float:
    """Return the area under the ROC curve by the trapezoidal rule. A bin with both classes is a diagonal segment."""
    return float(np.sum(np.diff(points.x) * (points.y[1:] + points.y[:-1]) / 2))


def pr_points(sweep: Sweep, scores: Floats) -> Points:
    """Return recall and precision at the score of each bin. The result is empty if the rows contain no positives."""
    if not sweep.positives:
        return Points(*np.empty((3, 0)))
    taken = sweep.tp + sweep.fp
    precision = np.divide(sweep.tp, taken, out=np.ones(len(taken)), where=taken > 0)
    return Points(sweep.tp / sweep.positives, precision, scores)


def pr_area(points: Points) -> float:
    """Return the average precision: the sum of each step of recall times the precision at the end of the step."""
    return float(np.sum(np.diff(points.x, prepend=0.0) * points.y))


def point_of(curve: str, best: OperatingPoint, day: Extent) -> Points:
    """Return ``best`` as a point of the ``curve`` ``roc`` or ``pr``. For ROC, ``day`` must include both classes.

    For PR, some relevant row must be predicted positive.
    """
    positives, negatives = (value_of(amount) * day.scale for amount in (day.pos, day.neg))
    tpr = best.tp / positives
    x, y = (best.fp / negatives, tpr) if curve == "roc" else (tpr, best.tp / (best.tp + best.fp))
    return Points(*np.array([[x], [y], [best.threshold]]))


def thinned(points: Points, most: int, area: Callable[[Points], float]) -> Points:
    """Return at most ``most`` of the ``points``, or more if the area would change by more than :data:`AREA_MOVES`.

    The curve is divided into steps of equal length. The result is the first point of each step and both ends of each
    jump.
    """
    count = len(points.x)
    if count <= most:
        return points
    along = np.cumsum(np.abs(np.diff(points.x, prepend=points.x[0])) + np.abs(np.diff(points.y, prepend=points.y[0])))
    whole = area(points)
    steps = max(most // 2 - 1, 1)
    while steps < count:
        step = np.floor(along * (steps / along[-1])) if along[-1] else np.zeros(count)
        opens = np.append(True, step[1:] != step[:-1])
        jumps = np.diff(along) * (2 * steps) > along[-1]
        thinner = points.select(opens | np.append(jumps & opens[1:], True))
        if abs(area(thinner) - whole) <= AREA_MOVES:
            return thinner
        steps *= 2
    return points


# 16,384 bins for each doubling of the score: some hundred thousand bins for a day, each 6e-5 of its score wide.
SKETCH_BITS = 14
SKETCHED_AT_ONCE = 2**17  # bins


def sketched(histogram: ScoreHistogram) -> ScoreHistogram:
    """Return the rows of ``histogram`` in coarser bins of the kind ``bits``, without score sums.

    Each bin of ``histogram`` must be a single score.
    """
    rule = BinRule("bits", SKETCH_BITS, histogram.rule.rel, histogram.rule.judging)
    starts = range(0, len(histogram.numbers), SKETCHED_AT_ONCE)
    parts = [histogram.part(start, start + SKETCHED_AT_ONCE).coarser(rule) for start in starts]
    return ScoreHistogram.empty(rule).merge(*parts)
