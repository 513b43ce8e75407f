"""Intervals and tests of metrics for which the jackknife fails.

The jackknife fails for values near a noise floor (the value by chance alone), and for percentiles.
"""

from __future__ import annotations

import math
from typing import NamedTuple, TypeAlias

import numpy as np

from sparkrank.metrics import Metric
from sparkrank.metrics.merged import MetricRow, SubjectStates, kind_of
from sparkrank.metrics.needs import rule_of_values
from sparkrank.numeric.array_types import Floats
from sparkrank.numeric.exact_sums import rounded
from sparkrank.states import Distribution
from sparkrank.states.part_sums import parts_of_slice
from sparkrank.stats.intervals import TOO_FEW, Interval
from sparkrank.stats.noise_floor import bias_of_halves, interval_above_noise
from sparkrank.stats.paired import Difference
from sparkrank.stats.ratios import StandardErrors
from sparkrank.stats.swapped_parts import error_of_halves, swap_test
from sparkrank.stats.woodruff import ShareOfGroups, difference_of_quantiles, movement, share_of_groups, spread, woodruff

# A test of a difference, with the standard errors of the difference, of the baseline and of the candidate.
TestWithErrors: TypeAlias = tuple[Difference, StandardErrors | None]


def noise_interval(
    side: SubjectStates, metric: Metric, row: MetricRow, stderr: float, degrees: float, level: float
) -> Interval:
    """Return the interval of a value with a noise floor. ``stderr`` is its standard error by the jackknife."""
    mixed = kind_of(metric).mixed_values(metric, side)
    bias = 0.0 if mixed is None else bias_of_halves(mixed[0][0])
    ends = metric.declaration.range_of(metric)
    return interval_above_noise(row.value, stderr, degrees, row.noise_floor or 0.0, bias, ends, level)


def percentile_interval(side: SubjectStates, metric: Metric, row: MetricRow, level: float) -> Interval:
    """Return the interval of a percentile, computed from parts (fixed subsets) of the groups.

    The result is :data:`TOO_FEW` for too few groups, or if a day lacks counts of the groups' values by part.
    """
    quantile = _quantile(side, metric, row, level)
    return TOO_FEW if quantile is None else quantile.interval


def percentile_test(
    ours: SubjectStates, theirs: SubjectStates, metric: Metric, difference: float, level: float, effective: float
) -> TestWithErrors | None:
    """Return the test of a difference between percentiles; None if ``metric`` is not a percentile."""
    if metric.percentile is None:
        return None
    sides = [_quantile(side, metric, side.merged.row(side.subject, metric), level) for side in (ours, theirs)]
    one, other = sides
    if one is None or other is None or TOO_FEW in (one.interval, other.interval):
        return Difference(difference, method=TOO_FEW.method), None
    parts = int(np.count_nonzero(one.groups + other.groups))
    (down, up), (other_down, other_up) = one.movements(level), other.movements(level)
    test = difference_of_quantiles(difference, down - other_up, up - other_down, parts, level, effective)
    errors = [spread((each[0] + each[1]) / 2, parts)[0] for each in ((down, up), (other_down, other_up))]
    return test, ratio_errors(test, errors[1], errors[0])


def swapped_test(
    ours: SubjectStates, theirs: SubjectStates, metric: Metric, difference: float, level: float, effective: float
) -> TestWithErrors | None:
    """Return a test of the difference between two values of a metric with a noise floor (the value by chance alone).

    The test exchanges parts (fixed subsets of the groups) between the two sides. The result is None if the noise floor
    of a side or a value on half of the groups is missing.
    """
    if any(side.merged.row(side.subject, metric).noise_floor is None for side in (ours, theirs)):
        return None
    mixed = kind_of(metric).mixed_values(metric, ours, theirs)
    if mixed is None:
        return None
    (swapped, *halves), parts = mixed
    test = swap_test(difference, swapped, halves[0], halves[1], parts, level, effective)
    errors = [error_of_halves(values) for values in halves]
    return test, ratio_errors(test, errors[1], errors[0])


def ratio_errors(test: Difference, baseline: float, candidate: float) -> StandardErrors | None:
    """Return the standard errors for a relative difference, or None if the difference has no standard error."""
    return None if test.stderr is None else StandardErrors(test.stderr, baseline, candidate)


class _Quantile(NamedTuple):
    """A percentile's ``value`` and ``interval``, and the numbers of ``groups`` by part.

    ``below`` is the share of groups with values below the percentile, ``upto`` the share up to and including it.
    """

    value: float
    interval: Interval
    groups: Floats
    below: ShareOfGroups
    upto: ShareOfGroups

    def movements(self, level: float) -> tuple[Floats, Floats]:
        """Return each part's contribution to the percentile's deviation, on the scales below and above the value."""
        low, high = self.interval.low or 0.0, self.interval.high or 0.0
        down = movement(self.value, low, self.below, self.upto, level)
        return down, movement(self.value, high, self.upto, self.below, level)


def _quantile(side: SubjectStates, metric: Metric, row: MetricRow, level: float) -> _Quantile | None:
    """Return the percentile in ``row``. None if it is undefined, or if the parts lack some of the groups behind it."""
    merged, subject = side
    values = merged.partials.distributions.get(subject.state(metric.group_metric), Distribution.empty()).histogram
    rule = rule_of_values(metric.group_metric)
    bins = merged.bins_of_parts(subject, rule, str(metric.group_metric))
    if metric.percentile is None or bins is None or not math.isfinite(row.value):
        return None
    count, number = rounded(bins.neg), bins.together.bins[bins.place]
    if float(count.sum()) != float(values.neg.sum()):  # a day was evaluated by a release whose parts lack values
        return None
    own = rule.numbers(np.array([row.value]))[0]
    groups, below, upto = (
        np.bincount(bins.part, weights=count * counted, minlength=parts_of_slice(subject.slice)).astype(np.float64)
        for counted in (np.ones(len(number)), number < own, number <= own)
    )
    shares = share_of_groups(below, groups), share_of_groups(upto, groups)
    quantile, ends = metric.percentile / 100, metric.declaration.range_of(metric.group_metric)
    parts = int(np.count_nonzero(groups))
    interval = woodruff(values.score, values.neg, quantile, *shares, parts, level, ends)
    if interval.low is not None and interval.high is not None:  # the value may lie between the values of two groups
        interval = interval._replace(low=min(interval.low, row.value), high=max(interval.high, row.value))
    return _Quantile(row.value, interval, groups, *shares)
