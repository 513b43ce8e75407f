"""The value that a metric has by chance alone where the true one is 0: no smaller one says anything."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from sparkrank.numeric.array_types import Floats, Ints
from sparkrank.stats.intervals import NONE, TOO_FEW, Interval, checked_share, t_quantile

FLOORS = 2.0  # up to this many of its noise floor, a value may come of chance
UPPER_BOUND, JACKKNIFE = "upper bound", "jackknife"


def binomial_deviation(trials: Ints, probability: Floats) -> Floats:
    """The mean of |X - np|, where X is the number of hits in n ``trials`` of one ``probability`` p.

    By de Moivre it is 2 m (1 - p) P(X = m), with m the least whole number above np.

    Parameters
    ----------
    trials : array_like of int, (k,)
        n, of each bin.
    probability : array_like of float, (k,)
        p, from 0 to 1.

    Returns
    -------
    ndarray of float, (k,)
        0 where p is 0 or 1.

    References
    ----------
    De Moivre 1730; Diaconis, Zabell: Closed form summation for classical distributions, Statistical Science 1991.

    Examples
    --------
    One trial of p = 0.2 deviates by 0.2 in four of five cases and by 0.8 in one. Two of p = 0.5 deviate by 1 in half:

    >>> binomial_deviation([1, 2], [0.2, 0.5]).round(6).tolist()
    [0.32, 0.5]
    """
    n, p = np.asarray(trials, np.float64), np.asarray(probability, np.float64)
    deviation: Floats = 2 * p * (1 - p)  # of one trial, as most bins of exact scores have: no logarithm is needed
    some = np.flatnonzero((n > 1) & (deviation > 0))
    if len(some):
        from scipy.stats import binom

        least = np.floor(n[some] * p[some]) + 1
        deviation[some] = 2 * least * (1 - p[some]) * binom.pmf(least, n[some], p[some])
    return deviation


def chance_separation(positives: float, negatives: float) -> float:
    """The mean of the highest TPR - FPR of scores without information, for many rows of both classes.

    It is that of the one-sided statistic of Kolmogorov and Smirnov, whose tail is exp(-2 x²): √(π/8) · √(1/P + 1/N).

    Parameters
    ----------
    positives, negatives : float
        P and N, the rows of both classes.

    Returns
    -------
    float
        NaN where one of the classes has no row.

    References
    ----------
    Smirnov: On the estimation of the discrepancy between empirical curves of distribution for two independent samples,
    1939.

    Examples
    --------
    >>> round(chance_separation(100, 100), 4)
    0.0886
    """
    if not (positives > 0 and negatives > 0):
        return math.nan
    return math.sqrt(math.pi / 8 * (1 / positives + 1 / negatives))


def interval_above_noise(
    value: float,
    stderr: float,
    degrees: float,
    floor: float,
    bias: float,
    ends: tuple[float, float],
    level: float = 0.95,
) -> Interval:
    """The interval of a value that chance alone makes larger, never smaller.

    Below twice the noise there is no lower end but the lowest value, and the upper one is the one-sided bound of
    Student's t. Above, the lower end of the two-sided interval is moved down by the bias.

    Parameters
    ----------
    value, stderr, degrees : float
        The estimate, its standard error by parts and the degrees of freedom of that.
    floor, bias : float
        What the value is by chance alone with as many rows, and by :func:`bias_of_halves`, which knows of clusters. The
        noise is the larger one.
    ends : tuple of float
        The lowest and the highest value that there can be.
    level : float, default 0.95
        The share of such intervals that hold the true value.

    Returns
    -------
    Interval
        ``upper bound`` or ``jackknife``; ``too few`` where there is no standard error.

    Examples
    --------
    >>> near = interval_above_noise(0.03, 0.01, 40, 0.02, 0.016, (0.0, 1.0))
    >>> near.low, round(near.high, 4), near.method
    (0.0, 0.0468, 'upper bound')
    >>> above = interval_above_noise(0.1, 0.01, 40, 0.02, 0.001, (0.0, 1.0))
    >>> round(above.low, 4), round(above.high, 4), above.method
    (0.0788, 0.1202, 'jackknife')
    """
    checked_share("level", level)
    if not math.isfinite(value):
        return NONE
    if not (math.isfinite(stderr) and stderr > 0 and degrees >= 1):
        return TOO_FEW
    lowest, highest = ends
    if value < FLOORS * max(floor, bias):
        high = max(value + t_quantile(float(degrees), level) * stderr, floor)
        return Interval(float(stderr), lowest, float(min(high, highest)), UPPER_BOUND, float(degrees))
    half = t_quantile(float(degrees), 0.5 + level / 2) * stderr
    return Interval(
        float(stderr), float(max(value - bias - half, lowest)), float(min(value + half, highest)), JACKKNIFE
    )


def bias_of_halves(value: float, halves: ArrayLike) -> float:
    """How far above the truth a value is in the mean, from its values on ``halves`` of the parts, at least 0.

    Near the noise floor the bias falls with the root of the number of groups: that of a half is √2 times as high, so
    the bias is the mean of the halves less the value, over √2 - 1. Where it falls faster, that is too much.

    Examples
    --------
    >>> round(bias_of_halves(0.10, [0.13, 0.15]), 4)
    0.0966
    """
    values = np.asarray(halves, np.float64)
    defined = values[np.isfinite(values)]
    if not len(defined):
        return 0.0
    return max((float(np.cumsum(defined)[-1]) / len(defined) - value) / (math.sqrt(2) - 1), 0.0)
