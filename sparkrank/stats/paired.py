"""Tests of a difference."""

from __future__ import annotations


def two_sided_p(difference: float, stderr: float, degrees: float) -> float:
    """The p-value of ``difference`` by Student's t, 1 where it is 0 without any error."""
    from scipy.special import stdtr

    if difference == 0:
        return 1.0
    if stderr == 0:
        return 0.0
    return float(2 * stdtr(degrees, -abs(difference) / stderr))
