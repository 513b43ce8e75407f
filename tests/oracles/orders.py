"""Metrics that compare two orders, pair by pair, rank by rank or depth by depth."""

from __future__ import annotations

import itertools
import math
import statistics
from collections import Counter
from collections.abc import Iterable, Sequence

from tests.oracles.values import Label, Pair, Ranked, Scored, Value


def kendall_pairs(rows: Sequence[Pair]) -> Counter[str]:
    """The pairs of rows by what the two orders say of them."""
    pairs: Counter[str] = Counter()
    for (score, reference), (other_score, other_reference) in itertools.combinations(rows, 2):
        by_score = (score > other_score) - (score < other_score)
        by_reference = (reference > other_reference) - (reference < other_reference)
        kind = "both tied" if by_score == by_reference == 0 else "score tied" if by_score == 0 else "reference tied"
        if by_score and by_reference:
            kind = "concordant" if by_score == by_reference else "discordant"
        pairs[kind] += 1
    return pairs


def kendall_tau(rows: Sequence[Pair], variant="b", ref="label") -> Value:
    pairs, n = kendall_pairs(rows), len(rows)
    excess = pairs["concordant"] - pairs["discordant"]
    ordered = pairs["concordant"] + pairs["discordant"]
    least = min((len(set(values)) for values in zip(*rows, strict=True)), default=0)
    if least < 2:
        return None
    if variant == "b":
        return excess / math.sqrt((ordered + pairs["reference tied"]) * (ordered + pairs["score tied"]))
    return excess / (n**2 * (least - 1) / (2 * least))


def kendall_distance(rows: Sequence[Pair], ref="label") -> Value:
    pairs = kendall_pairs(rows)
    return (pairs["discordant"] + pairs["score tied"] / 2) / sum(pairs.values()) if pairs else None


def graded_auc(rows: Sequence[Pair], weight="uniform") -> Value:
    pairs = kendall_pairs(rows)
    different = pairs["concordant"] + pairs["discordant"] + pairs["score tied"]
    return (pairs["concordant"] + pairs["score tied"] / 2) / different if different else None


def mid_ranks(values: Sequence[float]) -> list[float]:
    return [sum(other < value for other in values) + (values.count(value) + 1) / 2 for value in values]


def spearman(rows: Sequence[Pair], ref="label") -> Value:
    if not rows or any(len(set(values)) < 2 for values in zip(*rows, strict=True)):
        return None
    return statistics.correlation(*(mid_ranks(values) for values in zip(*rows, strict=True)))


def first_position(value: float, values: Sequence[float]) -> int:
    return 1 + sum(other > value for other in values)


def rank_biased_overlap(rows: Sequence[Scored], p=0.9, ref="label") -> Value:
    """Webber, Moffat and Zobel's equation 32 over the agreement of two sets, depth by depth."""
    scores = [score for score, _ in rows if score is not None]
    labels = [label for _, label in rows if label is not None]
    tops = [
        (
            None if score is None else first_position(score, scores),
            None if label is None else first_position(label, labels),
        )
        for score, label in rows
    ]
    short, long = sorted((len(scores), len(labels)))
    if short == 0:
        return None

    def overlap(depth: int) -> int:
        return sum(own is not None and other is not None and max(own, other) <= depth for own, other in tops)

    def agreement(depth: int) -> float:
        sizes = sum(top is not None and top <= depth for pair in tops for top in pair)
        imagined = max(depth - short, 0)  # rows that the shorter list does not have
        return 2 * (overlap(depth) + overlap(short) / short * imagined) / (sizes + imagined)

    total = sum(agreement(depth) * p ** (depth - 1) for depth in range(1, long + 1))
    return (1 - p) * total + agreement(long) * p**long


def fitness(ranked: Ranked, judged: Sequence[Label], alpha=0.5, discount="none", ref="label") -> Value:
    rows = sorted((row for row in ranked if row[1] is not None), key=lambda row: row[0])
    by_label = sorted(range(len(rows)), key=lambda row: -rows[row][1])
    got = best = 0.0
    for q, row in enumerate(by_label, start=1):
        p = sum(position <= rows[row][0] for position, _ in rows)
        w = 1 / math.log2(q + 1) if discount == "log2" else 1
        got += w / (alpha * (abs(p - q) + 1) + (1 - alpha) * p)
        best += w / (alpha + (1 - alpha) * q)
    return got / best if best else None


def overlap(listed: Sequence[str], other: Sequence[str], relevant: Sequence[str], k=None, over="k") -> Value:
    one, two = {*listed[:k]}, {*other[:k]}
    if over == "union":
        return len([item for item in one if item in two]) / len({*one, *two}) if one or two else None
    whole = len(one) if over == "retrieved" else k or len(listed)
    return sum(item in two for item in listed[:k]) / whole if whole else 0.0


def unexpected(listed: Sequence[str], other: Sequence[str], relevant: Sequence[str], k=None, over="k") -> Value:
    """As RePlay has it: what is left of k, or of all, once common items are taken away."""
    if over == "union":
        both = {*listed[:k], *other[:k]}
        return sum((item in listed[:k]) != (item in other[:k]) for item in both) / len(both) if both else None
    whole = len(listed[:k]) if over == "retrieved" else k or len(listed)
    return (whole - len({*listed[:k]}.intersection(other[:k]))) / whole if whole else 1.0


def serendipity(listed: Sequence[str], other: Sequence[str], relevant: Sequence[str], k=None) -> Value:
    whole = k or len(listed)
    return len([item for item in listed[:k] if item in relevant and item not in other[:k]]) / whole if whole else 0.0


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


Pairs = Sequence[tuple[str, str]]  # (group, item) of each row of the interactions


def past_novelty(
    ranked: Sequence[tuple[int, str]], had: Pairs, k=None, of="users", over="lists", scale="bits"
) -> Value:
    """The mean self-information of items, by the popularity that they had before."""
    everyone = {group for group, _ in had} if of == "users" else had
    counted = {*had} if of == "users" else had
    shown = [item for position, item in ranked if k is None or position <= k]
    if not shown or len(everyone) < (2 if scale == "unit" else 1):
        return None
    bits = [-math.log2(max(sum(own == item for _, own in counted), 1) / len(everyone)) for item in shown]
    return sum(bits) / (k if over == "k" else len(bits)) / (math.log2(len(everyone)) if scale == "unit" else 1)


def past_serendipity(ranked: Sequence[tuple[int, tuple[str, bool]]], had: Pairs, k=None, over="k") -> Value:
    """As RecTools has it: how much likelier items are in their position than by their popularity."""
    rows = Counter(item for _, item in had)
    ranks = {count: rank for rank, count in enumerate(sorted({*rows.values()}, reverse=True), start=1)}
    if not rows:
        return None
    summed = 0.0
    for position, (item, is_hit) in ranked:
        own = (len(rows) + 1 - position) / len(rows)
        anyone = (len(rows) + 1 - ranks[rows[item]]) / len(rows) if item in rows else 0.0
        summed += max(own - anyone, 0.0) if is_hit and (k is None or position <= k) else 0.0
    whole = k if k is not None and over == "k" else min(k or len(ranked), len(ranked))
    return summed / whole if whole else 0.0
