"""The mergeable state of unmatched rows: one row from the lists and one from the truth, which a warning shows.

The row is chosen by the lowest item hash (``place``), then by the lowest group key: the same in any layout.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypeAlias

LISTS, TRUTH = "lists", "truth"  # rows of the truth that are relevant at some level,
IRRELEVANT = "truth that is not relevant"  # and the other rows, which a list may well lack


class UnmatchedRow(NamedTuple):
    """An unmatched row: the hash of the item (``place``), and the item and group key as bytes (empty if not known)."""

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
