"""Tests of a difference: Student's t test, paired by group or part by part."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

from sparkrank.stats.intervals import LEAST_GROUPS, TOO_FEW, t_interval

# Each square of Σd² was rounded once. Squared deviations below that rounding error mean nothing.
ROUNDING = Fraction(1, 2**53)


class Difference(NamedTuple):
    """A difference, candidate - baseline, and its test against 0.

    ``difference`` is None if there are no pairs. ``stderr``, the two-sided ``p`` and the interval are None if there is
    no test. ``method`` is ``paired t`` or ``jackknife``, ``too few`` if the data cannot test it, or None if nothing is
    defined. ``least_p`` is the smallest p that is possible with this number of pairs.
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
        """Whether a difference of this number of pairs could exclude 0 at ``level``."""
        return self.least_p < 1 - level

    def holding_0(self, low: float, high: float, level: float) -> tuple[float, float]:
        """The ends of an interval, extended to 0 if no difference of this number of pairs could exclude 0."""
        return (low, high) if self.finds(level) else (min(low, 0.0), max(high, 0.0))


def t_test(
    difference: float,
    stderr: float,
    degrees: float,
    level: float = 0.95,
    method: str = "paired t",
    moving: float = math.inf,
) -> Difference:
    """Student's t test of the hypothesis that the true difference is 0, and the interval of the difference.

    ``stderr`` is that of paired groups, of a weighted mean of paired differences by the delta method, or of
    :func:`sparkrank.stats.intervals.jackknife`. ``moving`` is the number of groups, or parts of them, whose difference
    is not 0. If nothing really differs, the sign of each of these m differences is a coin toss, and all of them agree
    with a probability of 2^(1-m): no p is below that. The interval excludes 0 exactly if p is below 1 - ``level``,
    except for rounding.

    ``too few`` if the standard error is 0 or not finite, if fewer than two groups or parts differ, or if there is less
    than one degree of freedom. Without any number if the difference is not finite.

    Student: Biometrika 1908. Fisher: The Design of Experiments, 1935, section 21, for the least p that signs allow.

    Examples
    --------
    >>> tested = t_test(0.02, 0.008, 63, method="jackknife")
    >>> round(tested.p, 4), round(tested.low, 4), round(tested.high, 4)
    (0.015, 0.004, 0.036)

    Of four pairs that differ, all in one direction, 2 of 16 ways of signs are as far from 0:

    >>> t_test(0.02, 0.001, 3, moving=4).p
    0.125
    >>> t_test(0.0, 0.0, 63)
    Difference(difference=0.0, stderr=None, p=None, low=None, high=None, degrees=None, method='too few', least_p=0.0)
    """
    from scipy.special import stdtr

    if not math.isfinite(difference):
        return Difference(None)
    interval = t_interval(difference, stderr, degrees, level, method)
    if interval.method != method or not stderr or moving < LEAST_GROUPS:
        return Difference(float(difference), method=TOO_FEW.method)
    least = 2.0 ** (1 - moving)
    p = max(float(2 * stdtr(degrees, -abs(difference / stderr))), least)
    tested = Difference(
        float(difference), float(stderr), p, interval.low, interval.high, float(degrees), method, least_p=least
    )
    if tested.low is None or tested.high is None:
        return tested
    low, high = tested.holding_0(tested.low, tested.high, level)
    return tested._replace(low=low, high=high)


def paired_t(
    n: int, sum_d: float | Fraction, sum_dd: float | Fraction, level: float = 0.95, moving: float | None = None
) -> Difference:
    """The paired t test from sums over the ``n`` groups in which both models have a value; n - 1 degrees of freedom.

    The difference of a group is d. Its mean and the sum of squared deviations Σd² - (Σd)²/n are computed from the exact
    sums (each square in ``sum_dd`` rounded once) without rounding, so they lose no digit to cancellation. Squared
    deviations below the rounding error of Σd² count as 0: differences whose standard deviation is below 1e-8 of their
    mean are ``too few``, as are differences that are all equal. It equals ``scipy.stats.ttest_rel``, except that p is
    not below 2^(1-m), where m is the number of pairs that differ (``moving``).

    Examples
    --------
    The differences 1, 2 and 6: mean 3, variance (4 + 1 + 9) / 2 = 7, t = 3 / √(7/3), whose p would be 0.1885.

    >>> tested = paired_t(3, 9, 41)
    >>> tested.difference, round(tested.stderr, 4), tested.p
    (3.0, 1.5275, 0.25)
    >>> paired_t(5, 0.0, 0.0).method
    'too few'
    """
    if n == 0:
        return t_test(math.nan, math.nan, 0, level)
    total, squares = Fraction(sum_d), Fraction(sum_dd)
    centred = squares - total * total / n
    if centred < ROUNDING * squares:
        centred = Fraction()
    stderr = math.sqrt(centred / (n * (n - 1))) if n > 1 else math.nan
    return t_test(float(total / n), stderr, n - 1, level, moving=n if moving is None else moving)
