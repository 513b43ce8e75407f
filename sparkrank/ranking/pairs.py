"""Counts of pairs of rows by their order by score and by a reference: the same, the opposite, or tied.

Inversions are counted for all groups at once, bit by bit from the highest, with one pass for each bit. At the first bit
where the places of two rows differ, the pair is inverted if the row with the bit set comes first.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparkrank.numeric.array_types import Codes, Flags, Ints
from sparkrank.numeric.cached import cached
from sparkrank.numeric.segments import run_starts
from sparkrank.ranking.ranking import Ranking


@dataclass(frozen=True)
class Concordance:
    """The numbers of pairs of rows in each group: ``all``, tied in one order or both, and ``discordant`` (opposite).

    ``fewer_values`` contains the smaller of the numbers of distinct scores and of distinct reference values in a group.
    """

    all: Ints
    score_tied: Ints
    reference_tied: Ints
    both_tied: Ints
    discordant: Ints
    fewer_values: Ints

    @property
    def concordant(self) -> Ints:
        return self.all - self.score_tied - self.reference_tied + self.both_tied - self.discordant

    @property
    def undecided(self) -> Ints:
        """The number of pairs that are tied by score but not in the reference."""
        return self.score_tied - self.both_tied


class PairedRows:
    """The rows of a ranking that are also in the reference, sorted by group, descending score, and reference.

    Four arrays have one entry for each of these m rows: its index in the judgments (``row``), its ``group``, its number
    in the order of the reference (``place``), and whether it is the first row with its score in its group (``opens``).
    ``rows`` counts these rows by group.
    """

    def __init__(self, ranking: Ranking, reference: str | None) -> None:
        places = ranking.judgments.places(reference)
        blocks = ranking.blocks
        row = ranking.row.copy()
        tied = row[blocks.row]
        row[blocks.row] = tied[np.lexsort((places[tied], blocks.block))]
        run = np.ones(len(row), np.int64)
        run[blocks.row[blocks.place > 1]] = 0
        run = np.cumsum(run)  # one number for all rows of one group and score
        place = places[row]
        present = place >= 0
        self.groups = ranking.groups
        self.row: Ints = row[present]
        self.group: Codes = ranking.lists.group[present]
        self.place: Ints = place[present]
        self.rows: Ints = np.bincount(self.group, minlength=self.groups)
        self.opens: Flags = np.zeros(len(self.place), np.bool_)
        self.opens[run_starts(run[present])] = True
        self._bits = int(self.place.max(initial=0)).bit_length()

    @cached
    def key(self) -> Ints:
        """Return a number for each row (m) that sorts rows by group, then by reference."""
        return (self.group.astype(np.int64) << self._bits) | self.place

    @cached
    def concordance(self) -> Concordance:
        inverted, ordered = inversions(self.key(), self._bits)
        discordant = np.zeros(self.groups, np.int64)
        first = run_starts(self.group)
        if len(first):
            discordant[self.group[first]] = np.add.reduceat(inverted, first)
        differs = np.diff(self.key(), prepend=-1) != 0
        scores, references = np.flatnonzero(self.opens), run_starts(ordered)
        values = (np.bincount(self.group[first], minlength=self.groups) for first in (scores, references))
        return Concordance(
            all=self.rows * (self.rows - 1) // 2,
            score_tied=self._pairs_inside(scores),
            reference_tied=self._pairs_inside(references),
            both_tied=self._pairs_inside(np.flatnonzero(self.opens | differs)),
            discordant=discordant,
            fewer_values=np.minimum(*values),
        )

    def _pairs_inside(self, first: Ints) -> Ints:
        size = np.diff(first, append=len(self.group))
        pairs = np.zeros(self.groups, np.int64)
        long = size > 1
        np.add.at(pairs, self.group[first[long]], (size * (size - 1) // 2)[long])
        return pairs

    @cached
    def score_ranks(self) -> Ints:
        """Return twice the mid-rank of each row by score, minus (rows of the group + 1): whole numbers with mean 0."""
        return self._centred(np.flatnonzero(self.opens))

    @cached
    def reference_ranks(self) -> Ints:
        order = np.argsort(self.key(), kind="stable")
        ranks = np.empty(len(order), np.int64)
        ranks[order] = self._centred(run_starts(self.key()[order]))
        return ranks

    def _centred(self, first: Ints) -> Ints:
        """Return the number of rows above each row minus the number below it. Runs of tied rows start at ``first``."""
        size = np.diff(first, append=len(self.group))
        end_of_group = np.cumsum(self.rows)[self.group[first]]
        above = first - (end_of_group - self.rows[self.group[first]])
        return np.repeat(above - (end_of_group - first - size), size)


def inversions(key: Ints, bits: int) -> tuple[Ints, Ints]:
    """Return numbers of inversions (pairs in which the earlier row has a greater ``key``), and the sorted keys.

    Rows whose keys agree above the lowest ``bits`` form a segment, and segments must ascend. Only the sum of the
    numbers over a segment has a meaning, because rows move during the count.
    """
    inverted = np.zeros(len(key), np.int64)
    place = np.arange(len(key))
    for bit in range(bits - 1, -1, -1):
        one = (key >> bit) & 1
        through = np.cumsum(one)
        first = run_starts(key >> (bit + 1))
        size = np.diff(first, append=len(key))
        before = through - one
        outside = before[first]
        before -= np.repeat(outside, size)  # rows of the node with the bit, before this row
        split = first + size - (through[first + size - 1] - outside)  # where the rows with the bit will begin
        zero = one == 0
        inverted += np.where(zero, before, 0)
        moved = np.empty_like(key)
        moved[np.where(zero, place - before, np.repeat(split, size) + before)] = key
        key = moved
    return inverted, key


@cached
def paired_rows(ranking: Ranking, reference: str | None) -> PairedRows:
    """Return the rows of ``ranking`` in ``reference``, shared by all metrics that compare the two orders."""
    return PairedRows(ranking.by_score, reference)
