"""Intervals and tests of what leaving out one part does not tell of: values near their noise floor, and percentiles."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sparkrank.metrics import Metric
from sparkrank.metrics.merged import MetricRow, Side
from sparkrank.numeric.array_types import Floats
from sparkrank.numeric.exact_sums import rounded
from sparkrank.states import Distribution
from sparkrank.states.part_bins import VALUES
from sparkrank.states.part_sums import parts_of_slice
from sparkrank.stats.intervals import TOO_FEW, Interval
from sparkrank.stats.noise_floor import bias_of_halves, interval_above_noise
from sparkrank.stats.paired import Difference
from sparkrank.stats.ratios import StandardErrors
from sparkrank.stats.swapped_parts import error_of_halves, swap_test
from sparkrank.stats.woodruff import Share, difference_of_quantiles, movement, share_of_groups, spread, woodruff


def noise_interval(side: Side, metric: Metric, row: MetricRow, stderr: float, degrees: float, level: float) -> Interval:
    """The interval of a value that has a noise floor, whose standard error by parts is ``stderr``."""
    mixed = metric.declaration.mixed_values(metric, side)
    bias = 0.0 if mixed is None else bias_of_halves(mixed[0][0])
    ends = metric.declaration.range_of(metric)
    return interval_above_noise(row.value, stderr, degrees, row.noise_floor or 0.0, bias, ends, level)


def percentile_interval(side: Side, metric: Metric, row: MetricRow, level: float) -> Interval:
    """The interval of a percentile by parts; :data:`TOO_FEW` also where some day has no parts of its groups' values."""
    quantile = _quantile(side, metric, row, level)
    return TOO_FEW if quantile is None else quantile.interval


def own_test(
    ours: Side, theirs: Side, metric: Metric, difference: float, level: float, effective: float = math.inf
) -> tuple[Difference, StandardErrors | None] | None:
    """The test of a ``difference`` of one day or of two that the jackknife does not serve; None where it does.

    With it come the standard errors of the difference, of ``theirs`` and of ``ours``. ``effective`` is how many equal
    groups carry as much.
    """
    rows = [side.merged.row(side.subject, metric) for side in (ours, theirs)]
    if metric.percentile is not None:
        one, other = (_quantile(side, metric, row, level) for side, row in zip((ours, theirs), rows, strict=True))
        if one is None or other is None or TOO_FEW in (one.interval, other.interval):
            return Difference(difference, method=TOO_FEW.method), None
        parts = int(np.count_nonzero(one.groups + other.groups))
        (down, up), (other_down, other_up) = one.movements(level), other.movements(level)
        test = difference_of_quantiles(difference, down - other_up, up - other_down, parts, level, effective)
        errors = [spread((each[0] + each[1]) / 2, parts)[0] for each in ((down, up), (other_down, other_up))]
    elif any(row.noise_floor is None for row in rows):
        return None
    else:
        mixed = metric.declaration.mixed_values(metric, ours, theirs)
        if mixed is None:
            return None
        (swapped, *halves), parts = mixed
        test = swap_test(difference, swapped, halves[0], halves[1], parts, level, effective)
        errors = [error_of_halves(each) for each in halves]
    return test, None if test.stderr is None else StandardErrors(test.stderr, errors[1], errors[0])


class _Quantile(NamedTuple):
    """A percentile's ``value`` and interval, how many groups each part has, and the shares below it and up to it."""

    value: float
    interval: Interval
    groups: Floats
    below: Share
    upto: Share

    def movements(self, level: float) -> tuple[Floats, Floats]:
        """What each part moves it by, on the scale of the interval below it and above it."""
        low, high = self.interval.low or 0.0, self.interval.high or 0.0
        down = movement(self.value, low, self.below, self.upto, level)
        return down, movement(self.value, high, self.upto, self.below, level)


def _quantile(side: Side, metric: Metric, row: MetricRow, level: float) -> _Quantile | None:
    """The percentile of ``row``; None where it is undefined, or where parts do not have all of its groups."""
    merged, subject = side
    values = merged.partials.distributions.get(subject.state(metric.of_groups), Distribution.empty()).histogram
    bins = merged.bins_of_parts(subject, VALUES, str(metric.of_groups))
    if metric.percentile is None or bins is None or not math.isfinite(row.value):
        return None
    count, number = rounded(bins.neg), bins.together.bins[bins.place]
    if float(count.sum()) != float(values.neg.sum()):  # some day was evaluated before there were any
        return None
    own = VALUES.numbers(np.array([row.value]))[0]
    groups, below, upto = (
        np.bincount(bins.part, weights=count * counted, minlength=parts_of_slice(subject.slice)).astype(np.float64)
        for counted in (np.ones(len(number)), number < own, number <= own)
    )
    shares = share_of_groups(below, groups), share_of_groups(upto, groups)
    quantile, ends = metric.percentile / 100, metric.declaration.range_of(metric.of_groups)
    parts = int(np.count_nonzero(groups))
    interval = woodruff(values.score, values.neg, quantile, *shares, parts, level, ends)
    if interval.low is not None and interval.high is not None:  # a value between two of the groups'
        interval = interval._replace(low=min(interval.low, row.value), high=max(interval.high, row.value))
    return _Quantile(row.value, interval, groups, *shares)
