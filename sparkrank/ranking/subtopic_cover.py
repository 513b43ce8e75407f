"""How lists cover the subtopics of their groups, and the greedy lists that cover them best (Clarke et al., SIGIR 2008).

A subtopic counts (1 - alpha)^c in a row if c rows above have it. Such numbers are kept as whole multiples of 2^-40, so
that rows of equal gain are equal whatever the order in which their subtopics are added up.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparkrank.numeric.array_types import Codes, Flags, Floats, Ints
from sparkrank.numeric.cached import cached
from sparkrank.numeric.segments import run_starts
from sparkrank.ranking.ranking import Ranking
from sparkrank.ranking.value_columns import ValueColumn
from sparkrank.ranking.value_pairs import distinct_texts

UNITS = 2.0**40


class Cover(NamedTuple):
    """The subtopics of the relevant rows of lists: for each pair, the ``place`` of the row among all ranked rows.

    ``times`` says how many relevant rows above have the same subtopic. Pairs of one row stand together.
    """

    place: Ints
    times: Ints

    def gains(self, alpha: float) -> tuple[Ints, Floats]:
        """Return the place and the gain of each row that has a subtopic."""
        start = run_starts(self.place)
        return self.place[start], _row_sums(_worth(alpha, self.times), start)


class GreedyLists(NamedTuple):
    """The judged ``row`` at each ``position`` of the greedy list of each ``group``, with its ``gain``, by position."""

    group: Codes
    row: Ints
    position: NDArray[np.int32]
    gain: Floats


@cached
def cover_of(ranking: Ranking, column: ValueColumn, rel: float | None, k: int | None) -> Cover:
    """Return the subtopics in the first ``k`` rows of each list (None: in all), whose order is given."""
    order, codes = ranking.row_by([column]), ranking.columns[column]
    counts = ranking.judgments.flags(rel)[order] & (codes[order] >= 0)
    if k is not None:
        counts &= ranking.stands_at() <= k
    place = np.flatnonzero(counts)
    row, text = distinct_texts(codes[order[place]], ranking.arrays[column])
    subtopic = _of_group(ranking.lists.group_of(place)[row], text)
    by_subtopic = np.argsort(subtopic, kind="stable")
    start = run_starts(subtopic[by_subtopic])
    times = np.empty(len(row), np.int64)
    times[by_subtopic] = np.arange(len(row)) - np.repeat(start, np.diff(start, append=len(row)))
    return Cover(place[row], times)


@cached
def _subtopics_of_rows(ranking: Ranking, column: ValueColumn, rel: float | None) -> tuple[Ints, Ints]:
    """Return the distinct pairs of a relevant judged row and a subtopic, both as numbers. An item has one row."""
    judgments, codes = ranking.judgments, ranking.columns[column]
    rows = np.flatnonzero(judgments.flags(rel) & (codes >= 0))
    place, text = distinct_texts(codes[rows], ranking.arrays[column])
    row = rows[place] if judgments.item_row is None else judgments.item_row[rows[place]]
    most = int(text.max(initial=0)) + 1
    return np.divmod(np.unique(row * most + text), most)


def subtopics_of_groups(ranking: Ranking, column: ValueColumn, rel: float | None) -> Ints:
    """Return how many different subtopics the relevant rows of each group have, listed or not."""
    row, text = _subtopics_of_rows(ranking, column, rel)
    most = int(text.max(initial=0)) + 1
    subtopic = np.unique(ranking.judgments.codes[row] * np.int64(most) + text)
    return np.bincount(subtopic // most, minlength=ranking.groups)


@cached
def greedy_lists(ranking: Ranking, column: ValueColumn, rel: float | None, alpha: float, k: int | None) -> GreedyLists:
    """Return lists of the relevant judged rows of each group, in which each next row is the one of the highest gain.

    Of equal rows that with the greater item comes first, as in ndeval, or without items that with the greater texts.
    Lists end at ``k``, or where no row has a gain any more.
    """
    row, text = _subtopics_of_rows(ranking, column, rel)
    row, text, group = _preferred_first(ranking, column, row, text)
    subtopic = np.unique(_of_group(group, text), return_inverse=True)[1]
    worth = _worth(alpha, np.arange(int(np.bincount(subtopic).max(initial=0)) + 1))
    covered = np.zeros(int(subtopic.max(initial=-1)) + 1, np.int64)
    chosen: list[tuple[Codes, Ints, NDArray[np.int32], Floats]] = []
    while len(row) and (k is None or len(chosen) < k):
        start = run_starts(row)
        size, of_group = np.diff(start, append=len(row)), run_starts(group[start])
        gain = np.add.reduceat(worth[covered[subtopic]], start)
        highest = np.repeat(np.maximum.reduceat(gain, of_group), np.diff(of_group, append=len(start)))
        best = np.flatnonzero((gain == highest) & (highest > 0))
        best = best[run_starts(group[start[best]])]  # the first of each group
        position = np.full(len(best), len(chosen) + 1, np.int32)
        chosen.append((group[start[best]], row[start[best]], position, gain[best] / UNITS))
        is_chosen = np.zeros(len(start), np.bool_)
        is_chosen[best] = True
        covered[subtopic[np.repeat(is_chosen, size)]] += 1  # a row has a subtopic once
        left: Flags = np.repeat(~is_chosen & (highest > 0), size)
        row, group, subtopic = row[left], group[left], subtopic[left]
    if not chosen:
        none = np.empty(0, np.int32)
        return GreedyLists(none, none.astype(np.int64), none, np.empty(0))
    return GreedyLists(*map(np.concatenate, zip(*chosen, strict=True)))


def _preferred_first(ranking: Ranking, column: ValueColumn, row: Ints, text: Ints) -> tuple[Ints, Ints, Codes]:
    """Return the pairs by group, and in each by row, the row to prefer among equal ones first; and their groups."""
    start = run_starts(row)
    rows, group = row[start], ranking.judgments.codes[row[start]]
    items = [] if ranking.item_order is None else [-ranking.item_order(rows)]
    order = np.lexsort((-ranking.columns[column][rows], *items, group))
    size = np.diff(start, append=len(row))[order]
    first = np.cumsum(size) - size
    pair = np.repeat(start[order] - first, size) + np.arange(len(row))
    return row[pair], text[pair], ranking.judgments.codes[row[pair]]


def _of_group(group: Codes, text: Ints) -> Ints:
    """Return a number for each subtopic of a group."""
    return group.astype(np.int64) * (int(text.max(initial=0)) + 1) + text


def _worth(alpha: float, times: Ints) -> Ints:
    """Return (1 - ``alpha``)^c in units of 2^-40 for each c of ``times``."""
    powers = np.full(int(times.max(initial=0)) + 1, 1.0 - alpha)
    powers[0] = 1.0
    worth: Ints = np.rint(np.multiply.accumulate(powers) * UNITS).astype(np.int64)
    return worth[times]


def _row_sums(units: Ints, start: Ints) -> Floats:
    if not len(start):
        return np.empty(0)
    sums: Floats = np.add.reduceat(units, start) / UNITS
    return sums
