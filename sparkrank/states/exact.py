"""Sums of float64 that come out the same in any order, because every addition in them is exact.

A value is cut into five limbs, each a whole multiple of its unit (the extraction by adding and subtracting a large
constant of Demmel and Nguyen, "Parallel reproducible summation", 2015). Limbs add up without rounding while a limb's
sum stays below 2^53 units, which holds for 2^32 values up to 8, and for totals up to 2^78; beyond, the sums stay as
good as float64's and only their independence of order is lost. What lies below 2^-63 of a value is dropped.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from sparkrank.kernels.judgments import Floats

UNITS = (2.0**26, 2.0**4, 2.0**-18, 2.0**-40, 2.0**-62)
LIMBS = len(UNITS)


def exact_sum(values: Floats) -> Floats:
    """The limbs (5) of the sum of ``values`` (any shape, no NaN)."""
    limbs = np.zeros(LIMBS)
    rest = values
    largest = max(abs(float(values.max())), abs(float(values.min()))) if len(values) else 0.0
    for index, unit in enumerate(UNITS):
        if largest < unit / 2:
            continue  # all of these limbs are 0; metrics rarely pass 8, so this spares two of the five
        anchor = 1.5 * 2.0**52 * unit  # adding it leaves no bit below the unit
        limb = (rest + anchor) - anchor
        limbs[index] = limb.sum()
        rest = rest - limb
    return limbs


def total(limbs: NDArray[np.float64]) -> float:
    """The float64 nearest to the sum that ``limbs`` hold."""
    return math.fsum(limbs)
