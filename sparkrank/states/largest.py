"""The mergeable state of the few largest groups, with the number of rows and the key of each group."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, TypeAlias

MOST_LARGEST = 3  # the number of groups that the table quality names
# Groups of at least this size are named by their key. Many smaller groups have the same number of rows, and a choice
# among equally large groups would need the text of every key.
LEAST_NAMED = 1000  # rows


class LargeGroup(NamedTuple):
    """The number of ``rows`` and the ``key`` of a group.

    The key is empty if the group is small or if no group table was requested.
    """

    rows: int
    key: tuple[bytes, ...] = ()


LargestGroups: TypeAlias = tuple[LargeGroup, ...]
NO_GROUPS: LargestGroups = (LargeGroup(0),) * MOST_LARGEST  # for a bucket without groups


def merged_largest(parts: Iterable[LargestGroups]) -> LargestGroups:
    return tuple(sorted((group for part in parts for group in part), reverse=True)[:MOST_LARGEST])


def largest_of(pairs: Iterable[tuple[str, float]]) -> dict[str, float]:
    """Return the largest number for each name in ``pairs``."""
    largest: dict[str, float] = {}
    for name, number in pairs:
        largest[name] = max(number, largest.get(name, number))
    return largest
