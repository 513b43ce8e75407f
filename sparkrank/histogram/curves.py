"""The points of the ROC and PR curves of a day, thinned so that they can be drawn and their area stays what it is.

Exact bins are made coarser first: few enough for one process, whatever the day.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sparkrank.histogram.bins import BinRule
from sparkrank.histogram.state import ScoreHistogram
from sparkrank.histogram.threshold_sweep import Sweep
from sparkrank.numeric.segments import run_starts
from sparkrank.numeric.types import Flags, Floats

AREA_MOVES = 1e-4  # how far thinning may move the area: what a plot, or a third decimal, cannot show


@dataclass(frozen=True)
class Points:
    """Points in the order of falling ``threshold``: a row with that score or a higher one is taken."""

    x: Floats
    y: Floats
    threshold: Floats

    def kept(self, which: Flags) -> Points:
        return Points(self.x[which], self.y[which], self.threshold[which])


def roc_points(sweep: Sweep, scores: Floats) -> Points:
    """FPR and TPR at the score of each block, after the point of the threshold that takes nothing. None with one class
    only.
    """
    if not sweep.positives or not sweep.negatives:
        return _none()
    return Points(
        np.append(0.0, sweep.fp / sweep.negatives),
        np.append(0.0, sweep.tp / sweep.positives),
        np.append(np.inf, scores),
    )


def roc_area(points: Points) -> float:
    """By trapezoids: a block that takes both classes draws a diagonal."""
    return float(np.sum(np.diff(points.x) * (points.y[1:] + points.y[:-1]) / 2))


def pr_points(sweep: Sweep, scores: Floats) -> Points:
    """Recall and precision at the score of each block. None without positives."""
    if not sweep.positives:
        return _none()
    taken = sweep.tp + sweep.fp
    precision = np.divide(sweep.tp, taken, out=np.ones(len(taken)), where=taken > 0)
    return Points(sweep.tp / sweep.positives, precision, scores)


def pr_area(points: Points) -> float:
    """By steps: each step of recall at the precision at its end, as average precision has it."""
    return float(np.sum(np.diff(points.x, prepend=0.0) * points.y))


def thinned(points: Points, most: int, area: Callable[[Points], float]) -> Points:
    """At most ``most`` of ``points``, at equal steps along the curve; more where the area would move by more than
    :data:`AREA_MOVES`.

    Of each step the first point stays, and of a jump to another step both ends. PR curves of large days keep more:
    their area is one of steps, each at the precision of its end, so it falls with every point that is left out.
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
        kept = points.kept(opens | np.append(jumps & opens[1:], True))
        if abs(area(kept) - whole) <= AREA_MOVES:
            return kept
        steps *= 2
    return points


def _none() -> Points:
    return Points(np.empty(0), np.empty(0), np.empty(0))


# 16,384 blocks for each doubling of the score: some hundred thousand for a day, each 6e-5 of its score wide.
SKETCH_BITS = 14


def sketched(blocks: ScoreHistogram) -> ScoreHistogram:
    """``blocks`` of single scores joined to those of the rule ``bits``; without sums of scores."""
    rule = BinRule("bits", SKETCH_BITS, blocks.rule.rel)
    if len(blocks.block) == 0:
        return ScoreHistogram.empty(rule)
    number = rule.numbers(blocks.score)
    first = run_starts(number)  # blocks stand by ascending score, and so do the coarser ones

    pos, neg = (np.add.reduceat(each, first) for each in (blocks.pos, blocks.neg))
    count = None if blocks.count is None else np.add.reduceat(blocks.count, first)
    return ScoreHistogram(rule, number[first], pos, neg, np.zeros_like(pos), count)
