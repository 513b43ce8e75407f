"""Metrics among all items from ranks among sampled ones, in loops."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

from tests.oracles.values import Value

GAINS: dict[str, Callable[[int], float]] = {
    "sampled_r": lambda rank: 1.0,
    "sampled_hit": lambda rank: 1.0,
    "sampled_rr": lambda rank: 1 / rank,
    "sampled_ndcg": lambda rank: 1 / math.log2(rank + 1),
}


def chances(sampled: int, items: int) -> list[list[float]]:
    """By the rank among all items, the chance that 0, 1, 2, ... of the sampled ones are above."""

    def chance(rank: int, above: int) -> float:
        share = (rank - 1) / (items - 1)
        return math.comb(sampled, above) * share**above * (1 - share) ** (sampled - above)

    return [[chance(rank, above) for above in range(sampled + 1)] for rank in range(1, items + 1)]


def most_likely(counts: Sequence[int], items: int) -> list[float]:
    """The distribution of ranks after 300 steps of EM."""
    m, n = len(counts) - 1, sum(counts)
    table = chances(m, items)
    p = [1 / items] * items
    for _ in range(300):
        of_rank = [sum(p[big] * table[big][r] for big in range(items)) for r in range(m + 1)]
        seen = [(r, count / n) for r, count in enumerate(counts) if count]
        p = [p[big] * sum(table[big][r] * share / of_rank[r] for r, share in seen) for big in range(items)]
    return p


def least_error(gains: Sequence[float], sampled: int, items: int, gamma: float) -> list[float]:
    """What each sampled rank counts so that bias and variance are least: the normal equations, by elimination."""
    table, places = chances(sampled, items), range(sampled + 1)
    rows = [
        [
            (1 - Fraction(gamma)) * sum(Fraction(own[r]) * Fraction(own[s]) for own in table)
            + (Fraction(gamma) * sum(Fraction(own[r]) for own in table) if r == s else 0)
            for s in places
        ]
        + [sum(Fraction(own[r]) * Fraction(gain) for own, gain in zip(table, gains, strict=True))]
        for r in places
    ]
    for r in places:
        rows[r] = [value / rows[r][r] for value in rows[r]]
        for other in places:
            if other != r:
                rows[other] = [a - rows[other][r] * b for a, b in zip(rows[other], rows[r], strict=True)]
    return [float(row[-1]) for row in rows]


def estimate(name: str, ranks: Sequence[int], k: int | None, sampled: int, items: int, by="em", gamma=0.1) -> Value:
    """Of the ranks among one relevant and ``sampled`` other items, from 1."""
    gains = [GAINS[name](rank) if k is None or rank <= k else 0.0 for rank in range(1, items + 1)]
    counts = [ranks.count(rank) for rank in range(1, sampled + 2)]
    if not ranks:
        return None
    if by == "minimal_bias":
        counted = least_error(gains, sampled, items, gamma)
        return sum(count * own for count, own in zip(counts, counted, strict=True)) / len(ranks)
    return sum(p * gain for p, gain in zip(most_likely(counts, items), gains, strict=True))
