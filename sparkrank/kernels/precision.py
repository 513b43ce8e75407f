"""Metrics of binary relevance: what is read off the hits of a ranking.

Every function returns one float64 per group, or per kind where sums are by kind, NaN where the metric is undefined.
``k`` absent means the whole list.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sparkrank.kernels.hit_sums import HitSums
from sparkrank.kernels.hits import Hits
from sparkrank.kernels.judgments import Floats


def ratio(numerator: NDArray[np.generic], denominator: NDArray[np.generic] | float) -> Floats:
    """Element by element, NaN where the denominator is 0."""
    below = np.asarray(denominator, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        value: Floats = np.divide(numerator, below)
    value[below == 0] = np.nan  # a fifth of the time of choosing what to divide by
    return value


def precision(hits: HitSums, k: int | None, over: str) -> Floats:
    """hits@k over k, the retrieved rows within k, or min(k, R). Never undefined: 0 where there is nothing to count."""
    if over == "min_k_relevant" and k is not None:
        below = np.minimum(k, hits.relevant)
    elif over == "retrieved" and k is not None:
        below = np.minimum(k, hits.length)
    elif k is not None:
        return hits.count(k) / k
    else:
        below = hits.length
    return np.nan_to_num(ratio(hits.count(k), below))


def recall(hits: HitSums, k: int | None, over: str) -> Floats:
    """hits@k over R, or over min(k, R). Undefined where R = 0."""
    below = hits.relevant_or_nan
    return hits.count(k) / (below if over == "relevant" or k is None else np.minimum(k, below))


def f_measure(hits: HitSums, k: int | None, beta: float, over: str) -> Floats:
    """(1 + b²) hits / (b² R + k): van Rijsbergen's F of precision@k and recall@k. Undefined where R = 0.

    Where ``over`` is ``retrieved``, the retrieved rows within k stand for k.
    """
    length = hits.length.astype(np.float64)
    cut = length if k is None else np.minimum(k, length) if over == "retrieved" else float(k)
    value = ratio((1 + beta**2) * hits.count(k), beta**2 * hits.relevant + cut)
    return hits.where_relevant(value)


def hit_rate(hits: HitSums, k: int | None) -> Floats:
    """1 if any hit stands within k, in expectation. Undefined where R = 0."""
    return hits.where_relevant(hits.any(k))


def r_precision(hits: Hits) -> Floats:
    """hits@R / R. Undefined where R = 0."""
    within = hits.position <= hits.relevant[hits.group]
    count = np.bincount(hits.group[within], weights=hits.probability[within], minlength=hits.groups)
    return ratio(count, hits.relevant)


def average_precision(hits: HitSums, k: int | None, over: str) -> Floats:
    """The sum over hits within k of (hits so far / position), over R, min(k, R), k or hits@k. Undefined where R = 0.

    Under ``min_k_relevant_retrieved`` it is over min(k, R, length of the list); an empty list has 0.
    """
    total, below = hits.precisions(k), hits.relevant_or_nan
    if over == "min_k_relevant" and k is not None:
        return total / np.minimum(k, below)
    if over == "k" and k is not None:
        return hits.where_relevant(total / k)
    if over == "min_k_relevant_retrieved":
        within = hits.length if k is None else np.minimum(k, hits.length)
        return total / np.maximum(np.minimum(within, below), 1)
    if over == "hits":
        return hits.where_relevant(total / np.maximum(hits.count(k), 1))
    return total / below


def reciprocal_rank(hits: HitSums, k: int | None) -> Floats:
    """1 / position of the first hit, 0 if none stands within k. Undefined where R = 0."""
    return hits.where_relevant(hits.first(k))


def reciprocal_ranks(hits: Hits, k: int | None) -> Floats:
    """The sum of 1 / position over all hits within k. Undefined where R = 0."""
    return np.where(hits.relevant > 0, hits.reciprocals(k), np.nan)


def rank_biased_precision(hits: Hits, k: int | None, p: float) -> Floats:
    """(1 - p) times the sum over hits of p^(position - 1) (Moffat and Zobel, TOIS 2008). Never undefined."""
    return hits.sum(hits.probability * ((1 - p) * np.power(p, hits.position - 1.0)), k)
