"""The order of rows by group and score: one sort of one whole number for each row.

The number holds the group, then as many leading bits of the score as there is room for, then the row. numpy sorts whole
numbers with the processor's vector instructions (8 ns a row at 400,000 rows; a sort of scores that yields an order
takes 30), and the order is read off the lowest bits. Only scores of a group that agree in all the bits that had room
are looked at again: they are put right, or they are tied. With 400,000 rows in 20,000 groups there are 30 bits of the
range in which the scores lie, so these are few.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sparkrank.kernels.coding import block_numbers
from sparkrank.kernels.limbs import parts
from sparkrank.kernels.order import Codes, Flags, Ints

Scores: TypeAlias = NDArray[np.floating[Any]]  # of the width in which they came
Keys: TypeAlias = NDArray[np.uint64]
WORD = 64  # bits


class Layout(NamedTuple):
    """How many bits of a key are the row, and how many above them the score; the rest are the group."""

    row: int
    score: int

    @classmethod
    def of(cls, rows: int, groups: int) -> Layout:
        row = max(rows - 1, 0).bit_length()
        return cls(row, WORD - row - max(groups - 1, 0).bit_length())


class Lists:
    """Lists of ranked rows one behind the other: whose list each row is in, and its place there.

    ``length`` (groups) are the rows of each list. Most metrics ask for some of the n rows only, so nothing is made for
    all of them before somebody asks for all.
    """

    def __init__(self, length: Ints, keys: Keys, group_from: int) -> None:
        self.length = length
        self._keys = keys
        self._group_from = np.uint64(group_from)  # the bit of a key from which on it holds the group

    @cached_property
    def first(self) -> Ints:
        """The index of the first row of each list (groups)."""
        first: Ints = np.cumsum(self.length) - self.length
        return first

    @cached_property
    def group(self) -> Codes:
        """The group of each row (n)."""
        return np.repeat(np.arange(len(self.length), dtype=np.int32), self.length)

    @cached_property
    def place(self) -> NDArray[np.int32]:
        """The place of each row (n) in its list, from 1."""
        place = np.arange(1, len(self._keys) + 1, dtype=np.int32)
        place -= np.repeat(self.first.astype(np.int32), self.length)
        return place

    def group_of(self, rows: Ints) -> Codes:
        """The group of each of the ``rows``."""
        return (self._keys[rows] >> self._group_from).astype(np.int32)

    def place_of(self, rows: Ints) -> NDArray[np.int32]:
        """The place of each of the ``rows`` in its list, from 1."""
        return (rows - self.first[self.group_of(rows)] + 1).astype(np.int32)


class Ranked(NamedTuple):
    """Rows group after group, by score descending: the ``row`` (n) as it came, and the ``lists`` they are in.

    ``tied`` are the indices of those that have the score of a neighbour in their list; ``opens`` says which of these
    have it as the first of their block.
    """

    row: Ints
    lists: Lists
    tied: Ints
    opens: Flags


def rank_rows(codes: Codes, scores: Scores, length: Ints) -> Ranked:
    """The rows with ``codes`` (n) and ``scores`` (n, no NaN) in rank order, ties in any order.

    ``length`` (groups) are the rows of each group, so that the sorted rows need not be asked for theirs.
    """
    layout = Layout.of(len(codes), len(length))
    keys = sort_keys(codes, scores, *layout)
    keys.sort()
    row = (keys & np.uint64((1 << layout.row) - 1)).view(np.int64)
    lists = Lists(length, keys, layout.row + layout.score)
    alike = _alike(keys, layout.row)
    kept, score = keys[alike] >> np.uint64(layout.row), scores[row[alike]]
    same = kept[1:] == kept[:-1]
    if (same & (score[1:] > score[:-1])).any():
        order = np.lexsort((-score, kept))
        row[alike], score = row[alike][order], score[order]
    joined = np.zeros(len(alike) + 1, np.bool_)  # row i has the score of row i - 1; the two ends join nothing
    joined[1:-1] = same & (score[1:] == score[:-1])
    tied = joined[:-1] | joined[1:]
    return Ranked(row, lists, alike[tied], ~joined[:-1][tied])


def _alike(keys: Keys, row_bits: int) -> Ints:
    """The indices of sorted ``keys`` that agree with a neighbour in all but the row; only these may be tied."""
    joined = np.zeros(len(keys) + 1, np.bool_)
    for part in parts(len(keys) - 1):
        np.less(keys[1:][part] ^ keys[:-1][part], np.uint64(1 << row_bits), out=joined[1:-1][part])
    return np.flatnonzero(joined[:-1] | joined[1:])


def sort_keys(codes: Codes, scores: Scores, row_bits: int, score_bits: int) -> Keys:
    """A number for each row: by group ascending, by score descending as far as ``score_bits`` tell, by row."""
    falling = block_numbers(0.0 - scores.astype(np.float64, copy=False))  # 0 - s is 0.0 for both zeros
    if len(falling) == 0:
        return np.empty(0, np.uint64)
    lowest = falling.min()
    span = int(falling.max()) - int(lowest)
    keys: Keys = np.subtract(falling, lowest, out=falling).view(np.uint64)  # modulo 2^64, where it is right
    keys >>= np.uint64(max(span.bit_length() - score_bits, 0))
    if score_bits < WORD:
        keys |= codes.astype(np.uint64) << np.uint64(score_bits)
    if row_bits:
        keys <<= np.uint64(row_bits)
        keys |= np.arange(len(keys), dtype=np.uint64)
    return keys
