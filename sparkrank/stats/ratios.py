"""Fieller's interval of a difference as a share of the baseline, and a relative margin; the baseline's error counts.

Candidate and baseline are measured on the same groups. Their covariance follows from three standard errors, those of
the two values and of the difference, if all three are computed in the same way.
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
    """The standard errors of a ``difference``, of its ``baseline`` and of its ``candidate``."""

    difference: float
    baseline: float
    candidate: float

    @property
    def covariance(self) -> float:
        """The covariance of the difference with the baseline."""
        return (self.candidate**2 - self.baseline**2 - self.difference**2) / 2


def fieller(
    difference: float, baseline: float, errors: StandardErrors, degrees: float, level: float = 0.95
) -> tuple[float, float] | None:
    """The interval of ``difference`` / \\|``baseline``\\|, by Fieller's theorem (JRSS B 1954).

    It contains every ratio r for which difference - r · baseline is no further from 0 than t times its own standard
    error. It is not symmetric, and it is wider than with a known baseline unless the two errors cancel. None if a
    number is not finite, with less than one degree of freedom, or if the interval of the baseline itself contains 0:
    then any ratio may be the true one.

    Examples
    --------
    A baseline without error leaves the interval of the difference, here 0.01 ± 2.571 · 0.004, over the baseline:

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
    """:func:`fieller` of each of many differences (n): both ends, NaN where there are none.

    ``errors`` are the three columns of :class:`StandardErrors`.
    """
    low, high = np.full((2, len(difference)), np.nan)
    known = np.isfinite([difference, baseline, *errors]).all(axis=0) & (degrees >= 1)
    own, of_baseline, df = difference[known], baseline[known], degrees[known]
    of_difference, of_both, of_candidate = (squared(error[known]) for error in errors)
    quantile, size = squared(t_quantiles(df, 0.5 + level / 2)), np.abs(of_baseline)
    covariance = (of_candidate - of_both - of_difference) / 2
    # the coefficients a of r², -2 b of r, and c, of (difference - r·|baseline|)² less t² times its variance
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
    """The standard error of the difference + ``share`` · \\|``baseline``\\|, for the test of a relative margin.

    If more is better, a candidate may be worse by the share m of the baseline. The test is then whether
    candidate - (1 - m) · baseline, which is the difference + m · baseline, is above 0. ``share`` is below 0 if less is
    better. Only the sign of ``baseline`` matters.
    """
    own = math.copysign(1.0, baseline) * share
    variance = errors.difference**2 + 2 * own * errors.covariance + own**2 * errors.baseline**2
    return math.sqrt(max(variance, 0.0))
