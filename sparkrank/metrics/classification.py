"""Declarations of the pooled metrics at a threshold: all rows judged as by a classifier that says yes or no.

They count rows, not score bins: a threshold inside a bin would be rounded to its edge.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from sparkrank.histogram.scored_rows import RowSum
from sparkrank.metrics.metric import Metric
from sparkrank.metrics.needs import WEIGHT, negatives_of, positives_of
from sparkrank.metrics.parameters import Number, Parameter
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
    share: Callable[[Confusion], tuple[float, float]],
    *,
    carrier: Callable[[Metric], RowSum],
    higher_is_better: bool = True,
    is_row_mean: bool = False,
    reference: str = FAWCETT,
) -> PooledMetric:
    """The metric that is the quotient of two counts."""

    def value(totals: PooledTotals, metric: Metric) -> PooledValue:
        part, whole = share(_confusion(totals, metric))
        return PooledValue(part / whole if whole else math.nan)

    return PooledMetric(
        name=name,
        title=f"{title} over all rows at a threshold",
        formula=formula,
        undefined=undefined,
        reference=reference,
        parameters=(THRESHOLD, REL),
        higher_is_better=higher_is_better,
        is_row_mean=is_row_mean,
        sums=_sums,
        value=value,
        interval="wilson",
        carriers=lambda metric: (carrier(metric),),
    )


def _predicted(metric: Metric) -> RowSum:
    return RowSum("predicted", threshold=metric.number("threshold"))


def _f(confusion: Confusion, beta: float) -> PooledValue:
    """(b²+1)PR/(b²P+R), with P = TP/(TP+FP) and R = TP/(TP+FN) put in: 0 where there is no hit."""
    part = (beta * beta + 1) * confusion.tp
    whole = part + beta * beta * confusion.fn + confusion.fp
    return PooledValue(part / whole if whole else math.nan)


def _f_measure(
    name: str, title: str, parameters: tuple[Parameter, ...], beta: Callable[[Metric], float]
) -> PooledMetric:
    return PooledMetric(
        name=name,
        title=title,
        formula="(b²+1)·precision·recall / (b²·precision + recall)" + ("" if name == "fbeta" else " with b = 1"),
        undefined="no row is positive and none is predicted positive",
        reference="van Rijsbergen: Information Retrieval, 1979, ch. 7",
        parameters=parameters,
        sums=_sums,
        value=lambda totals, metric: _f(_confusion(totals, metric), beta(metric)),
        interval="logit",
        carriers=lambda metric: (positives_of(metric), _predicted(metric)),
    )


NO_POSITIVE, NO_NEGATIVE = "P = 0", "N = 0"

DECLARATIONS = (
    _at_threshold(
        "accuracy",
        "accuracy",
        "(TP + TN) / (P + N)",
        "no rows",
        lambda c: (c.tp + c.tn, c.tp + c.tn + c.fp + c.fn),
        is_row_mean=True,
        carrier=lambda metric: WEIGHT,
    ),
    _at_threshold(
        "precision",
        "precision",
        "TP / (TP + FP)",
        "no row is predicted positive",
        lambda c: (c.tp, c.tp + c.fp),
        carrier=_predicted,
        reference=MANNING,
    ),
    _at_threshold(
        "recall",
        "recall",
        "TP / P",
        NO_POSITIVE,
        lambda c: (c.tp, c.tp + c.fn),
        carrier=positives_of,
        reference=MANNING,
    ),
    _at_threshold(
        "specificity", "specificity", "TN / N", NO_NEGATIVE, lambda c: (c.tn, c.tn + c.fp), carrier=negatives_of
    ),
    _at_threshold(
        "fpr",
        "false positive rate",
        "FP / N",
        NO_NEGATIVE,
        lambda c: (c.fp, c.tn + c.fp),
        carrier=negatives_of,
        higher_is_better=False,
    ),
    _at_threshold(
        "tpr",
        "true positive rate (recall)",
        "TP / P",
        NO_POSITIVE,
        lambda c: (c.tp, c.tp + c.fn),
        carrier=positives_of,
    ),
    _f_measure("f1", "F1 over all rows at a threshold", (THRESHOLD, REL), lambda metric: 1.0),
    _f_measure(
        "fbeta",
        "F-measure over all rows at a threshold",
        (THRESHOLD, BETA, REL),
        lambda metric: metric.number("beta"),
    ),
)
