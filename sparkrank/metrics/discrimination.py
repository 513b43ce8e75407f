"""Declarations of pooled metrics of score bins, with terms from :mod:`sparkrank.histogram.threshold_sweep`."""

from __future__ import annotations

import math
from functools import partial

from sparkrank.histogram import threshold_sweep as kernel
from sparkrank.histogram.bins import BinRule
from sparkrank.metrics.group_auc import ONE_CLASS, SAMPLED_ALIKE
from sparkrank.metrics.histogram_metric import HistogramMetric
from sparkrank.metrics.metric import Metric
from sparkrank.metrics.needs import ROWS_AND_WEIGHT, both_classes
from sparkrank.metrics.outside import MOST_DIGITS
from sparkrank.metrics.parameters import Count, Flag, Parameter
from sparkrank.metrics.pooled_metric import PooledTotals, PooledValue
from sparkrank.metrics.precision import REL
from sparkrank.numeric.ordered_integers import MANTISSA_BITS

DEFAULT_BITS = 12  # bins 1/4096 wide relative to the score; for scores of click models the error bound is near 1e-4
DEFAULT_DIGITS = 5  # auc_up: click rates are usually given to five decimals
MOST_ROWS = 10**9

RULES = ("bits", "digits", "exact")


def rule_of(metric: Metric) -> BinRule:
    """Return the rule for score bins by the parameters of ``metric``, or its default rule."""
    names = metric.declaration.exclusive
    if metric["exact"]:
        return BinRule("exact", 0, metric.rel)
    kind = next(name for name in names if name != "exact" and metric[name] is not None)
    return BinRule(kind, int(metric.number(kind)), metric.rel)


def rule_parameters(bits: int | None = None, digits: int | None = None) -> tuple[Parameter, ...]:
    """Return the parameters by which a metric chooses its rule for score bins.

    The arguments are the defaults of the parameters ``bits`` and ``digits``.
    """
    return (
        Count("bits", bits, "bins that agree in the first bits of the score's mantissa", least=1, most=MANTISSA_BITS),
        Count("digits", digits, "bins of scores rounded to this many decimals", least=0, most=MOST_DIGITS),
        Flag("exact", False, "one bin for each distinct score"),
    )


def _auc(totals: PooledTotals, metric: Metric) -> PooledValue:
    positives, negatives = (weight * kernel.magnified(weight) for weight in (totals.positives, totals.negatives))
    all_pairs = positives * negatives
    if not all_pairs:
        return PooledValue(math.nan, 0.0 if metric["exact"] else math.nan)
    in_order, inside = totals.terms
    return PooledValue(_share(in_order, all_pairs), 0.0 if metric["exact"] else 0.5 * inside / all_pairs)


def share_of_positives(totals: PooledTotals, metric: Metric) -> PooledValue:
    """Return the share of positives: the first term of ``totals`` divided by the positives.

    The second and the third term, an upper and a lower bound of the first, determine the error bound.
    """
    exact, whole = bool(metric["exact"]), totals.positives
    if not whole:
        return PooledValue(math.nan, 0.0 if exact else math.nan)
    whole *= kernel.magnified(whole)  # scaled like the terms
    value, most, fewest = totals.terms
    return PooledValue(_share(value, whole), 0.0 if exact else max(most - value, value - fewest) / whole)


def _share(part: float, whole: float) -> float:
    """Return ``part / whole``, limited to 1. Rounded sums of weights could exceed 1 in the last bit."""
    return min(part / whole, 1.0)


def _separation(totals: PooledTotals, metric: Metric) -> PooledValue:
    if not totals.positives or not totals.negatives:
        return PooledValue(math.nan, 0.0 if metric["exact"] else math.nan)
    # the lowest value is 0, which a threshold above all scores gives
    after, inside = (max(value, 0.0) for value in totals.highest)
    return PooledValue(after, 0.0 if metric["exact"] else inside - after, _separation_by_chance(totals))


def _separation_by_chance(totals: PooledTotals) -> float:
    """Return the expected maximum of TPR - FPR for scores without information, if both classes have many rows.

    The expectation is √(π/8) · √(1/P + 1/N), the mean of the one-sided Kolmogorov-Smirnov statistic, whose tail is
    exp(-2 x²). Here P + N is the number of rows, split in proportion to the weights of the two classes.
    """
    rate = totals.positives / (totals.positives + totals.negatives)
    return math.sqrt(math.pi / 8 / (totals.sum(ROWS_AND_WEIGHT[0]) * rate * (1 - rate)))


# Declares a metric of score bins that depends on the rows of both classes.
of_bins = partial(
    HistogramMetric,
    exclusive=RULES,
    rule=rule_of,
    carriers=both_classes,
    parameters=(*rule_parameters(bits=DEFAULT_BITS), REL),
    undefined="P = 0",
    at_once=True,
)

DECLARATIONS = (
    of_bins(
        name="auc",
        title="AUC over all rows",
        formula="bins by score descending: area += (TP + p_b/2)·n_b, TP += p_b; over P·N",
        undefined=ONE_CLASS,
        reference="Fawcett: Pattern Recognition Letters 2006",
        aliases=("roc_auc",),
        others=(("max_fpr", "partial_auc"),),
        refused=(*HistogramMetric.refused, SAMPLED_ALIKE),
        terms=kernel.roc_terms,
        curve="roc",
        value=_auc,
        interval="logit",
    ),
    of_bins(
        name="auc_up",
        title="AUC that the score bins could reach in their best order",
        formula="as auc, bins by empirical rate p_b/(p_b+n_b) descending",
        undefined=ONE_CLASS,
        reference="auc of the bins after sorting them by their rate; docs/auc_up.md",
        parameters=(
            *rule_parameters(digits=DEFAULT_DIGITS),
            Count(
                "min_rows",
                1,
                "neighbouring bins are joined from the highest score down until each holds this many rows; what is "
                "left joins the last",
                least=1,
                most=MOST_ROWS,
            ),
            REL,
        ),
        lowest=0.5,
        interval="none",  # the rows that order the bins also judge the order: the value is near 1 for few rows per bin
        terms=kernel.roc_terms,
        by_rate=True,
        value=lambda totals, metric: PooledValue(_auc(totals, metric).value),
    ),
    of_bins(
        name="pr_auc",
        title="average precision over all rows, the area under its PR curve",
        formula="bins by score descending: Σ (p_b/P)·TP/(TP+FP), both counted with the bin",
        reference="scikit-learn: average_precision_score; Davis, Goadrich: ICML 2006",
        aliases=("auprc",),
        terms=kernel.average_precision_terms,
        curve="pr",
        value=share_of_positives,
        interval="logit",
    ),
    of_bins(
        name="bep",
        title="break-even point of the PR curve, where precision = recall",
        formula="TP/P of the P highest rows, the bin in which they end taken by its share of positives",
        reference="Joachims: ECML 1998",
        terms=kernel.break_even_terms,
        at_once=False,
        value=share_of_positives,
        interval="logit",
    ),
    of_bins(
        name="ks",
        title="Kolmogorov-Smirnov statistic of the scores of both classes",
        formula="max over thresholds of TPR - FPR, 0 at least",
        undefined=ONE_CLASS,
        reference="Hand: Construction and Assessment of Classification Rules, 1997",
        terms=kernel.separation_terms,
        value=_separation,
    ),
)
