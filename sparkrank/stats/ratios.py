"""A difference as a share of the baseline, whose own error counts too: Fieller's interval, and that of a margin.

Candidate and baseline are measured on the same groups. Their covariance follows from three standard errors, those of
the two values and of the difference, if all three are made in one way.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from sparkrank.stats.intervals import t_quantile


class StandardErrors(NamedTuple):
    """The standard errors of a ``difference``, and of the ``baseline`` and the ``candidate`` that it is of.

    Examples
    --------
    Two independent values: their difference has the variance 9 + 16, and with the baseline the covariance -9.

    >>> StandardErrors(5.0, 3.0, 4.0).covariance
    -9.0
    """

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

    It holds every ratio r for which difference - r · baseline is not further from 0 than t times its own standard
    error. It is not symmetric, and wider than that of a known baseline unless the two errors cancel. None where a
    number is not finite, with less than one degree of freedom, and where the interval of the baseline itself holds 0:
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
    # of r² a, of -2r b, and c, where (difference - r·|baseline|)² is t² times its variance
    a = size**2 - quantile * errors.baseline**2
    b = difference * size - quantile * math.copysign(1.0, baseline) * errors.covariance
    c = difference**2 - quantile * errors.difference**2
    if not a > 0:
        return None
    half = math.sqrt(max(b * b - a * c, 0.0))
    return (b - half) / a, (b + half) / a


def margin_stderr(share: float, baseline: float, errors: StandardErrors) -> float:
    """The standard error of the difference + ``share`` · \\|``baseline``\\|, as a margin that is relative asks.

    Where more is better, a candidate that may be worse by the share m of the baseline is tested by whether
    candidate - (1 - m) · baseline, which is the difference + m · baseline, is above 0. ``share`` is below 0 where less
    is better; of the baseline only the sign matters.

    Examples
    --------
    Of two independent values: 4² + 0.99² · 3².

    >>> round(margin_stderr(0.01, 0.5, StandardErrors(5.0, 3.0, 4.0)) ** 2, 4)
    24.8209
    """
    own = math.copysign(1.0, baseline) * share
    variance = errors.difference**2 + 2 * own * errors.covariance + own**2 * errors.baseline**2
    return math.sqrt(max(variance, 0.0))
