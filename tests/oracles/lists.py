"""Metrics of one list: (ranked, judged, k, and the metric's own parameters)."""

from __future__ import annotations

import itertools
import math
import operator
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any

from tests.oracles.values import Label, Ranked, Value, count_relevant, hits_within, is_relevant


def precision(ranked: Ranked, judged: Sequence[Label], k=None, over="k", rel=None) -> Value:
    if over == "min_retrieved_relevant":
        below = min(len(ranked) if k is None else min(k, len(ranked)), count_relevant(judged, rel))
    elif k is None:
        below = len(ranked)
    else:
        below = {"k": k, "retrieved": min(k, len(ranked)), "min_k_relevant": min(k, count_relevant(judged, rel))}[over]
    return len(hits_within(ranked, k, rel)) / below if below else 0.0


def unseen(ranked: Ranked, judged: Sequence[Label], k=None, over="k") -> Value:
    """The share of rows that are new, where what a group had before has a label above 0."""
    within = [label for position, label in ranked if k is None or position <= k]
    below = k if k is not None and over == "k" else min(k or len(ranked), len(ranked))
    return sum(not is_relevant(label) for label in within) / below if below else None


def judged_share(ranked: Ranked, judged: Sequence[Label], k=None, over="retrieved") -> Value:
    labels = [label for position, label in ranked if k is None or position <= k]
    rows = k if k is not None and over == "k" else min(len(ranked), k or len(ranked))
    return (len(labels) - labels.count(None)) / rows if rows else None


def unjudged_share(ranked: Ranked, judged: Sequence[Label], k=None) -> Value:
    within = [label for position, label in ranked if k is None or position <= k]
    rows = len(ranked) if k is None else k
    return within.count(None) / rows if rows else None


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


def rank_biased_precision(
    ranked: Ranked, judged: Sequence[Label], k=None, p=0.8, rel=None, gain="binary", max_grade=1.0
) -> Value:
    if gain == "linear":
        within = [(position, label) for position, label in ranked if k is None or position <= k]
        return sum((1 - p) * p ** (position - 1) * max(label or 0.0, 0.0) / max_grade for position, label in within)
    return sum((1 - p) * p ** (position - 1) for position in hits_within(ranked, k, rel))


def set_average_precision(ranked: Ranked, judged: Sequence[Label], rel=None) -> Value:
    recalled = recall(ranked, judged, rel=rel)
    return None if recalled is None else precision(ranked, judged, rel=rel) * recalled


def fallout(ranked: Ranked, judged: Sequence[Label], k=None, rel=None) -> Value:
    others = [label for label in judged if not is_relevant(label, rel)]
    shown = [label for position, label in ranked if not is_relevant(label, rel) and (k is None or position <= k)]
    return len(shown) / len(others) if others else None


def first_rank(ranked: Ranked, judged: Sequence[Label], k=None, rel=None, sampled=None) -> Value:
    if sampled is not None and (len(ranked) != sampled + 1 or count_relevant(judged, rel) != 1):
        return None
    return min(hits_within(ranked, k, rel), default=None)


def relevance_position(ranked: Ranked, judged: Sequence[Label]) -> Value:
    gains = [(position, label) for position, label in ranked if is_relevant(label)]
    whole = sum(label for _, label in gains)
    return sum(label / whole * position for position, label in gains) if gains else None


def percentile_rank(ranked: Ranked, judged: Sequence[Label], items=None, rel=None) -> Value:
    """Of a relevant row outside of the list, the mean over the places below it that are left."""
    hits, whole = hits_within(ranked, None, rel), max(len(judged), items or 0)
    shares = [(position - 1) / whole for position in hits]
    left = (max(len(ranked) - 1, 0) / whole + 1) / 2
    shares += [left] * (count_relevant(judged, rel) - len(hits))
    return sum(shares) / len(shares) if shares else None


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


def chance_of_finding(ranked: Ranked, judged: Sequence[Label], k=None, decay=0.85) -> Value:
    """A reader who has not found it goes on with a chance; of rows at one position, the least label comes first."""
    found, looks = 0.0, 1.0
    for position, label in sorted(ranked, key=lambda row: (row[0], row[1] or 0.0)):
        if k is None or position <= k:
            chance = min(max(label or 0.0, 0.0), 1.0)
            found += looks * chance
            looks *= (1 - chance) * decay
    return found


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


def mean_interpolated_precision(ranked: Ranked, judged: Sequence[Label], round="up", rel=None) -> Value:  # noqa: A002 - the parameter's name
    levels = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
    values = [interpolated_precision(ranked, judged, level, round, rel) for level in levels]
    return None if None in values else math.fsum(values) / 11


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


def filled(ranked: Ranked, judged: Sequence[Label], k=None) -> Value:
    """The positions from 1 to k that exist in the list, counted one by one."""
    return sum(place < len(ranked) for place in range(k or 1)) / (k or 1)


def gain_of(label: Label, gain: str | tuple[float, ...], rel: float | None = None) -> float:
    if gain == "binary":
        return 1.0 if is_relevant(label, rel) else 0.0
    if label is None or label < 0:
        return 0.0
    if isinstance(gain, tuple):
        return gain[int(label)]
    return label if gain in ("linear", "label") else 2.0**label - 1


def cumulated_gain(ranked: Ranked, judged: Sequence[Label], k=None, gain="linear", rel=None) -> Value:
    return sum(gain_of(label, gain, rel) for position, label in ranked if k is None or position <= k)


def discount_of(position: int, discount: str | Sequence[float]) -> float:
    if discount == "log2":
        return 1 / math.log2(position + 1)
    if discount == "zipf":
        return 1 / position
    return discount[position - 1] if position <= len(discount) else 0.0


def discounted_gain(ranked: Ranked, judged: Sequence[Label], k=None, gain="linear", rel=None, discount="log2") -> Value:
    total = 0.0
    for position, label in ranked:
        if k is None or position <= k:
            total += gain_of(label, gain, rel) * discount_of(position, discount)
    return total


def normalised_gain(
    ranked: Ranked, judged: Sequence[Label], k=None, gain="linear", ideal="judged", rel=None, discount="log2"
) -> Value:
    if ideal == "k_relevant":
        best = [1.0] * k
    else:
        labels = {"judged": judged, "retrieved": [label for _, label in ranked]}.get(ideal, ideal)
        best = sorted((gain_of(label, gain, rel) for label in labels), reverse=True)[:k]
    highest = sum(amount * discount_of(position, discount) for position, amount in enumerate(best, start=1))
    return discounted_gain(ranked, judged, k, gain, rel, discount) / highest if highest else None


def shown(ranked: Ranked, judged: Sequence[Label], k=None, of="label", by="mean", discount="none") -> Value:
    """The mean or the sum of what rows show: here their labels, of which None is no value."""
    rows = [(position, value) for position, value in ranked if value is not None and (k is None or position <= k)]
    if not rows:
        return None
    weights = [1.0 if discount == "none" else discount_of(position, discount) for position, _ in rows]
    total = sum(weight * value for weight, (_, value) in zip(weights, rows, strict=True))
    if by == "sum":
        return total
    return total / sum(weights) if sum(weights) else None


def _shown_values(ranked: Ranked, k: int | None) -> list[float]:
    return [label for position, label in ranked if label is not None and (k is None or position <= k)]


def distinct(ranked: Ranked, judged: Sequence[Label], k=None, by="label", over="k", catalog=()) -> Value:
    """``catalog`` has the value of each of its items."""
    different: list[float] = []
    for value in _shown_values(ranked, k):
        if value not in different:
            different.append(value)
    if over == "catalog":
        below = len(set(catalog))
    else:
        below = len(ranked) if k is None else {"k": k, "retrieved": min(k, len(ranked))}[over]
    return len(different) / below if below else 0.0


def category_entropy(ranked: Ranked, judged: Sequence[Label], k=None, by="label") -> Value:
    """The mean number of bits that say which value a row has, row by row."""
    values = _shown_values(ranked, k)
    return sum(math.log2(len(values) / values.count(value)) for value in values) / len(values) if values else None


def intra_list_diversity(
    ranked: Ranked, judged: Sequence[Label], k=None, by="label", distance="mismatch", scale="sum", single="undefined"
) -> Value:
    """The mean over all pairs, formed one by one. A value of several columns is a tuple, an array of texts a set."""
    pairs = list(itertools.combinations(_shown_values(ranked, k), 2))
    if not pairs:
        return 0.0 if single == "zero" else None
    return math.fsum(_distance_between(*pair, distance, scale) for pair in pairs) / len(pairs)


def _distance_between(one: Any, other: Any, distance: str, scale: str) -> float:
    if distance == "jaccard":
        return 1 - len(one & other) / len(one | other)
    if distance == "cosine":
        return 1 - sum(map(operator.mul, one, other)) / math.hypot(*one) / math.hypot(*other)
    if not isinstance(one, tuple):
        return float(one != other)
    differing = sum(left != right for left, right in zip(one, other, strict=True))
    return differing / (len(one) if scale == "mean" else 1)


Topics = frozenset[Hashable]


def subtopic_gain(rows: Iterable[tuple[int, Topics]], alpha: float) -> float:
    """The discounted gain of relevant rows of (position, subtopics). Rows of one position may stand in any order."""
    covered: list[Hashable] = []
    total = 0.0
    for position, topics in sorted(rows, key=lambda row: row[0]):
        total += sum((1 - alpha) ** covered.count(topic) for topic in topics) / math.log2(position + 1)
        covered += topics
    return total


def greedy_order(rows: Sequence[tuple[str, Topics]], alpha: float) -> list[Topics]:
    """The subtopics of rows of (item, subtopics), with the best next row first, as ndeval takes them."""
    left, covered, order = [*rows], [], []
    while left:
        best = max(left, key=lambda row: (sum((1 - alpha) ** covered.count(t) for t in row[1]), row[0].encode()))
        left.remove(best)
        covered += best[1]
        order.append(best[1])
    return order


def alpha_ndcg_of(
    ranked: Sequence[tuple[int, Topics]], judged: Sequence[tuple[str, Topics]], k=None, alpha=0.5
) -> Value:
    """Of the relevant rows of the list, as (position, subtopics), and of all of the group, as (item, subtopics)."""
    best = subtopic_gain(list(enumerate(greedy_order(judged, alpha), start=1))[:k], alpha)
    return subtopic_gain([row for row in ranked if k is None or row[0] <= k], alpha) / best if best else None


def subtopic_recall_of(ranked: Sequence[tuple[int, Topics]], judged: Sequence[tuple[str, Topics]], k=None) -> Value:
    every = {topic for _, topics in judged for topic in topics}
    covered = {topic for position, topics in ranked if k is None or position <= k for topic in topics}
    return len(covered) / len(every) if every else None


def by_subtopic(ranked: Ranked, judged: Sequence[Label], rel: float | None) -> tuple[list[Any], list[Any]]:
    """The relevant rows of a list and of a group, where the label of a row is its subtopic."""
    listed = [(position, frozenset([label])) for position, label in ranked if is_relevant(label, rel)]
    return listed, [("", frozenset([label])) for label in judged if is_relevant(label, rel)]


def alpha_ndcg(ranked: Ranked, judged: Sequence[Label], k=None, by="label", alpha=0.5, rel=None) -> Value:
    return alpha_ndcg_of(*by_subtopic(ranked, judged, rel), k, alpha)


def subtopic_recall(ranked: Ranked, judged: Sequence[Label], k=None, by="label", rel=None) -> Value:
    return subtopic_recall_of(*by_subtopic(ranked, judged, rel), k)


def shares_of(amounts: Sequence[tuple[Hashable, float]]) -> dict[Hashable, float] | None:
    """The share of each value, or None if there is nothing to share."""
    summed: dict[Hashable, float] = defaultdict(float)
    for value, amount in amounts:
        summed[value] += amount
    whole = sum(summed.values())
    return {value: amount / whole for value, amount in summed.items()} if whole else None


def distance_of(one: dict[Hashable, float], other: dict[Hashable, float], distance: str) -> float:
    pairs = [(one.get(value, 0.0), other.get(value, 0.0)) for value in {*one, *other}]
    if distance == "tv":
        return sum(abs(left - right) for left, right in pairs) / 2
    means = [(share, (left + right) / 2) for left, right in pairs for share in (left, right) if share > 0]
    return sum(share * math.log2(share / mean) for share, mean in means) / 2


def fairness(
    shown: Sequence[tuple[int, Hashable]], target: Sequence[Hashable], k=None, discount="log2", distance="tv"
) -> Value:
    """1 less the distance between the attention to values, of (position, value), and the shares of ``target``."""
    within = [(value, discount_of(at, discount)) for at, value in shown if value is not None and (k is None or at <= k)]
    attention, wanted = shares_of(within), shares_of([(value, 1.0) for value in target if value is not None])
    return None if attention is None or wanted is None else 1 - distance_of(attention, wanted, distance)


def awrf(ranked: Ranked, judged: Sequence[Label], k=None, by="label", rel=None, **given) -> Value:
    """By the labels of the rows, against those of relevant rows."""
    return fairness(ranked, [label for label in judged if is_relevant(label, rel)], k, **given)
