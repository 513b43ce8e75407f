"""What oracles take and give, and what is relevant."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

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
