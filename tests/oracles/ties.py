"""Tied rows: every order that they may stand in, or the one that a rule names."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from tests.oracles.values import Label, Ranked, Scored, Value


def tie_blocks(scored: Iterable[Scored]) -> list[list[Label]]:
    """The labels of the rows of equal score, the highest score first."""
    by_score: dict[float, list[Label]] = {}
    for score, label in scored:
        by_score.setdefault(score, []).append(label)
    return [by_score[score] for score in sorted(by_score, reverse=True)]


def all_orders(scored: Iterable[Scored]) -> Iterator[tuple[Label, ...]]:
    """Every strict order of the rows that the scores allow."""
    for blocks in itertools.product(*(itertools.permutations(block) for block in tie_blocks(scored))):
        yield tuple(itertools.chain(*blocks))


def expected_over_orders(scored: Iterable[Scored], values: Sequence[Callable[[Ranked], Value]]) -> list[Value]:
    """The mean of each of ``values`` over every order of the tied rows."""
    orders = Counter(all_orders(scored))  # rows of equal score and label make equal orders, valued once
    means: list[Value] = []
    for value in values:
        found = [(value(list(enumerate(labels, start=1))), times) for labels, times in orders.items()]
        if any(of_order is None for of_order, _ in found):
            assert all(of_order is None for of_order, _ in found), "a metric is undefined whatever the order, or never"
            means.append(None)
        else:
            means.append(math.fsum(of_order * times for of_order, times in found) / sum(orders.values()))
    return means


def settled(rows: Iterable[tuple[str, float, Label]], ties: str) -> list[tuple[int, Label]]:
    """(position, label) of rows of (item, score, label) in the one order that ``ties`` names."""
    rows = list(rows)
    if ties == "block":
        scores = [score for _, score, _ in rows]
        return [(sum(1 for other in scores if other >= score), label) for _, score, label in rows]
    keys = {
        "item": lambda item, label: item.encode(),
        "best": lambda item, label: 0.0 if label is None else label,
        "worst": lambda item, label: 0.0 if label is None else -label,
    }
    order = sorted(rows, key=lambda row: (row[1], keys[ties](row[0], row[2])), reverse=True)
    return [(place, label) for place, (_, _, label) in enumerate(order, start=1)]
