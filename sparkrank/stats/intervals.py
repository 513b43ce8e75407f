"""Standard errors and intervals by Student's t, Wilson, logit, log and order statistics, and a jackknife.

The jackknife leaves out parts (fixed subsets) of the groups.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sparkrank.base.errors import SpecError, quote
from sparkrank.numeric.array_types import Floats, Ints
from sparkrank.numeric.elementary import squared


class Interval(NamedTuple):
    """The interval of a value: its standard error, its ends and its method. ``degrees`` belong to ``stderr``.

    All fields are None if the value is undefined or has no interval by nature. If an interval is only missing, the
    numbers are None, and ``method`` is the reason: ``too few`` or ``off``. Otherwise, ``method`` is ``t``, ``wilson``,
    ``logit``, ``log``, ``jackknife``, ``order statistics``, ``woodruff``, ``upper bound`` or ``confidence sequence``.
    Some intervals need no ``stderr`` (None): those of percentiles, and Wilson's for a proportion of 0 or 1.
    """

    stderr: float | None
    low: float | None
    high: float | None
    method: str | None
    degrees: float | None = None

    def within(self, ends: tuple[float, float]) -> Interval:
        """Return the interval, cut at ``ends``: the lowest and the highest possible value."""
        if self.low is None or self.high is None:
            return self
        return self._replace(low=max(self.low, min(ends[0], self.high)), high=min(self.high, max(ends[1], self.low)))


class Intervals(NamedTuple):
    """The fields of n :class:`Interval` tuples as arrays of shape (n,), with NaN where a number is None."""

    stderr: Floats
    low: Floats
    high: Floats
    method: NDArray[np.object_]
    degrees: Floats

    @classmethod
    def of(cls, intervals: Sequence[Interval]) -> Intervals:
        stderr, low, high, method, degrees = (list(column) for column in zip(*intervals, strict=True))
        numbers = (np.array(column, np.float64) for column in (stderr, low, high, degrees))
        stderrs, lows, highs, all_degrees = numbers
        return cls(stderrs, lows, highs, np.array(method, object), all_degrees)

    @classmethod
    def filled(cls, why: NDArray[np.object_], where: NDArray[np.bool_], method: str, *numbers: Floats) -> Intervals:
        """Return intervals with ``numbers`` where the mask ``where`` is true, and NaN elsewhere.

        ``numbers`` are stderr, low, high and degrees. ``why`` is set to ``method`` where the mask is true, in place.
        """
        columns = np.full((len(numbers), len(where)), np.nan)
        columns[:, where] = numbers
        why[where] = method
        stderr, low, high, degrees = columns
        return cls(stderr, low, high, why, degrees)

    def put(self, where: Ints, others: Intervals) -> None:
        """Overwrite the intervals at the indices ``where`` with ``others``, in place. Shape of both: (m,)."""
        for column, other in zip(self, others, strict=True):
            column[where] = other

    def one(self) -> Interval:
        stderr, low, high, method, degrees = (column[0] for column in self)
        return Interval(_known(stderr), _known(low), _known(high), method, _known(degrees))


def _known(number: float) -> float | None:
    return None if math.isnan(number) else float(number)


# In scipy 1.11, quantiles of Student's t are off by up to 1e-8; in newer versions, the share below a quantile is
# within _EXACT of the requested share.
_EXACT, _CORRECTIONS = 1e-14, 3
WHY_TOO_FEW, WHY_OFF = "too few", "off"
NONE = Interval(None, None, None, None)
TOO_FEW = Interval(None, None, None, WHY_TOO_FEW)  # the data are too few for an interval
OFF = Interval(None, None, None, WHY_OFF)  # the spec turned off the parts that the interval needs
NO_ENDS = (-math.inf, math.inf)
NOISE = 1e-12  # a standard error below this share of the value comes from rounding
LEAST_GROUPS = 2  # the fewest effective groups that can show variation


def t_interval(
    value: float,
    stderr: float,
    degrees: float,
    level: float = 0.95,
    method: str = "t",
    ends: tuple[float, float] = NO_ENDS,
) -> Interval:
    """Return the interval ``value`` ± t · ``stderr``; t is a quantile of Student's t distribution (Biometrika 1908).

    The interval is cut at ``ends``, the lowest and the highest possible value. ``degrees`` is the number of degrees of
    freedom: the number of groups minus 1, or the result of :func:`jackknife_degrees`. The result is :data:`NONE` if
    ``value`` is not finite, and :data:`TOO_FEW` if ``stderr`` is 0, rounding noise or not finite, or if ``degrees`` is
    below 1.

    Examples
    --------
    With 2 degrees of freedom the quantile is 4.30, not the 1.96 of a normal distribution.

    >>> interval = t_interval(2.0, 0.5, 2)
    >>> round(interval.low, 3), round(interval.high, 3), interval.method
    (-0.151, 4.151, 't')
    >>> t_interval(2.0, 0.0, 2) == t_interval(2.0, 0.5, 0) == TOO_FEW
    True
    """
    own, error, df = _columns(value, stderr, degrees)
    return t_intervals(own, error, df, level, method, ends).one()


def t_intervals(
    value: Floats, stderr: Floats, degrees: Floats, level: float, method: str = "t", ends: tuple[float, float] = NO_ENDS
) -> Intervals:
    """Apply :func:`t_interval` to each of n values."""
    varies = np.isfinite(value) & _vary(value, stderr, degrees)
    own, error, df = value[varies], stderr[varies], degrees[varies]
    half = t_quantiles(df, 0.5 + level / 2) * error
    low, high = own - half, own + half
    lowest, highest = lesser(ends[0], own), greater(ends[1], own)  # rounding may move a value beyond the ends
    cut = greater(low, lesser(lowest, high)), lesser(high, greater(highest, low))
    return Intervals.filled(_why(value), varies, method, error, *cut, df)


def logit_interval(value: float, stderr: float, degrees: float, level: float = 0.95) -> Interval:
    """Return Student's t interval for ln(v / (1 - v)), by the delta method, on the original scale of ``value``.

    The interval never leaves (0, 1), and is longer towards the farther of these two bounds. :data:`NONE` and
    :data:`TOO_FEW` are returned as by :func:`t_interval`; a ``value`` of 0 or 1 also gives :data:`TOO_FEW`. Pepe: The
    Statistical Evaluation of Medical Tests for Classification and Prediction, 2003, section 5.2.
    """
    own, error, df = _columns(value, stderr, degrees)
    return logit_intervals(own, error, df, level).one()


def logit_intervals(value: Floats, stderr: Floats, degrees: Floats, level: float) -> Intervals:
    """Apply :func:`logit_interval` to each of n values."""
    varies = (value > 0) & (value < 1) & _vary(value, stderr, degrees)
    own, error, df = value[varies], stderr[varies], degrees[varies]
    middle = np.array([*map(_logit, own.tolist())], np.float64)
    half = t_quantiles(df, 0.5 + level / 2) * error / (own * (1 - own))
    down, up = (lesser(-end, 700.0).tolist() for end in (middle - half, middle + half))
    low, high = (1 / (1 + np.array([*map(math.exp, end)], np.float64)) for end in (down, up))
    return Intervals.filled(_why(value), varies, "logit", error, low, high, df)


def log_intervals(
    value: Floats, stderr: Floats, degrees: Floats, level: float, ends: tuple[float, float] = NO_ENDS
) -> Intervals:
    """Return Student's t intervals for ln(v), by the delta method, on the original scale of n values, cut at ``ends``.

    The intervals are longer upwards, and never reach 0. A value that is not above 0 has no interval.
    """
    varies = (value > 0) & np.isfinite(value) & _vary(value, stderr, degrees)
    own, error, df = value[varies], stderr[varies], degrees[varies]
    half = lesser(t_quantiles(df, 0.5 + level / 2) * error / own, 700.0)
    ratio = np.array([*map(math.exp, half.tolist())], np.float64)
    low, high = (lesser(greater(end, ends[0]), ends[1]) for end in (own / ratio, own * ratio))
    return Intervals.filled(_why(value), varies, "log", error, lesser(low, own), greater(high, own), df)


def wilson_interval(
    value: float, stderr: float, degrees: float, n_effective: float | None, level: float = 0.95
) -> Interval:
    """Return Wilson's score interval for a proportion, with the effective number of trials by the standard error.

    n independent trials give the standard error sqrt(p (1 - p) / (n - 1)), so the effective number of trials is n = 1 +
    p (1 - p) / stderr², which includes the design effect of weights and clusters. A proportion of 0 or 1 shows no
    variation; n is then ``n_effective``, the number of equal groups with as much information. A ``stderr`` from
    clusters or weights may have fewer degrees of freedom than n - 1. The normal quantile z is then chosen in three
    steps: take the t quantile for the fewer degrees, find the tail probability of this quantile under Student's t with
    n - 1 degrees, and take the z with the same tail probability. The result is :data:`NONE` if ``value`` is not finite,
    and :data:`TOO_FEW` with fewer than two effective groups, or as by :func:`t_interval` if ``value`` is not 0 or 1.

    Wilson: JASA 1927. Korn, Graubard: Survey Methodology 1998. Dean, Pagano: Evaluating confidence interval methods for
    binomial proportions in clustered surveys, Journal of Survey Statistics and Methodology 2015.

    Examples
    --------
    The intervals for 5 successes in 5 trials, and for 8 in 10 (with the standard error √(0.16 / 9)):

    >>> interval = wilson_interval(1.0, 0.0, 4, 5)
    >>> round(interval.low, 2), interval.high
    (0.57, 1.0)
    >>> interval = wilson_interval(0.8, (0.16 / 9) ** 0.5, 9, 10)
    >>> round(interval.low, 4), round(interval.high, 4)
    (0.4902, 0.9433)
    """
    effective = math.nan if n_effective is None else n_effective
    own, error, df, number = _columns(value, stderr, degrees, effective)
    return wilson_intervals(own, error, df, number, level).one()


def wilson_intervals(value: Floats, stderr: Floats, degrees: Floats, n_effective: Floats, level: float) -> Intervals:
    """Apply :func:`wilson_interval` to each of n values. An unknown ``n_effective`` is NaN."""
    from scipy.special import ndtri, stdtr

    inside, at_bound = (value > 0) & (value < 1), (value == 0) | (value == 1)
    varies = inside & _vary(value, stderr, degrees)
    trials, df = n_effective.copy(), n_effective - 1
    trials[varies] = 1 + value[varies] * (1 - value[varies]) / squared(stderr[varies])
    df[varies] = lesser(degrees[varies], trials[varies] - 1)
    known = (varies | at_bound) & (trials >= LEAST_GROUPS)
    own, n, df = value[known], trials[known], df[known]
    z = -ndtri(stdtr(n - 1, t_quantiles(df, (1 - level) / 2)))
    middle, spread = own + z * z / (2 * n), z * np.sqrt(own * (1 - own) / n + z * z / (4 * n * n))
    low, high = ((middle + end) / (1 + z * z / n) for end in (-spread, spread))
    low, high = np.where(own == 0, 0.0, greater(low, 0.0)), np.where(own == 1, 1.0, lesser(high, 1.0))
    error = np.where(inside[known], stderr[known], np.nan)
    return Intervals.filled(_why(value), known, "wilson", error, low, high, df)


def tail(
    value: float,
    bound: float,
    stderr: float | None,
    degrees: float | None,
    method: str = "t",
    n_effective: float | None = None,
) -> float:
    """Return the probability of observing ``value`` or a lower value if the true value is ``bound``.

    This probability agrees with the interval of the same ``method``: if ``bound`` is the lower end of the interval, the
    probability is 1 - (1 - level) / 2, and at the upper end it is (1 - level) / 2, unless the interval was cut at an
    end of the range. ``wilson`` is the score test, with ``n_effective`` as in :func:`wilson_interval`; ``logit`` and
    ``log`` are Student's t on these scales; any other method is Student's t. The result is NaN if a number is NaN. It
    is also NaN without a standard error, with less than one degree of freedom, or with fewer than two effective groups.
    """
    from scipy.special import stdtr

    if method == "wilson":
        trials = _trials(value, stderr, degrees, n_effective)
        return math.nan if trials is None or math.isnan(bound) else _score_tail(value, bound, *trials)
    if math.isnan(bound) or stderr is None or degrees is None or not _varies(value, stderr, degrees):
        return math.nan
    distance = value - bound
    if method == "logit":
        distance = (_logit(value) - _logit(bound)) * value * (1 - value) if 0 < value < 1 else math.nan
    if method == "log":
        distance = (math.log(value) - math.log(bound)) * value if value > 0 and bound > 0 else value - bound
    return float(stdtr(degrees, distance / stderr))


def _score_tail(value: float, bound: float, n: float, degrees: float) -> float:
    """Return the lower tail probability of the score test for a proportion in ``n`` trials."""
    from scipy.special import ndtr, stdtr, stdtrit

    if not 0 < bound < 1:
        return 0.5 if value == bound else float(value > bound)  # a true value at a bound allows no other value
    z = (value - bound) / math.sqrt(bound * (1 - bound) / n)
    below = float(stdtr(degrees, stdtrit(n - 1, ndtr(-abs(z)))))
    return below if z < 0 else 1 - below


def greater(one: Floats | float, other: Floats | float) -> Floats:
    """Return the greater of two numbers, or the first if both are equal (also 0.0 and -0.0), like Python's ``max``."""
    return np.where(np.less(one, other), other, one)


def lesser(one: Floats | float, other: Floats | float) -> Floats:
    """Return the lesser of two numbers, or the first if both are equal, like Python's ``min``."""
    return np.where(np.less(other, one), other, one)


def _columns(*numbers: float) -> tuple[Floats, ...]:
    return tuple(np.array([number], np.float64) for number in numbers)


def _why(value: Floats) -> NDArray[np.object_]:
    """Return the reason why values have no interval: ``too few``, or None for a value that is not finite."""
    why = np.full(len(value), None, object)
    why[np.isfinite(value)] = WHY_TOO_FEW
    return why


def _vary(value: Floats, stderr: Floats, degrees: Floats) -> NDArray[np.bool_]:
    """Apply :func:`_varies` to each of n values. Shape: (n,)."""
    varies: NDArray[np.bool_] = np.isfinite(stderr) & (stderr > NOISE * np.abs(value)) & (degrees >= 1)
    return varies


def _varies(value: float, stderr: float, degrees: float) -> bool:
    """Return whether ``stderr`` is above rounding noise and has at least one degree of freedom."""
    return math.isfinite(stderr) and stderr > NOISE * abs(value) and degrees >= 1


def _trials(
    value: float, stderr: float | None, degrees: float | None, n_effective: float | None
) -> tuple[float, float] | None:
    """Return the effective number of trials of a proportion and the degrees of freedom; None if trials are too few."""
    if 0 < value < 1 and stderr is not None and degrees is not None and _varies(value, stderr, degrees):
        n = 1 + value * (1 - value) / stderr**2
        return (n, min(degrees, n - 1)) if n >= LEAST_GROUPS else None
    is_at_bound = value in (0, 1) and n_effective is not None and n_effective >= LEAST_GROUPS
    return (n_effective, n_effective - 1) if is_at_bound and n_effective is not None else None


def _logit(share: float) -> float:
    if not 0 < share < 1:
        return math.copysign(math.inf, share - 0.5)
    return math.log(share) - math.log1p(-share)


def jackknife(values: ArrayLike, without: ArrayLike, sizes: ArrayLike) -> tuple[Floats, Ints]:
    """Return the jackknife standard error of each of the ``values``, and its number of parts with groups, minus one.

    The jackknife leaves out one part of the groups at a time. Shapes: (k,) for ``values`` and both results, (k, g) for
    ``without``, and (g,) or (k, g) for ``sizes``. ``without`` contains each value as computed without the groups of one
    part, and ``sizes`` contains the number of groups in each part; parts of size 0 do not count. Let theta be a value,
    theta_(-j) the value without part j, m_j the number of groups in part j, n the number of groups in all g parts with
    groups, and h_j = n / m_j. The pseudo-value of part j is h_j · theta - (h_j - 1) · theta_(-j), the jackknife
    estimate is g · theta - Σ (1 - 1/h_j) · theta_(-j), and the variance is::

        (1/g) · Σ (pseudo-value - jackknife estimate)² / (h_j - 1)

    or, with every h_j = g as if parts were of equal size, (g - 1)/g · Σ (theta_(-j) - mean of all theta_(-j))². The
    result is from the larger variance. The first formula assumes that a part with more groups is measured more
    precisely. This is wrong for users who came on many days. The second formula (CR3, known from regressions with
    clusters) does not assume this. With few parts, either formula alone gives too small a variance for some metrics.

    Both variances are computed from the deviations theta_(-j) - theta alone: if all deviations are 0, the standard
    error is exactly 0. The standard error is NaN if theta or one of the theta_(-j) is not finite, or if fewer than
    two parts have groups.

    Busing, Meijer, van der Leeden: Delete-m jackknife for unequal m, Statistics and Computing 1999. Efron, Tibshirani:
    An Introduction to the Bootstrap, 1993, chapter 11. Cameron, Miller: A practitioner's guide to cluster-robust
    inference, Journal of Human Resources 2015, section VI.

    Examples
    --------
    A mean over parts of one group each has the usual standard error. For the values 1, 2, 3, 4 it is √(5/3 / 4):

    >>> jackknife([2.5], [[3.0, 8 / 3, 7 / 3, 2.0]], [1, 1, 1, 1])
    (array([0.64549722]), array([3]))

    Two parts have 1 and 3 groups. Their deviations 0.5 and -1.5 each differ by 1 from the mean of both, so that the
    standard error is √(1/2 · 2). In the second row, all groups are in one part:

    >>> jackknife([2.0, 5.0], [[2.5, 0.5], [5.0, 0.0]], [[1, 3], [0, 4]])
    (array([ 1., nan]), array([1, 0]))
    """
    squares, parts = _squares(values, without, sizes)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        stderr = np.sqrt(_in_order(squares) / parts)
    known = np.isfinite(stderr) & (parts > 1)  # stderr is not finite if a value that it needs is not
    return np.where(known, stderr, np.nan), np.maximum(parts - 1, 0)


def jackknife_degrees(values: ArrayLike, without: ArrayLike, sizes: ArrayLike) -> Floats:
    """Return the degrees of freedom of the standard errors from :func:`jackknife`, which has the same arguments.

    More unequal parts give fewer degrees. If the variance is a sum of terms q_j² over m parts, Satterthwaite's degrees
    are (Σ q²)² / Σ q⁴. They are multiplied by a factor that gives about m - 1 for m equal parts, and are limited to
    m - 1 (Johnson, Rust: Population variances and their degrees of freedom in NAEP, ASA 1992). If one group is very
    large, little more than one degree is left. The result is 0 if the standard error is 0 or undefined.

    Examples
    --------
    Both rows have sixteen parts of one group each. All terms are equal in the first row; one dominates in the second:

    >>> alike, whale = [1.1, 0.9] * 8, [2.5] + [0.9] * 15
    >>> jackknife_degrees([1.0, 1.0], [alike, whale], [1] * 16).round(2)
    array([15.  ,  2.81])
    """
    squares, parts = _squares(values, without, sizes)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        effective = _in_order(squares) ** 2 / _in_order(squares**2)
        degrees = np.minimum((3.16 - 2.77 / np.sqrt(parts)) * effective, parts - 1)
    return np.where(np.isfinite(degrees) & (parts > 1), degrees, 0.0)


def _squares(values: ArrayLike, without: ArrayLike, sizes: ArrayLike) -> tuple[Floats, Ints]:
    """Return the terms whose mean over the parts is the :func:`jackknife` variance, and the number of parts per value.

    Shapes: (k, g) and (k,). Only parts with groups count.
    """
    theta, deleted = np.asarray(values, np.float64), np.asarray(without, np.float64)
    m = np.broadcast_to(np.asarray(sizes, np.float64), deleted.shape)
    counts = m > 0
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        deviations = np.where(counts, deleted - theta[..., None], 0.0)
        by_size, alike = _pseudo_squares(deviations, m), _pseudo_squares(deviations, counts.astype(np.float64))
        is_larger = _in_order(by_size) > _in_order(alike)
    return np.where(is_larger[..., None], by_size, alike), counts.sum(axis=-1)


def _pseudo_squares(deviations: Floats, sizes: Floats) -> Floats:
    """Return the terms of the variance of pseudo-values, from each part's deviation and size. Shape: (k, g)."""
    counts, share = sizes > 0, sizes / _in_order(sizes)[..., None]  # 1/h
    # Since Σ 1/h = 1, the jackknife estimate is theta + ``estimate``, and a pseudo-value is theta + ``pseudo``.
    estimate = -_in_order((1 - share) * deviations)
    pseudo = -(1 - share) / np.where(counts, share, 1.0) * deviations
    return np.where(counts, (pseudo - estimate[..., None]) ** 2 * share / (1 - share), 0.0)


def order_statistics(
    values: ArrayLike, counts: ArrayLike, quantile: float, level: float = 0.95
) -> tuple[float, float] | None:
    """Return an interval of a quantile, with two observed values as ends, valid for any distribution of values.

    ``values`` are the distinct values in ascending order, and ``counts`` contains the number of groups with each value.
    Among n independent groups, the number K of groups at or below the true quantile is binomial. So the l-th smallest
    value is above the true quantile with probability P(K < l), and the u-th smallest value is below it with probability
    P(K ≥ u). The interval is from the largest l and the smallest u for which each probability is below (1 - ``level``)
    / 2. The interval is conservative, because ranks are whole numbers and tied values only increase the coverage. The
    result is None if a rank would be below 1 or above n, because there are too few groups (for a median at 0.95, fewer
    than 6) or because the quantile is 0 or 1.

    Thompson: Annals of Mathematical Statistics 1936. David, Nagaraja: Order Statistics, 2003, section 7.1.

    Examples
    --------
    For the median of ten values, the ends are the second and the ninth value. The true median is below the interval
    with the probability 11/1024, and above the interval with the same probability.

    >>> order_statistics([1, 2, 3, 4, 5, 6, 7, 8, 9, 10], [1] * 10, 0.5)
    (2.0, 9.0)
    >>> order_statistics([0.0, 1.0], [70, 30], 0.5)
    (0.0, 0.0)
    >>> order_statistics([0.0, 1.0], [3, 2], 0.5) is None
    True
    """
    upto = np.cumsum(np.asarray(counts, np.int64))
    n = int(upto[-1]) if len(upto) else 0
    if n == 0 or not 0 < quantile < 1:
        return None
    tail = (1 - level) / 2
    lowest = _rank(tail, n, quantile)
    highest = n + 1 - _rank(tail, n, 1 - quantile)  # by symmetry
    if lowest < 1 or highest > n:
        return None
    ends = np.asarray(values, np.float64)[np.searchsorted(upto, [lowest, highest])]
    return float(ends[0]), float(ends[1])


@lru_cache(maxsize=4096)  # a call to scipy takes a millisecond, and many slices have the same size
def _rank(share: float, n: int, quantile: float) -> int:
    from scipy.stats import binom

    return int(binom.ppf(share, n, quantile))


def t_quantiles(degrees: Floats, share: float) -> Floats:
    """Apply :func:`t_quantile` to each of n ``degrees``. Shape: (n,)."""
    distinct, place = np.unique(degrees, return_inverse=True)
    return np.array([t_quantile(each, share) for each in distinct.tolist()], np.float64)[place]


@lru_cache(maxsize=4096)
def t_quantile(degrees: float, share: float) -> float:
    """Return the value below which the given ``share`` of Student's t distribution lies."""
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
    """Raise :class:`SpecError` unless ``share`` is strictly between 0 and 1."""
    if not 0 < share < 1:
        raise SpecError(f"{name} is {quote(share)}: a number above 0 and below 1 is allowed")


def _in_order(terms: NDArray[Any]) -> Floats:
    """Sum over the last axis from first to last. numpy's order of summation would depend on the memory layout."""
    if terms.shape[-1] == 0:
        return np.zeros(terms.shape[:-1])
    sums: Floats = np.cumsum(terms, axis=-1, dtype=np.float64)[..., -1]
    return sums
