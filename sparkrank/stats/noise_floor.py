"""The value that a metric has by chance alone, where it is at its best or at its worst: no smaller one says anything."""

from __future__ import annotations

import math

import numpy as np

from sparkrank.numeric.array_types import Floats, Ints
from sparkrank.stats.intervals import NONE, Interval, checked_share, t_quantile

FLOORS = 2.0  # up to this many of its noise floor, a value may come of chance
UPPER_BOUND = "upper bound"


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


def upper_bound(value: float, stderr: float, degrees: float, floor: float, lowest: float, level: float) -> Interval:
    """From the ``lowest`` value to the one-sided bound of Student's t, at least the noise ``floor``.

    Near its floor the error of a value has no two sides, and its mean is above the truth.

    Examples
    --------
    >>> interval = upper_bound(0.03, 0.01, 40, 0.02, 0.0, 0.95)
    >>> interval.low, round(interval.high, 4), interval.method
    (0.0, 0.0468, 'upper bound')
    """
    checked_share("level", level)
    if not (math.isfinite(stderr) and degrees >= 1):
        return NONE
    high = value + t_quantile(float(degrees), level) * stderr
    return Interval(float(stderr), lowest, float(max(high, floor)), UPPER_BOUND)
