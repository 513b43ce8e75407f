"""The interval of each value of the table ``metrics``, from the merged states alone.

The unit of sampling is the group. For one day the exact moments of means are used. Sums over rows, and any metric of a
window, are resampled by leaving out one part of the groups at a time.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from sparkrank.metrics import Metric, Plan
from sparkrank.metrics.merged import MetricRow, SubjectStates
from sparkrank.states import Distribution
from sparkrank.states.means import NO_GROUPS
from sparkrank.stats.intervals import (
    LEAST_GROUPS,
    NONE,
    OFF,
    TOO_FEW,
    Interval,
    jackknife,
    jackknife_degrees,
    logit_interval,
    order_statistics,
    t_interval,
    wilson_interval,
)
from sparkrank.stats.noise_floor import UPPER_BOUND
from sparkrank.stats.sequential import begins, confidence_sequence
from sparkrank.stats.woodruff import WOODRUFF
from sparkrank.uncertainty.unsmooth_metrics import noise_interval, percentile_interval

JACKKNIFE, PERCENTILES = "jackknife", "order statistics"


class StandardError(NamedTuple):
    """A standard error, its degrees of freedom, and its method."""

    stderr: float
    degrees: float
    method: str


def interval_of(
    side: SubjectStates, plan: Plan, metric: Metric, row: MetricRow, n_effective: float | None, *, clustered: bool
) -> Interval:
    """The interval of ``row``, a value of ``metric`` with ``n_effective`` effective groups, or why there is none.

    ``clustered``: the same group may occur on several days.
    """
    interval = _of_one_look(side, plan, metric, row, n_effective, clustered=clustered)
    if not plan.uncertainty.sequential or interval.low is None or interval.method in (PERCENTILES, WOODRUFF):
        return interval
    lowest, highest = metric.declaration.range_of(metric)
    groups = float(row.n_groups or 0)
    effective = groups if n_effective is None else n_effective
    if interval.stderr is None or not begins(groups, row.value, (lowest, highest), effective):
        return TOO_FEW
    sequence = confidence_sequence(row.value, interval.stderr, groups, plan.uncertainty.level)
    if interval.method == UPPER_BOUND and sequence.low is not None:
        sequence = sequence._replace(low=lowest)
    return sequence.within((lowest, highest))


def _of_one_look(
    side: SubjectStates, plan: Plan, metric: Metric, row: MetricRow, n_effective: float | None, *, clustered: bool
) -> Interval:
    declared, level = metric.declaration, plan.uncertainty.look_level
    if metric.percentile is not None:
        return _of_percentile(side, plan, metric, row, clustered=clustered)
    if math.isnan(row.value) or declared.interval == "none" or not plan.keys:
        return NONE
    is_mean = declared.is_averaged and not clustered
    if not is_mean and not plan.parted_slices(side.subject.slice):
        return OFF
    error = (_of_mean if is_mean else _of_parts)(side, metric, n_effective)
    if error is None:
        return NONE
    if row.noise_floor is not None and (n_effective is None or n_effective >= LEAST_GROUPS):
        return noise_interval(side, metric, row, error.stderr, error.degrees, level)
    return _on_scale(metric, row.value, error, n_effective, level)


def _on_scale(metric: Metric, value: float, error: StandardError, n_effective: float | None, level: float) -> Interval:
    """The interval of ``value`` on the scale that the metric's declaration names."""
    if n_effective is not None and n_effective < LEAST_GROUPS:
        return TOO_FEW
    match metric.declaration.scale_of(metric):
        case "wilson":
            return wilson_interval(value, error.stderr, error.degrees, n_effective, level)
        case "logit":
            return logit_interval(value, error.stderr, error.degrees, level)
    return t_interval(value, error.stderr, error.degrees, level, error.method, metric.declaration.range_of(metric))


def _of_percentile(side: SubjectStates, plan: Plan, metric: Metric, row: MetricRow, *, clustered: bool) -> Interval:
    states, distributions = side.subject.state(metric.of_groups), side.merged.partials.distributions
    groups = distributions.get(states, Distribution.empty()).histogram
    if not len(groups.score):
        return NONE
    level, has_parts = plan.uncertainty.look_level, plan.parted_slices(side.subject.slice)
    if not clustered:
        ends = order_statistics(groups.score, groups.neg, (metric.percentile or 0.0) / 100, level)
        if ends is not None and ends[0] < ends[1]:
            return Interval(None, *ends, PERCENTILES)
    if not has_parts:
        return OFF if clustered else TOO_FEW
    interval = percentile_interval(side, metric, row, level)
    return TOO_FEW if interval.low == interval.high else interval


def _of_mean(side: SubjectStates, metric: Metric, n_effective: float | None) -> StandardError:
    """The standard error for independent groups, by exact moments, with effective groups - 1 degrees (Kish 1965).

    Satterthwaite's degrees, (Σp²)² / Σp⁴ of the shares p, are near 1 if one group is large. But then the error of the
    mean and the residual of that group are nearly the same number, so intervals with so few degrees would always
    contain the true value, and be four times as long.
    """
    mean = side.merged.means.get(side.subject.state(metric), NO_GROUPS)
    stderr, degrees = mean.stderr, (n_effective or 0.0) - 1
    if mean.is_share and 1 < mean.n_effective < mean.n_averaged:  # as many independent groups are no more precise
        stderr = max(stderr, math.sqrt(mean.value * (1 - mean.value) / degrees))
    return StandardError(stderr, degrees, "t")


def _of_parts(side: SubjectStates, metric: Metric, n_effective: float | None) -> StandardError | None:
    """The standard error by leaving out one part of the groups at a time; None if the metric has no such values."""
    values = side.merged.without_parts(side.subject, metric)
    if values is None:
        return None
    parts = [values.value], [values.without], values.sizes
    (stderr,), (degrees,) = jackknife(*parts)[0], jackknife_degrees(*parts)
    most = math.inf if n_effective is None else n_effective - 1
    return StandardError(float(stderr), min(float(degrees), most), JACKKNIFE)
