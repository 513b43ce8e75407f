"""Declarations of the pooled metrics at a threshold, such as precision and recall over all rows.

A row is predicted positive if its score is at least the threshold. These metrics add up rows instead of score bins,
because a threshold inside a bin would be rounded to an edge of the bin.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from sparkrank.histogram.scored_rows import RowSum
from sparkrank.metrics.group_auc import ONE_CLASS
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


def _sums(metric: Metric) -> tuple[RowSum, ...]:
    threshold = metric.number("threshold")
    return (
        WEIGHT,
        positives_of(metric),
        RowSum("predicted", threshold=threshold),
        RowSum("true_positives", rel=metric.rel, threshold=threshold),
    )


def _confusion(totals: PooledTotals, metric: Metric) -> dict[str, float]:
    """Return the four cells of the confusion matrix: the total weight of the rows in each cell, by the cell's name."""
    weight, positives, predicted, tp = _sums(metric)
    return {
        "tp": totals.sum(tp),
        "fp": totals.sum(predicted, without=[tp]),
        "fn": totals.sum(positives, without=[tp]),
        "tn": totals.sum(weight, tp, without=[positives, predicted]),
    }


def _at_threshold(
    name: str,
    title: str,
    formula: str,
    undefined: str,
    quotient: Callable[[dict[str, float], Metric], tuple[float, float]],
    *carriers: Callable[[Metric], RowSum],
    **fields: Any,
) -> PooledMetric:
    """Declare a metric whose value is one number from the confusion matrix divided by another (see ``quotient``)."""

    def value(totals: PooledTotals, metric: Metric) -> PooledValue:
        part, whole = quotient(_confusion(totals, metric), metric)
        return PooledValue(part / whole if whole else math.nan)

    return PooledMetric(
        name=name,
        title=f"{title} over all rows at a threshold",
        formula=formula,
        undefined=undefined,
        sums=_sums,
        value=value,
        carriers=lambda metric: tuple(carrier(metric) for carrier in carriers),
        **{"reference": FAWCETT, "parameters": (THRESHOLD, REL), "interval": "wilson", **fields},
    )


def _share(
    name: str, formula: str, undefined: str, counts: str, *carriers: Callable[[Metric], RowSum], **fields: Any
) -> PooledMetric:
    """Declare a share of cells of the confusion matrix: for ``tp+tn fp fn``, it is (TP + TN) / (TP + TN + FP + FN)."""
    part, whole = counts.split(maxsplit=1)[0].split("+"), counts.replace("+", " ").split()
    title = fields.pop("title", name)

    def quotient(count: dict[str, float], _: Metric) -> tuple[float, float]:
        return sum(count[name] for name in part), sum(count[name] for name in whole)

    return _at_threshold(name, title, formula, undefined, quotient, *carriers, **fields)


def _balanced(count: dict[str, float], _: Metric) -> tuple[float, float]:
    positives, negatives = count["tp"] + count["fn"], count["tn"] + count["fp"]
    if not positives or not negatives:
        return math.nan, 0.0
    return count["tp"] / positives + count["tn"] / negatives, 2.0


def _correlation(count: dict[str, float], _: Metric) -> tuple[float, float]:
    """Return numerator and denominator of the correlation, from shares of all rows. Their products do not overflow."""
    rows = sum(count.values())
    if not rows:
        return math.nan, 0.0
    tp, fp, fn, tn = (count[name] / rows for name in ("tp", "fp", "fn", "tn"))
    whole = math.prod(map(math.sqrt, (tp + fp, tp + fn, tn + fp, tn + fn)))
    return max(-whole, min(tp * tn - fp * fn, whole)), whole


def _predicted(metric: Metric) -> RowSum:
    return RowSum("predicted", threshold=metric.number("threshold"))


def _f_measure(name: str, title: str, formula: str, beta: Callable[[Metric], float], **fields: Any) -> PooledMetric:
    def quotient(count: dict[str, float], metric: Metric) -> tuple[float, float]:
        """Return numerator and denominator of F, with TP/(TP+FP) and TP/(TP+FN) inserted, so that F is 0 if TP = 0."""
        square = beta(metric) * beta(metric)
        part = (square + 1) * count["tp"]
        return part, part + square * count["fn"] + count["fp"]

    return _at_threshold(
        name,
        title,
        f"(b²+1)·precision·recall / (b²·precision + recall){formula}",
        "no row is positive and none is predicted positive",
        quotient,
        positives_of,
        _predicted,
        reference="van Rijsbergen: Information Retrieval, 1979, ch. 7",
        interval="logit",
        **fields,
    )


DECLARATIONS = (
    _share("accuracy", "(TP + TN) / (P + N)", "no rows", "tp+tn fp fn", lambda _: WEIGHT, is_row_mean=True),
    _share(
        "precision",
        "TP / (TP + FP)",
        "no row is predicted positive",
        "tp fp",
        _predicted,
        reference=MANNING,
        others=(("at_recall", "precision_at_recall"),),
    ),
    _share(
        "recall",
        "TP / P",
        "P = 0",
        "tp fn",
        positives_of,
        reference=MANNING,
        others=(("at_precision", "recall_at_precision"),),
    ),
    _share("specificity", "TN / N", "N = 0", "tn fp", negatives_of),
    _share("fpr", "FP / N", "N = 0", "fp tn", negatives_of, title="false positive rate", higher_is_better=False),
    _share(
        "tpr",
        "TP / P",
        "P = 0",
        "tp fn",
        positives_of,
        title="true positive rate (recall)",
        others=(("at_fpr", "tpr_at_fpr"),),
    ),
    _at_threshold(
        "balanced_accuracy",
        "balanced accuracy",
        "(TP/P + TN/N) / 2",
        ONE_CLASS,
        _balanced,
        positives_of,
        negatives_of,
        reference="Brodersen et al.: ICPR 2010; scikit-learn: balanced_accuracy_score",
        interval="logit",
    ),
    _at_threshold(
        "mcc",
        "Matthews correlation of labels and predictions",
        "(TP·TN - FP·FN) / √((TP+FP)·(TP+FN)·(TN+FP)·(TN+FN))",
        f"{ONE_CLASS}; or all rows or none are predicted positive",
        _correlation,
        positives_of,
        negatives_of,
        reference="Matthews: Biochimica et Biophysica Acta 1975; scikit-learn: matthews_corrcoef, which gives "
        "0 where it is undefined here",
        lowest=-1.0,
        interval="t",
    ),
    _f_measure("f1", "F1", " with b = 1", lambda _: 1.0),
    _f_measure("fbeta", "F-measure", "", lambda metric: metric.number("beta"), parameters=(THRESHOLD, BETA, REL)),
)
