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
    """The mean of each of ``values`` over every order of the tied rows in which it is defined."""
    orders = Counter(all_orders(scored))  # rows of equal score and label make equal orders, valued once
    means: list[Value] = []
    for value in values:
        found = [(value(list(enumerate(labels, start=1))), times) for labels, times in orders.items()]
        defined = [(of_order, times) for of_order, times in found if of_order is not None]
        summed = math.fsum(of_order * times for of_order, times in defined)
        means.append(summed / sum(times for _, times in defined) if defined else None)
    return means


def settled_for(name: str, rows: Iterable[tuple[str, float, Label]], ties: str) -> list[tuple[int, Label]]:
    """:func:`settled` as the metric ``name`` has it, which may order tied rows by what it reads instead of by label."""
    if name in ("judged", "unj"):
        rows = [(item, score, None if label is None else 1.0) for item, score, label in rows]
    return settled(rows, ties, none_last=name == "shown")


def settled(rows: Iterable[tuple[str, float, Label]], ties: str, *, none_last: bool = False) -> list[tuple[int, Label]]:
    """(position, label) of rows of (item, score, label) in the one order that ``ties`` names.

    A label of None stands for 0 or, with ``none_last`` and where labels decide, behind all others. Equal labels stand
    by their items.
    """
    rows = list(rows)
    if ties == "block":
        scores = [score for _, score, _ in rows]
        return [(sum(1 for other in scores if other >= score), label) for _, score, label in rows]
    none = -math.inf if none_last else 0.0
    keys = {
        "item": lambda item, label: item.encode(),
        "best": lambda item, label: (none if label is None else label, label is None),
        "worst": lambda item, label: (none if label is None else -label, label is None),
    }
    order = sorted(rows, key=lambda row: (row[1], keys[ties](row[0], row[2]), row[0].encode()), reverse=True)
    return [(place, label) for place, (_, _, label) in enumerate(order, start=1)]
