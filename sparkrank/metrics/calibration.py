"""Declarations of the pooled metrics of scores as probabilities, such as log loss.

These metrics are undefined if any score is outside [0, 1]. The table ``quality`` counts the rows with such scores.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from sparkrank.histogram import threshold_sweep as kernel
from sparkrank.histogram.bins import MOST_BINS
from sparkrank.histogram.scored_rows import RowSum
from sparkrank.metrics.discrimination import DEFAULT_BITS, RULES, rule_of, rule_parameters
from sparkrank.metrics.histogram_metric import HistogramMetric
from sparkrank.metrics.metric import Metric
from sparkrank.metrics.needs import WEIGHT, both_classes, positives_of
from sparkrank.metrics.parameters import Count
from sparkrank.metrics.pooled_metric import PooledMetric, PooledTotals, PooledValue
from sparkrank.metrics.precision import REL
from sparkrank.numeric.binomial import mean_deviation
from sparkrank.numeric.elementary import log, log1p

OUTSIDE = RowSum("outside")
DEFAULT_BINS = 15  # as in Guo et al. and torchmetrics
MOST_RUNS = 1000
# Exact sums drop what a row adds below 2^-85, which is at most 2^-30 of a mean weighted prediction of this size.
LEAST_PREDICTION = 2.0**-55
GNEITING = "Dimitriadis, Gneiting, Jordan: PNAS 2021"
MOST_UNCERTAINTY = 0.25  # for equally many positives and negatives
NO_PROBABILITY = "a score outside [0, 1]"


def _log_loss(metric: Metric) -> RowSum:
    return RowSum("log_loss", rel=metric.rel)


def _squared_error(metric: Metric) -> RowSum:
    return RowSum("squared_error", rel=metric.rel)


def _has_probabilities(totals: PooledTotals) -> bool:
    return totals.sum(OUTSIDE) == 0 and totals.sum(WEIGHT) > 0


def _of_probabilities(
    value: Callable[[PooledTotals, Metric], float],
) -> Callable[[PooledTotals, Metric], PooledValue]:
    """Return a function that computes ``value``, or gives NaN if a score is not a probability or there are no rows."""
    return lambda totals, metric: PooledValue(value(totals, metric) if _has_probabilities(totals) else math.nan)


def _calibration_error(totals: PooledTotals, metric: Metric) -> PooledValue:  # noqa: ARG001
    """Return the calibration error.

    Its noise floor is the error by chance if the bins' mean scores are their true rates.
    """
    weight = totals.positives + totals.negatives
    if not _has_probabilities(totals):
        return PooledValue(math.nan)
    value, *by_chance = (term / weight for term in totals.terms)
    return PooledValue(value, noise_floor=by_chance[0] if by_chance else None)


def _error_by_mass(totals: PooledTotals, metric: Metric) -> PooledValue:
    """Return the calibration error of runs of bins with similar weight.

    The noise floor is as in :func:`_calibration_error`.
    """
    if not _has_probabilities(totals):
        return PooledValue(math.nan)
    positives, weight, scores, *rows = np.reshape(totals.terms, (-1, int(metric.number("mass"))))
    whole = totals.positives + totals.negatives
    value = math.fsum(np.minimum(np.abs(positives - scores), weight).tolist()) / whole
    if not rows:
        return PooledValue(value)
    there = np.flatnonzero(weight > 0)
    weight, count = weight[there], rows[0][there]
    mean = np.clip(scores[there] / weight, 0.0, 1.0)
    by_chance = weight * mean_deviation(count.astype(np.int64), mean) / count
    return PooledValue(value, noise_floor=math.fsum(by_chance.tolist()) / whole)


def _largest_error(totals: PooledTotals, metric: Metric) -> PooledValue:  # noqa: ARG001
    return PooledValue(totals.highest[0] if _has_probabilities(totals) else math.nan)


def _fit_errors(totals: PooledTotals) -> tuple[float, float, float]:
    """Return mean squared errors: of the mean scores of bins, of their isotonic fit, and of the best possible fit.

    The best possible fit has the least error that an isotonic fit of the exact scores can have. All errors are NaN if a
    score is not a probability.
    """
    if not _has_probabilities(totals):
        return math.nan, math.nan, math.nan
    weight = totals.positives + totals.negatives
    fit, best = (hull.squared_error() / weight for hull in totals.hulls)
    return totals.terms[0] / weight, fit, best


def _miscalibration(totals: PooledTotals, metric: Metric) -> PooledValue:
    errors, fit, best = _fit_errors(totals)
    value = errors - fit if math.isnan(errors) else max(errors - fit, 0.0)
    if metric["exact"] or math.isnan(value):
        return PooledValue(value, 0.0 if metric["exact"] else math.nan)
    brier = totals.sum(_squared_error(metric)) / totals.sum(WEIGHT)
    return PooledValue(value, max(abs(brier - fit - value), abs(brier - best - value)))


def _discrimination(totals: PooledTotals, metric: Metric) -> PooledValue:
    _, fit, best = _fit_errors(totals)
    if math.isnan(fit):
        return PooledValue(math.nan, 0.0 if metric["exact"] else math.nan)
    weight = totals.positives + totals.negatives
    value = max(totals.positives / weight * (totals.negatives / weight) - fit, 0.0)
    return PooledValue(value, 0.0 if metric["exact"] else fit - best)


def _uncertainty(totals: PooledTotals, metric: Metric) -> float:
    weight, positives = totals.sum(WEIGHT), totals.sum(positives_of(metric))
    return positives / weight * (totals.sum(WEIGHT, without=[positives_of(metric)]) / weight)


# Declares a metric of probabilities that depends on the rows of both classes, and for which lower values are better.
_of_scores = partial(PooledMetric, parameters=(REL,), higher_is_better=False, carriers=both_classes)


def _normalised_entropy(totals: PooledTotals, metric: Metric) -> float:
    weight, positives = totals.sum(WEIGHT), totals.sum(positives_of(metric))
    rate = min(positives, totals.sum(WEIGHT, without=[positives_of(metric)])) / weight  # a rate near 1 has too few bits
    if not rate:
        return math.nan
    at = np.array([rate])
    entropy = -(rate * float(log(at)[0]) + (1 - rate) * float(log1p(-at)[0]))
    return totals.sum(_log_loss(metric)) / weight / entropy


def _clicks_over_predicted(totals: PooledTotals, metric: Metric) -> float:
    predicted = totals.sum(RowSum("scores"))
    enough = predicted > totals.sum(RowSum("rows")) * LEAST_PREDICTION
    return totals.sum(positives_of(metric)) / predicted if enough else math.nan


# Declares a metric that compares the scores of each bin with its positives.
_of_bins = partial(
    HistogramMetric,
    undefined=f"no rows; {NO_PROBABILITY}",
    parameters=(
        Count(
            "bins",
            DEFAULT_BINS,
            "bins of equal width between 0 and 1, each with its lower edge as in torchmetrics (in Guo et al. with its "
            "upper one), the last with both",
            least=1,
            most=MOST_BINS,
        ),
        *rule_parameters(),
        REL,
    ),
    exclusive=("bins", *RULES),
    higher_is_better=False,
    sums=lambda metric: (OUTSIDE, WEIGHT),
    rule=rule_of,
    at_once=True,
    score_sums=True,
    carriers=both_classes,
)

# Declares a metric of the isotonic fit of bins. The fit follows chance, which moves all values in one direction.
_of_fit = partial(
    _of_bins,
    reference=GNEITING,
    parameters=(*rule_parameters(bits=DEFAULT_BITS), REL),
    exclusive=RULES,
    sums=lambda metric: (OUTSIDE, WEIGHT, _squared_error(metric)),
    at_once=False,
    terms=kernel.isotonic_terms,
    interval="none",
)

DECLARATIONS = (
    _of_scores(
        name="logloss",
        title="log loss over all rows",
        formula="mean of -log s over positives and -log(1-s) over negatives; s clipped to [eps, 1-eps] of its float "
        "type",
        undefined=f"no rows; {NO_PROBABILITY}",
        reference="scikit-learn: log_loss; Good: Rational Decisions, 1952",
        aliases=("log_loss",),
        highest=math.inf,
        is_row_mean=True,
        sums=lambda metric: (OUTSIDE, WEIGHT, _log_loss(metric)),
        value=_of_probabilities(lambda totals, metric: totals.sum(_log_loss(metric)) / totals.sum(WEIGHT)),
    ),
    _of_scores(
        name="ne",
        title="normalised entropy over all rows",
        formula="logloss / entropy of the base rate P/(P+N)",
        undefined=f"R·N = 0 (one class only); {NO_PROBABILITY}",
        reference="He et al.: Practical Lessons from Predicting Clicks on Ads at Facebook, ADKDD 2014",
        highest=math.inf,
        sums=lambda metric: (OUTSIDE, WEIGHT, positives_of(metric), _log_loss(metric)),
        value=_of_probabilities(_normalised_entropy),
    ),
    _of_scores(
        name="rig",
        title="relative information gain over all rows",
        formula="1 - ne",
        undefined=f"R·N = 0 (one class only); {NO_PROBABILITY}",
        reference="Yi et al.: Predictive Model Performance: Offline and Online Evaluations, KDD 2013",
        higher_is_better=True,
        lowest=-math.inf,
        sums=lambda metric: (OUTSIDE, WEIGHT, positives_of(metric), _log_loss(metric)),
        value=_of_probabilities(lambda totals, metric: 1 - _normalised_entropy(totals, metric)),
    ),
    _of_scores(
        name="brier",
        title="Brier score over all rows",
        formula="mean of (s - y)², y = 1 for a positive and 0 for a negative",
        undefined=f"no rows; {NO_PROBABILITY}",
        reference="Brier: Monthly Weather Review 1950",
        is_row_mean=True,
        sums=lambda metric: (OUTSIDE, WEIGHT, _squared_error(metric)),
        value=_of_probabilities(lambda totals, metric: totals.sum(_squared_error(metric)) / totals.sum(WEIGHT)),
    ),
    _of_scores(
        name="copc",
        title="clicks over predicted clicks, over all rows (1 is best)",
        formula="P / Σ s",
        undefined=f"Σ s = 0, or below 2^-55 (3e-17) a row, for sums lose digits there; {NO_PROBABILITY}",
        reference="the inverse of calibration in He et al.: ADKDD 2014",
        higher_is_better=None,
        highest=math.inf,
        sums=lambda metric: (OUTSIDE, WEIGHT, positives_of(metric), RowSum("scores")),
        value=_of_probabilities(_clicks_over_predicted),
        carriers=lambda metric: (WEIGHT, positives_of(metric)),
    ),
    _of_bins(
        name="ece",
        title="expected calibration error over all rows",
        formula="Σ over bins |p_b - Σ s| / (P + N)",
        reference="Guo et al.: On Calibration of Modern Neural Networks, ICML 2017",
        others=(("mass", "ece_by_mass"),),
        terms=kernel.calibration_terms,
        value=_calibration_error,
    ),
    _of_bins(
        name="ece_by_mass",
        title="expected calibration error over all rows, by runs of about equally many rows",
        formula="Σ over runs |Σ p_b - Σ s| / (P + N); a bin is of the run ⌊mass·m⌋, m = share of rows above its middle",
        reference="Nguyen, O'Connor: EMNLP 2015; scikit-learn: calibration_curve(strategy=quantile) of distinct scores",
        parameters=(
            Count("mass", 20, "number of runs of about equal weight", least=1, most=MOST_RUNS),
            *rule_parameters(bits=DEFAULT_BITS),
            REL,
        ),
        exclusive=RULES,
        terms_by=lambda metric: partial(kernel.mass_terms, mass=int(metric.number("mass"))),
        value=_error_by_mass,
    ),
    _of_bins(
        name="mce",
        title="maximum calibration error over all rows",
        formula="max over bins |p_b - Σ s| / (p_b + n_b)",
        reference="Naeini, Cooper, Hauskrecht: AAAI 2015",
        terms=kernel.largest_gap_terms,
        value=_largest_error,
        interval="none",  # the largest error is mostly that of a bin of few rows, by chance
    ),
    _of_fit(
        name="mcb",
        title="miscalibration over all rows: the part of the Brier score that isotonic recalibration would remove",
        formula="Σ over bins of p_b·(1-s)² + n_b·s² - p_b·(1-r)² - n_b·r², over P + N; s = mean score of the bin, r = "
        "its isotonic fit; brier = mcb - dsc + unc",
        value=_miscalibration,
    ),
    _of_fit(
        name="dsc",
        title="discrimination over all rows: the part of unc that the isotonic fit of the scores removes",
        formula="unc - Σ over bins of p_b·(1-r)² + n_b·r², over P + N; r = isotonic fit of the bin",
        higher_is_better=True,
        highest=MOST_UNCERTAINTY,
        value=_discrimination,
    ),
    _of_scores(
        name="unc",
        title="uncertainty of the labels: the Brier score of the share of positives as a score of all rows",
        formula="P·N / (P+N)²",
        undefined=f"no rows; {NO_PROBABILITY}",
        reference=GNEITING,
        higher_is_better=None,
        highest=MOST_UNCERTAINTY,
        sums=lambda metric: (OUTSIDE, WEIGHT, positives_of(metric)),
        value=_of_probabilities(_uncertainty),
    ),
)
