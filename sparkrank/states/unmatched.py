"""The mergeable state of unmatched rows: one of the lists and one of the truth, which a warning shows.

It is the row of the item with the lowest ``place``, a hash, and of the lowest of its groups: the same in any layout.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypeAlias

LISTS, TRUTH = "lists", "truth"  # of the truth what is relevant at some level,
IRRELEVANT = "truth that is not relevant"  # and the rest, which a list may well do without


class UnmatchedRow(NamedTuple):
    """An unmatched row: the ``place`` of its item, the item and the group key as bytes (empty if not known)."""

    place: int
    item: bytes
    group: tuple[bytes, ...] = ()


Unmatched: TypeAlias = Mapping[str, UnmatchedRow]  # by side


def merged_unmatched(parts: Iterable[Unmatched]) -> dict[str, UnmatchedRow]:
    first: dict[str, UnmatchedRow] = {}
    for part in parts:
        for side, row in part.items():
            first[side] = min(row, first.get(side, row))
    return first
