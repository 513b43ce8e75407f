"""Slow, plain definitions of every metric: one list, one loop, and every order of tied rows where ties are expected.

Nothing here comes from the package. A list is ``ranked``: (position, label) of each row with a score. In a strict
order the positions are 1, 2, 3, ...; where a tie block enters as one step, its rows share its last position.
``judged`` holds the label of every row of the group, with a score or without. A label of None was not judged.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

Label = float | None
Scored = tuple[float, Label]  # (score, label)
Ranked = Sequence[tuple[int, Label]]
Value = float | None  # None where the metric is undefined


def is_relevant(label: Label, rel: float | None = None) -> bool:
    if label is None:
        return False
    return label > 0 if rel is None else label >= rel


def count_relevant(labels: Iterable[Label], rel: float | None = None) -> int:
    return sum(is_relevant(label, rel) for label in labels)


def hits_within(ranked: Ranked, k: int | None, rel: float | None) -> list[int]:
    """The positions of the hits within k."""
    return [position for position, label in ranked if is_relevant(label, rel) and (k is None or position <= k)]


def precision(ranked: Ranked, judged: Sequence[Label], k=None, over="k", rel=None) -> Value:
    if k is None:
        below = len(ranked)
    else:
        below = {"k": k, "retrieved": min(k, len(ranked)), "min_k_relevant": min(k, count_relevant(judged, rel))}[over]
    return len(hits_within(ranked, k, rel)) / below if below else 0.0


def recall(ranked: Ranked, judged: Sequence[Label], k=None, over="relevant", rel=None) -> Value:
    relevant = count_relevant(judged, rel)
    if relevant == 0:
        return None
    return len(hits_within(ranked, k, rel)) / (relevant if over == "relevant" else min(k, relevant))


def f_measure(ranked: Ranked, judged: Sequence[Label], k=None, beta=1.0, over="k", rel=None) -> Value:
    """The weighted harmonic mean of precision and recall, written as van Rijsbergen's 1 / (a/P + (1-a)/R)."""
    recalled = recall(ranked, judged, k, rel=rel)
    precise = precision(ranked, judged, k, over, rel)
    if recalled is None:
        return None
    if recalled == 0:
        return 0.0
    share = 1 / (1 + beta**2)
    return 1 / (share / precise + (1 - share) / recalled)


def hit_rate(ranked: Ranked, judged: Sequence[Label], k=None, rel=None) -> Value:
    if count_relevant(judged, rel) == 0:
        return None
    return 1.0 if hits_within(ranked, k, rel) else 0.0


def r_precision(ranked: Ranked, judged: Sequence[Label], rel=None) -> Value:
    relevant = count_relevant(judged, rel)
    return len(hits_within(ranked, relevant, rel)) / relevant if relevant else None


def average_precision(ranked: Ranked, judged: Sequence[Label], k=None, over="relevant", rel=None) -> Value:
    relevant = count_relevant(judged, rel)
    if relevant == 0:
        return None
    hits = hits_within(ranked, k, rel)
    total = 0.0
    for position in hits:
        hits_so_far = sum(1 for other in hits if other <= position)
        total += hits_so_far / position
    if over == "hits":
        return total / len(hits) if hits else 0.0
    if over == "min_k_relevant_retrieved":
        return total / min(k or relevant, relevant, len(ranked)) if ranked else 0.0
    return total / {"relevant": relevant, "min_k_relevant": min(k or relevant, relevant), "k": k}[over]


def reciprocal_rank(ranked: Ranked, judged: Sequence[Label], k=None, rel=None) -> Value:
    if count_relevant(judged, rel) == 0:
        return None
    hits = hits_within(ranked, k, rel)
    return 1 / min(hits) if hits else 0.0


def rank_biased_precision(ranked: Ranked, judged: Sequence[Label], k=None, p=0.8, rel=None) -> Value:
    return sum((1 - p) * p ** (position - 1) for position in hits_within(ranked, k, rel))


def gain_of(label: Label, gain: str, rel: float | None = None) -> float:
    if gain == "binary":
        return 1.0 if is_relevant(label, rel) else 0.0
    if label is None or label < 0:
        return 0.0
    return label if gain == "linear" else 2.0**label - 1


def cumulated_gain(ranked: Ranked, judged: Sequence[Label], k=None, gain="linear", rel=None) -> Value:
    return sum(gain_of(label, gain, rel) for position, label in ranked if k is None or position <= k)


def discounted_gain(ranked: Ranked, judged: Sequence[Label], k=None, gain="linear", rel=None) -> Value:
    total = 0.0
    for position, label in ranked:
        if k is None or position <= k:
            total += gain_of(label, gain, rel) / math.log2(position + 1)
    return total


def normalised_gain(ranked: Ranked, judged: Sequence[Label], k=None, gain="linear", ideal="judged", rel=None) -> Value:
    if ideal == "k_relevant":
        best = [1.0] * k
    else:
        labels = {"judged": judged, "retrieved": [label for _, label in ranked]}.get(ideal, ideal)
        best = sorted((gain_of(label, gain, rel) for label in labels), reverse=True)[:k]
    highest = sum(amount / math.log2(position + 1) for position, amount in enumerate(best, start=1))
    return discounted_gain(ranked, judged, k, gain, rel) / highest if highest else None


def ordered_auc(ranked: Ranked, judged: Sequence[Label], rel=None, weight="uniform", tied="half") -> Value:
    """The pairs in the right order of one strict order; the weight matters to the mean over groups alone."""
    return pair_count_auc([(-position, is_relevant(label, rel)) for position, label in ranked])


# By the name of the metric. Each takes (ranked, judged, k=..., and the metric's parameters by name).
ORACLES: dict[str, Callable[..., Value]] = {
    "p": precision,
    "r": recall,
    "f": f_measure,
    "hit": hit_rate,
    "rprec": r_precision,
    "ap": average_precision,
    "rr": reciprocal_rank,
    "rbp": rank_biased_precision,
    "cg": cumulated_gain,
    "dcg": discounted_gain,
    "ndcg": normalised_gain,
    "group_auc": ordered_auc,
    "gauc": ordered_auc,
}


def pair_count_auc(rows: Iterable[tuple[float, bool]], tied: str = "half") -> Value:
    """Of all pairs of a relevant and a non-relevant (score, flag), the share in order; a tied pair counts 1/2, or 0."""
    rows = list(rows)
    in_order = [
        1.0 if high > low else 0.5 if high == low and tied == "half" else 0.0
        for high, relevant in rows
        for low, other in rows
        if relevant and not other
    ]
    return sum(in_order) / len(in_order) if in_order else None


def best_blocks_auc(blocks: Sequence[tuple[int, int]]) -> Value:
    """The highest AUC that any order of the blocks (positives, negatives) gives: every order is tried."""
    values = []
    for order in itertools.permutations(blocks):
        rows = [(place, True) for place, (pos, _) in enumerate(order) for _ in range(pos)]
        rows += [(place, False) for place, (_, neg) in enumerate(order) for _ in range(neg)]
        values.append(pair_count_auc(rows))
    return None if None in values else max(values)


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


Listed = tuple[str, str, float | None]  # group, item, score
Given = tuple[str, str, Label]  # group, item, label


def lists_and_truth(
    lists: Sequence[Listed],
    truth: Sequence[Given],
    duplicates: str = "keep",
    unjudged: str = "nonrelevant",
    population: str = "all",
    unretrieved: str = "zero",
) -> dict[str, tuple[list[tuple[str, float, Label]], list[Label]]]:
    """What is evaluated of each group that is: its list of (item, score, label), and the label of each judged item."""
    groups = {}
    for group in {row[0] for row in [*lists, *truth]}:
        judged: dict[str, float] = {}
        for owner, item, label in truth:
            if owner == group and label is not None:
                judged[item] = max(label, judged.get(item, label))
        listed = [(item, score, judged.get(item)) for owner, item, score in lists if owner == group]
        listed = [row for row in listed if row[1] is not None]
        in_population = {"all": True, "truth": judged, "lists": listed, "both": judged and listed}[population]
        if not in_population or (unretrieved == "skip" and not listed):
            continue
        if unjudged == "drop":
            listed = [row for row in listed if row[0] in judged]
        if duplicates == "first":
            listed = [
                (item, max(s for i, s, _ in listed if i == item), judged.get(item)) for item in {r[0] for r in listed}
            ]
        groups[group] = (listed, list(judged.values()))
    return groups
