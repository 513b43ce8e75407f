"""Kinds of groups: those that no sum over hits tells apart, so that one of them stands for all.

Groups are of one kind where their lists are as long and hits stand at the same positions of them. Lists of twenty rows
with a click or two have 210 kinds, however many they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparkrank.kernels.hits import Hits
from sparkrank.kernels.order import Codes, Ints, in_turn, sum_by
from sparkrank.kernels.segments import WHOLE, Segments

# A kind's place in the order: 8 bits of its relevant rows, 48 of the positions of hits, 8 of its rows.
COUNTED, PLACES = 8, 48
MOST_COUNTED = (1 << COUNTED) - 1


class Alike(NamedTuple):
    """Groups in an ``order`` (groups) in which those that are alike stand together, and the ``kind`` (groups) of each
    in that order.
    """

    order: Ints
    kind: Ints


@dataclass(frozen=True, eq=False)
class Kinds:
    """The kind of each group: ``code`` (groups), and what all groups of a kind have.

    That are the ``rows`` (kinds) and the ``relevant`` (kinds) ones, and as bits of ``places`` (kinds) where hits stand
    among the first 64 positions, the first as the highest; none of them where that is not known.
    """

    code: Codes
    rows: Ints
    relevant: Ints
    places: NDArray[np.uint64]

    @classmethod
    def of_each(cls, rows: Ints, hits: Hits) -> Kinds:
        """Each group a kind of its own, with so many ``rows`` (groups), and ``hits`` where they may stand."""
        near = hits.position <= PLACES
        # powers of two, of which float64 adds up 53 exactly
        places = sum_by(hits.group[near], 2.0 ** (PLACES - hits.position[near]), hits.groups)
        places = np.minimum(places, 2.0**PLACES - 1) * 2.0 ** (64 - PLACES)  # more where several stand at one position
        return cls(np.arange(len(rows), dtype=np.int32), rows, hits.relevant, places.astype(np.uint64))

    @cached_property
    def sizes(self) -> Ints:
        """The number of groups of each kind (kinds)."""
        return np.bincount(self.code, minlength=len(self.rows))

    @cached_property
    def segments(self) -> Segments:
        """All kinds in one segment, each as often as there are groups of it."""
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
    """A number for every group: ``found`` (kinds) for all of a kind, or (groups) where there are no ``kinds``."""

    found: NDArray[Any]
    kinds: Kinds | None = None

    @property
    def segments(self) -> Segments:
        """What is ``found``, each as often as there are groups that have it."""
        return WHOLE if self.kinds is None else self.kinds.segments

    def of_groups(self) -> NDArray[Any]:
        """The number of each group (groups)."""
        return self.found if self.kinds is None else self.found[self.kinds.code]


def in_order(values: Sequence[GroupValues], kinds: Kinds, alike: Alike) -> list[NDArray[Any]]:
    """Each of ``values`` of groups (groups) in the order in which they are ``alike`` by their ``kinds``.

    Taken all at once, which takes half the time of one after the other.
    """
    of_kinds = [each.found for each in values if each.kinds is kinds]
    others = [each.of_groups() for each in values if each.kinds is not kinds]
    by_kind, by_group = (
        iter(np.stack(found).take(places, axis=1) if found else ())
        for found, places in ((of_kinds, alike.kind), (others, alike.order))
    )
    return [next(by_kind if each.kinds is kinds else by_group) for each in values]
