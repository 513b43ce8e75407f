"""The mergeable state of the largest groups: how many rows each of the first few has, and the hash of its key."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, TypeAlias

MOST_LARGEST = 3  # that the table quality names
# From here on a group is named by the hash of its key. Of shorter ones many have as many rows, and which of them are
# the first of equals would cost a hash of each.
LEAST_NAMED = 1000  # rows


class LargeGroup(NamedTuple):
    """A group of so many ``rows``, and the number that ``xxhash64`` of Spark has for its key.

    ``named`` is whether the group has :data:`LEAST_NAMED` rows; otherwise ``key_hash`` is 0. The key itself is often a
    person. By its hash, whoever may read the rows finds it.
    """

    rows: int
    named: bool = False
    key_hash: int = 0


LargestGroups: TypeAlias = tuple[LargeGroup, ...]
NO_GROUPS: LargestGroups = (LargeGroup(0),) * MOST_LARGEST  # of a bucket without any


def merged_largest(parts: Iterable[LargestGroups]) -> LargestGroups:
    """The largest groups of all parts, the largest first; among equal ones, that of the highest hash."""
    return tuple(sorted((group for part in parts for group in part), reverse=True)[:MOST_LARGEST])
