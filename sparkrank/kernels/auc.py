"""The area under the ROC curve of each group, by the rank sum (of a day: :mod:`sparkrank.kernels.walk`)."""

from __future__ import annotations

import numpy as np

from sparkrank.kernels.hit_sums import HitSums
from sparkrank.kernels.judgments import Floats
from sparkrank.kernels.precision import ratio
from sparkrank.kernels.remember import remembered


@remembered
def class_counts(hits: HitSums) -> tuple[Floats, Floats]:
    """Relevant and non-relevant rows of each list (kinds); rows without a score stand in no pair."""
    positives = hits.retrieved_relevant().astype(np.float64)
    return positives, hits.length - positives


def group_auc(hits: HitSums, tied: str = "half") -> Floats:
    """The share of (relevant, non-relevant) pairs in the right order, a tied pair counting 1/2, or 0.

    By the rank sum of Mann and Whitney with mid-ranks: every term is a whole number of halves, so it is exact.
    Undefined where a group has one class only.
    """
    positives, negatives = class_counts(hits)
    pairs = positives * negatives
    lower = pairs + positives * (positives + 1) / 2 - hits.mid_rank_sum()
    if tied == "zero":
        lower -= hits.tied_pairs() / 2
    return ratio(lower, pairs)
