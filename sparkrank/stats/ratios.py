"""Intervals for a difference relative to the baseline's value, which is itself measured with an error.

The candidate and the baseline are measured on the same groups. The covariance of the two values follows from the
standard errors of both values and of the difference, if all three errors are computed in the same way.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sparkrank.numeric.array_types import Floats
from sparkrank.numeric.elementary import squared
from sparkrank.stats.intervals import greater, t_quantiles


class StandardErrors(NamedTuple):
    """The standard errors of a difference, of the baseline's value and of the candidate's value."""

    difference: float
    baseline: float
    candidate: float

    @property
    def covariance(self) -> float:
        """The covariance of the difference with the baseline's value."""
        return (self.candidate**2 - self.baseline**2 - self.difference**2) / 2


def fieller(
    difference: float, baseline: float, errors: StandardErrors, degrees: float, level: float = 0.95
) -> tuple[float, float] | None:
    """Return the interval of ``difference`` / \\|``baseline``\\|, by Fieller's theorem (JRSS B 1954).

    The interval contains every ratio r for which difference - r · \\|baseline\\| is at most t standard errors of this
    expression away from 0. The interval is not symmetric. It is wider than it would be if the baseline had no error,
    unless the errors of difference and baseline cancel. The result is None if a number is not finite, if ``degrees`` is
    below 1, or if the interval of the baseline contains 0, because any ratio may then be the true ratio.

    Examples
    --------
    If the baseline has no error, the result is the interval of the difference, 0.01 ± 2.571 · 0.004, divided by 0.5:

    >>> [round(end, 5) for end in fieller(0.01, 0.5, StandardErrors(0.004, 0.0, 0.004), 5) or ()]
    [-0.00056, 0.04056]
    >>> fieller(0.01, 0.005, StandardErrors(0.004, 0.004, 0.004), 5) is None
    True
    """
    columns = (np.array([number], np.float64) for number in (difference, baseline, *errors, degrees))
    own, of_baseline, *of_errors, df = columns
    low, high = fiellers(own, of_baseline, of_errors, df, level)
    return None if math.isnan(low[0]) else (float(low[0]), float(high[0]))


def fiellers(
    difference: Floats, baseline: Floats, errors: Sequence[Floats], degrees: Floats, level: float
) -> tuple[Floats, Floats]:
    """Apply :func:`fieller` to each of n differences, and return the lower ends and the upper ends.

    The ends are NaN where there is no interval. ``errors`` contains an array for each field of :class:`StandardErrors`.
    All arrays have shape (n,).
    """
    low, high = np.full((2, len(difference)), np.nan)
    known = np.isfinite([difference, baseline, *errors]).all(axis=0) & (degrees >= 1)
    own, of_baseline, df = difference[known], baseline[known], degrees[known]
    of_difference, of_both, of_candidate = (squared(error[known]) for error in errors)
    quantile, size = squared(t_quantiles(df, 0.5 + level / 2)), np.abs(of_baseline)
    covariance = (of_candidate - of_both - of_difference) / 2
    # (difference - r·|baseline|)² minus t² times its variance is a·r² - 2·b·r + c
    a = squared(size) - quantile * of_both
    b = own * size - quantile * np.copysign(1.0, of_baseline) * covariance
    c = squared(own) - quantile * of_difference
    excludes_0 = a > 0
    a, b, c = a[excludes_0], b[excludes_0], c[excludes_0]
    half = np.sqrt(greater(b * b - a * c, 0.0))
    places = np.flatnonzero(known)[excludes_0]
    low[places], high[places] = (b - half) / a, (b + half) / a
    return low, high


def margin_stderr(share: float, baseline: float, errors: StandardErrors) -> float:
    """Return the standard error of difference + ``share`` · \\|``baseline``\\|, for the test of a relative margin.

    If higher is better, a candidate may be worse by a share m of the baseline. The test is then whether
    candidate - (1 - m) · baseline, which equals the difference + m · baseline, is above 0. ``share`` is m, or -m if
    lower is better. The result depends only on the sign of ``baseline``.
    """
    own = math.copysign(1.0, baseline) * share
    variance = errors.difference**2 + 2 * own * errors.covariance + own**2 * errors.baseline**2
    return math.sqrt(max(variance, 0.0))
