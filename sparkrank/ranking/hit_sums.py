"""Sums over the hits (relevant rows) of each list, up to each cut-off, from which most binary metrics follow."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property, partial, partialmethod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparkrank import native
from sparkrank.numeric.array_types import Codes, Floats, Ints
from sparkrank.numeric.cached import cached
from sparkrank.numeric.memory import room_for
from sparkrank.numeric.segments import count_by, order_by_code
from sparkrank.ranking.discounts import LOG2, TABLED_POSITIONS, Discount
from sparkrank.ranking.distinct_lists import DistinctLists
from sparkrank.ranking.hits import Hits, hits_of
from sparkrank.ranking.judgments import Gain
from sparkrank.ranking.ranking import Ranking

BEYOND = 2**62  # a cut-off that no list reaches
LONGEST = 1 << 20  # rows in a group: the loop needs a hundred bytes for each row of the longest group
# Groups with more rows are summed from sorted scores, which takes eight bytes a row, and more for relevant rows. A
# bucket has so few of these groups that a pass over all rows for each of them costs little.
LARGE_ROWS, MOST_APART = 1 << 17, 64
DISCOUNTED_AT_ONCE = 1 << 18  # positions
SORTED_AT_ONCE, SAMPLED_SCORES = 1 << 20, 1 << 14  # rows in a range of scores, and rows sampled to cut ranges
MOST_PADDING = 3  # places that pad the rows of a group to a multiple of four
MOST_KEPT_ROWS = 1 << 22  # rows for which a thread keeps its memory: 32 MiB, or four buckets of the usual size
MOST_SUM = 2.0**53  # float64 adds whole numbers exactly up to here
_NONE = np.empty(0, np.int64)
_NOT_BY_ITEM = (_NONE, np.empty(0, np.uint8), _NONE)


class _Memory(threading.local):
    """Memory that a thread reuses from bucket to bucket, because new pages would be filled with zeros each time."""

    array: Floats = np.empty(0)

    def of(self, rows: int) -> Floats:
        if len(self.array) >= rows:
            return self.array
        array = np.empty(rows)
        if rows <= MOST_KEPT_ROWS:
            self.array = array
        return array


_memory = _Memory()


class Sum(IntEnum):
    """The quantities for sums over the hits of a list. Let a row at position i be a hit with probability p.

    In the order of the members, the quantities are p; p·(hits so far) / i; q, the probability that the row is the first
    hit; q / i; the discounted gain of the row; and the discounted gain at position i of the ideal list.
    """

    COUNT = 0
    PRECISION = 1
    ANY = 2
    FIRST = 3
    GAIN = 4
    IDEAL = 5


# The method of ``Hits`` that computes each sum in numpy.
_OF_HITS = {Sum.COUNT: "count", Sum.PRECISION: "precisions", Sum.ANY: "any", Sum.FIRST: "first"}


class PlacedHits(NamedTuple):
    """The index in the judgments (``row``), ``group`` and ``position`` of each hit, sorted by group and position."""

    row: Ints
    group: Codes
    position: NDArray[np.int32]


@dataclass(frozen=True)
class CompiledSums:
    """The sums over hits by compiled loops, for each of the ``distinct`` lists, at each of ``cutoffs``.

    ``sums`` has the shape (6, cut-offs, lists): the members of :class:`Sum`, and a last cut-off beyond every list. For
    each list, ``mid_ranks`` contains the sum of the mid-ranks of relevant rows, and ``tied_pairs`` the number of tied
    pairs of a relevant and another row. ``tied_rows`` is the number of tied rows of all lists. If ``sums`` lacks gains
    beyond the other cut-offs, ``whole`` computes sums that include these gains. ``placed`` contains the hits themselves
    if rows have weights by propensity and no rows are tied, or else is None.
    """

    distinct: DistinctLists
    cutoffs: Sequence[int]
    sums: Floats
    mid_ranks: Floats
    tied_pairs: Ints
    tied_rows: int
    whole: Callable[[], CompiledSums | None] | None = None
    placed: PlacedHits | None = None

    def sum(self, quantity: Sum, k: int | None) -> Floats:
        """Return the sum of ``quantity`` for each list, up to position ``k`` (a cut-off; None: over the whole list)."""
        if k is None and quantity in (Sum.GAIN, Sum.IDEAL) and self.whole and (again := self.whole()):
            return again.sum(quantity, k)
        sums: Floats = self.sums[quantity, -1 if k is None else self.cutoffs.index(k)]
        return sums


def compiled_sums(
    ranking: Ranking, rel: float | None, k: int | None, gain: Gain | None = None, discount: Discount = LOG2
) -> CompiledSums | None:
    """Return the sums over hits at the cut-offs of ``ranking``, or only at ``k`` if it is not one of them.

    The result is None if no compiled loop applies. A row is relevant at the threshold ``rel`` (None: a label above 0).
    Without ``gain``, the gain is 1 for each row that is relevant at ``rel`` or, if ``rel`` is None, the label.
    """
    if gain is None:
        gain = Gain() if rel is None else Gain("binary", rel)
    cutoffs = ranking.cutoffs if k is None or k in ranking.cutoffs else (k,)
    return _compiled_sums(ranking, rel, gain, cutoffs, discount)


@cached
def _compiled_sums(
    ranking: Ranking, rel: float | None, gain: Gain, cutoffs: tuple[int, ...], discount: Discount
) -> CompiledSums | None:
    judgments, groups = ranking.judgments, ranking.groups
    n = len(judgments.codes)
    longest = int(ranking.length.max(initial=0))
    is_large = longest > LARGE_ROWS and groups <= MOST_APART
    is_tabled = n < TABLED_POSITIONS and 0 < longest <= LONGEST
    is_large &= ranking.has_all_rows and judgments.repeats is None
    is_by_item = is_tabled and not ranking.is_plain and ranking.orders_by_texts
    if not native.runs("hits", is_by_item or (ranking.is_plain and (is_large or is_tabled))):
        return None
    if is_large and not is_by_item:
        return _sums_of_large(ranking, rel, gain, cutoffs, discount, whole=False)
    flags, alike, relevant = judgments.flags(rel), judgments.equal_gain(gain), judgments.relevant(rel)
    gains = judgments.gain_of(gain) if alike is None and flags.any() else np.empty(0)
    codes, listed = ranking.of_listed(judgments.codes), ranking.of_listed(flags)
    hits_of_groups, unlisted, unlisted_gains = relevant, _NONE, np.empty(0)
    starts = np.zeros(groups + 1 if len(gains) else 0, np.int64)
    if not ranking.has_all_rows:
        hits_of_groups = count_by(codes, groups, listed)
        unlisted = relevant - hits_of_groups
        if len(gains):
            others = ranking.unlisted(flags)
            unlisted_gains = gains[others[order_by_code(judgments.codes[others], groups)]]
            np.cumsum(unlisted, out=starts[1:])
            gains = ranking.of_listed(gains)
    firsts, places_hits = _NONE, judgments.propensities is not None and rel is None and not is_by_item
    if places_hits:
        firsts = np.cumsum(hits_of_groups) - hits_of_groups
    count_placed = int(hits_of_groups.sum()) if places_hits else 0
    positions, placed = np.empty(count_placed, np.int32), np.empty(count_placed, np.int64)
    ends = np.array([*cutoffs, BEYOND], np.int64)
    number, rows, hits = np.empty(groups, np.int32), np.empty(groups, np.int64), np.empty(groups, np.int64)
    relevant_of_list = np.empty(groups, np.int64)
    places, mid_ranks, tied_pairs = np.empty(groups, np.uint64), np.empty(groups), np.empty(groups, np.int64)
    sums = room_for((len(Sum), len(ends), groups), np.dtype(np.float64))
    count, tied_rows = native.hits.sum_hits(
        np.ascontiguousarray(codes, np.int32),
        ranking.length,
        hits_of_groups,
        unlisted,
        ranking.wide_scores(),
        np.ascontiguousarray(listed).view(np.uint8),
        ranking.is_ordered_by_other,
        alike or 0.0,
        np.ascontiguousarray(gains),
        starts,
        unlisted_gains,
        discount.table(max(longest, int(relevant.max()))),
        ends,
        *(ranking.item_texts() if is_by_item else _NOT_BY_ITEM),
        firsts,
        positions,
        placed,
        _memory.of(n + MOST_PADDING * groups),
        number,
        rows,
        hits,
        relevant_of_list,
        places,
        sums,
        mid_ranks,
        tied_pairs,
    )
    if tied_rows and judgments.repeats is not None:  # a repeat ranks behind the rows that it ties with
        return None
    if not is_by_item and tied_rows and len(gains) and (gains.max() * n > MOST_SUM or np.any(gains != np.rint(gains))):
        return None
    distinct = DistinctLists(number, rows[:count], relevant_of_list[:count], places[:count], hits[:count])
    of_lists = (sums[:, :, :count], mid_ranks[:count], tied_pairs[:count])
    own = None
    if places_hits and not tied_rows:
        listed_hits = np.flatnonzero(listed)
        row = listed_hits[order_by_code(codes[listed_hits], groups)][placed]
        own = PlacedHits(ranking.judged_rows(row), codes[row], positions)
    return CompiledSums(distinct, ends.tolist(), *of_lists, tied_rows, placed=own)


@cached
def _sums_of_large(
    ranking: Ranking, rel: float | None, gain: Gain, cutoffs: tuple[int, ...], discount: Discount, *, whole: bool
) -> CompiledSums | None:
    """Compute the sums over hits of a few large groups from sorted scores; None if gains would not add up exactly.

    Unless ``whole`` is set, gains beyond the last cut-off are left out.
    """
    last = BEYOND if whole else max(cutoffs, default=0)
    undiscounted = np.zeros(DISCOUNTED_AT_ONCE)
    judgments, groups = ranking.judgments, ranking.groups
    flags, alike = judgments.flags(rel), judgments.equal_gain(gain)
    ends = np.array([*cutoffs, BEYOND], np.int64)
    sums, mid_ranks = np.zeros((len(Sum), len(ends), groups)), np.zeros(groups)
    tied_pairs, tied_rows = np.zeros(groups, np.int64), 0
    for group in range(groups):
        large, parts = native.hits.LargeList(), [np.empty(0)]
        for rows in ranking.ranges_of_scores(group, SORTED_AT_ONCE, SAMPLED_SCORES):
            is_hit, scores = flags[rows], ranking.wide_scores_of(rows)
            hits, others = scores[is_hit], scores[~is_hit]
            native.hits.sort_scores(others)
            if alike is None:
                order = np.argsort(hits)
                parts.append(judgments.gain_of(gain, rows[is_hit][order]))
                hits = hits[order]
            else:
                native.hits.sort_scores(hits)
            large.add(others, hits, parts[-1], alike or 0.0)
        gains = np.concatenate(parts)
        if large.tied_rows and len(gains) and (gains.max() * len(flags) > MOST_SUM or np.any(gains != np.rint(gains))):
            return None
        tied_rows += large.tied_rows
        tied_pairs[group], mid_ranks[group] = large.tied_pairs, large.mid_ranks
        gains.sort()
        best, start, more = np.ascontiguousarray(gains[::-1]), 1, True
        while more:
            discounts = undiscounted
            if start <= last:
                discounts = discount.of(np.arange(start, start + DISCOUNTED_AT_ONCE, dtype=np.float64))
            more = large.advance(discounts, start, best, alike or 0.0, ends, sums, group)
            start += DISCOUNTED_AT_ONCE
    unknown = np.zeros(groups, np.uint64)
    relevant = judgments.relevant(rel)
    lists = DistinctLists(np.arange(groups, dtype=np.int32), ranking.length, relevant, unknown, relevant)
    again = None if whole else partial(_sums_of_large, ranking, rel, gain, (), discount, whole=True)
    return CompiledSums(lists, ends.tolist(), sums, mid_ranks, tied_pairs, tied_rows, again)


def placed_hits(ranking: Ranking) -> PlacedHits | None:
    """Return the hits of ``ranking`` if a compiled loop has their positions, as with propensities, or None."""
    sums = compiled_sums(ranking, None, None)
    return None if sums is None else sums.placed


class HitSums:
    """Sums over the hits of ``ranking`` at the threshold ``rel`` (None: relevant rows have a label above 0).

    Under ``ties=expected``, the sums are exact means over every order of the tied rows. Each sum is an array with one
    number per distinct list, or per group if ``distinct`` is None. ``relevant``, the number R of relevant rows, and
    ``length``, the number of rows, have the same shape.
    """

    def __init__(self, ranking: Ranking, rel: float | None) -> None:
        compiled = compiled_sums(ranking, rel, None)
        self.distinct = None if compiled is None else compiled.distinct
        self.relevant = ranking.judgments.relevant(rel) if compiled is None else compiled.distinct.relevant
        self.length = ranking.length if compiled is None else compiled.distinct.rows
        self._ranking = ranking
        self._rel = rel

    @cached_property
    def relevant_or_nan(self) -> Floats:
        """The number R of relevant rows as a divisor, with NaN in place of 0, so that quotients become NaN too."""
        divisor = self.relevant.astype(np.float64)
        divisor[divisor == 0] = np.nan
        return divisor

    def where_relevant(self, values: Floats) -> Floats:
        return values + self._undefined  # one pass; selecting from two arrays takes three

    @cached_property
    def _undefined(self) -> Floats:
        return self.relevant_or_nan * 0.0

    def _hits(self) -> Hits:
        return hits_of(self._ranking, self._rel)

    def _hits_by_score(self) -> Hits:
        return hits_of(self._ranking.by_score, self._rel)

    def _sum(self, quantity: Sum, k: int | None) -> Floats:
        # a cut-off that the ranking does not have needs another pass, which finds the same lists
        compiled = compiled_sums(self._ranking, self._rel, k)
        if compiled is not None:
            return compiled.sum(quantity, k)
        sums: Floats = getattr(self._hits(), _OF_HITS[quantity])(k)
        return sums

    # Sums up to k, as expectations: of hits; of hits so far / position; of whether there is a hit (0 or 1); and
    # 1 / the position of the first hit, or 0 without a hit.
    count, precisions = partialmethod(_sum, Sum.COUNT), partialmethod(_sum, Sum.PRECISION)
    any, first = partialmethod(_sum, Sum.ANY), partialmethod(_sum, Sum.FIRST)

    def retrieved_relevant(self) -> Ints:
        return self._hits().retrieved_relevant() if self.distinct is None else self.distinct.hits

    def mid_rank_sum(self) -> Floats:
        compiled = compiled_sums(self._ranking, self._rel, None)
        return self._hits_by_score().mid_rank_sum() if compiled is None else compiled.mid_ranks

    def tied_pairs(self) -> Floats | Ints:
        compiled = compiled_sums(self._ranking, self._rel, None)
        return self._hits_by_score().tied_pairs() if compiled is None else compiled.tied_pairs


@cached
def hit_sums(ranking: Ranking, rel: float | None) -> HitSums:
    """Return the sums over the hits of ``ranking`` at the threshold ``rel``, shared by all metrics with this threshold.

    Examples
    --------
    A list whose second and third rows are relevant:

    >>> import numpy as np
    >>> from sparkrank.metrics import Ranking, hit_sums
    >>> from sparkrank.ranking.judgments import Judgments
    >>> judgments = Judgments(codes=np.array([0, 0, 0]), labels=np.array([0, 1, 1]), groups=1)
    >>> sums = hit_sums(Ranking(judgments, np.array([0.9, 0.5, 0.1])), rel=None)
    >>> sums.relevant.tolist(), sums.count(2).tolist(), sums.first(None).tolist()
    ([2], [1.0], [0.5])
    """
    return HitSums(ranking, rel)


def tied_rows(ranking: Ranking, rel: float | None = None) -> int:
    """Return the number of rows with the same score as another row of their list, whatever ``rel``."""
    compiled = compiled_sums(ranking, rel, None)
    return ranking.tied_rows if compiled is None else compiled.tied_rows
