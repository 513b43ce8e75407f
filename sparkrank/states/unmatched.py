"""The mergeable state of unmatched rows: one row of the lists and one of the truth without a match on the other side.

A warning shows both, so that a person sees how lists and truth write their keys. The state has the row of the item with
the lowest ``place`` (:func:`sparkrank.bucket.unmatched_rows.place_of`), and the lowest of its groups. It is the same
row for any buckets, lane and order of rows. A place is a hash, because the first item in text order is often an odd
one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypeAlias

LISTS, TRUTH = "lists", "truth"  # of the truth what is relevant at some level,
IRRELEVANT = "truth that is not relevant"  # and the rest, which a list may well do without


class UnmatchedRow(NamedTuple):
    """An unmatched row: the ``place`` of its item in the order of choice, the item, and the columns of the group key.

    Item and key columns are texts as bytes. ``group`` is empty where workers know a hash of the key only.
    """

    place: int
    item: bytes
    group: tuple[bytes, ...] = ()


Unmatched: TypeAlias = Mapping[str, UnmatchedRow]  # by side


def merged_unmatched(parts: Iterable[Unmatched]) -> dict[str, UnmatchedRow]:
    """The first row of each side over all parts."""
    first: dict[str, UnmatchedRow] = {}
    for part in parts:
        for side, row in part.items():
            first[side] = min(row, first.get(side, row))
    return first
