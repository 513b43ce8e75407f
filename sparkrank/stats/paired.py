"""Tests of a difference by Student's t, paired by group or by part (a fixed subset of the groups)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparkrank.numeric.array_types import Floats, Ints
from sparkrank.stats.intervals import LEAST_GROUPS, TOO_FEW, greater, lesser, t_intervals

# Each square in Σd² was rounded once. Squared deviations below that rounding error mean nothing.
ROUNDING = 2**53  # the inverse of the relative rounding error


class Difference(NamedTuple):
    """A difference (candidate - baseline) and the test of the hypothesis that the true difference is 0.

    ``difference`` is None if there are no pairs. ``stderr``, the two-sided ``p`` and the ends of the interval (``low``
    and ``high``) are None if no test is possible. ``method`` is the name of the test, such as ``paired t`` or
    ``jackknife``; it is ``too few`` if the data allow no test, and None if the difference is undefined. ``degrees`` are
    the degrees of freedom. ``least_p`` is the smallest p-value that this number of pairs can give.
    """

    difference: float | None
    stderr: float | None = None
    p: float | None = None
    low: float | None = None
    high: float | None = None
    degrees: float | None = None
    method: str | None = None
    least_p: float = 0.0

    def finds(self, level: float) -> bool:
        """Return whether this number of pairs is large enough for an interval that excludes 0 at ``level``."""
        return self.least_p < 1 - level

    def holding_0(self, low: float, high: float, level: float) -> tuple[float, float]:
        """Return the ends of an interval, extended to contain 0 if the pairs are too few to exclude 0 at ``level``."""
        return (low, high) if self.finds(level) else (min(low, 0.0), max(high, 0.0))


class Differences(NamedTuple):
    """The fields of n :class:`Difference` tuples as arrays of shape (n,), with NaN where a number is None."""

    difference: Floats
    stderr: Floats
    p: Floats
    low: Floats
    high: Floats
    degrees: Floats
    method: NDArray[np.object_]
    least_p: Floats

    @classmethod
    def untested(cls, difference: Floats, method: str | None = None) -> Differences:
        stderr, p, low, high, degrees = np.full((5, len(difference)), np.nan)
        least = np.zeros(len(difference))
        return cls(difference, stderr, p, low, high, degrees, np.full(len(difference), method, object), least)

    def put(self, where: Ints, others: Iterable[Any]) -> None:
        """Overwrite the tests at the indices ``where`` with the columns ``others``, in place. Shape of each: (m,)."""
        for column, other in zip(self, others, strict=True):
            column[where] = other

    def holding_0(self, low: Floats, high: Floats, level: float) -> tuple[Floats, Floats]:
        """Apply :meth:`Difference.holding_0` to each of the n tests."""
        finds = self.least_p < 1 - level
        return np.where(finds, low, lesser(low, 0.0)), np.where(finds, high, greater(high, 0.0))

    def one(self) -> Difference:
        """Return the first test."""
        numbers = (None if math.isnan(column[0]) else float(column[0]) for column in (*self[:6], self.least_p))
        *known, least = numbers
        return Difference._make([*known, self.method[0], least or 0.0])


def t_test(
    difference: float,
    stderr: float,
    degrees: float,
    level: float = 0.95,
    method: str = "paired t",
    moving: float = math.inf,
) -> Difference:
    """Test the hypothesis that the true difference is 0 by Student's t, and return the interval of the difference.

    ``stderr`` may come from paired groups, from the delta method for a weighted mean of paired differences, or from
    :func:`sparkrank.stats.intervals.jackknife`. ``moving`` is the number m of groups (or parts of the groups) whose
    difference is not 0. If the true difference is 0, the sign of each of these m differences is a coin toss, and all
    signs agree with probability 2^(1-m). So p is raised to this probability if it is lower. The interval excludes 0
    exactly if p is below 1 - ``level``, except for rounding.

    The method is ``too few`` if the standard error is 0 or not finite, if fewer than two groups or parts differ, or if
    ``degrees`` is below 1. If the difference is not finite, all numbers of the result are None.

    Student: Biometrika 1908. Fisher: The Design of Experiments, 1935, section 21, for the smallest p that signs allow.

    Examples
    --------
    >>> tested = t_test(0.02, 0.008, 63, method="jackknife")
    >>> round(tested.p, 4), round(tested.low, 4), round(tested.high, 4)
    (0.015, 0.004, 0.036)

    For four pairs that all differ in one direction, 2 of the 16 combinations of signs are as far from 0:

    >>> t_test(0.02, 0.001, 3, moving=4).p
    0.125
    >>> t_test(0.0, 0.0, 63)
    Difference(difference=0.0, stderr=None, p=None, low=None, high=None, degrees=None, method='too few', least_p=0.0)
    """
    own, error, df, several = (np.array([number], np.float64) for number in (difference, stderr, degrees, moving))
    return t_tests(own, error, df, several, level, method).one()


def t_tests(
    difference: Floats, stderr: Floats, degrees: Floats, moving: Floats, level: float, method: str = "paired t"
) -> Differences:
    """Apply :func:`t_test` to each of n differences."""
    from scipy.special import stdtr

    intervals = t_intervals(difference, stderr, degrees, level, method)
    known = np.isfinite(difference)
    tested = known & (intervals.method == method) & (stderr != 0) & (moving >= LEAST_GROUPS)
    least = np.ldexp(1.0, np.clip(1 - moving, -1100, 0).astype(np.int64))  # 2^-1100 is 0
    with np.errstate(divide="ignore", invalid="ignore"):
        p = greater(2 * stdtr(degrees, -np.abs(difference / stderr)), least)
    tests = Differences(
        np.where(known, difference, np.nan), stderr, p, *intervals[1:3], degrees, intervals.method, least
    )
    ends = tests.holding_0(intervals.low, intervals.high, level)
    columns = (stderr, p, *ends, degrees)
    numbers = (np.where(tested, column, np.nan) for column in columns)
    why = np.full(len(known), None, object)
    why[known], why[tested] = TOO_FEW.method, method
    return Differences._make([tests.difference, *numbers, why, np.where(tested, least, 0.0)])


def paired_t(
    n: int, sum_d: float | Fraction, sum_dd: float | Fraction, level: float = 0.95, moving: float | None = None
) -> Difference:
    """Return the paired t test from sums over the ``n`` groups with values of both models.

    Let d be the difference in a group; ``sum_d`` is Σd and ``sum_dd`` is Σd². The test has n - 1 degrees of freedom.
    The mean of d and the sum of squared deviations Σd² - (Σd)²/n are computed exactly from the sums (in ``sum_dd`` each
    square was rounded once), so no digit is lost to cancellation. Squared deviations below the rounding error of Σd²
    count as 0: if the standard deviation of the differences is below 1e-8 of their mean, or if all differences are
    equal, the method is ``too few``. The test equals ``scipy.stats.ttest_rel``, except that p is never below 2^(1-m). m
    is the number of different pairs (``moving``).

    Examples
    --------
    The differences 1, 2 and 6 have mean 3, variance (4 + 1 + 9) / 2 = 7 and t = 3 / √(7/3). By t alone, p would be
    0.1885, which is below 2^(1-3) = 0.25.

    >>> tested = paired_t(3, 9, 41)
    >>> tested.difference, round(tested.stderr, 4), tested.p
    (3.0, 1.5275, 0.25)
    >>> paired_t(5, 0.0, 0.0).method
    'too few'
    """
    sums = (np.array([Fraction(total)], object) for total in (sum_d, sum_dd))
    total, squares = sums
    return paired_ts(
        np.array([n]), total, squares, np.array([n if moving is None else moving], np.float64), level
    ).one()


def paired_ts(
    n: Ints, sum_d: NDArray[np.object_], sum_dd: NDArray[np.object_], moving: Floats, level: float, scale: int = 1
) -> Differences:
    """Apply :func:`paired_t` to many pairs of models. Each pair has its own number ``n`` of groups.

    The sums are fractions, or whole numbers in units of 1 / ``scale``. Python divides both types with a single rounding
    at the end.
    """
    difference, stderr = np.full((2, len(n)), np.nan)
    several = np.flatnonzero(n > 1)
    for places in (np.flatnonzero(n == 1), several):
        difference[places] = (sum_d[places] / (n[places].astype(object) * scale)).astype(np.float64)
    count, total = n[several].astype(object), sum_d[several]
    squares = count * sum_dd[several] * scale
    centred = squares - total * total  # n · Σ(d - mean)², in squares of units
    centred[(centred * ROUNDING < squares).astype(bool)] = 0
    variance = centred / (count * count * (count - 1) * scale**2)
    stderr[several] = np.sqrt(variance.astype(np.float64))
    return t_tests(difference, stderr, (n - 1).astype(np.float64), moving, level)
