"""The distinct lists of a bucket: groups that no sum over hits tells apart share one, which is summed up once.

Two groups share a list where both have as many rows, and hits at the same positions. Lists of twenty rows with a click
or two have 210 distinct ones, however many groups there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparkrank.numeric.segments import WHOLE, Segments, in_turn, sum_by
from sparkrank.numeric.types import Codes, Ints
from sparkrank.ranking.hits import Hits

# A distinct list's place in the order: 8 bits of its relevant rows, 48 of the positions of hits, 8 of its rows.
COUNTED, PLACES = 8, 48
MOST_COUNTED = (1 << COUNTED) - 1


class Alike(NamedTuple):
    """Groups in an ``order`` (groups) in which those of equal lists stand together, and the ``distinct`` list
    (groups) of each in that order.
    """

    order: Ints
    distinct: Ints


@dataclass(frozen=True, eq=False)
class DistinctLists:
    """The number of each group's list among the distinct ones: ``code`` (groups), and what these are.

    Each has so many ``rows`` (distinct) and ``relevant`` ones (distinct). The bits of ``places`` (distinct) say where
    hits stand among the first 64 positions, the first as the highest; none is set where that is not known.
    """

    code: Codes
    rows: Ints
    relevant: Ints
    places: NDArray[np.uint64]

    @classmethod
    def of_each(cls, rows: Ints, hits: Hits) -> DistinctLists:
        """A list of its own for each group, with so many ``rows`` (groups) and these ``hits``."""
        near = hits.position <= PLACES
        # powers of two, of which float64 adds up 53 exactly
        places = sum_by(hits.group[near], 2.0 ** (PLACES - hits.position[near]), hits.groups)
        places = np.minimum(places, 2.0**PLACES - 1) * 2.0 ** (64 - PLACES)  # more where several stand at one position
        return cls(np.arange(len(rows), dtype=np.int32), rows, hits.relevant, places.astype(np.uint64))

    @cached_property
    def sizes(self) -> Ints:
        """The number of groups that share each list (distinct)."""
        return np.bincount(self.code, minlength=len(self.rows))

    @cached_property
    def segments(self) -> Segments:
        """All distinct lists in one segment, each as often as groups share it."""
        return Segments(times=self.sizes)

    def alike_together(self) -> Alike:
        """The groups by how many of their rows are relevant, where hits stand, and how many rows they have.

        That are up to :data:`MOST_COUNTED` rows of either, and the first :data:`PLACES` positions. Neighbours have
        much the same metrics then, and Parquet writes runs of equal values in less time and space.
        """
        relevant, rows = (np.minimum(each, MOST_COUNTED).astype(np.uint64) for each in (self.relevant, self.rows))
        places = self.places >> np.uint64(64 - PLACES)
        by_likeness = np.argsort(relevant << np.uint64(PLACES + COUNTED) | places << np.uint64(COUNTED) | rows)
        place = np.empty(len(by_likeness), np.int32)
        place[by_likeness] = np.arange(len(by_likeness), dtype=np.int32)
        order = in_turn(place[self.code], len(place))
        return Alike(order, self.code[order].astype(np.int64))


@dataclass(frozen=True)
class GroupValues:
    """A number for every group: ``found`` (distinct) for all that share a list, or (groups) without ``distinct``."""

    found: NDArray[Any]
    distinct: DistinctLists | None = None

    @property
    def segments(self) -> Segments:
        """What is ``found``, each as often as there are groups that have it."""
        return WHOLE if self.distinct is None else self.distinct.segments

    def of_groups(self) -> NDArray[Any]:
        """The number of each group (groups)."""
        return self.found if self.distinct is None else self.found[self.distinct.code]


def in_order(values: Sequence[GroupValues], distinct: DistinctLists, alike: Alike) -> list[NDArray[Any]]:
    """Each of ``values`` for all groups (groups), in the order in which those of ``alike`` lists stand together.

    They are taken all at once, in half the time of one after the other.
    """
    of_lists = [each.found for each in values if each.distinct is distinct]
    others = [each.of_groups() for each in values if each.distinct is not distinct]
    by_list, by_group = (
        iter(np.stack(found).take(places, axis=1) if found else ())
        for found, places in ((of_lists, alike.distinct), (others, alike.order))
    )
    return [next(by_list if each.distinct is distinct else by_group) for each in values]
