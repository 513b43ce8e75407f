"""Declarations of the pooled metrics of one threshold or a range of thresholds, such as recall at a given precision.

A threshold is the end of a score bin. Thresholds inside a bin could do better, by at most the error bound. The table
``curves`` contains the threshold of the best point of a curve.
"""

from __future__ import annotations

import math
from functools import partial

from sparkrank.histogram import threshold_sweep as kernel
from sparkrank.metrics.discrimination import DEFAULT_BITS, of_bins, rule_parameters, share_of_positives
from sparkrank.metrics.group_auc import ONE_CLASS
from sparkrank.metrics.metric import Metric
from sparkrank.metrics.parameters import Number, Parameter
from sparkrank.metrics.pooled_metric import PooledTotals, PooledValue
from sparkrank.metrics.precision import REL

LEAST_TOP = 1e-9  # lift divides by the share
TOP = Number(
    "top", 0.1, "share of all rows, by weight, that counts as the highest", above=LEAST_TOP, below=1.0, closed=True
)


def _rules(own: Number) -> tuple[Parameter, ...]:
    return (own, *rule_parameters(bits=DEFAULT_BITS), REL)


def _best(totals: PooledTotals, metric: Metric) -> PooledValue:
    """Return the best value at the end of a bin, with an error bound from the best possible threshold inside a bin.

    If the condition holds at no end of a bin, the highest value is minus infinity.
    """
    exact = bool(metric["exact"])
    value, inside = totals.highest
    if not totals.positives or math.isinf(value):
        return PooledValue(math.nan, 0.0 if exact else math.nan)
    return PooledValue(value, 0.0 if exact else inside - value)


def _tpr_at_fpr(totals: PooledTotals, metric: Metric) -> PooledValue:
    exact = bool(metric["exact"])
    if not totals.positives or not totals.negatives:
        return PooledValue(math.nan, 0.0 if exact else math.nan)
    value, inside = (max(highest, 0.0) for highest in totals.highest)  # a threshold above all scores gives 0
    return PooledValue(value, 0.0 if exact else inside - value)


def _partial_area(totals: PooledTotals, metric: Metric) -> PooledValue:
    exact = bool(metric["exact"])
    positives, negatives = (weight * kernel.magnified(weight) for weight in (totals.positives, totals.negatives))
    all_pairs = positives * negatives
    if not all_pairs:
        return PooledValue(math.nan, 0.0 if exact else math.nan)
    most = metric.number("max_fpr")
    by_chance = most * most / 2
    value, best, worst = totals.terms
    share = min(value / all_pairs, most)  # rounded sums may exceed the total in the last bit
    bound = 0.0 if exact else max(best - value, value - worst) / all_pairs / (most - by_chance) / 2
    return PooledValue((1 + (share - by_chance) / (most - by_chance)) / 2, bound)


def _lift(totals: PooledTotals, metric: Metric) -> PooledValue:
    captured, top = share_of_positives(totals, metric), metric.number("top")
    return PooledValue(captured.value / top, captured.error_bound / top)


_of_pr_curve = partial(of_bins, value=_best, interval="logit", point_of="pr")
_of_top = partial(
    of_bins,
    parameters=_rules(TOP),
    terms_by=lambda metric: partial(kernel.capture_terms, top=metric.number("top")),
    at_once=False,
)

DECLARATIONS = (
    of_bins(
        name="partial_auc",
        title="AUC over all rows for false positive rates up to a limit, on the scale of AUC",
        formula="(1 + (A - c²/2) / (c - c²/2)) / 2, c = max_fpr, A = area under the ROC curve where FPR <= c, with "
        "straight lines across bins",
        undefined=ONE_CLASS,
        reference="McClish: Medical Decision Making 1989; scikit-learn: roc_auc_score(max_fpr=c)",
        parameters=_rules(Number("max_fpr", 0.1, "c, the highest false positive rate", above=0.0, below=1.0)),
        terms_by=lambda metric: partial(kernel.partial_roc_terms, max_fpr=metric.number("max_fpr")),
        value=_partial_area,
        interval="logit",
    ),
    _of_pr_curve(
        name="recall_at_precision",
        title="highest recall over all rows at which precision is kept",
        formula="max over thresholds of TP/P, of those with TP/(TP+FP) >= c, c = precision",
        undefined="P = 0, or no threshold has that precision",
        reference="torchmetrics: BinaryRecallAtFixedPrecision, 0 where no threshold has that precision",
        parameters=_rules(
            Number(
                "precision",
                0.9,
                "c, the lowest precision, compared as float64",
                aliases=("at_precision",),
                above=0.0,
                below=1.0,
                closed=True,
            )
        ),
        terms_by=lambda metric: partial(kernel.recall_at_precision_terms, precision=metric.number("precision")),
    ),
    _of_pr_curve(
        name="precision_at_recall",
        title="highest precision over all rows at which recall is kept",
        formula="max over thresholds of TP/(TP+FP), of those with TP/P >= c, c = recall",
        reference="torchmetrics: BinaryPrecisionAtFixedRecall",
        parameters=_rules(
            Number(
                "recall",
                0.8,
                "c, the lowest recall, compared as float64",
                aliases=("at_recall",),
                above=0.0,
                below=1.0,
                closed=True,
            )
        ),
        terms_by=lambda metric: partial(kernel.precision_at_recall_terms, recall=metric.number("recall")),
    ),
    of_bins(
        name="tpr_at_fpr",
        title="highest true positive rate over all rows at which the false positive rate is kept low",
        formula="max over thresholds of TP/P, of those with FP/N <= c, c = fpr; 0 at least",
        undefined=ONE_CLASS,
        reference="scikit-learn: roc_curve; Fawcett: Pattern Recognition Letters 2006",
        parameters=_rules(
            Number(
                "fpr",
                0.01,
                "c, the highest false positive rate, compared as float64",
                aliases=("at_fpr",),
                above=0.0,
                below=1.0,
                closed=True,
            )
        ),
        terms_by=lambda metric: partial(kernel.tpr_at_fpr_terms, fpr=metric.number("fpr")),
        value=_tpr_at_fpr,
        interval="logit",
        point_of="roc",
    ),
    _of_top(
        name="capture",
        title="share of all positives in the rows with the highest scores",
        formula="TP/P of the highest rows up to the share top, the bin in which they end taken by its share of "
        "positives",
        reference="Provost, Fawcett: Data Science for Business, 2013, ch. 8",
        value=share_of_positives,
        interval="logit",
    ),
    _of_top(
        name="lift",
        title="rate of positives in the rows with the highest scores, over the rate of all rows",
        formula="capture / top",
        reference="Provost, Fawcett: Data Science for Business, 2013, ch. 8",
        highest=math.inf,
        value=_lift,
    ),
)
