"""Fieller's interval of a difference as a share of the baseline, and a relative margin; the baseline's error counts.

Candidate and baseline are measured on the same groups. Their covariance follows from three standard errors, those of
the two values and of the difference, if all three are computed in the same way.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from sparkrank.stats.intervals import t_quantile


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
    if not (all(map(math.isfinite, (difference, baseline, *errors))) and degrees >= 1):
        return None
    quantile = t_quantile(float(degrees), 0.5 + level / 2) ** 2
    size = abs(baseline)
    # the coefficients a of r², -2 b of r, and c, of (difference - r·|baseline|)² less t² times its variance
    a = size**2 - quantile * errors.baseline**2
    b = difference * size - quantile * math.copysign(1.0, baseline) * errors.covariance
    c = difference**2 - quantile * errors.difference**2
    if not a > 0:
        return None
    half = math.sqrt(max(b * b - a * c, 0.0))
    return (b - half) / a, (b + half) / a


def margin_stderr(share: float, baseline: float, errors: StandardErrors) -> float:
    """The standard error of the difference + ``share`` · \\|``baseline``\\|, for the test of a relative margin.

    If more is better, a candidate may be worse by the share m of the baseline. The test is then whether
    candidate - (1 - m) · baseline, which is the difference + m · baseline, is above 0. ``share`` is below 0 if less is
    better. Only the sign of ``baseline`` matters.
    """
    own = math.copysign(1.0, baseline) * share
    variance = errors.difference**2 + 2 * own * errors.covariance + own**2 * errors.baseline**2
    return math.sqrt(max(variance, 0.0))
