"""The hits (relevant rows) of lists and their positions, from which metrics of binary relevance are computed.

With ``ties=expected``, a row of a tie block is a hit with some probability, and all values here are exact means over
every order of the tied rows (McSherry and Najork, "Computing information retrieval performance measures efficiently in
the presence of tied scores", ECIR 2008). Let a block have n rows, r_b of them relevant, and let c rows be above it. The
j-th row of the block is at position c + j and is a hit with probability r_b / n.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sparkrank.numeric.array_types import Codes, Flags, Floats, Ints
from sparkrank.numeric.cached import cached
from sparkrank.numeric.segments import run_starts, running_product, sum_by
from sparkrank.ranking.ranking import Ranking


class Hits:
    """The hit rows of a ranking: rows that are relevant at the threshold ``rel`` in some order of the tied rows.

    The arrays have one entry for each of the h hit rows, in rank order: its index in the ranking (``row``), its
    ``group`` and ``position``, the ``probability`` of a hit, and ``through``, the expected number of hits down to and
    including the row if the row is a hit. ``relevant`` contains R, the number of relevant rows, for each group.
    """

    def __init__(self, ranking: Ranking, rel: float | None) -> None:
        self.ranking = ranking
        self.groups = ranking.groups
        self.relevant = ranking.judgments.relevant(rel)
        self._rel = rel
        blocks = ranking.blocks
        self._tied: Ints = np.flatnonzero(ranking.judgments.flags(rel)[ranking.row[blocks.row]])  # among tied rows
        self._in_block = np.bincount(blocks.block[self._tied], minlength=len(blocks.size))  # r_b of each block
        mixed = (self._in_block > 0) & (self._in_block < blocks.size)
        has_mixed = ranking.ties == "expected" and bool(mixed.any())
        self.row: Ints = ranking.relevant_rows(rel)
        if has_mixed:
            is_hit: Flags = np.zeros(len(ranking.row), np.bool_)
            is_hit[self.row] = True
            maybe = is_hit.copy()
            maybe[blocks.row[mixed[blocks.block]]] = True
            self.row = np.flatnonzero(maybe)
            self.group: Codes = ranking.lists.group_of(self.row)
            self.position: NDArray[np.int32] = ranking.position_of(self.row)
            through: Ints = np.cumsum(is_hit[self.row])
        else:
            self.group = ranking.relevant_groups(rel)
            self.position = ranking.position_of(self.row)
            through = np.arange(1, len(self.row) + 1)
        self.probability: Floats = np.ones(len(self.row))
        counts = self.retrieved_relevant()
        above = np.cumsum(counts) - counts  # the relevant rows in all earlier lists
        self.through: Floats = (through - above[self.group]).astype(np.float64)
        # The hit rows in tie blocks that contain hits and other rows, and the place of each among the tied rows.
        self._mixed = self._mixed_place = np.empty(0, np.int64)
        if has_mixed:
            self._expect_ties(mixed)
        elif ranking.ties == "block":
            self.position = self.position.copy()
            self._step_ties()

    @cached
    def tied(self) -> tuple[Ints, Ints]:
        """Return the tied hit rows as two arrays: indices among the hit rows, and among the rows in tie blocks."""
        blocks, place = self.ranking.blocks, self._tied
        if self.ranking.ties == "expected":  # all rows of a block with a relevant row are hits
            place = np.flatnonzero((self._in_block > 0)[blocks.block])
        is_tied = np.zeros(len(self.ranking.row), np.bool_)
        is_tied[blocks.row[place]] = True
        return np.flatnonzero(is_tied[self.row]), place

    def _expect_ties(self, mixed: Flags) -> None:
        """Spread the hits of each tie block that ``mixed`` flags evenly over the rows of the block."""
        blocks = self.ranking.blocks
        tied, place = self.tied()
        block = blocks.block[place]
        tied, place, block = (values[mixed[block]] for values in (tied, place, block))
        self._mixed, self._mixed_place = tied, place
        size, inside = blocks.size[block], self._in_block[block]
        above = np.zeros(len(blocks.size))  # r of each block
        above[mixed] = self.through[tied[blocks.place[place] == size]] - self._in_block[mixed]  # at its last row
        self.probability[tied] = inside / size
        self.through[tied] = 1 + above[block] + (blocks.place[place] - 1) * (inside - 1) / (size - 1)

    def _step_ties(self) -> None:
        """Move all rows of a tie block to the last position of the block, so that they enter as one step."""
        tied, place = self.tied()
        block = self.ranking.blocks.block[place]
        through = np.zeros(len(self._in_block))
        through[block] = self.through[tied]  # the last assignment wins: the block's last hit
        self.position[tied] = self.ranking.stand_at(self.row[tied])
        self.through[tied] = through[block]

    @cached
    def first_of_group(self) -> tuple[Ints, Codes]:
        """Return the index among the hit rows of the first hit row of each group with hits, and the group."""
        first = run_starts(self.group)
        return first, self.group[first]

    @cached
    def first_probability(self) -> Floats:
        first, _ = self.first_of_group()
        probability = np.zeros(len(self.group))
        probability[first] = 1.0
        if not len(self._mixed):
            return probability
        blocks = self.ranking.blocks
        opening = np.full(self.groups, -1, np.int64)  # the tie block of the group's first hit row if it is mixed
        block = blocks.block[self._mixed_place]
        leads = probability[self._mixed] == 1.0
        opening[self.group[self._mixed[leads]]] = block[leads]
        inside = opening[self.group[self._mixed]] == block
        row, place, block = self._mixed[inside], blocks.place[self._mixed_place[inside]], block[inside]
        size, hits = blocks.size[block], self._in_block[block]
        none_yet = running_product(np.maximum(size - hits - place + 2, 0) / (size - place + 2), place)
        probability[row] = none_yet * hits / (size - place + 1)
        return probability

    @cached
    def first_block_end(self) -> Ints:
        """Return the last position of the tie block of each group's first hit; 0 for a group without a hit."""
        end = np.zeros(self.groups, np.int64)
        first, group = self.first_of_group()
        end[group] = self.position[first]
        if len(self._mixed):
            blocks = self.ranking.blocks
            row = self._mixed
            block = blocks.block[self._mixed_place]
            leads = np.isin(row, first, assume_unique=True)
            end[self.group[row[leads]]] = (blocks.before + blocks.size)[block[leads]]
        return end

    @cached
    def retrieved_relevant(self) -> Ints:
        return np.bincount(self.ranking.relevant_groups(self._rel), minlength=self.groups)

    @cached
    def mid_rank_sum(self) -> Floats:
        """Return the sum of the ranks of each group's relevant rows. Tied rows have the mid-rank of their block."""
        ranking, blocks, tied = self.ranking, self.ranking.blocks, self._tied
        row = ranking.relevant_rows(self._rel)
        as_they_stand = sum_by(ranking.relevant_groups(self._rel), ranking.lists.place_of(row), self.groups)
        places = sum_by(blocks.block[tied], blocks.place[tied], len(blocks.size))
        moved = self._in_block * (blocks.size + 1) / 2 - places
        return as_they_stand + sum_by(blocks.group, moved, self.groups)

    @cached
    def tied_pairs(self) -> Floats:
        """Return the number of pairs of a relevant and another row in the same tie block, for each group."""
        blocks = self.ranking.blocks
        return sum_by(blocks.group, self._in_block * (blocks.size - self._in_block), self.groups)

    def sum(self, amounts: Floats, k: int | None) -> Floats:
        """Return the sum of ``amounts`` (one per hit row) at positions up to ``k`` (None: all), for each group."""
        if k is None:
            return sum_by(self.group, amounts, self.groups)
        row, group = self._within(k)
        return sum_by(group, amounts[row], self.groups)

    @cached
    def _within(self, k: int) -> tuple[Ints, Codes]:
        row = np.flatnonzero(self.position <= k)
        return row, self.group[row]

    @cached
    def count(self, k: int | None) -> Floats:
        """Return the number of hits at positions up to ``k`` (None: all), for each group (with ties, the mean)."""
        return self.sum(self.probability, k)

    def precisions(self, k: int | None) -> Floats:
        """Return the sum of (expected hits so far / position) over the hits up to position ``k``, for each group."""
        return self.sum(self.probability * self.through / self.position, k)

    def any(self, k: int | None) -> Floats:
        """Return the probability of a hit among the first ``k`` positions, for each group.

        If only m of the n rows of the first tie block with a hit are within k, it is 1 - C(n - r_b, m) / C(n, m).
        """
        value = self.sum(self.first_probability(), k)
        end = self.first_block_end()
        value[(end > 0) & (end <= (np.inf if k is None else k))] = 1.0  # the chances in a block add up to 1
        return value

    def first(self, k: int | None) -> Floats:
        """Return 1 / the position of the first hit up to ``k`` (None: all), for each group (with ties, the mean)."""
        return self.sum(self.first_probability() / self.position, k)

    def reciprocals(self, k: int | None) -> Floats:
        """Return the sum of 1 / position over the hits up to ``k`` (None: all), for each group."""
        return self.sum(self.probability / self.position, k)


@cached
def hits_of(ranking: Ranking, rel: float | None) -> Hits:
    """Return the hits of ``ranking`` at the threshold ``rel``, shared by all metrics with that threshold.

    Examples
    --------
    The relevant rows of the first list are second and third, and that of the other list is first:

    >>> import numpy as np
    >>> from sparkrank.metrics import Ranking, hits_of
    >>> from sparkrank.ranking.judgments import Judgments
    >>> judgments = Judgments(codes=np.array([0, 0, 0, 1]), labels=np.array([0, 1, 1, 1]), groups=2)
    >>> hits = hits_of(Ranking(judgments, np.array([0.9, 0.5, 0.1, 0.7])), rel=None)
    >>> hits.group.tolist(), hits.position.tolist(), hits.relevant.tolist()
    ([0, 0, 1], [2, 3, 1], [2, 1])
    >>> hits.first(k=10).tolist()
    [0.5, 1.0]
    """
    return Hits(ranking, rel)
