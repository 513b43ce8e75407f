"""Is a difference real? Student's t test of a difference, paired by group or part by part."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

from sparkrank.stats.intervals import Interval, t_interval

# Each square of Σd² was rounded once. Squared deviations below that rounding error mean nothing.
ROUNDING = Fraction(1, 2**53)


class Difference(NamedTuple):
    """A difference and its test against 0.

    Attributes
    ----------
    difference : float or None
        Candidate - baseline; None where there are no pairs.
    stderr, t, p, low, high : float or None
        Standard error, test statistic, two-sided p-value and interval; all None where there is no test.
    degrees : int
        Degrees of freedom.
    method : str or None
        ``paired t`` or ``jackknife``; None where there is no test.
    """

    difference: float | None
    stderr: float | None
    t: float | None
    p: float | None
    low: float | None
    high: float | None
    degrees: int
    method: str | None


def t_test(difference: float, stderr: float, degrees: int, level: float = 0.95, method: str = "paired t") -> Difference:
    """Student's t test of the hypothesis that the true difference is 0, and the interval of the difference.

    The interval excludes 0 exactly where p is below 1 - ``level``, but for rounding.

    Parameters
    ----------
    difference : float
        The estimate.
    stderr : float
        Its standard error: of paired groups, of a weighted mean of paired differences by the delta method, or of
        :func:`sparkrank.stats.intervals.jackknife`.
    degrees : int
        Degrees of freedom: pairs - 1, or parts - 1.
    level : float, default 0.95
        Level of the interval.
    method : str, default "paired t"
        What the result says of its method.

    Returns
    -------
    Difference
        With a standard error of 0, p is 1 for a difference of 0 and 0 for any other. There is no test where the
        difference or the standard error is not finite, or where there is less than one degree of freedom.

    Raises
    ------
    SpecError
        If ``level`` is not between 0 and 1.

    References
    ----------
    Student: The probable error of a mean, Biometrika 1908.

    Examples
    --------
    >>> found = t_test(0.02, 0.008, 63, method="jackknife")
    >>> round(found.t, 3), round(found.p, 4), round(found.low, 4), round(found.high, 4)
    (2.5, 0.015, 0.004, 0.036)
    >>> t_test(0.0, 0.0, 63).p
    1.0
    >>> t_test(0.02, float("nan"), 63)
    Difference(difference=0.02, stderr=None, t=None, p=None, low=None, high=None, degrees=63, method=None)
    """
    known = float(difference) if math.isfinite(difference) else None
    interval = t_interval(difference, stderr, degrees, level, method)
    if known is not None and not stderr and degrees >= 1:
        interval = Interval(float(stderr), known, known, method, degrees)
    if interval.stderr is None:
        return Difference(known, None, None, None, None, None, max(int(degrees), 0), None)
    t = difference / stderr if stderr else math.copysign(math.inf, difference) if difference else 0.0
    p = two_sided_p(t, degrees)
    return Difference(known, interval.stderr, t, p, interval.low, interval.high, int(degrees), method)


def paired_t(n: int, sum_d: float | Fraction, sum_dd: float | Fraction, level: float = 0.95) -> Difference:
    """The paired t test from sums over the groups where both models have a value.

    The difference of a group is d. Its mean and the sum of squared deviations Σd² - (Σd)²/n are computed from the sums
    without rounding, so they lose no digit to cancellation.

    Parameters
    ----------
    n : int
        Pairs: groups where both models are defined.
    sum_d : float or Fraction
        Σd, exact.
    sum_dd : float or Fraction
        Σd², each square rounded to a float once and the sum exact.
    level : float, default 0.95
        Level of the interval.

    Returns
    -------
    Difference
        The mean difference, with n - 1 degrees of freedom. Differences that are all 0 give p = 1; differences that are
        all alike and not 0 give stderr 0 and p = 0. Squared deviations below the rounding error of Σd² count as 0, so
        that is also what differences give whose standard deviation is below 1e-8 of their mean. No test for n < 2.

    Raises
    ------
    SpecError
        If ``level`` is not between 0 and 1.

    References
    ----------
    Student: The probable error of a mean, Biometrika 1908; equal to ``scipy.stats.ttest_rel``.

    Examples
    --------
    The differences 1, 2 and 6: mean 3, variance (4 + 1 + 9) / 2 = 7, t = 3 / √(7/3).

    >>> found = paired_t(3, 9, 41)
    >>> found.difference, round(found.stderr, 4), round(found.t, 4), round(found.p, 4)
    (3.0, 1.5275, 1.964, 0.1885)
    >>> paired_t(5, 0.0, 0.0)
    Difference(difference=0.0, stderr=0.0, t=0.0, p=1.0, low=0.0, high=0.0, degrees=4, method='paired t')
    """
    if n == 0:
        return t_test(math.nan, math.nan, 0, level)
    total, squares = Fraction(sum_d), Fraction(sum_dd)
    centred = squares - total * total / n
    if centred < ROUNDING * squares:
        centred = Fraction()
    stderr = math.sqrt(centred / (n * (n - 1))) if n > 1 else math.nan
    return t_test(float(total / n), stderr, n - 1, level)


def two_sided_p(t: float, degrees: float) -> float:
    """The probability of a t at least as far from 0 where the true difference is 0.

    Examples
    --------
    >>> two_sided_p(0.0, 5)
    1.0
    >>> round(two_sided_p(-2.570582, 5), 6)
    0.05
    """
    from scipy.special import stdtr

    return float(2 * stdtr(degrees, -abs(t)))
