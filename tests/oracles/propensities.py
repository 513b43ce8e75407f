"""Metrics that weigh hits by propensity, as sums over the rows of one list."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

from tests.oracles.values import Value

Weighed = tuple[float | None, float, float | None]  # score, label, propensity


def weighed(name: str, rows: Sequence[Weighed], propensity: str, clip: float = 0.0, k: int | None = None) -> Value:
    """The mean over all orders of rows with equal scores. The metric is one of p, r, cg, dcg, ndcg, arhr and rbp."""
    values = [_of_order(name, order, rows, propensity, clip, k) for order in _orders(rows)]
    return None if None in values else math.fsum(values) / len(values)


def _orders(rows: Sequence[Weighed]) -> Iterator[list[Weighed]]:
    blocks = [
        [row for row in rows if row[0] == score]
        for score in sorted({row[0] for row in rows if row[0] is not None}, reverse=True)
    ]
    for order in itertools.product(*(itertools.permutations(block) for block in blocks)):
        yield [row for block in order for row in block]


def _of_order(
    name: str, order: Sequence[Weighed], judged: Sequence[Weighed], propensity: str, clip: float, k: int | None
) -> Value:
    def gain(label: float) -> float:
        return label if name in ("cg", "dcg", "ndcg") else 1.0

    def summed(rows: Sequence[Weighed], *, weighs: bool = True) -> float:
        discount = {
            "dcg": lambda i: 1 / math.log2(i + 1),
            "ndcg": lambda i: 1 / math.log2(i + 1),
            "arhr": lambda i: 1 / i,
            "rbp": lambda i: 0.2 * 0.8 ** (i - 1),
        }.get(name, lambda i: 1.0)
        total = 0.0
        for position, (_, label, chance) in enumerate(rows[:k], start=1):
            if label > 0:
                total += (1 / max(chance, clip) if weighs else 1.0) * gain(label) * discount(position)
        return total

    relevant = [row for row in judged if row[1] > 0]
    if propensity == "best":
        below = max((summed(best) for best in itertools.permutations(relevant)), default=0.0)
    elif propensity == "snips":
        below = sum(1 / max(chance, clip) for *_, chance in relevant)
    elif name == "ndcg":
        below = max((summed(best, weighs=False) for best in itertools.permutations(relevant)), default=0.0)
    elif name in ("r", "arhr"):
        below = len(relevant) if name == "r" else min(len(relevant), 1)
    else:
        below = (k or max(len(order), 1)) if name == "p" else 1
    return summed(order) / below if below else None
