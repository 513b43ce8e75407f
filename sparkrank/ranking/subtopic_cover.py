"""The cover of subtopics by lists, and the greedy lists with the best cover (Clarke et al., SIGIR 2008).

A subtopic counts (1 - alpha)^c in a row below c relevant rows with the same subtopic. Such numbers are added up as
whole multiples of 2^-52, so that equal gains have equal bits whatever the order of their subtopics.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparkrank.numeric.array_types import Codes, Floats, Ints
from sparkrank.numeric.cached import cached
from sparkrank.numeric.segments import run_starts
from sparkrank.ranking.judgments import Judgments
from sparkrank.ranking.ranking import Ranking
from sparkrank.ranking.value_columns import ValueColumn
from sparkrank.ranking.value_pairs import distinct_texts

UNITS = 2.0**52
HALF = 26  # bits of half a number: the halves are added up separately, so that 64 bits hold each sum


class Cover(NamedTuple):
    """The (row, subtopic) pairs of relevant rows. Pairs of one row are adjacent.

    For each pair, ``place`` is the index of the row among all ranked rows, and ``times`` the number of relevant rows
    above it in its list with the subtopic.
    """

    place: Ints
    times: Ints

    def gains(self, alpha: float) -> tuple[Ints, Floats]:
        """Return the index among all ranked rows and the gain of each row with a subtopic."""
        start = run_starts(self.place)
        return self.place[start], _row_sums(_worth(alpha, int(self.times.max(initial=0)))[self.times], start)


@cached
def cover_of(ranking: Ranking, column: ValueColumn, rel: float | None, k: int | None) -> Cover:
    """Return the subtopics of relevant rows in the first ``k`` rows of each list (None: in all rows).

    ``column`` contains the arrays of subtopics. Its values order the tied rows that the rule for ties leaves open.
    """
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


class GreedyLists(NamedTuple):
    """The judged ``row`` at each ``position`` of the greedy list of each ``group``, with its ``gain``, by position."""

    group: Codes
    row: Ints
    position: NDArray[np.int32]
    gain: Floats


@dataclass(frozen=True, eq=False)
class RelevantSubtopics:
    """The distinct (row, subtopic) pairs of relevant judged rows, with one row for each item.

    The arrays have an entry for each pair: the index of the ``row``, the ``group``, and the ``subtopic``, a number for
    a text in a group. Pairs are sorted by group, then by preference among rows of equal gain: the row with the greater
    item is first, as in ndeval, or without items the row with the greater texts.
    """

    row: Ints
    subtopic: Ints
    group: Codes

    @classmethod
    def of(cls, ranking: Ranking, column: ValueColumn, rel: float | None) -> RelevantSubtopics:
        judgments, codes = ranking.judgments, ranking.columns[column]
        rows = np.flatnonzero(judgments.flags(rel) & (codes >= 0))
        place, text = distinct_texts(codes[rows], ranking.arrays[column])
        row = rows[place]
        if judgments.item_row is not None:
            row, text = np.unique(np.stack([judgments.item_row[row], text]), axis=1)
        start = run_starts(row)
        rows, group = row[start], judgments.codes[row[start]]
        items = [] if ranking.item_order is None else [-ranking.item_order(rows)]
        order = np.lexsort((-codes[rows], *items, group))
        size = np.diff(start, append=len(row))[order]
        pair = np.repeat(start[order] - (np.cumsum(size) - size), size) + np.arange(len(row))
        row, group = row[pair], np.repeat(group[order], size)
        subtopic = np.unique(_of_group(group, text[pair]), return_inverse=True)[1]
        return cls(row, subtopic, group)

    def counts(self, groups: int) -> Ints:
        """Return the number of distinct subtopics of each group. ``groups`` is the number of groups."""
        of_group = np.zeros(int(self.subtopic.max(initial=-1)) + 1, np.int64)
        of_group[self.subtopic] = self.group
        return np.bincount(of_group, minlength=groups)

    @cached
    def greedy(self, alpha: float, k: int | None) -> GreedyLists:
        """Return the greedy lists, in which each row has the highest gain after the rows above it.

        A list ends at position ``k`` (None: no limit), or earlier if no other row has a gain above 0.
        """
        row, subtopic, group = self.row, self.subtopic, self.group
        worth = _worth(alpha, int(np.bincount(subtopic).max(initial=0)))
        covered = np.zeros(int(subtopic.max(initial=-1)) + 1, np.int64)
        chosen = [GreedyLists(group[:0], row[:0], np.empty(0, np.int32), np.empty(0))]
        while len(row) and (k is None or len(chosen) <= k):
            start = run_starts(row)
            of_row = group[start]
            of_group, size = run_starts(of_row), np.diff(start, append=len(row))
            gain = _row_sums(worth[covered[subtopic]], start)
            highest = np.repeat(np.maximum.reduceat(gain, of_group), np.diff(of_group, append=len(start)))
            best = np.flatnonzero((gain == highest) & (highest > 0))
            best = best[run_starts(of_row[best])]  # the first of each group
            position = np.full(len(best), len(chosen), np.int32)
            chosen.append(GreedyLists(of_row[best], row[start[best]], position, gain[best]))
            is_left = highest > 0
            is_chosen = np.zeros(len(start), np.bool_)
            is_chosen[best], is_left[best] = True, False
            covered[subtopic[np.repeat(is_chosen, size)]] += 1  # no two of these rows have the same subtopic
            left = np.repeat(is_left, size)
            row, subtopic, group = row[left], subtopic[left], group[left]
        return GreedyLists(*map(np.concatenate, zip(*chosen, strict=True)))


@cached
def _of_judgments(judgments: Judgments) -> dict[tuple[ValueColumn, float | None], RelevantSubtopics]:  # noqa: ARG001
    """Return a cache for :func:`relevant_subtopics`: the subtopics of ``judgments``, by column and threshold."""
    return {}


def relevant_subtopics(ranking: Ranking, column: ValueColumn, rel: float | None) -> RelevantSubtopics:
    known = _of_judgments(ranking.judgments)
    if (column, rel) not in known:
        known[column, rel] = RelevantSubtopics.of(ranking, column, rel)
    return known[column, rel]


def _of_group(group: Codes, text: Ints) -> Ints:
    """Return one number for each pair of a ``group`` and a ``text``. Equal pairs have equal numbers."""
    return group.astype(np.int64) * (int(text.max(initial=0)) + 1) + text


def _worth(alpha: float, most: int) -> Ints:
    """Return (1 - ``alpha``)^c in units of 2^-52 for each c up to ``most``."""
    powers = np.full(most + 1, 1.0 - alpha)
    powers[0] = 1.0
    worth: Ints = np.rint(np.multiply.accumulate(powers) * UNITS).astype(np.int64)
    return worth


def _row_sums(units: Ints, start: Ints) -> Floats:
    if not len(start):
        return np.empty(0)
    high, low = (np.add.reduceat(half, start) for half in (units >> HALF, units & ((1 << HALF) - 1)))
    sums: Floats = (high * 2.0**HALF + low) / UNITS
    return sums
