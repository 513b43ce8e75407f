"""The mergeable state of the largest groups: how many rows each of the first few has, and its key."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, TypeAlias

MOST_LARGEST = 3  # that the table quality names
# From here on a group is named by its key. Of shorter ones many have as many rows, and which of them are the first of
# equals would cost the text of each key.
LEAST_NAMED = 1000  # rows


class LargeGroup(NamedTuple):
    """A group of so many ``rows``, and its ``key`` as texts: empty where it is small, or in no group table."""

    rows: int
    key: tuple[bytes, ...] = ()


LargestGroups: TypeAlias = tuple[LargeGroup, ...]
NO_GROUPS: LargestGroups = (LargeGroup(0),) * MOST_LARGEST  # of a bucket without any


def merged_largest(parts: Iterable[LargestGroups]) -> LargestGroups:
    return tuple(sorted((group for part in parts for group in part), reverse=True)[:MOST_LARGEST])
