"""Standard errors and intervals."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from sparkrank.numeric.array_types import Floats, Ints


class Interval(NamedTuple):
    """A standard error and the two ends of an interval, with the method behind them; None where there is none."""

    stderr: float | None
    low: float | None
    high: float | None
    method: str | None


NONE = Interval(None, None, None, None)


@lru_cache(maxsize=4096)
def t_quantile(degrees: float, share: float) -> float:
    """The value below which ``share`` of Student's t lies."""
    from scipy.special import stdtrit  # a third of the time that scipy.stats takes to load

    return float(stdtrit(degrees, share))


def t_interval(value: float, stderr: float, degrees: float, level: float) -> Interval:
    """The interval of ``level`` around ``value`` by Student's t."""
    if math.isnan(value) or math.isnan(stderr) or not degrees >= 1:
        return NONE
    half = t_quantile(degrees, 0.5 + level / 2) * stderr
    return Interval(stderr, value - half, value + half, "t")


def jackknife(values: Floats, without: Floats, sizes: Floats) -> tuple[Floats, Floats]:
    """The standard errors (k) of ``values`` (k) and their degrees of freedom (k), by the delete-a-part jackknife."""
    sizes = np.broadcast_to(sizes, without.shape)
    there = sizes > 0
    parts, all_ = there.sum(axis=1), sizes.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        h = np.where(there, all_[:, None] / np.where(there, sizes, 1.0), np.inf)
        left = np.where(there, without, 0.0)
        pseudo = np.where(there, h * values[:, None] - (h - 1) * left, 0.0)
        centre = parts * values - np.where(there, (1 - 1 / h) * left, 0.0).sum(axis=1)
        variance = np.where(there, (pseudo - centre[:, None]) ** 2 / (h - 1), 0.0).sum(axis=1) / parts
    stderr = np.where(parts > 1, np.sqrt(variance), np.nan)
    return stderr, (parts - 1).astype(np.float64)


def order_statistics(values: Floats, counts: Ints, quantile: float, level: float) -> tuple[float, float] | None:
    """The ends of the interval of a quantile among sorted ``values`` that ``counts`` groups have."""
    from scipy.special import bdtr

    n = int(counts.sum())
    if n < 2:
        return None
    tail = (1 - level) / 2
    ranks = np.arange(n + 1)
    through = bdtr(ranks, n, quantile)  # P(B <= rank)
    low = int(np.searchsorted(through, tail, side="right"))  # P(B < low) <= tail
    high = int(np.searchsorted(through, 1 - tail, side="left")) + 1
    if low < 1 or high > n:
        return None
    cumulated = np.cumsum(counts)
    at = np.searchsorted(cumulated, [low - 1, high - 1], side="right")
    return float(values[at[0]]), float(values[at[1]])
