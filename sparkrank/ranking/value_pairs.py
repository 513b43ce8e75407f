"""The rows with values among the first k of each list: counts of equal values, and the mean similarity of two rows.

The similarity is summed over all pairs of rows of a list. Where counts or sums suffice, no pairs are formed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from sparkrank.numeric.array_types import Codes, Flags, Floats, Ints
from sparkrank.numeric.cached import cached
from sparkrank.numeric.segments import run_starts, sum_by
from sparkrank.ranking.cut_blocks import CutBlocks
from sparkrank.ranking.ranking import Ranking
from sparkrank.ranking.value_columns import Arrays, ValueColumn

MOST_COUNTERS = 16  # for each row: with more, rows are sorted to count equal values
FEW_ROWS = 16  # of a list: these are compared with one another instead


@dataclass(frozen=True, eq=False)
class ValuedRows:
    """The rows that may be within a cut-off and have a value in each of some columns, in rank order.

    The arrays have an entry for each such row: its index among all ranked rows (``place``), its index among the judged
    rows (``row``), and its ``group``. ``is_cut`` flags the rows of the tie blocks that the cut-off divides (``cut``)
    under ``ties=expected``. ``order`` contains the judged row of each ranked row.
    """

    order: Ints
    place: Ints
    row: Ints
    group: Codes
    is_cut: Flags
    cut: CutBlocks


@cached
def valued_rows(ranking: Ranking, columns: tuple[ValueColumn, ...], k: int | None) -> ValuedRows:
    """Return the rows of the first ``k`` of each list (None: of whole lists) with a value in each of ``columns``."""
    order, blocks = ranking.row_by(columns), ranking.blocks
    has_value = np.logical_and.reduce([ranking.columns[column][order] >= 0 for column in columns])
    cut = CutBlocks.of(ranking, k if ranking.ties == "expected" else None, has_value)
    is_cut = np.zeros(len(order), np.bool_)
    is_cut[blocks.row] = np.isin(blocks.block, cut.block)
    if k is not None:
        has_value &= (ranking.stands_at() <= k) | is_cut
    place = np.flatnonzero(has_value)
    return ValuedRows(order, place, order[place], ranking.lists.group_of(place), is_cut[place], cut)


class ValueCounts(NamedTuple):
    """The number of rows (``times``) with each value in each ``group``, sorted by group and value."""

    group: Ints
    times: Ints


@cached
def value_counts(ranking: Ranking, column: ValueColumn, k: int | None) -> ValueCounts:
    """Return the number of times that each value of ``column`` is in the first ``k`` rows (None: all) of each list."""
    rows = valued_rows(ranking, (column,), k)
    value, count = _of_group(rows, ranking.columns[column])
    pair, times = _distinct(value, count * ranking.groups)
    return ValueCounts(pair // count, times)


def _distinct(values: Ints, limit: int) -> tuple[Ints, Ints]:
    """Return the distinct ``values``, ascending, and how often each occurs. All are whole numbers below ``limit``."""
    if limit > MOST_COUNTERS * len(values):
        return np.unique(values, return_counts=True)
    times = np.bincount(values, minlength=limit)
    distinct = np.flatnonzero(times)
    return distinct, times[distinct]


def _of_group(rows: ValuedRows, codes: Codes | Floats) -> tuple[Ints, int]:
    """Return a number for the group and value of each row, and c. The numbers of group g are g·c to (g + 1)·c - 1."""
    count = int(codes.max(initial=0)) + 1
    return rows.group.astype(np.int64) * count + codes[rows.row].astype(np.int64), count


class SumsOverPairs(NamedTuple):
    """Sums over the pairs of rows of each group, by the rows' relation to the tie block that the cut-off divides.

    Both rows are ``above`` the block, both ``inside`` it, or one is above and one inside (``across``).
    """

    above: Floats
    across: Floats
    inside: Floats

    @classmethod
    def of_counts(cls, group: Ints, above: Ints, inside: Ints, groups: int) -> SumsOverPairs:
        """Return the numbers of pairs in sets of rows. Each has ``above`` and ``inside`` rows of its ``group``."""
        amounts = (above * (above - 1) // 2, above * inside, inside * (inside - 1) // 2)
        return cls(*(sum_by(group, amount, groups) for amount in amounts))

    def minus(self, other: SumsOverPairs) -> SumsOverPairs:
        return SumsOverPairs(*(one - another for one, another in zip(self, other, strict=True)))

    def plus(self, other: SumsOverPairs) -> SumsOverPairs:
        return SumsOverPairs(*(one + another for one, another in zip(self, other, strict=True)))


def all_pairs(rows: ValuedRows, groups: int) -> SumsOverPairs:
    above, inside = (np.bincount(rows.group[flags], minlength=groups) for flags in (~rows.is_cut, rows.is_cut))
    return SumsOverPairs.of_counts(np.arange(groups), above, inside, groups)


class Similarity(Protocol):
    """The similarity of two rows by their values in a column, from 0 to 1 (cosine: from -1)."""

    def sums(self, rows: ValuedRows, groups: int) -> SumsOverPairs:
        """Return the sums of the similarity over all pairs of rows of each group."""

    def above(self, rows: ValuedRows) -> Floats:
        """Return the sum of each row's similarity to the rows above it, for the rows of a single list."""


@dataclass(frozen=True, eq=False)
class Equality:
    """The similarity 1 of rows with equal values, 0 of others. ``codes`` contains the value of each judged row."""

    codes: Codes | Floats

    def sums(self, rows: ValuedRows, groups: int) -> SumsOverPairs:
        value, count = _of_group(rows, self.codes)
        longest = int(np.bincount(rows.group).max(initial=0))
        if longest <= FEW_ROWS and not rows.is_cut.any():
            return SumsOverPairs(sum_by(rows.group, _equal_below(value, longest), groups), *np.zeros((2, groups)))
        pair, times = _distinct(value, count * groups)
        inside = np.bincount(np.searchsorted(pair, value[rows.is_cut]), minlength=len(pair))
        several = times > 1
        group, inside = pair[several] // count, inside[several]
        return SumsOverPairs.of_counts(group, times[several] - inside, inside, groups)

    def above(self, rows: ValuedRows) -> Floats:
        return equal_above(self.codes[rows.row]).astype(np.float64)


def _equal_below(values: Ints, longest: int) -> NDArray[np.uint8]:
    """Return how many later values are equal to each of ``values``. Equal values are fewer than ``longest`` apart."""
    equal = np.zeros(len(values), np.uint8)
    for apart in range(1, longest):
        equal[:-apart] += values[apart:] == values[:-apart]
    return equal


def equal_above(codes: Codes | Floats) -> Ints:
    """Return the number of earlier values equal to each value of one list."""
    order = np.argsort(codes, kind="stable")
    above = np.empty(len(codes), np.int64)
    above[order] = np.arange(len(codes)) - np.searchsorted(codes[order], codes[order])
    return above


@dataclass(frozen=True, eq=False)
class Jaccard:
    """The similarity of rows by Jaccard's index of their sets of texts. Only pairs with a common text are formed.

    ``codes`` contains the index of each judged row's array in ``arrays``.
    """

    codes: Codes | Floats
    arrays: Arrays

    def sums(self, rows: ValuedRows, groups: int) -> SumsOverPairs:
        first, second, index = self._pairs(rows)
        where = rows.is_cut[first].astype(np.int64) + rows.is_cut[second]
        group = rows.group[first]
        return SumsOverPairs(*(sum_by(group[where == side], index[where == side], groups) for side in range(3)))

    def above(self, rows: ValuedRows) -> Floats:
        _, second, index = self._pairs(rows)
        return sum_by(second, index, len(rows.row))

    def _pairs(self, rows: ValuedRows) -> tuple[Ints, Ints, Floats]:
        """Return the first and second row, and the index, of each pair of rows of a group with a common text."""
        row, text = distinct_texts(self.codes[rows.row], self.arrays)
        order = np.lexsort((row, text, rows.group[row]))
        row, text = row[order], text[order]
        start = run_starts(rows.group[row], text)
        size = np.diff(np.append(start, len(row)))
        place = np.arange(len(row)) - np.repeat(start, size)
        second = np.repeat(np.arange(len(row)), place)
        first = np.repeat(np.repeat(start, size), place) + np.arange(len(second)) - np.repeat(_before(place), place)
        pair, common = np.unique(row[first] * max(len(rows.row), 1) + row[second], return_counts=True)
        first, second = np.divmod(pair, max(len(rows.row), 1))
        sizes = np.bincount(row, minlength=len(rows.row))
        return first, second, common / (sizes[first] + sizes[second] - common)


def distinct_texts(codes: Codes | Floats, arrays: Arrays) -> tuple[Ints, Ints]:
    """Return the distinct (row, text) pairs, sorted: the index of the row in ``codes``, and the code of the text."""
    code, sizes = codes.astype(np.int64), np.diff(arrays.ends)
    most = int(arrays.values.max(initial=0)) + 1
    array, text = np.divmod(np.unique(np.repeat(np.arange(len(sizes)), sizes) * most + arrays.values), most)
    start = np.searchsorted(array, np.arange(len(sizes) + 1))
    count = np.diff(start)[code]
    row = np.repeat(np.arange(len(code)), count)
    return row, text[np.repeat(start[code] - _before(count), count) + np.arange(len(row))]


def _before(counts: Ints) -> Ints:
    before: Ints = np.cumsum(counts) - counts
    return before


@dataclass(frozen=True, eq=False)
class Cosine:
    """The similarity of rows by the cosine of their vectors. The sum over all pairs is (|Σ x/|x||² - n) / 2.

    No pair is formed. ``codes`` contains the index of each judged row's vector in ``arrays``.
    """

    codes: Codes | Floats
    arrays: Arrays

    def sums(self, rows: ValuedRows, groups: int) -> SumsOverPairs:
        above, inside = ~rows.is_cut, rows.is_cut
        counts = [np.bincount(rows.group[flags], minlength=groups) for flags in (above, inside)]
        squares, across = np.zeros((2, groups)), np.zeros(groups)
        for values in self._directions(rows):  # one array for each number of a vector
            sums = [sum_by(rows.group[flags], values[flags], groups) for flags in (above, inside)]
            squares += np.square(sums)
            across += sums[0] * sums[1]
        own = [(square - count) / 2 for square, count in zip(squares, counts, strict=True)]
        return SumsOverPairs(own[0], across, own[1])

    def above(self, rows: ValuedRows) -> Floats:
        total = np.zeros(len(rows.row))
        for values in self._directions(rows):
            total += values * (np.cumsum(values) - values)
        return total

    def _directions(self, rows: ValuedRows) -> Iterator[Floats]:
        """Yield, for each dimension, the values of all rows' vectors, scaled to the length 1."""
        lengths = np.diff(self.arrays.ends)
        vectors = np.zeros((len(lengths), int(lengths.max(initial=0))))  # of a shorter one the rest is 0
        vectors[np.arange(vectors.shape[1]) < lengths[:, None]] = self.arrays.values
        largest = np.abs(vectors).max(axis=1, initial=0.0, keepdims=True)
        vectors = vectors / largest
        squares = np.zeros(len(vectors))
        for column in vectors.T:
            squares += column**2
        code, length = self.codes[rows.row].astype(np.int64), np.sqrt(squares)
        for column in vectors.T:
            yield (column / length)[code]


SIMILARITIES: dict[str, Callable[[Ranking, ValueColumn], Similarity]] = {
    "mismatch": lambda ranking, column: Equality(ranking.columns[column]),
    "jaccard": lambda ranking, column: Jaccard(ranking.columns[column], ranking.arrays[column]),
    "cosine": lambda ranking, column: Cosine(ranking.columns[column], ranking.arrays[column]),
}


def mean_over_pairs(rows: ValuedRows, sums: SumsOverPairs, groups: int, *, none_is_zero: bool) -> Floats:
    """Return the mean over the pairs of rows within the cut-off, for each group: ``sums`` / number of pairs.

    If the cut-off divides a tie block, this is the mean over the orders of its rows that keep a pair. If v of the
    block's b rows with a value are kept, the sum over pairs inside counts v(v-1) / (b(b-1)), and the sum across v / b.
    A group without a pair is NaN; with ``none_is_zero``, it and orders without a pair count 0.
    """
    above = np.bincount(rows.group[~rows.is_cut], minlength=groups).astype(np.float64)
    value = _over_pairs(sums.above, above)
    if len((cut := rows.cut).group):
        block, number, probability = cut.draws()
        group, left, valued = cut.group[block], number.astype(np.float64), cut.valued[block].astype(np.float64)
        across = sums.across[group] * (left / np.maximum(valued, 1.0))
        inside = sums.inside[group] * (left * (left - 1) / np.maximum(valued * (valued - 1), 1.0))
        of_draw = _over_pairs(sums.above[group] + across + inside, above[group] + left)
        counts = ~np.isnan(of_draw)
        terms = sum_by(block[counts], (probability * of_draw)[counts], len(cut.group))
        counted = sum_by(block[counts], probability[counts], len(cut.group))
        weight = np.ones(len(cut.group)) if none_is_zero else counted
        value[cut.group] = np.divide(terms, weight, out=np.full(len(terms), np.nan), where=weight > 0)
    return np.nan_to_num(value) if none_is_zero else value


def _over_pairs(amounts: Floats, rows: Floats) -> Floats:
    pairs: Floats = rows * (rows - 1) / 2
    mean: Floats = np.divide(amounts, pairs, out=np.full(len(amounts), np.nan), where=pairs > 0)
    return mean
