"""Declarations of the area under the ROC curve inside groups; their kernels are in :mod:`sparkrank.kernels.auc`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sparkrank.kernels import auc as kernel
from sparkrank.kernels.hit_sums import HitSums
from sparkrank.kernels.judgments import Floats
from sparkrank.metrics.common import weight
from sparkrank.metrics.declaration import GroupMetric
from sparkrank.metrics.parameters import Choice, Name
from sparkrank.metrics.precision import REL, hits

if TYPE_CHECKING:
    from sparkrank.metrics.metric import Metric

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
    positives, negatives = kernel.class_counts(hits)
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
        values=lambda hits, metric: kernel.group_auc(hits, metric.word("tied")),
        weights=_weights,
    )


GROUP_AUC = _group_auc("group_auc", "AUC inside each group", "uniform", "Hanley, McNeil: Radiology 1982")
GAUC = _group_auc("gauc", "AUC inside each group, weighted by rows", "rows", DIN)

DECLARATIONS = (GROUP_AUC, GAUC)
