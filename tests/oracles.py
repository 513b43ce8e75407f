"""Slow, plain definitions of every metric: one list, one loop, and every order of tied rows where ties are expected.

Nothing here comes from the package. A list is ``ranked``: (position, label) of each row with a score. In a strict
order the positions are 1, 2, 3, ...; where a tie block enters as one step, its rows share its last position.
``judged`` holds the label of every row of the group, with a score or without. A label of None was not judged.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

Label = float | None
Scored = tuple[float | None, Label]  # (score, label)
Pair = tuple[float, float]  # (score, reference), the higher first in both
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


def reciprocal_ranks(ranked: Ranked, judged: Sequence[Label], k=None, rel=None) -> Value:
    return sum(1 / position for position in hits_within(ranked, k, rel)) if count_relevant(judged, rel) else None


def expected_reciprocal_rank(ranked: Ranked, judged: Sequence[Label], k=None, max_grade=4.0) -> Value:
    """A reader goes down the list; rows at one position come one after the other, in any order."""
    value, still_reading = 0.0, 1.0
    for position, label in sorted(ranked, key=lambda row: row[0]):
        if k is None or position <= k:
            satisfied = (2.0 ** min(max(label or 0.0, 0.0), max_grade) - 1) / 2.0**max_grade
            value += still_reading * satisfied / position
            still_reading *= 1 - satisfied
    return value


def judged_against(label: Label, rel: float | None) -> bool:
    return label is not None and label >= 0 and not is_relevant(label, rel)


def rows_above(ranked: Ranked) -> Iterator[tuple[int, Label, list[Label]]]:
    """Each row with the labels of the other rows at its position or above."""
    for place, (position, label) in enumerate(ranked):
        others = [other for index, (at, other) in enumerate(ranked) if at <= position and index != place]
        yield position, label, others


def binary_preference(ranked: Ranked, judged: Sequence[Label], rel=None) -> Value:
    relevant = count_relevant(judged, rel)
    against = sum(judged_against(label, rel) for label in judged)
    total = 0.0
    for _, label, others in rows_above(ranked):
        if is_relevant(label, rel):
            worse_above = sum(judged_against(other, rel) for other in others)
            total += 1 - (min(worse_above, relevant) / min(against, relevant) if worse_above else 0)
    return total / relevant if relevant else None


def interpolated_precision(ranked: Ranked, judged: Sequence[Label], recall=0.0, round="up", rel=None) -> Value:  # noqa: A002 - the parameter's name
    relevant = count_relevant(judged, rel)
    hits = hits_within(ranked, None, rel)
    through = [(sum(other <= position for other in hits), position) for position in hits]
    reached = [
        count / position
        for count, position in through
        if count >= int(recall * relevant + (0.9 if round == "up" else 0.5))
    ]
    return max(reached, default=0.0) if relevant else None


def inferred_average_precision(ranked: Ranked, judged: Sequence[Label], rel=None) -> Value:
    relevant = count_relevant(judged, rel)
    total = 0.0
    for position, label, others in rows_above(ranked):
        if is_relevant(label, rel):
            pooled = [other for other in others if other is not None]
            good, bad = count_relevant(pooled, rel), sum(judged_against(other, rel) for other in pooled)
            share = (good + 1e-5) / (good + bad + 2e-5)
            total += 1 / position + ((position - 1) / position * len(pooled) / (position - 1) * share if others else 0)
    return total / relevant if relevant else None


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


def fitness(ranked: Ranked, judged: Sequence[Label], alpha=0.5, weight="uniform", ref="label") -> Value:
    rows = sorted((row for row in ranked if row[1] is not None), key=lambda row: row[0])
    by_label = sorted(range(len(rows)), key=lambda row: -rows[row][1])
    got = best = 0.0
    for q, row in enumerate(by_label, start=1):
        p = sum(position <= rows[row][0] for position, _ in rows)
        w = 1 / math.log2(q + 1) if weight == "log2" else 1
        got += w / (alpha * (abs(p - q) + 1) + (1 - alpha) * p)
        best += w / (alpha + (1 - alpha) * q)
    return got / best if best else None


def listed(rows: Iterable[Scored]) -> list[Scored]:
    return [(score, label) for score, label in rows if score is not None]


def flagged_auc(rows: Iterable[Scored], rel: float | None, tied: str) -> Value:
    return pair_count_auc(((score, is_relevant(label, rel)) for score, label in rows), tied)


def both_known(rows: Iterable[Scored]) -> list[Pair]:
    return [(score, label) for score, label in listed(rows) if label is not None]


# Metrics that treat tied scores as tied, whatever `ties` says. Each takes the rows of a group as (score, label).
PAIRED: dict[str, Callable[..., Value]] = {
    "group_auc": lambda rows, rel=None, weight="", tied="half": flagged_auc(listed(rows), rel, tied),
    "gauc": lambda rows, rel=None, weight="", tied="half": flagged_auc(listed(rows), rel, tied),
    "pair_auc": lambda rows, weight="": graded_auc([(score, label or 0.0) for score, label in listed(rows)]),
    "kendall_tau": lambda rows, **given: kendall_tau(both_known(rows), **given),
    "kendall_distance": lambda rows, **given: kendall_distance(both_known(rows), **given),
    "spearman": lambda rows, **given: spearman(both_known(rows), **given),
    "rbo": rank_biased_overlap,
}
# Of these, those that are not the mean over the orders of the tied rows.
OWN_TIES = ("kendall_tau", "spearman", "rbo")


def of_strict_order(name: str) -> Callable[..., Value]:
    """The metric of :data:`PAIRED` as an oracle of one strict order."""

    def value(ranked: Ranked, judged: Sequence[Label], **given) -> Value:
        return PAIRED[name]([(-position, label) for position, label in ranked], **given)

    return value


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
    "arhr": reciprocal_ranks,
    "err": expected_reciprocal_rank,
    "bpref": binary_preference,
    "iprec": interpolated_precision,
    "infap": inferred_average_precision,
    "fitness": fitness,
    "cg": cumulated_gain,
    "dcg": discounted_gain,
    "ndcg": normalised_gain,
    **{name: of_strict_order(name) for name in PAIRED},
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
) -> dict[str, tuple[list[tuple[str, float, Label]], dict[str, float]]]:
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
        groups[group] = (listed, judged)
    return groups
