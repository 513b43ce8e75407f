"""The state under the sentence that says how lists and truth are written: of each side one key that has no other half.

It is the row of the item with the least ``place`` (:func:`sparkrank.bucket.unmatched.place_of`), and of its groups the
least: the same row whatever the buckets, the lane or the order of the rows, and a typical one. The least item of all
may be an odd one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypeAlias

LISTS, TRUTH = "lists", "truth"


class UnmatchedRow(NamedTuple):
    """A row: the place of its item in the order in which one is chosen, the item and the columns of the group key.

    Both are texts as bytes; there is no group where it is sent as a hash.
    """

    place: int
    item: bytes
    group: tuple[bytes, ...] = ()


Unmatched: TypeAlias = Mapping[str, UnmatchedRow]  # by side


def merged_unmatched(parts: Iterable[Unmatched]) -> dict[str, UnmatchedRow]:
    """The row of each side that comes first in all parts."""
    found: dict[str, UnmatchedRow] = {}
    for part in parts:
        for side, row in part.items():
            found[side] = min(row, found.get(side, row))
    return found
