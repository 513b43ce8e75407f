"""Comparisons of the time of a list with the times of its truth, of the past of its group, and of its items.

A time is a whole number here: microseconds, days, or the number itself. The list time of a row, from a list or the
truth, is the earliest time that a list has for its (group, item) pair, or else the earliest time of its group's list. A
time equal to another is not before it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from sparkrank.base import checks
from sparkrank.bucket.bucket_rows import BucketRows, as_numpy
from sparkrank.bucket.encoding import encode, paired
from sparkrank.bucket.grouping import groups_of
from sparkrank.bucket.impressions import EARLY_ITEM, EARLY_TRUTH, ITEM, SINCE, TIME
from sparkrank.bucket.listed_pairs import ListedPairs
from sparkrank.metrics import Plan
from sparkrank.metrics.needs import TRUTH
from sparkrank.numeric.array_types import Codes, Flags, Ints

ALWAYS, NEVER = np.iinfo(np.int64).min, np.iinfo(np.int64).max  # before and after any time that is known


def times_of(column: pa.ChunkedArray, unknown: int) -> Ints:
    """Return the times in ``column`` as whole numbers, with ``unknown`` for a null."""
    days = column.cast(pa.int32()) if pa.types.is_date32(column.type) else column
    times: Ints = as_numpy(days.cast(pa.int64()).fill_null(unknown))
    return times


@dataclass(frozen=True)
class ListTimes:
    """The times of lists, by number of a (group, item) pair and of a group. An unknown time is :data:`NEVER`."""

    pair_times: Ints
    group_times: Ints

    @classmethod
    def of(cls, times: Ints, pair: Codes, pairs: int, group: Codes, groups: int) -> ListTimes:
        """Return the earliest of ``times`` for each ``pair`` and each ``group``."""
        return cls(_earliest(times, pair, pairs), _earliest(times, group, groups))

    def at(self, pair: Codes, group: Codes) -> Ints:
        """Return the time of the list for rows with these numbers of pairs and groups."""
        own = self.pair_times[pair]
        return np.where(own == NEVER, self.group_times[group], own)


def _earliest(times: Ints, codes: Codes, count: int) -> Ints:
    earliest = np.full(count, NEVER)
    np.minimum.at(earliest, codes, times)
    return earliest


def _times_of_lists(rows: BucketRows) -> Ints:
    """Return the time of each row of a list, and :data:`NEVER` for rows of the truth, which have times of their own."""
    return np.where(rows.truth, NEVER, times_of(rows.table[TIME], NEVER))


@dataclass(frozen=True)
class TimedPairs(ListedPairs):
    """Pairs of the past with the times at which the group had the item. A list ignores pairs of a later time.

    A pair without a time counts for every list.
    """

    def counts(self) -> Mapping[tuple[str, str], int]:
        """Return the number of pairs that are later than the list of their group."""
        late = self._had > self._lists.at(self._pair[len(self.rows) :], self.own)
        return {(checks.LATE_PAST, ""): int(np.count_nonzero(late))}

    def flags(self) -> Flags:
        """Return flags of the rows whose group had the row's item by the time of the list."""
        pair = self._pair[: len(self.rows)]
        until = self._until if self.plan.arrays else self._lists.at(pair, self.group)
        has_pair = np.zeros(self._pairs, np.bool_)
        has_pair[self._pair[len(self.rows) :]] = True
        flags: Flags = has_pair[pair] & (self._first[pair] <= until)
        return flags

    def items_had(self) -> Ints:
        """Return, for each row, the number of distinct items that its group had by the time of the list."""
        own, index = np.unique(self._pair[len(self.rows) :], return_index=True)
        group, first = self.own[index], self._first[own]
        until = self._until
        order = np.lexsort(
            (
                np.repeat([0, 1], [len(first), len(until)]),
                np.concatenate([first, until]),
                np.concatenate([group, self.group]),
            )
        )
        through = np.empty(len(order), np.int64)
        through[order] = np.cumsum(order < len(first))
        group_times = np.bincount(group, minlength=self.groups)
        items: Ints = through[len(first) :] - (np.cumsum(group_times) - group_times)[self.group]
        return items

    @cached_property
    def _pair(self) -> Codes:
        """The number of the (group, item) pair of each row, then of each pair of the past."""
        return paired(np.concatenate([self.group, self.own]), encode(self.items)[0])

    @cached_property
    def _pairs(self) -> int:
        return int(self._pair.max(initial=-1)) + 1

    @cached_property
    def _had(self) -> Ints:
        return times_of(self.pairs[TIME], ALWAYS)

    @cached_property
    def _first(self) -> Ints:
        """The earliest time of each pair in the past, or :data:`NEVER` if the past does not have the pair."""
        return _earliest(self._had, self._pair[len(self.rows) :], self._pairs)

    @cached_property
    def _lists(self) -> ListTimes:
        times, pair = _times_of_lists(self.rows), self._pair[: len(self.rows)]
        return ListTimes.of(times, pair, self._pairs, self.group, self.groups)

    @cached_property
    def _until(self) -> Ints:
        """The time of each row's list. If the input has arrays, each list of a group has its own time."""
        if self.plan.arrays:
            return times_of(self.rows.table[TIME], NEVER)
        return self._lists.group_times[self.group]


def without_times(rows: BucketRows, plan: Plan, counts: Counter[tuple[str, str]]) -> BucketRows:
    """Return ``rows`` without columns of times.

    Set in ``counts`` the number of list rows with a time, and the numbers of rows that came too early. In an
    explanation, the rows get two columns of flags: list rows before the first time of their item, and rows of a pair of
    group and item with a truth row before the list.
    """
    if not plan.times:
        return rows
    group = groups_of(rows.keys.columns).codes if plan.keys else np.zeros(len(rows), np.int32)
    pair = paired(group, encode(rows.table[ITEM])[0])
    sizes = [int(codes.max(initial=-1)) + 1 for codes in (pair, group)]
    lists = ListTimes.of(_times_of_lists(rows), pair, sizes[0], group, sizes[1])
    made = times_of(rows.table[TIME], NEVER) if plan.arrays else lists.at(pair, group)
    has_item = np.ones(len(rows), np.bool_) if (named := rows.valid(ITEM)) is None else named
    of_lists = ~rows.truth & has_item
    counts[checks.LIST_TIMES, ""] = int(np.count_nonzero(of_lists & rows.table[TIME].is_valid().to_numpy()))
    marks = {}
    if TRUTH in plan.times:
        early = rows.truth & has_item & (made != NEVER) & (times_of(rows.table[TIME], NEVER) < made)
        counts[checks.EARLY_TRUTH, ""] = int(np.count_nonzero(early))
        is_early = np.zeros(sizes[0], np.bool_)
        is_early[pair[early]] = True
        marks[EARLY_TRUTH] = is_early[pair] & has_item
    if plan.reads_since:
        early = np.zeros(len(rows), np.bool_)
        if SINCE in rows:  # there is none where optional interactions have no rows
            early = of_lists & (times_of(rows.table[SINCE], ALWAYS) > made)
        counts[checks.EARLY_ITEMS, ""] = int(np.count_nonzero(early))
        marks[EARLY_ITEM] = early
    table = rows.table.drop_columns([name for name in (TIME, SINCE) if name in rows])
    for name, flags in marks.items() if plan.shows_items else ():
        table = table.append_column(name, pa.array(flags))
    return BucketRows(table)
