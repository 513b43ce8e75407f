"""Percentiles over dependent groups, from the number of groups at or below a value in each part (a fixed subset)."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sparkrank.numeric.array_types import Floats
from sparkrank.stats.intervals import TOO_FEW, Interval, t_quantile
from sparkrank.stats.paired import Difference, t_test

WOODRUFF = "woodruff"


class ShareOfGroups(NamedTuple):
    """A share of all groups (``value``), with the standard error ``stderr`` and its degrees of freedom.

    Both are computed from parts (fixed subsets) of the groups; the degrees follow Johnson and Rust. ``by_part``
    contains each part's contribution to the deviation of the share, with mean 0. All contributions are 0 if the share
    is 0 or 1. Shape: (parts,).
    """

    value: float
    stderr: float
    degrees: float
    by_part: Floats


def share_of_groups(counted: ArrayLike, groups: ArrayLike) -> ShareOfGroups:
    """Return the share of counted groups, with the linearised variance of a ratio of sums over parts of the groups.

    ``counted`` contains the number of counted groups in each part, and ``groups`` the number of all groups in each
    part. At least two parts must have a group.
    """
    count, size = np.asarray(counted, np.float64), np.asarray(groups, np.float64)
    parts, n = int(np.count_nonzero(size)), float(np.cumsum(size)[-1])
    value = float(np.cumsum(count)[-1]) / n
    by_part = (count - value * size) / n
    stderr, degrees = spread(by_part, parts)
    return ShareOfGroups(value, stderr, degrees, by_part)


def spread(by_part: Floats, parts: int) -> tuple[float, float]:
    """Return the standard error of a sum over parts, and its degrees of freedom. The terms must have mean 0."""
    squares = by_part**2
    total, fourth = (float(np.cumsum(terms)[-1]) for terms in (squares, squares**2))
    if not total or parts < 2:
        return 0.0, float(parts - 1)
    degrees = min((3.16 - 2.77 / math.sqrt(parts)) * total**2 / fourth, parts - 1)
    return math.sqrt(total * parts / (parts - 1)), max(degrees, 1.0)


def woodruff(
    values: ArrayLike,
    counts: ArrayLike,
    quantile: float,
    below: ShareOfGroups,
    upto: ShareOfGroups,
    parts: int,
    level: float = 0.95,
    ends: tuple[float, float] = (-math.inf, math.inf),
) -> Interval:
    """Return the interval of a quantile over groups, from the standard errors of two shares of groups.

    ``below`` is the share of groups below the sample quantile, and ``upto`` the share at or below it. ``values`` are
    the distinct values in ascending order, ``counts`` contains the number of groups with each value, and ``parts`` is
    the number of parts with groups. The true quantile is below the interval only if ``below`` is larger than chance
    allows, and above the interval only if ``upto`` is smaller. So the low end is the value at ``quantile`` minus t
    standard errors of ``below``, and the high end the value at ``quantile`` plus t standard errors of ``upto``. If a
    share is 0 or 1, its parts show no variation, and √(q (1 - q) / (``parts`` - 1)), with q = ``quantile``, replaces
    its standard error. The result is :data:`~sparkrank.stats.intervals.TOO_FEW` if an end would be beyond all groups,
    unless the outermost value is the lowest or highest possible value (``ends``).

    Woodruff: Confidence intervals for medians and other position measures, JASA 1952.

    Examples
    --------
    There are 100 values in 25 parts, and the share below the median is 0.5 with a standard error of 0.1. The ends are
    the quantiles 0.5 ± 2.06 · 0.1:

    >>> half = ShareOfGroups(0.5, 0.1, 24.0, np.zeros(25))
    >>> interval = woodruff(np.arange(1, 101), [1] * 100, 0.5, half, half, 25)
    >>> interval.low, interval.high, interval.method
    (30.0, 71.0, 'woodruff')
    """
    ascending, through = np.asarray(values, np.float64), np.cumsum(np.asarray(counts, np.int64))
    if parts < 2 or not len(through) or not 0 < quantile < 1:
        return TOO_FEW
    unseen = math.sqrt(quantile * (1 - quantile) / (parts - 1))
    down, up = (t_quantile(share.degrees, 0.5 + level / 2) * (share.stderr or unseen) for share in (below, upto))
    first, last = quantile - down, quantile + up
    if (first <= 0 and ascending[0] != ends[0]) or (last >= 1 and ascending[-1] != ends[1]):
        return TOO_FEW
    low = np.searchsorted(through, first * through[-1], side="left")
    high = np.searchsorted(through, last * through[-1], side="right")
    return Interval(None, float(ascending[low]), float(ascending[min(high, len(ascending) - 1)]), WOODRUFF)


def movement(value: float, end: float, share: ShareOfGroups, other: ShareOfGroups, level: float) -> Floats:
    """Return each part's contribution to the deviation of a quantile, on the scale of the metric. Shape: (parts,).

    The contributions to ``share`` are scaled by the distance from the quantile ``value`` to ``end``, the end of its
    interval computed from ``share``. If the standard error of ``share`` is 0, ``other`` replaces ``share``.
    """
    seen = share if share.stderr else other
    if not seen.stderr:
        return np.zeros_like(seen.by_part)
    return -seen.by_part * (abs(end - value) / (t_quantile(seen.degrees, 0.5 + level / 2) * seen.stderr))


def difference_of_quantiles(
    difference: float, below: Floats, above: Floats, parts: int, level: float = 0.95, effective: float = math.inf
) -> Difference:
    """Test the difference between two quantiles by Student's t, from each part's contribution to the difference.

    ``below`` is the :func:`movement` of the first quantile towards its lower end, minus the movement of the second
    quantile towards its upper end; in ``above``, the words upper and lower are exchanged. Groups that belong to both
    samples move both quantiles, and these movements cancel. The interval of a quantile may be longer on one side. A
    difference is too high if the first quantile is too high or if the second is too low. So the lower end of the
    difference uses the lower half of the first interval and the upper half of the second. The method is ``too few`` if
    ``below`` or ``above`` is 0 in all parts, as when a quantile lies among many equal values. ``effective`` is the
    effective number of groups, and limits the degrees of freedom to ``effective`` - 1.

    Zou, Donner: Construction of confidence limits about effect measures, Statistics in Medicine 2008.
    """
    sides = [spread(below, parts), spread(above, parts)]
    moving = int(np.count_nonzero((below != 0) | (above != 0)))
    tests = [
        t_test(difference, error, min(degrees, effective - 1), level, WOODRUFF, moving) for error, degrees in sides
    ]
    low, high = tests[0].low, tests[1].high
    if low is None or high is None:  # within a tie, no part moves one end, which does not make the end certain
        return Difference(difference, method=TOO_FEW.method)
    toward_0 = (
        tests[0] if difference > 0 else tests[1] if difference < 0 else max(tests, key=lambda test: test.stderr or 0)
    )
    return toward_0 if toward_0.p is None else toward_0._replace(low=low, high=high)
