"""The interval of each value of the table ``metrics``, from the merged states alone.

A group is the unit of sampling. On one day the groups of a mean are independent, and its exact moments serve. Rows of
a group are not, nor is a user on the days of a window: what adds up over rows, and any metric of a window, is resampled
by leaving out one part of the groups at a time.
"""

from __future__ import annotations

from sparkrank.metrics import Metric, Plan
from sparkrank.metrics.merged import Merged, MetricRow, Side
from sparkrank.states import Distribution
from sparkrank.states.keys import Subject
from sparkrank.stats.intervals import NONE, Interval, jackknife, order_statistics, t_interval
from sparkrank.stats.sequential import confidence_sequence
from sparkrank.tables.unsmooth_metrics import noise_interval, percentile_interval

JACKKNIFE, PERCENTILES = "jackknife", "order statistics"


def interval_of(
    merged: Merged, plan: Plan, subject: Subject, metric: Metric, row: MetricRow, *, clustered: bool
) -> Interval:
    """The interval of ``row``, the value of ``metric``; without any number where none is honest.

    ``clustered``: a group may have come on several days.
    """
    interval = _interval(merged, plan, subject, metric, row, clustered=clustered)
    if plan.uncertainty.sequential and interval.stderr is not None:
        sizes = merged.sizes_of_parts(subject)
        groups = row.n_groups if row.n_groups is not None or sizes is None else sizes.sum()
        return confidence_sequence(row.value, interval.stderr, float(groups or 0), plan.uncertainty.level)
    return interval


def _interval(
    merged: Merged, plan: Plan, subject: Subject, metric: Metric, row: MetricRow, *, clustered: bool
) -> Interval:
    level = plan.uncertainty.level
    if metric.percentile is not None:
        if clustered:
            return percentile_interval(Side(merged, subject), metric, row, level)
        groups = merged.partials.distributions.get(subject.state(metric.of_groups), Distribution.empty()).histogram
        ends = order_statistics(groups.score, groups.neg, metric.percentile / 100, level)
        return NONE if ends is None else Interval(None, *ends, PERCENTILES)
    if metric.declaration.is_averaged and not clustered:
        return NONE if row.stderr is None else t_interval(row.value, row.stderr, averaged(row, plan) - 1, level)
    found = merged.without_parts(subject, metric) if plan.has_parts else None
    if found is None:
        return NONE
    stderr, degrees = jackknife([found.value], [found.without], found.sizes)
    if row.noise_floor is not None:
        return noise_interval(Side(merged, subject), metric, row, found, float(stderr[0]), float(degrees[0]), level)
    return t_interval(row.value, float(stderr[0]), float(degrees[0]), level, JACKKNIFE)


def averaged(row: MetricRow, plan: Plan) -> int:
    """The number of groups in the mean of ``row``."""
    left_out = row.n_undefined if plan.definitions.counts_undefined_as is None else 0
    return (row.n_groups or 0) - left_out
