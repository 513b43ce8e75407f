"""The value that a metric has by chance alone where the true one is 0: no smaller one says anything."""

from __future__ import annotations

import math

import numpy as np

from sparkrank.numeric.array_types import Floats
from sparkrank.stats.intervals import NONE, TOO_FEW, Interval, t_quantile

FLOORS = 2.0  # up to this many of its noise floor, a value may come of chance
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
    """The interval of a value that chance alone makes larger, never smaller.

    By chance alone the value would be ``floor`` with as many rows, and ``bias`` by :func:`bias_of_halves`, which knows
    of clusters; the noise is the larger one. Below twice the noise there is no lower end but the lowest value, and the
    upper one is the one-sided bound of Student's t. Above, the lower end of the two-sided interval is moved down by the
    bias. ``too few`` where there is no standard error.

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
    """How far above the truth a value is in the mean, from its ``values`` (2, order) on halves of the parts.

    Near the noise floor the bias falls with the root of the number of groups: that of a half is √2 times as high, so
    the bias is the mean of the halves less the value, over √2 - 1. Where it falls faster, that is too much. At least 0.
    The first row has all parts in the first half.

    Examples
    --------
    >>> round(bias_of_halves(np.array([[0.10, 0.13], [np.nan, 0.15]])), 4)
    0.0966
    """
    halves = values[:, 1:].ravel()
    defined = halves[np.isfinite(halves)]
    if not len(defined):
        return 0.0
    return max((float(np.cumsum(defined)[-1]) / len(defined) - float(values[0, 0])) * FALL, 0.0)
