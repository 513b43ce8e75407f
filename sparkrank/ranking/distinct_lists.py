"""The distinct lists of a bucket. Groups share a distinct list if their lists have the same size and hit positions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparkrank.numeric.array_types import Codes, Ints
from sparkrank.numeric.memory import room_for
from sparkrank.numeric.segments import WHOLE, Segments, order_by_code, sum_by
from sparkrank.ranking.hits import Hits

# The sort key of a distinct list: 8 bits for relevant rows, 48 for the positions of hits, and 8 for the number of rows.
ROW_BITS, PLACE_BITS = 8, 48
MOST_PAIRS = 2  # pairs of segment and list are used if there are at most this many per group
MAX_ROWS_CODED = (1 << ROW_BITS) - 1


class Alike(NamedTuple):
    """An ``order`` of groups with equal lists adjacent, and in it the index of each group's list (``distinct``)."""

    order: Ints
    distinct: Ints


@dataclass(frozen=True, eq=False)
class DistinctLists:
    """The distinct lists of a bucket. ``code`` contains the index of each group's list.

    The other arrays have one entry for each list: the number of its ``rows``, the number of relevant rows among them
    (``hits``), and the number of all ``relevant`` rows of a group with this list. The bits of ``places``, from the
    highest down, mark hits at the first 64 positions (0 if these are not known).
    """

    code: Codes
    rows: Ints
    relevant: Ints
    places: NDArray[np.uint64]
    hits: Ints

    @classmethod
    def of_each(cls, rows: Ints, hits: Hits) -> DistinctLists:
        """Return a separate list for each group, from the number of ``rows`` of each group and all ``hits``."""
        near = hits.position <= PLACE_BITS
        # float64 adds up to 53 distinct powers of two exactly
        places = sum_by(hits.group[near], 2.0 ** (PLACE_BITS - hits.position[near]), hits.groups)
        places = np.minimum(places, 2.0**PLACE_BITS - 1) * 2.0 ** (64 - PLACE_BITS)  # larger if hits share a position
        return cls(
            np.arange(len(rows), dtype=np.int32),
            rows,
            hits.relevant,
            places.astype(np.uint64),
            hits.retrieved_relevant(),
        )

    @cached_property
    def sizes(self) -> Ints:
        return np.bincount(self.code, minlength=len(self.rows))

    @cached_property
    def segments(self) -> Segments:
        return Segments(times=self.sizes)

    def in_segments(self, code: Codes, segments: Segments) -> tuple[Ints, Segments] | None:
        """Return the distinct pairs of a list and a segment; None for a single segment or too many pairs.

        ``code`` contains the index of the list of each group in ``segments``.
        """
        if segments.code is None or segments.count * len(self.rows) > len(code) * MOST_PAIRS:
            return None
        sizes = np.bincount(segments.code * np.int64(len(self.rows)) + code)
        pairs = np.flatnonzero(sizes)
        segment, lists = np.divmod(pairs, len(self.rows))
        return lists, Segments(segments.count, segment.astype(np.int32), sizes[pairs])

    def alike_together(self) -> Alike:
        """Return the order of groups by number of relevant rows, hit positions and number of rows.

        In this order, equal values are adjacent, and Parquet stores them in few bytes.
        """
        relevant, rows = (np.minimum(count, MAX_ROWS_CODED).astype(np.uint64) for count in (self.relevant, self.rows))
        places = self.places >> np.uint64(64 - PLACE_BITS)
        by_likeness = np.argsort(relevant << np.uint64(PLACE_BITS + ROW_BITS) | places << np.uint64(ROW_BITS) | rows)
        place = np.empty(len(by_likeness), np.int32)
        place[by_likeness] = np.arange(len(by_likeness), dtype=np.int32)
        order = order_by_code(place[self.code], len(place))
        return Alike(order, self.code[order].astype(np.int64))


@dataclass(frozen=True)
class GroupValues:
    """One number per group: ``numbers`` is by list of ``distinct`` or, if ``distinct`` is None, by group."""

    numbers: NDArray[Any]
    distinct: DistinctLists | None = None

    @property
    def segments(self) -> Segments:
        return WHOLE if self.distinct is None else self.distinct.segments

    def by_group(self) -> NDArray[Any]:
        return self.numbers if self.distinct is None else self.numbers[self.distinct.code]


def in_order(values: Sequence[GroupValues], distinct: DistinctLists, alike: Alike) -> list[NDArray[Any]]:
    """Return an array for each of ``values``: the number of every group, in the order ``alike`` (of ``distinct``).

    Values that share distinct lists are reordered in one pass.
    """
    numbers: dict[DistinctLists | None, list[NDArray[Any]]] = {}
    for value in values:
        numbers.setdefault(value.distinct, []).append(value.numbers)
    places = {own: alike.order if own is None else own.code[alike.order] for own in numbers if own is not distinct}
    places[distinct] = alike.distinct
    reordered = {own: iter(_taken(np.stack(arrays), places[own])) for own, arrays in numbers.items()}
    return [next(reordered[value.distinct]) for value in values]


def _taken(table: NDArray[Any], places: Codes | Ints) -> NDArray[Any]:
    return table.take(places, axis=1, out=room_for((len(table), len(places)), table.dtype), mode="clip")
