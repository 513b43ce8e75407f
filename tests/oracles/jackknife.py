"""The delete-a-part jackknife: as Busing, Meijer and van der Leeden (1999) write it, or Efron (1979) where larger."""

from __future__ import annotations

import math
from collections.abc import Sequence


def standard_error(value: float, without: Sequence[float], sizes: Sequence[int]) -> float:
    """From the value, the value without each part, and the groups of each part; NaN where there is none."""
    held = [(other, size) for other, size in zip(without, sizes, strict=True) if size > 0]
    if len(held) < 2 or not all(map(math.isfinite, [value, *(other for other, _ in held)])):
        return math.nan
    plain = _of_alike_parts([other for other, _ in held])
    return max(math.sqrt(plain), standard_error_of_unequal_parts(value, without, sizes))


def standard_error_of_unequal_parts(value: float, without: Sequence[float], sizes: Sequence[int]) -> float:
    """That of Busing, Meijer and van der Leeden alone, of two parts or more."""
    held = [(other, size) for other, size in zip(without, sizes, strict=True) if size > 0]
    g, n = len(held), sum(size for _, size in held)
    estimate = g * value - sum((1 - size / n) * other for other, size in held)
    variance = 0.0
    for other, size in held:
        h = n / size
        pseudo = h * value - (h - 1) * other
        variance += (pseudo - estimate) ** 2 / (h - 1) / g
    return math.sqrt(variance)


def _of_alike_parts(without: Sequence[float]) -> float:
    g = len(without)
    mean = sum(without) / g
    return (g - 1) / g * sum((other - mean) ** 2 for other in without)
