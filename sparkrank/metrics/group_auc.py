"""The area under the ROC curve inside groups, by the rank sum. That over all rows is in
:mod:`sparkrank.metrics.discrimination`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sparkrank.metrics.kinds import GroupMetric
from sparkrank.metrics.parameters import Choice, Name, weight
from sparkrank.metrics.precision import REL, hits, ratio
from sparkrank.numeric.array_types import Floats
from sparkrank.numeric.cached import cached
from sparkrank.ranking.hit_sums import HitSums

if TYPE_CHECKING:
    from sparkrank.metrics.metric import Metric


@cached
def class_counts(hits: HitSums) -> tuple[Floats, Floats]:
    """Relevant and non-relevant rows of each list (distinct); rows without a score stand in no pair."""
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


ONE_CLASS = "R·N = 0 (one class only)"
DIN = "Zhou et al.: Deep Interest Network, KDD 2018 (GAUC)"


TIED = Choice("tied", "half", "what a tied pair counts: half = 1/2; zero", choices=("half", "zero"))


def _weight(default: str) -> Name:
    return weight(
        default,
        "uniform = 1; else its listed rows, its relevant ones, or its pairs",
        ("uniform", "rows", "positives", "pairs"),
        (("relevant", "positives"),),
    )


def _weights(hits: HitSums, metric: Metric) -> Floats | None:
    positives, negatives = class_counts(hits)
    match metric.word("weight"):
        case "rows":
            return positives + negatives
        case "positives":
            return positives
        case "pairs":
            return positives * negatives
    return None


def _group_auc(name: str, title: str, weighs: str, reference: str) -> GroupMetric:
    return GroupMetric(
        name=name,
        title=title,
        formula="share of (relevant, non-relevant) pairs of the list in the right order, a tied pair counting 1/2",
        undefined=ONE_CLASS,
        reference=reference,
        cutoff="none",
        parameters=(_weight(weighs), TIED, REL),
        common=(),
        refused=(("ties", "tied says what a tied pair counts"),),
        sums=hits,
        values=lambda hits, metric: group_auc(hits, metric.word("tied")),
        weights=_weights,
    )


GROUP_AUC = _group_auc("group_auc", "AUC inside each group", "uniform", "Hanley, McNeil: Radiology 1982")
GAUC = _group_auc("gauc", "AUC inside each group, weighted by rows", "rows", DIN)

DECLARATIONS = (GROUP_AUC, GAUC)
