"""Standard errors and intervals: Student's t, the delete-a-part jackknife, and order statistics."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sparkrank.errors import SpecError, shown
from sparkrank.numeric.array_types import Floats, Ints


class Interval(NamedTuple):
    """The standard error of a value, its interval, and how that was made; all of them None where there is none.

    Attributes
    ----------
    stderr : float or None
        Standard error of the value. None also beside an interval that needs none, as one of order statistics.
    low, high : float or None
        Ends of the interval.
    method : str or None
        ``t``, ``jackknife``, ``order statistics`` or ``confidence sequence``.
    """

    stderr: float | None
    low: float | None
    high: float | None
    method: str | None


# Quantiles of Student's t of scipy 1.11 are off by up to 1e-8; those of newer ones are closer to their share than this.
_EXACT, _CORRECTIONS = 1e-14, 3
NONE = Interval(None, None, None, None)


def t_interval(value: float, stderr: float, degrees: float, level: float = 0.95, method: str = "t") -> Interval:
    """The interval ``value`` ± t · ``stderr``, with t a quantile of Student's t distribution.

    Parameters
    ----------
    value : float
        The estimate in the middle of the interval.
    stderr : float
        Its standard error. 0 gives an interval of one point.
    degrees : float
        Degrees of freedom of ``stderr``: groups - 1, or parts - 1 for that of :func:`jackknife`.
    level : float, default 0.95
        The share of such intervals that hold the true value: above 0, below 1.
    method : str, default "t"
        What the interval says of its method.

    Returns
    -------
    Interval
        :data:`NONE` where ``value`` or ``stderr`` is not finite, or where there is less than one degree of freedom.

    Raises
    ------
    SpecError
        If ``level`` is not between 0 and 1.

    References
    ----------
    Student: The probable error of a mean, Biometrika 1908.

    Examples
    --------
    With 2 degrees of freedom the quantile is 4.30, not the 1.96 of a normal distribution.

    >>> found = t_interval(2.0, 0.5, 2)
    >>> round(found.low, 3), round(found.high, 3), found.method
    (-0.151, 4.151, 't')
    >>> t_interval(2.0, 0.5, 0) == NONE
    True
    """
    checked_share("level", level)
    if not (math.isfinite(value) and math.isfinite(stderr) and degrees >= 1):
        return NONE
    half = t_quantile(float(degrees), 0.5 + level / 2) * stderr
    return Interval(float(stderr), float(value - half), float(value + half), method)


def jackknife(values: ArrayLike, without: ArrayLike, sizes: ArrayLike) -> tuple[Floats, Ints]:
    """The standard errors of ``values`` by the delete-a-part jackknife, whose parts may have different sizes.

    Let theta be a value, theta_(-j) the same without part j, m_j the groups in part j, n those in all g parts that have
    any, and h_j = n / m_j. The pseudo-value of part j is h_j · theta - (h_j - 1) · theta_(-j), the jackknife estimate
    is g · theta - Σ (1 - 1/h_j) · theta_(-j), and the variance is::

        (1/g) · Σ (pseudo-value - jackknife estimate)² / (h_j - 1)

    It is computed from the deviations theta_(-j) - theta alone: the standard error is exactly 0 where they all are.

    Parameters
    ----------
    values : array_like of float, (k,)
        Metrics, or differences of two models.
    without : array_like of float, (k, g)
        Each value without the groups of each part.
    sizes : array_like of int, (g,) or (k, g)
        How many groups each part holds. A part of size 0 does not count, whatever ``without`` has there.

    Returns
    -------
    stderr : ndarray of float, (k,)
        NaN where the value, or one that is needed without a part, is not finite, and where fewer than two parts hold a
        group: without the one part that holds all groups there is no value.
    degrees : ndarray of int, (k,)
        The parts that hold a group, less one: the degrees of freedom of Student's t.

    References
    ----------
    Busing, Meijer, van der Leeden: Delete-m jackknife for unequal m, Statistics and Computing 1999.

    Examples
    --------
    A mean, each of whose parts holds one group, has the usual standard error. That of 1, 2, 3, 4 is √(5/3 / 4):

    >>> jackknife([2.5], [[3.0, 8 / 3, 7 / 3, 2.0]], [1, 1, 1, 1])
    (array([0.64549722]), array([3]))

    Two parts of 1 and 3 groups. The second row has all groups in one part:

    >>> jackknife([2.0, 5.0], [[2.5, 0.5], [5.0, 0.0]], [[1, 3], [0, 4]])
    (array([0.8660254,       nan]), array([1, 0]))
    """
    theta, deleted = np.asarray(values, np.float64), np.asarray(without, np.float64)
    m = np.broadcast_to(np.asarray(sizes, np.float64), deleted.shape)
    counts = m > 0
    parts, n = counts.sum(axis=-1), _in_order(m)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        deviations = np.where(counts, deleted - theta[..., None], 0.0)
        share = m / n[..., None]  # 1/h
        # As Σ 1/h is 1, the jackknife estimate is theta + the first of these, and a pseudo-value theta + the second.
        estimate = -_in_order((1 - share) * deviations)
        pseudo = -(1 - share) / np.where(counts, share, 1.0) * deviations
        squares = np.where(counts, (pseudo - estimate[..., None]) ** 2 * share / (1 - share), 0.0)
        stderr = np.sqrt(_in_order(squares) / parts)
    known = np.isfinite(stderr) & (parts > 1)  # it is not finite either where a needed value is not
    return np.where(known, stderr, np.nan), np.maximum(parts - 1, 0)


def order_statistics(
    values: ArrayLike, counts: ArrayLike, quantile: float, level: float = 0.95
) -> tuple[float, float] | None:
    """The interval of a quantile between two of the values themselves, whatever their distribution.

    Of n independent groups, the number at or below the true quantile is binomial. So the l-th smallest value is above
    it with the probability that this number is below l, and the u-th smallest is below it with the probability that it
    is u or more. The interval takes the largest l and the smallest u for which each is below (1 - ``level``) / 2. It is
    conservative: ranks are whole numbers, and tied values only add to the probability.

    Parameters
    ----------
    values : array_like of float, (d,)
        The distinct values, ascending.
    counts : array_like of int, (d,)
        How many groups have each value; 0 is allowed.
    quantile : float
        From 0 to 1: 0.5 is the median.
    level : float, default 0.95
        The least share of such intervals that hold the true quantile.

    Returns
    -------
    tuple of float, or None
        The ends ``low`` and ``high``. None where one of the ranks would be below 1 or above n: there are too few groups
        (for a median at 0.95 fewer than 6), or the quantile is 0 or 1.

    Raises
    ------
    SpecError
        If ``level`` is not between 0 and 1.

    References
    ----------
    Thompson: On confidence ranges for the median and other expectation distributions, Annals of Mathematical Statistics
    1936. David, Nagaraja: Order Statistics, 2003, section 7.1.

    Examples
    --------
    Of ten values, the second and the ninth: each end is missed with the probability 11/1024.

    >>> order_statistics([1, 2, 3, 4, 5, 6, 7, 8, 9, 10], [1] * 10, 0.5)
    (2.0, 9.0)
    >>> order_statistics([0.0, 1.0], [70, 30], 0.5)
    (0.0, 0.0)
    >>> order_statistics([0.0, 1.0], [3, 2], 0.5) is None
    True
    """
    from scipy.stats import binom

    checked_share("level", level)
    upto = np.cumsum(np.asarray(counts, np.int64))
    n = int(upto[-1]) if len(upto) else 0
    if n == 0 or not 0 < quantile < 1:
        return None
    tail = (1 - level) / 2
    lowest = int(binom.ppf(tail, n, quantile))
    highest = n + 1 - int(binom.ppf(tail, n, 1 - quantile))  # from the other end
    if lowest < 1 or highest > n:
        return None
    ends = np.asarray(values, np.float64)[np.searchsorted(upto, [lowest, highest])]
    return float(ends[0]), float(ends[1])


@lru_cache(maxsize=4096)
def t_quantile(degrees: float, share: float) -> float:
    """The value below which ``share`` of Student's t distribution lies.

    Examples
    --------
    >>> round(t_quantile(4, 0.975), 6)
    2.776445
    """
    from scipy.special import gammaln, stdtr, stdtrit

    quantile = float(stdtrit(degrees, share))
    for _ in range(_CORRECTIONS):
        beside = float(stdtr(degrees, quantile)) - share
        if abs(beside) <= _EXACT:
            break
        density = math.exp(
            float(gammaln((degrees + 1) / 2) - gammaln(degrees / 2))
            - (degrees + 1) / 2 * math.log1p(quantile * quantile / degrees)
        ) / math.sqrt(degrees * math.pi)
        quantile -= beside / density
    return quantile


def checked_share(name: str, share: float) -> None:
    """Raise :class:`SpecError` unless ``share`` is above 0 and below 1."""
    if not 0 < share < 1:
        raise SpecError(f"{name} is {shown(share)}: a number above 0 and below 1 is allowed")


def _in_order(terms: NDArray[Any]) -> Floats:
    """The sums over the last axis, added from the first to the last: the same bits beside other rows and without zeros.

    numpy's own sum adds in an order that depends on the layout of the array.
    """
    if terms.shape[-1] == 0:
        return np.zeros(terms.shape[:-1])
    sums: Floats = np.cumsum(terms, axis=-1, dtype=np.float64)[..., -1]
    return sums
