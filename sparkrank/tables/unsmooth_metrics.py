"""Intervals and tests of what leaving out one part does not tell of: values near their noise floor, and percentiles."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sparkrank.metrics import Metric
from sparkrank.metrics.merged import MetricRow, Side, WithoutParts
from sparkrank.numeric.array_types import Floats
from sparkrank.numeric.exact_sums import rounded
from sparkrank.states import Distribution
from sparkrank.states.part_bins import VALUES
from sparkrank.states.part_sums import parts_of_slice
from sparkrank.stats.intervals import NONE, Interval
from sparkrank.stats.noise_floor import bias_of_halves, interval_above_noise
from sparkrank.stats.paired import Difference, t_test
from sparkrank.stats.swapped_parts import swap_test
from sparkrank.stats.woodruff import Share, difference_of_quantiles, movement, share_of_groups, woodruff


def noise_interval(
    side: Side, metric: Metric, row: MetricRow, left: WithoutParts, stderr: float, degrees: float, level: float
) -> Interval:
    """The interval of a value that has a noise floor, whose standard error by parts is ``stderr``."""
    mixed = metric.declaration.mixed_values(metric, side)
    bias = 0.0 if mixed is None else bias_of_halves(left.value, mixed[0][:, 1:])
    ends = metric.declaration.range_of(metric)
    return interval_above_noise(row.value, stderr, degrees, row.noise_floor or 0.0, bias, ends, level)


def percentile_interval(side: Side, metric: Metric, row: MetricRow, level: float) -> Interval:
    """The interval of a percentile by parts; :data:`NONE` where some day has no parts of its groups' values."""
    found = _quantile(side, metric, row, level)
    return NONE if found is None else found.interval


def own_test(ours: Side, theirs: Side, metric: Metric, difference: float, level: float) -> Difference | None:
    """The test of a ``difference`` that the jackknife does not serve, of one day or of two; None where it does."""
    rows = [side.merged.row(side.subject, metric) for side in (ours, theirs)]
    if metric.percentile is not None:
        one, other = (_quantile(side, metric, row, level) for side, row in zip((ours, theirs), rows, strict=True))
        if one is None or other is None or one.interval == NONE or other.interval == NONE:
            return t_test(difference, np.nan, 0, level)
        parts = int(np.count_nonzero(one.groups + other.groups))
        return difference_of_quantiles(difference, one.movement(level), other.movement(level), parts, level)
    if any(row.noise_floor is None for row in rows):
        return None
    mixed = metric.declaration.mixed_values(metric, ours, theirs)
    return None if mixed is None else swap_test(difference, mixed[0][0] - mixed[0][1], mixed[1], level)


class _Quantile(NamedTuple):
    """A percentile with its interval, how many groups each part has, and the shares of them below it and up to it."""

    share: float
    interval: Interval
    groups: Floats
    below: Share
    upto: Share

    def movement(self, level: float) -> Floats:
        return movement(self.interval, self.share, self.below, self.upto, level)


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
        np.bincount(bins.part, weights=count * counted, minlength=parts_of_slice(subject.slice))
        for counted in (number == number, number < own, number <= own)
    )
    shares = share_of_groups(below, groups), share_of_groups(upto, groups)
    quantile, ends = metric.percentile / 100, metric.declaration.range_of(metric.of_groups)
    parts = int(np.count_nonzero(groups))
    interval = woodruff(values.score, values.neg, quantile, *shares, parts, level, ends)
    if interval.low is not None and interval.high is not None:  # a value between two of the groups'
        interval = interval._replace(low=min(interval.low, row.value), high=max(interval.high, row.value))
    return _Quantile(quantile, interval, groups, *shares)
