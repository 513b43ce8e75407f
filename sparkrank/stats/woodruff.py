"""Percentiles of groups that are not independent, from the shares of each part's groups at or below a value."""

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
    """A share of all groups, its standard error by parts, and the degrees of freedom of that (Johnson and Rust).

    ``by_part`` (parts) is each part's contribution to its deviation, with the mean 0; all are 0 if every group, or no
    group, is counted.
    """

    value: float
    stderr: float
    degrees: float
    by_part: Floats


def share_of_groups(counted: ArrayLike, groups: ArrayLike) -> ShareOfGroups:
    """The share of ``groups`` (parts) that are ``counted`` (parts), with the linearised variance of a ratio over parts.

    At least two parts have a group.
    """
    count, size = np.asarray(counted, np.float64), np.asarray(groups, np.float64)
    parts, n = int(np.count_nonzero(size)), float(np.cumsum(size)[-1])
    value = float(np.cumsum(count)[-1]) / n
    by_part = (count - value * size) / n
    stderr, degrees = spread(by_part, parts)
    return ShareOfGroups(value, stderr, degrees, by_part)


def spread(by_part: Floats, parts: int) -> tuple[float, float]:
    """The standard error of a sum over ``parts`` with terms of mean 0, and its degrees of freedom."""
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
    """The interval of a quantile of groups, from the standard errors of the shares of groups below it and up to it.

    ``values`` are the distinct values in ascending order, and ``counts`` the number of groups with each; ``parts`` is
    the number of parts with groups. The true quantile is below the interval only if more groups than chance allows are
    ``below`` the quantile of the sample, and above it only if fewer are ``upto`` it. So each end is the value at
    ``quantile`` minus or plus t standard errors of its own share. If every group, or no group, is counted, the standard
    error is the largest that so many parts can have with one group each. :data:`~sparkrank.stats.intervals.TOO_FEW` if
    an end would be beyond all groups, unless it is one of ``ends``, the lowest and the highest possible value.

    Woodruff: Confidence intervals for medians and other position measures, JASA 1952.

    Examples
    --------
    A hundred values of which half a part's groups are below the middle, in 25 parts: 0.5 ± 2.06 · 0.1.

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
    """Each part's contribution to a quantile's deviation, on the scale of the interval from ``value`` to one ``end``.

    That end was computed from ``share``. If this counts every group or none, the contributions are those of ``other``.
    """
    seen = share if share.stderr else other
    if not seen.stderr:
        return np.zeros_like(seen.by_part)
    return -seen.by_part * (abs(end - value) / (t_quantile(seen.degrees, 0.5 + level / 2) * seen.stderr))


def difference_of_quantiles(
    difference: float, below: Floats, above: Floats, parts: int, level: float = 0.95, effective: float = math.inf
) -> Difference:
    """Student's t test of a difference of two quantiles, from each part's contribution to it.

    ``below`` (parts) is the :func:`movement` of ours on the side below it, less that of theirs on the side above it,
    and ``above`` is the reverse. Groups that are in both move both, which cancels out. Intervals of quantiles may be
    longer on one side. A difference is too high if the first quantile is too high or the second too low; so its lower
    end uses the lower side of the first and the upper side of the second. ``too few`` if no part moves one of the
    sides, as within a large tie.

    Zou, Donner: Construction of confidence limits about effect measures, Statistics in Medicine 2008.
    """
    sides = [spread(below, parts), spread(above, parts)]
    moving = int(np.count_nonzero((below != 0) | (above != 0)))
    tests = [
        t_test(difference, error, min(degrees, effective - 1), level, WOODRUFF, moving) for error, degrees in sides
    ]
    low, high = tests[0].low, tests[1].high
    if low is None or high is None:  # within a tie no part moves one side, which does not mean certainty
        return Difference(difference, method=TOO_FEW.method)
    toward_0 = (
        tests[0] if difference > 0 else tests[1] if difference < 0 else max(tests, key=lambda test: test.stderr or 0)
    )
    return toward_0 if toward_0.p is None else toward_0._replace(low=low, high=high)
