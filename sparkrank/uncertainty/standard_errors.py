"""The interval of each value in the ``metrics`` table, computed only from merged states.

The unit of sampling is the group. For one day, intervals of means use exact moments. The intervals of sums over rows,
and of all metrics over a window, are computed by leaving out one part (fixed subset) of the groups at a time.
"""

from __future__ import annotations

import math

import numpy as np

from sparkrank.metrics import Metric, Plan
from sparkrank.metrics.merged import MetricColumns, kind_of
from sparkrank.numeric.array_types import Floats, Ints
from sparkrank.states import Distribution
from sparkrank.stats.intervals import (
    LEAST_GROUPS,
    NONE,
    OFF,
    TOO_FEW,
    Interval,
    Intervals,
    greater,
    jackknife,
    jackknife_degrees,
    lesser,
    log_intervals,
    logit_intervals,
    order_statistics,
    t_intervals,
    wilson_intervals,
)
from sparkrank.stats.noise_floor import UPPER_BOUND
from sparkrank.stats.sequential import begins, confidence_sequence
from sparkrank.stats.woodruff import WOODRUFF
from sparkrank.uncertainty.samples import Samples, padded
from sparkrank.uncertainty.unsmooth_metrics import noise_interval, percentile_interval

JACKKNIFE, PERCENTILES = "jackknife", "order statistics"


def intervals_of(samples: Samples, plan: Plan, metric: Metric) -> Intervals:
    """Return the interval of ``metric`` for each of the ``samples``. Without an interval, ``method`` is the reason."""
    intervals = _of_one_look(samples, plan, metric)
    if plan.uncertainty.sequential:
        for place in np.flatnonzero(~np.isnan(intervals.low)).tolist():
            interval = Intervals._make(column[place : place + 1] for column in intervals).one()
            if interval.method not in (PERCENTILES, WOODRUFF):
                at_all_looks = _at_all_looks(samples, plan, metric, place, interval)
                intervals.put(np.array([place]), Intervals.of([at_all_looks]))
    return intervals


def _at_all_looks(samples: Samples, plan: Plan, metric: Metric, place: int, interval: Interval) -> Interval:
    """Return the confidence sequence that replaces ``interval``, which is valid for a single look at the data.

    ``place`` is the index of the sample.
    """
    rows, (lowest, highest) = samples.rows(metric), metric.declaration.range_of(metric)
    value, counted, known = (float(each[place]) for each in (rows.value, rows.n_groups, samples.n_effective(metric)))
    groups = 0.0 if math.isnan(counted) else counted
    effective = groups if math.isnan(known) else known
    if interval.stderr is None or not begins(groups, value, (lowest, highest), effective):
        return TOO_FEW
    sequence = confidence_sequence(value, interval.stderr, groups, plan.uncertainty.level)
    if interval.method == UPPER_BOUND and sequence.low is not None:
        sequence = sequence._replace(low=lowest)
    return sequence.within((lowest, highest))


def _of_one_look(samples: Samples, plan: Plan, metric: Metric) -> Intervals:
    declared, level, rows = metric.declaration, plan.uncertainty.look_level, samples.rows(metric)
    if metric.percentile is not None:
        return Intervals.of([_of_percentile(samples, plan, metric, place) for place in range(len(samples.subjects))])
    effective = samples.n_effective(metric)
    intervals = Intervals.of([NONE] * len(rows.value))
    if declared.interval == "none" or not plan.keys:
        return intervals
    known = ~np.isnan(rows.value)
    if declared.is_averaged and not samples.clustered:
        _put_on_scale(
            intervals, np.flatnonzero(known), metric, rows, effective, *_of_means(samples, metric), "t", level
        )
        return intervals
    intervals.method[known & ~samples.has_parts] = OFF.method
    places, stderr, degrees = _of_parts(samples, metric, np.flatnonzero(known & samples.has_parts), effective)
    above_noise = ~np.isnan(rows.noise_floor) & ~(effective < LEAST_GROUPS)
    for place in places[above_noise[places]].tolist():
        row, error = kind_of(metric).row(samples.merged, samples.subjects[place], metric), float(stderr[place])
        interval = noise_interval(samples.side(place), metric, row, error, float(degrees[place]), level)
        intervals.put(np.array([place]), Intervals.of([interval]))
    others = places[~above_noise[places]]
    _put_on_scale(intervals, others, metric, rows, effective, stderr, degrees, JACKKNIFE, level)
    return intervals


def _put_on_scale(
    intervals: Intervals,
    places: Ints,
    metric: Metric,
    rows: MetricColumns,
    effective: Floats,
    stderr: Floats,
    degrees: Floats,
    method: str,
    level: float,
) -> None:
    """Compute intervals on the scale that the metric declares.

    They are stored in ``intervals``, in place, at ``places``.
    """
    is_few = effective[places] < LEAST_GROUPS
    intervals.method[places[is_few]] = TOO_FEW.method
    places = places[~is_few]
    value, error, df = (column[places] for column in (rows.value, stderr, degrees))
    match metric.declaration.scale_of(metric):
        case "wilson":
            made = wilson_intervals(value, error, df, effective[places], level)
        case "logit":
            made = logit_intervals(value, error, df, level)
        case "log":
            made = log_intervals(value, error, df, level, metric.declaration.range_of(metric))
        case _:
            made = t_intervals(value, error, df, level, method, metric.declaration.range_of(metric))
    intervals.put(places, made)


def _of_percentile(samples: Samples, plan: Plan, metric: Metric, place: int) -> Interval:
    side = samples.side(place)
    states, distributions = side.subject.state(metric.group_metric), side.merged.partials.distributions
    groups = distributions.get(states, Distribution.empty()).histogram
    if not len(groups.score):
        return NONE
    level, has_parts = plan.uncertainty.look_level, samples.has_parts[place]
    if not samples.clustered:
        ends = order_statistics(groups.score, groups.neg, (metric.percentile or 0.0) / 100, level)
        if ends is not None and ends[0] < ends[1]:
            return Interval(None, *ends, PERCENTILES)
    if not has_parts:
        return OFF if samples.clustered else TOO_FEW
    interval = percentile_interval(side, metric, side.merged.row(side.subject, metric), level)
    return TOO_FEW if interval.low == interval.high else interval


def _of_means(samples: Samples, metric: Metric) -> tuple[Floats, Floats]:
    """Return the standard errors of means over independent groups, by exact moments, and their degrees of freedom.

    The degrees are the effective number of groups minus 1 (Kish 1965). Satterthwaite's degrees are (Σp²)² / Σp⁴, with
    the shares p of the weight; they are near 1 if one group is large. But in this case the error of the mean and the
    residual of the large group are nearly equal, so intervals with about 1 degree would always contain the true value,
    and would be four times as long.
    """
    means, effective = samples.means(metric), samples.n_effective(metric)
    if metric.geometric:  # the means are those of logarithms
        return means.stderr * samples.rows(metric).value, np.where(np.isnan(effective), 0.0, effective) - 1
    degrees = np.where(np.isnan(effective), 0.0, effective) - 1
    # the error of a share is at least that of a share over n_effective independent groups
    of_shares = means.is_share & (means.n_effective > 1) & (means.n_effective < means.n_averaged)
    with np.errstate(invalid="ignore", divide="ignore"):
        as_independent = np.sqrt(means.value * (1 - means.value) / degrees)
    return np.where(of_shares, greater(means.stderr, as_independent), means.stderr), degrees


def _of_parts(samples: Samples, metric: Metric, places: Ints, effective: Floats) -> tuple[Ints, Floats, Floats]:
    """Return the indices of samples with parts, and jackknife errors and degrees of freedom of all samples (or NaN)."""
    stderr, degrees = np.full((2, len(effective)), np.nan)
    known = list(zip(places.tolist(), samples.without_parts(metric, places), strict=True))
    places = np.array([place for place, without in known if without is not None], np.int64)
    parts = padded([without for _, without in known if without is not None])
    stderr[places] = jackknife(*parts)[0]
    most = np.where(np.isnan(effective[places]), np.inf, effective[places] - 1)
    degrees[places] = lesser(jackknife_degrees(*parts), most)
    return places, stderr, degrees
