"""What is concluded from a mean difference and its standard error."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparkrank.numeric.array_types import Floats


class Interval(NamedTuple):
    low: float
    high: float


def t_interval(value: float, stderr: float, degrees: int, level: float) -> Interval:
    from scipy import special  # type: ignore[import-untyped]

    half = float(special.stdtrit(degrees, (1 + level) / 2)) * stderr
    return Interval(value - half, value + half)


def t_test(difference: float, stderr: float, degrees: int) -> float:
    """The two-sided p of a difference by Student's t; two equal models have p = 1."""
    from scipy import special

    if stderr == 0:
        return 1.0 if difference == 0 else 0.0
    return float(2 * special.stdtr(degrees, -abs(difference) / stderr))


def smallest_detectable(stderr: float, degrees: int, level: float, power: float = 0.8) -> float:
    """The difference that a two-sided test at ``level`` finds with ``power``."""
    from scipy import special

    return float(special.stdtrit(degrees, (1 + level) / 2) + special.stdtrit(degrees, power)) * stderr


def adjusted(p: Floats, method: str) -> Floats:
    """Each p adjusted for all that are no NaN."""
    there = np.flatnonzero(~np.isnan(p))
    found, n = p.copy(), len(there)
    if method == "none" or not n:
        return found
    order = there[np.argsort(p[there], kind="stable")]
    if method == "holm":
        found[order] = np.minimum(np.maximum.accumulate(p[order] * np.arange(n, 0, -1)), 1)
    else:
        scaled = p[order] * n / np.arange(1, n + 1)
        found[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1)
    return found
