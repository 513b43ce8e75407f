"""The mergeable state of unmatched rows, for the text of a warning.

The state consists of a row of the lists, one of the relevant truth, and one of the rest of the truth.

The row with the lowest item hash is chosen, and among equal hashes the lowest item and group key, so that the choice
does not depend on the layout of the data.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypeAlias

LISTS, TRUTH = "lists", "truth"  # TRUTH is for rows of the truth that are relevant at some level
IRRELEVANT = "truth that is not relevant"  # the other rows of the truth, which lists need not contain


class UnmatchedRow(NamedTuple):
    """An unmatched row: the hash of its item (``place``), the ``item`` and the ``group`` key, as bytes.

    The bytes are empty if unknown.
    """

    place: int
    item: bytes
    group: tuple[bytes, ...] = ()


Unmatched: TypeAlias = Mapping[str, UnmatchedRow]  # by LISTS, TRUTH and IRRELEVANT


def merged_unmatched(parts: Iterable[Unmatched]) -> dict[str, UnmatchedRow]:
    first: dict[str, UnmatchedRow] = {}
    for part in parts:
        for side, row in part.items():
            first[side] = min(row, first.get(side, row))
    return first
