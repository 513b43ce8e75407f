"""What all lists show together: of lists of items, the items that could be listed, and what is relevant."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from tests.oracles.lists import discount_of, distance_of, shares_of
from tests.oracles.values import Label, Value, is_relevant


@dataclass(frozen=True)
class Shown:
    """The list of each group, with none for a group without one; all items; and (item, label) of all judged rows."""

    lists: Mapping[str, Sequence[str]]
    catalogue: Sequence[str]
    judged: Sequence[tuple[str, Label]]

    def counts(self, k: int | None) -> Counter[str]:
        return Counter(item for listed in self.lists.values() for item in listed[:k])

    def size(self, items: int | None) -> int:
        return max(items or 0, len(self.catalogue))


def coverage(shown: Shown, k=None, items=None, by="share") -> Value:
    covered = len(shown.counts(k))
    return float(covered) if by == "count" else covered / shown.size(items)


def gini(shown: Shown, k=None, items=None, discount="none") -> Value:
    """Half the relative mean difference of all pairs."""
    amounts = [0.0] * shown.size(items)
    for listed in shown.lists.values():
        for position, item in enumerate(listed[:k], start=1):
            amounts[shown.catalogue.index(item)] += 1 if discount == "none" else discount_of(position, discount)
    whole = sum(amounts)
    differences = sum(abs(one - other) for one, other in itertools.product(amounts, repeat=2))
    return differences / (2 * len(amounts) * whole) if whole else None


def novelty(shown: Shown, k=None, of="relevant", rel=None) -> Value:
    relevant = Counter(item for item, label in shown.judged if is_relevant(label, rel))
    rows = [item for listed in shown.lists.values() for item in listed[:k]]
    bits = [-math.log2(max(relevant[item], 1) / len(shown.lists)) for item in rows]
    return math.fsum(bits) / len(bits) if bits else None


def entropy(shown: Shown, k=None, scale="bits", items=None) -> Value:
    counts, size = shown.counts(k), shown.size(items)
    whole = sum(counts.values())
    if not whole or (scale == "unit" and size < 2):
        return None
    bits = sum(times / whole * math.log2(whole / times) for times in counts.values())
    return bits if scale == "bits" else bits / math.log2(size)


def personalization(shown: Shown, k=None) -> Value:
    """The share of a list's places that a random other list does not fill with the same item."""
    sets = [{*listed[:k]} for listed in shown.lists.values()]
    pairs = [*itertools.permutations(sets, 2)]
    places = sum(len(one) if k is None else k for one, _ in pairs)
    return 1 - sum(len(one & other) for one, other in pairs) / places if places else None


def exposure_gap(
    shown: Sequence[Sequence[Hashable]], target: Sequence[Hashable], k=None, discount="log2", distance="tv"
) -> Value:
    """The distance between the attention to the values of all lists and the shares of ``target``."""
    attention: dict[Hashable, float] = defaultdict(float)
    for listed in shown:
        for position, value in enumerate(listed[:k], start=1):
            attention[value] += discount_of(position, discount) if value is not None else 0.0
    had = shares_of([(value, amount) for value, amount in attention.items() if value is not None])
    due = shares_of([(value, 1.0) for value in target if value is not None])
    return None if had is None or due is None else distance_of(had, due, distance)
