"""The mean absolute deviation of the binomial distribution, with the same bits on every processor."""

from __future__ import annotations

import math

import numpy as np

from sparkrank.numeric.array_types import Floats, Ints
from sparkrank.numeric.elementary import exp2, log

LEAST = 1e-290  # for smaller probabilities, products would be subnormal


def mean_deviation(trials: Ints, probability: Floats) -> Floats:
    """Return the mean of |X - np|, where X is the number of hits in n ``trials``, each with ``probability`` p.

    By de Moivre, the mean is 2 m (1 - p) P(X = m), where m is the least whole number above np (Diaconis and Zabell,
    Statistical Science 1991). P is computed in Loader's saddle-point form (2000), with a relative error up to 0.001.

    Examples
    --------
    With one trial of p = 0.2, the deviation is 0.2 in four cases of five and 0.8 in the fifth. With two trials of p =
    0.5, the deviation is 1 in half of the cases and 0 in the others:

    >>> mean_deviation(np.array([1, 2]), np.array([0.2, 0.5])).round(3).tolist()
    [0.32, 0.5]
    """
    n, p = np.asarray(trials, np.float64), np.asarray(probability, np.float64)
    deviation: Floats = 2 * n * p * (1 - p)  # if n is 1, as in most bins of exact scores, or p is tiny
    some = np.flatnonzero((n > 1) & (np.minimum(p, 1 - p) > LEAST))
    n, p = n[some], p[some]
    hits = np.minimum(np.floor(n * p) + 1, n)
    misses = n - hits
    inside = np.maximum(misses, 1.0)  # avoids the logarithm of 0 if all trials are hits
    exponent = -hits * log(hits / (n * p)) - misses * log(inside / (n * (1 - p)))
    exponent += np.where(misses > 0, _stirling(n) - _stirling(hits) - _stirling(inside), 0.0)
    shape = np.where(misses > 0, np.sqrt(n / (2 * math.pi * hits * inside)), 1.0)
    deviation[some] = 2 * hits * (1 - p) * shape * exp2(np.maximum(exponent / math.log(2), -1000.0))
    return deviation


def _stirling(count: Floats) -> Floats:
    """Return log(``count``!) minus Stirling's formula for it."""
    square = count * count
    return (1 / 12 - (1 / 360 - 1 / (1260 * square)) / square) / count
