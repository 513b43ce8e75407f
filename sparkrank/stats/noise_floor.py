"""The noise floor: the value that a metric has by chance alone if the true value is 0."""

from __future__ import annotations

import math

import numpy as np

from sparkrank.numeric.array_types import Floats
from sparkrank.stats.intervals import NONE, TOO_FEW, Interval, t_quantile

FLOORS = 2.0  # values below this many times their noise floor may be due to chance
FALL = 1 / (math.sqrt(2) - 1)
UPPER_BOUND, JACKKNIFE = "upper bound", "jackknife"


def interval_above_noise(
    value: float,
    stderr: float,
    degrees: float,
    floor: float,
    bias: float,
    ends: tuple[float, float],
    level: float = 0.95,
) -> Interval:
    """Return the interval of a ``value`` that chance alone can only increase.

    The noise is the larger of two estimates of the value by chance alone: ``floor``, from the number of rows, and
    ``bias``, from :func:`bias_of_halves`, which accounts for clusters. For a value below twice the noise, the lower end
    is the lowest possible value, and the upper end is the one-sided bound of Student's t. For larger values, the lower
    end of the two-sided interval is moved down by the bias. The method is ``too few`` if ``stderr`` is 0 or not finite,
    or if ``degrees`` is below 1.

    Examples
    --------
    >>> near = interval_above_noise(0.03, 0.01, 40, 0.02, 0.016, (0.0, 1.0))
    >>> near.low, round(near.high, 4), near.method
    (0.0, 0.0468, 'upper bound')
    >>> above = interval_above_noise(0.1, 0.01, 40, 0.02, 0.001, (0.0, 1.0))
    >>> round(above.low, 4), round(above.high, 4), above.method
    (0.0788, 0.1202, 'jackknife')
    """
    if not math.isfinite(value):
        return NONE
    if not (math.isfinite(stderr) and stderr > 0 and degrees >= 1):
        return TOO_FEW
    lowest, highest = ends
    if value < FLOORS * max(floor, bias):
        high = max(value + t_quantile(float(degrees), level) * stderr, floor)
        return Interval(float(stderr), lowest, float(min(high, highest)), UPPER_BOUND, float(degrees))
    half = t_quantile(float(degrees), 0.5 + level / 2) * stderr
    low, high = max(value - bias - half, lowest), min(value + half, highest)
    return Interval(float(stderr), float(low), float(high), JACKKNIFE, float(degrees))


def bias_of_halves(values: Floats) -> float:
    """Return an estimate of the increase of a metric by chance alone, from its ``values`` on halves of the parts.

    Parts are fixed subsets of the groups. Shape of ``values``: (2, order). ``values[0, 0]`` is the value of all parts
    together. Each later column contains the values of the two halves of one split. Near the noise floor, the bias is
    inversely proportional to the square root of the number of groups, so a half has √2 times the bias. The bias of the
    value is therefore (mean of the halves - value) / (√2 - 1), and at least 0. If the bias falls faster, this is an
    overestimate. The result is 0 if no half has a value.
    """
    halves = values[:, 1:].ravel()
    defined = halves[np.isfinite(halves)]
    if not len(defined):
        return 0.0
    return max((float(np.cumsum(defined)[-1]) / len(defined) - float(values[0, 0])) * FALL, 0.0)
