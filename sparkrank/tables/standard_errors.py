"""The interval of each value of the table ``metrics``, from the merged states alone.

A group is the unit of sampling. On one day the groups of a mean are independent, and its exact moments serve. Rows of
a group are not, nor is a user on the days of a window: what adds up over rows, and any metric of a window, is resampled
by leaving out one part of the groups at a time.
"""

from __future__ import annotations

import numpy as np

from sparkrank.metrics import Metric, Plan
from sparkrank.metrics.merged import Merged, MetricRow, WithoutParts
from sparkrank.states import Distribution
from sparkrank.states.keys import Subject
from sparkrank.stats.intervals import NONE, Interval, jackknife, order_statistics, t_interval

JACKKNIFE, PERCENTILES = "jackknife", "order statistics"


def interval_of(
    merged: Merged, plan: Plan, subject: Subject, metric: Metric, row: MetricRow, *, clustered: bool
) -> Interval:
    """The interval of ``row``, the value of ``metric``; without any number where none is honest.

    ``clustered``: a group may have come on several days.
    """
    level = plan.uncertainty.level
    if metric.percentile is not None:
        if clustered:
            return NONE
        groups = merged.partials.distributions.get(subject.state(metric.of_groups), Distribution.empty()).histogram
        ends = order_statistics(groups.score, groups.neg, metric.percentile / 100, level)
        return NONE if ends is None else Interval(None, *ends, PERCENTILES)
    if metric.declaration.is_averaged and not clustered:
        return NONE if row.stderr is None else t_interval(row.value, row.stderr, averaged(row, plan) - 1, level)
    found = merged.without_parts(subject, metric) if plan.has_parts else None
    return NONE if found is None else jackknifed(row.value, found, level)[0]


def jackknifed(value: float, found: WithoutParts, level: float) -> tuple[Interval, float]:
    """The interval around ``value`` by what it is without each part, and its degrees of freedom."""
    stderr, degrees = jackknife(np.array([found.value]), found.without[np.newaxis], found.sizes)
    interval = t_interval(value, float(stderr[0]), float(degrees[0]), level)
    return interval if interval.method is None else interval._replace(method=JACKKNIFE), float(degrees[0])


def averaged(row: MetricRow, plan: Plan) -> int:
    """The number of groups in the mean of ``row``."""
    left_out = row.n_undefined if plan.definitions.counts_undefined_as is None else 0
    return (row.n_groups or 0) - left_out
