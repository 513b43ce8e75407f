"""AUC over rows that come in clusters, and its variance, by Obuchowski: Nonparametric analysis of clustered ROC curve
data, Biometrics 1997. For clusters of one row each it is the variance of DeLong, DeLong, Clarke-Pearson 1988.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Row(NamedTuple):
    cluster: int
    score: float
    is_positive: bool


class Components(NamedTuple):
    """Of each cluster: Σ over its positive rows of (share of negative rows below, ties a half, minus the AUC), and the
    same over its negative rows of the share of positive rows above.
    """

    auc: float
    positive: dict[int, float]
    negative: dict[int, float]


def clustered_auc(rows: Sequence[Row]) -> tuple[float, float]:
    """The AUC of all pairs of a positive and a negative row, and the variance that Obuchowski estimates for it."""
    found = components(rows)
    return found.auc, covariance(rows, found, found)


def clustered_difference(rows: Sequence[Row], others: Sequence[Row]) -> tuple[float, float]:
    """The difference of the AUC of two scores of the same rows, and its variance."""
    one, other = components(rows), components(others)
    variance = covariance(rows, one, one) + covariance(rows, other, other) - 2 * covariance(rows, one, other)
    return one.auc - other.auc, variance


def components(rows: Sequence[Row]) -> Components:
    positives = [row for row in rows if row.is_positive]
    negatives = [row for row in rows if not row.is_positive]
    below = [sum(order(one.score, other.score) for other in negatives) / len(negatives) for one in positives]
    above = [sum(order(one.score, other.score) for one in positives) / len(positives) for other in negatives]
    auc = sum(below) / len(positives)
    sums: tuple[dict[int, float], dict[int, float]] = ({}, {})
    for into, members, shares in zip(sums, (positives, negatives), (below, above), strict=True):
        for row, share in zip(members, shares, strict=True):
            into[row.cluster] = into.get(row.cluster, 0.0) + share - auc
    return Components(auc, *sums)


def covariance(rows: Sequence[Row], one: Components, other: Components) -> float:
    """S10/M + S01/N + 2·S11/(MN), in the paper's letters, where the two are the same score."""
    m = sum(row.is_positive for row in rows)
    n = len(rows) - m
    clusters = {row.cluster for row in rows}
    s10 = corrected(len(one.positive)) / m * products(one.positive, other.positive)
    s01 = corrected(len(one.negative)) / n * products(one.negative, other.negative)
    s11 = corrected(len(clusters)) * products(one.positive, other.negative)
    s11_other = corrected(len(clusters)) * products(other.positive, one.negative)
    return s10 / m + s01 / n + (s11 + s11_other) / (m * n)


def corrected(clusters: int) -> float:
    return clusters / (clusters - 1)


def products(one: dict[int, float], other: dict[int, float]) -> float:
    return sum(value * other.get(cluster, 0.0) for cluster, value in one.items())


def order(positive: float, negative: float) -> float:
    return 1.0 if positive > negative else 0.5 if positive == negative else 0.0
