"""Declarations of the pooled metrics at a threshold: all rows classified as positive or negative.

They count rows, not score bins: a threshold inside a bin would be rounded to its edge.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sparkrank.histogram.scored_rows import RowSum
from sparkrank.metrics.metric import Metric
from sparkrank.metrics.needs import WEIGHT, negatives_of, positives_of
from sparkrank.metrics.parameters import Number
from sparkrank.metrics.pooled_metric import PooledMetric, PooledTotals, PooledValue
from sparkrank.metrics.precision import LEAST_BETA, MANNING, MOST_BETA, REL

THRESHOLD = Number(
    "threshold", 0.5, "a row is predicted positive from this score on, compared as float64 whatever the score came as"
)
BETA = Number("beta", 1.0, "b, the weight of recall against precision", above=LEAST_BETA, below=MOST_BETA)
FAWCETT = "Fawcett: Pattern Recognition Letters 2006"


@dataclass(frozen=True)
class Confusion:
    """The confusion matrix of all rows: counts of rows, or sums of their weights."""

    tp: float
    fp: float
    fn: float
    tn: float


def _sums(metric: Metric) -> tuple[RowSum, ...]:
    threshold = metric.number("threshold")
    return (
        WEIGHT,
        positives_of(metric),
        RowSum("predicted", threshold=threshold),
        RowSum("true_positives", rel=metric.rel, threshold=threshold),
    )


def _confusion(totals: PooledTotals, metric: Metric) -> Confusion:
    weight, positives, predicted, tp = _sums(metric)
    return Confusion(
        tp=totals.sum(tp),
        fp=totals.sum(predicted, without=[tp]),
        fn=totals.sum(positives, without=[tp]),
        tn=totals.sum(weight, tp, without=[positives, predicted]),
    )


def _at_threshold(
    name: str,
    title: str,
    formula: str,
    undefined: str,
    share: Callable[[Confusion, Metric], tuple[float, float]],
    *carriers: Callable[[Metric], RowSum],
    **fields: Any,
) -> PooledMetric:
    """A metric that is the quotient of two sums of counts, given by ``share``."""

    def value(totals: PooledTotals, metric: Metric) -> PooledValue:
        part, whole = share(_confusion(totals, metric), metric)
        return PooledValue(part / whole if whole else math.nan)

    given: dict[str, Any] = {"reference": FAWCETT, "parameters": (THRESHOLD, REL), "interval": "wilson", **fields}
    return PooledMetric(
        name=name,
        title=f"{title} over all rows at a threshold",
        formula=formula,
        undefined=undefined,
        sums=_sums,
        value=value,
        carriers=lambda metric: tuple(carrier(metric) for carrier in carriers),
        **given,
    )


def _predicted(metric: Metric) -> RowSum:
    return RowSum("predicted", threshold=metric.number("threshold"))


def _f(confusion: Confusion, beta: float) -> tuple[float, float]:
    """(b²+1)PR/(b²P+R), with P = TP/(TP+FP) and R = TP/(TP+FN) substituted: 0 if there is no true positive."""
    part = (beta * beta + 1) * confusion.tp
    return part, part + beta * beta * confusion.fn + confusion.fp


def _f_measure(name: str, title: str, formula: str, beta: Callable[[Metric], float], **fields: Any) -> PooledMetric:
    return _at_threshold(
        name,
        title,
        f"(b²+1)·precision·recall / (b²·precision + recall){formula}",
        "no row is positive and none is predicted positive",
        lambda c, metric: _f(c, beta(metric)),
        positives_of,
        _predicted,
        reference="van Rijsbergen: Information Retrieval, 1979, ch. 7",
        interval="logit",
        **fields,
    )


DECLARATIONS = (
    _at_threshold(
        "accuracy",
        "accuracy",
        "(TP + TN) / (P + N)",
        "no rows",
        lambda c, _: (c.tp + c.tn, c.tp + c.tn + c.fp + c.fn),
        lambda _: WEIGHT,
        is_row_mean=True,
    ),
    _at_threshold(
        "precision",
        "precision",
        "TP / (TP + FP)",
        "no row is predicted positive",
        lambda c, _: (c.tp, c.tp + c.fp),
        _predicted,
        reference=MANNING,
    ),
    _at_threshold(
        "recall", "recall", "TP / P", "P = 0", lambda c, _: (c.tp, c.tp + c.fn), positives_of, reference=MANNING
    ),
    _at_threshold("specificity", "specificity", "TN / N", "N = 0", lambda c, _: (c.tn, c.tn + c.fp), negatives_of),
    _at_threshold(
        "fpr",
        "false positive rate",
        "FP / N",
        "N = 0",
        lambda c, _: (c.fp, c.tn + c.fp),
        negatives_of,
        higher_is_better=False,
    ),
    _at_threshold(
        "tpr", "true positive rate (recall)", "TP / P", "P = 0", lambda c, _: (c.tp, c.tp + c.fn), positives_of
    ),
    _f_measure("f1", "F1", " with b = 1", lambda _: 1.0),
    _f_measure("fbeta", "F-measure", "", lambda metric: metric.number("beta"), parameters=(THRESHOLD, BETA, REL)),
)
