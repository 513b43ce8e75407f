"""Metrics of all rows by their order of scores, row by row."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence


def capture(top: float, labels: Sequence[bool], scores: Sequence[float], weights: Iterable[float] | None) -> float:
    """The share of the positives in the highest ``top`` of all rows; of tied rows the share that has room."""
    weighed = [1.0] * len(scores) if weights is None else [*weights]
    left, positives = top * math.fsum(weighed), 0.0
    for score in sorted(set(scores), reverse=True):
        tied = [place for place, other in enumerate(scores) if other == score]
        all_ = math.fsum(weighed[place] for place in tied)
        share = min(left / all_, 1.0) if all_ else 0.0
        positives += share * math.fsum(weighed[place] for place in tied if labels[place])
        left -= share * all_
    whole = math.fsum(weight for weight, label in zip(weighed, labels, strict=True) if label)
    return positives / whole if whole else math.nan


def calibration_gaps(
    run_of: Callable[[float, float], float],
    labels: Sequence[bool],
    scores: Sequence[float],
    weights: Iterable[float] | None,
) -> list[tuple[float, float]]:
    """The weight, and the distance of positives from scores, of runs of scores.

    ``run_of`` gives the run of a score, from the score and the share of the rows above its middle.
    """
    weighed = [1.0] * len(scores) if weights is None else [*weights]
    whole, above = math.fsum(weighed), 0.0
    runs: dict[float, tuple[float, float]] = {}
    for score in sorted(set(scores), reverse=True):
        tied = [place for place, other in enumerate(scores) if other == score]
        weight = math.fsum(weighed[place] for place in tied)
        run = run_of(score, (above + weight / 2) / whole)
        all_, gap = runs.get(run, (0.0, 0.0))
        positives = math.fsum(weighed[place] for place in tied if labels[place])
        runs[run] = all_ + weight, gap + positives - score * weight
        above += weight
    return [(weight, abs(gap)) for weight, gap in runs.values()]
