"""Many rankings at once: the retrieved rows of a bucket in rank order, with their tie blocks.

Every metric of a group reads its rows off a :class:`Ranking`. A ranking sorts once, and only if somebody asks for its
rows; relevance at a threshold and gains of a kind are derived from it once each, whatever the number of metrics and
cut-offs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sparkrank.kernels.judgments import Credit, Floats, Gain, Judgments, best_order
from sparkrank.kernels.order import Codes, Ints, count_by, sum_by
from sparkrank.kernels.remember import remembered
from sparkrank.kernels.sorting import Lists, Ranked, Scores, rank_rows

ItemOrder: TypeAlias = Callable[[Ints], Ints]  # the places of the items of some rows, among these or among all
Ties: TypeAlias = Literal["expected", "item", "worst", "best", "block"]
Positions: TypeAlias = Literal["dense", "given", "given_from_0"]


@dataclass(frozen=True)
class TieBlocks:
    """The blocks of two or more rows of one group with equal score.

    Of each tied row, in rank order: ``row`` its ranked index, ``block`` the number of its block, ``place`` its place
    in the block from 1. Of each block: ``before`` the rows of the group above it, ``size`` its rows, ``group``.
    """

    row: Ints
    block: Ints
    place: Ints
    before: Ints
    size: Ints
    group: Codes

    def sum(self, amounts: NDArray[np.generic]) -> Floats:
        """The sum over each block of ``amounts`` (one per tied row)."""
        return sum_by(self.block, amounts, len(self.size))


@dataclass(frozen=True)
class SortedRows:
    """The ``retrieved`` rows of ``judgments`` sorted by group and score, ties in any order: when somebody asks."""

    judgments: Judgments
    scores: Scores
    retrieved: Ints | None

    @cached_property
    def length(self) -> Ints:
        """The number of rows of each list (groups)."""
        if self.retrieved is None:
            return self.judgments.rows_of_group()
        return count_by(self._codes, self.judgments.groups)

    @cached_property
    def _codes(self) -> Codes:
        codes = self.judgments.codes
        return codes if self.retrieved is None else codes[self.retrieved]

    @cached_property
    def ranked(self) -> Ranked:
        """The rows in rank order."""
        return rank_rows(self._codes, self.scores, self.length)

    @cached_property
    def blocks(self) -> TieBlocks:
        """The blocks of tied rows."""
        return tie_blocks(self.ranked)


class Ranking:
    """The rows of one model that have a score: group after group, by score descending.

    ``retrieved`` are the rows of ``judgments`` with a score, ``scores`` their scores (no NaN). ``ties`` is one of
    :data:`Ties`; ``item_order`` gives judged rows their items' places in ascending text order: ``item`` goes by it,
    ``worst`` and ``best`` by the label before.

    ``positions`` is one of :data:`Positions`: a row's position is its place in its list, or the rank that its score
    is the negative of (a whole number from 1, or from 0). Given positions may leave gaps; rows given the same one
    enter as one step.

    ``cutoffs`` are those at which most sums over the list will be asked for. ``sorted_rows`` are the same rows, where
    another ranking has them.
    """

    def __init__(
        self,
        judgments: Judgments,
        scores: Scores,
        retrieved: Ints | None = None,
        ties: Ties = "expected",
        item_order: ItemOrder | None = None,
        positions: Positions = "dense",
        cutoffs: tuple[int, ...] = (),
        sorted_rows: SortedRows | None = None,
    ) -> None:
        self.judgments = judgments
        self.groups = judgments.groups
        self.ties = ties if positions == "dense" else "block"
        self.item_order = item_order
        self.cutoffs = cutoffs
        self._scores = scores
        self._retrieved = retrieved
        self._positions = positions
        self._sorted = sorted_rows or SortedRows(judgments, scores, retrieved)

    @remembered
    def under(self, ties: Ties) -> Ranking:
        """The same rows with ``ties`` in place of its own: they are sorted once for all."""
        if self._positions != "dense" or ties == self.ties:
            return self
        rows = (self.judgments, self._scores, self._retrieved)
        return Ranking(*rows, ties, self.item_order, self._positions, self.cutoffs, self._sorted)

    @property
    def length(self) -> Ints:
        """The number of rows of each list (groups)."""
        return self._sorted.length

    @property
    def lists(self) -> Lists:
        """The group and the place of each row."""
        return self._sorted.ranked.lists

    @property
    def blocks(self) -> TieBlocks:
        """The blocks of tied rows."""
        return self._sorted.blocks

    @cached_property
    def _given(self) -> NDArray[np.int32] | None:
        """The position (n) that each row was given, where they were."""
        if self._positions == "dense":
            return None
        given: NDArray[np.int32] = (-self._scores[self._sorted.ranked.row]).astype(np.int32)
        return given + np.int32(self._positions == "given_from_0")

    @cached_property
    def row(self) -> Ints:
        """The rows (n) of ``judgments`` in rank order."""
        row = self._sorted.ranked.row
        return self._with_ties_settled(row if self._retrieved is None else self._retrieved[row])

    def _with_ties_settled(self, row: Ints) -> Ints:
        """``row`` with the rows of each tie block in the order that ``ties`` names.

        Under ``expected`` and ``block`` the order carries no meaning; it is settled all the same where sums depend on
        it, so that the same rows give the same bits however they arrived. Under ``item``, an item that stands twice
        in a tie block stands with its lower label first.
        """
        if len(self.blocks.row) == 0:
            return row
        if self.ties == "expected" and not self.judgments.sums_need_order():
            return row
        tied = row[self.blocks.row]
        labels = self.judgments.labels[tied]
        items = [] if self.item_order is None else [-self.item_order(tied)]  # which item it is may matter as well
        second: NDArray[np.generic] = labels
        if self.ties == "item":
            if not items:
                raise ValueError("ties=item needs the order of the items")
            second = items[0]
        elif self.ties == "best":
            second = -labels.astype(np.float64)
        row = row.copy()
        row[self.blocks.row] = tied[np.lexsort((*items, labels, second, self.blocks.block))]
        return row

    @property
    def is_plain(self) -> bool:
        """Whether every row has a score, every item stands once in its group, and ties are expectations."""
        return self._retrieved is None and self.judgments.item_row is None and self.ties == "expected"

    def wide_scores(self) -> Floats:
        """The scores of the rows as they came, as float64."""
        return np.ascontiguousarray(self._scores, np.float64)

    @remembered
    def relevant_rows(self, rel: float | None) -> Ints:
        """The ranked rows that are relevant, in their order."""
        return np.flatnonzero(self.judgments.flags(rel)[self.row])

    @remembered
    def relevant_groups(self, rel: float | None) -> Codes:
        """The groups of these rows."""
        return self.lists.group_of(self.relevant_rows(rel))

    @remembered
    def relevant_positions(self, rel: float | None) -> NDArray[np.int32]:
        """The positions of these rows."""
        return self.position_of(self.relevant_rows(rel))

    def position_of(self, rows: Ints) -> NDArray[np.int32]:
        """The position of each of the ranked ``rows``, from 1."""
        return self.lists.place_of(rows) if self._given is None else self._given[rows]

    def stand_at(self, rows: Ints) -> NDArray[np.int32]:
        """The position that counts of each of the ranked ``rows``: its own, or under ``ties=block`` its block's last.

        Rows that were given the same position stand there.
        """
        return self.stands_at()[rows] if self.ties == "block" else self.position_of(rows)

    @remembered
    def stands_at(self) -> NDArray[np.int32]:
        """The position (n) that counts of every row."""
        if self._given is not None:
            return self._given
        if self.ties != "block":
            return self.lists.place
        position = self.lists.place.copy()
        position[self.blocks.row] = (self.blocks.before + self.blocks.size)[self.blocks.block]
        return position

    @remembered
    def retrieved_ideal(self, gain: Gain) -> Credit:
        """The gains of the retrieved rows of each group in their best order."""
        rows = self.relevant_rows(None)
        return best_order(self.lists.group_of(rows), gain.of(self.judgments.labels[self.row[rows]]), self.groups)


def tie_blocks(ranked: Ranked) -> TieBlocks:
    """The blocks of equal scores in one list."""
    row, opens = ranked.tied, ranked.opens
    first = row[opens]
    block = np.cumsum(opens) - 1
    size = np.bincount(block, minlength=len(first))
    before = ranked.lists.place_of(first).astype(np.int64) - 1
    return TieBlocks(row, block, row - first[block] + 1, before, size, ranked.lists.group_of(first))
