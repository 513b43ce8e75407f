"""Declarations of the pooled metrics of predicted numbers, such as the mean squared error of ratings or prices.

The label is the predicted quantity itself. Rows without a label are left out, because their true value is unknown.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

from sparkrank.histogram.scored_rows import FARTHEST, RowSum
from sparkrank.metrics.metric import Metric
from sparkrank.metrics.parameters import WEIGHT
from sparkrank.metrics.pooled_metric import PooledMetric, PooledTotals, PooledValue

JUDGED, BEYOND = RowSum("judged"), RowSum("beyond")
RESIDUALS, ABSOLUTE, SQUARED = RowSum("residuals"), RowSum("absolute_residuals"), RowSum("squared_residuals")
LABELS, SQUARED_LABELS = RowSum("labels"), RowSum("squared_labels")
# Squares of labels have a relative rounding error of 2^-53, which is at most 2^-33 of a variance of this share of them.
LEAST_SPREAD = 2.0**-20
NOTHING = f"no row has a score and a label; a score or label is beyond ±2^{math.frexp(FARTHEST)[1] - 1} (4.3e9)"


def _mean_of(row_sum: RowSum, totals: PooledTotals) -> float:
    return totals.sum(row_sum) / totals.sum(JUDGED)


def _explained(totals: PooledTotals) -> float:
    labels, weight = totals.sum(LABELS), totals.sum(JUDGED)
    squares = totals.sum(SQUARED_LABELS)
    spread = squares - labels * (labels / weight)
    return 1 - totals.sum(SQUARED) / spread if spread > LEAST_SPREAD * squares else math.nan


def _where_known(value: Callable[[PooledTotals], float]) -> Callable[[PooledTotals, Metric], PooledValue]:
    """Return a function that computes ``value``. It gives NaN without labels, or if a number is too far from 0."""

    def of_known(totals: PooledTotals, _: Metric) -> PooledValue:
        return PooledValue(value(totals) if totals.sum(BEYOND) == 0 and totals.sum(JUDGED) > 0 else math.nan)

    return of_known


def _weighed_by_rows(of_groups: str) -> tuple[tuple[str, str], ...]:
    """Return the ``refused`` parameters of a pooled metric.

    ``of_groups`` is the metric that is computed in each group.
    """
    rows = dict(PooledMetric.refused)[WEIGHT.name]
    return (*PooledMetric.refused, (WEIGHT.name, f"{rows}; a mean over groups is {of_groups}"))


_of_numbers = partial(
    PooledMetric,
    undefined=NOTHING,
    carriers=lambda metric: (JUDGED,),
    higher_is_better=False,
    highest=math.inf,
)

DECLARATIONS = (
    _of_numbers(
        name="rmse",
        title="root mean squared error of predicted numbers over all rows with a label",
        formula="√mse",
        reference="scikit-learn: root_mean_squared_error; recommenders: rmse; Spark: RegressionEvaluator",
        sums=lambda metric: (BEYOND, JUDGED, SQUARED),
        value=_where_known(lambda totals: math.sqrt(_mean_of(SQUARED, totals))),
        refused=_weighed_by_rows("group_rmse"),
    ),
    _of_numbers(
        name="mse",
        title="mean squared error of predicted numbers over all rows with a label",
        formula="mean of (s - y)², y = the label",
        reference="scikit-learn: mean_squared_error; Spark: RegressionEvaluator",
        sums=lambda metric: (BEYOND, JUDGED, SQUARED),
        value=_where_known(partial(_mean_of, SQUARED)),
    ),
    _of_numbers(
        name="mae",
        title="mean absolute error of predicted numbers over all rows with a label",
        formula="mean of |s - y|, y = the label",
        reference="scikit-learn: mean_absolute_error; recommenders: mae; Spark: RegressionEvaluator",
        sums=lambda metric: (BEYOND, JUDGED, ABSOLUTE),
        value=_where_known(partial(_mean_of, ABSOLUTE)),
        refused=_weighed_by_rows("group_mae"),
    ),
    _of_numbers(
        name="bias",
        title="mean of predicted numbers minus the mean of labels, over all rows with a label (0 is best)",
        formula="mean of s - y, y = the label",
        reference="Murphy, Epstein: Monthly Weather Review 1989",
        higher_is_better=None,
        lowest=-math.inf,
        sums=lambda metric: (BEYOND, JUDGED, RESIDUALS),
        value=_where_known(partial(_mean_of, RESIDUALS)),
    ),
    _of_numbers(
        name="r2",
        title="share of the variance of labels that predicted numbers explain, over all rows with a label",
        formula="1 - Σ (s - y)² / Σ (y - mean y)², y = the label",
        undefined=f"{NOTHING}; the variance of y is below 2^-20 (1e-6) of the mean of y², for sums lose digits there",
        reference="scikit-learn: r2_score; recommenders: rsquared; Spark: RegressionEvaluator",
        higher_is_better=True,
        lowest=-math.inf,
        highest=1.0,
        sums=lambda metric: (BEYOND, JUDGED, SQUARED, LABELS, SQUARED_LABELS),
        value=_where_known(_explained),
    ),
)
