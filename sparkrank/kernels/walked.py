"""Sums over the hits of each group up to cut-offs, by the compiled walk (:mod:`sparkrank.loops.hits`) where it serves.

It gives the bits that :class:`sparkrank.kernels.hits.Hits` gives. It does not serve rows without a score, items on
several rows of a group, ties other than ``expected``, given positions, groups of more than :data:`LONGEST` rows, or
gains whose sums depend on their order.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from sparkrank import loops
from sparkrank.kernels.discounts import TABLED_POSITIONS, discounts
from sparkrank.kernels.judgments import Floats, Gain
from sparkrank.kernels.kinds import Kinds
from sparkrank.kernels.order import Ints
from sparkrank.kernels.ranking import Ranking
from sparkrank.kernels.remember import remembered

BEYOND = 2**62  # a cut-off that no list reaches
LONGEST = 1 << 20  # rows of a group: the walk takes a hundred bytes for each of the longest
MOST_PADDING = 3  # places for a group beyond its rows, so that these are a multiple of four
MOST_HELD = 1 << 22  # rows for which a thread keeps memory, 32 MiB: four buckets of the usual size
MOST_SUM = 2.0**53  # up to here float64 adds whole numbers exactly


class _Room(threading.local):
    """Memory of a thread in which one walk after the other brings the rows of each group together.

    New memory would be a page of zeros from the operating system for every 4 KiB of it, in every bucket.
    """

    held: Floats = np.empty(0)

    def of(self, rows: int) -> Floats:
        if len(self.held) >= rows:
            return self.held
        found = np.empty(rows)
        if rows <= MOST_HELD:
            self.held = found
        return found


_room = _Room()


class Sum(IntEnum):
    """What is summed up. Of a hit with probability p at position i: p, p·(hits so far)/i, the chances that it is the
    first, these / i, its discounted gain; and the discounted gain of the ideal list."""

    COUNT = 0
    PRECISION = 1
    ANY = 2
    FIRST = 3
    GAIN = 4
    IDEAL = 5


@dataclass(frozen=True)
class Walked:
    """The ``sums`` (6, cut-offs, kinds) of a ranking at ``cutoffs``, of which the last is beyond every list.

    Its groups are of ``kinds``. ``mid_ranks`` (kinds) are the sums of the mid-ranks of relevant rows, ``tied_pairs``
    (kinds) the pairs of a relevant and another row that are tied, ``tied_rows`` the rows that are tied.
    """

    kinds: Kinds
    cutoffs: Sequence[int]
    sums: Floats
    mid_ranks: Floats
    tied_pairs: Ints
    tied_rows: int

    def sum(self, of: Sum, k: int | None) -> Floats:
        """The sum (kinds) up to ``k``, one of the cut-offs, or over the whole list."""
        found: Floats = self.sums[of, -1 if k is None else self.cutoffs.index(k)]
        return found


def walked(ranking: Ranking, rel: float | None, k: int | None, gain: Gain | None = None) -> Walked | None:
    """The sums over the hits of ``ranking`` at the threshold ``rel``, up to ``k`` among others, with their ``gain``.

    Without ``gain``, it is that of most metrics. Nothing where the walk does not serve.
    """
    if gain is None:
        gain = Gain() if rel is None else Gain("binary", rel)
    cutoffs = ranking.cutoffs if k is None or k in ranking.cutoffs else (k,)
    return _walked(ranking, rel, gain, cutoffs) if loops.COMPILED else None


@remembered
def _walked(ranking: Ranking, rel: float | None, gain: Gain, cutoffs: tuple[int, ...]) -> Walked | None:
    judgments, groups = ranking.judgments, ranking.groups
    n = len(judgments.codes)
    longest = int(ranking.length.max(initial=0))
    if not (ranking.is_plain and n < TABLED_POSITIONS and 0 < longest <= LONGEST):
        return None
    flags, alike = judgments.flags(rel), judgments.equal_gain(gain)
    gains = gain.of(judgments.labels) if alike is None and flags.any() else np.empty(0)
    ends = np.array([*cutoffs, BEYOND], np.int64)
    kind, rows, hits = np.empty(groups, np.int32), np.empty(groups, np.int64), np.empty(groups, np.int64)
    places, mid_ranks, tied_pairs = np.empty(groups, np.uint64), np.empty(groups), np.empty(groups, np.int64)
    sums = np.empty((len(Sum), len(ends), groups))
    count, tied_rows = loops.hits.walk(
        np.ascontiguousarray(judgments.codes, np.int32),
        ranking.length,
        judgments.relevant(rel),
        ranking.wide_scores(),
        flags.view(np.uint8),
        alike or 0.0,
        gains,
        discounts(longest),
        ends,
        _room.of(n + MOST_PADDING * groups),
        kind,
        rows,
        hits,
        places,
        sums,
        mid_ranks,
        tied_pairs,
    )
    if tied_rows and len(gains) and (gains.max() * n > MOST_SUM or np.any(gains != np.rint(gains))):
        return None
    kinds = Kinds(kind, rows[:count], hits[:count], places[:count])
    return Walked(kinds, ends.tolist(), sums[:, :, :count], mid_ranks[:count], tied_pairs[:count], tied_rows)
