"""The rankings of all groups in a bucket. One sort, of one integer per row, puts the rows in rank order."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from sparkrank import native
from sparkrank.numeric.array_types import Codes, Flags, Floats, Ints
from sparkrank.numeric.cached import cached
from sparkrank.numeric.exact_sums import row_slices
from sparkrank.numeric.free_memory import ensure_free
from sparkrank.numeric.ordered_integers import bin_numbers
from sparkrank.numeric.segments import count_by, sum_by, taken
from sparkrank.ranking.judgments import Credit, Gain, Judgments, best_order
from sparkrank.ranking.value_columns import Arrays, ValueColumn

T = TypeVar("T", bound=np.generic)
Scores: TypeAlias = NDArray[np.floating[Any]]  # of the input's float type
Keys: TypeAlias = NDArray[np.uint64]
WORD = 64  # bits
# Bytes that sorting takes per row: the key, the score from which the key is made or the sorted key, and the row. Arrays
# that metrics derive from the order are not included.
ORDER_BYTES = 24
_WITHOUT_ORDER = (
    ", which metrics of hits need not under ties=expected, where no score is null and no item is twice in a list"
)


class KeyLayout(NamedTuple):
    """The numbers of bits in a sort key for the row (lowest bits) and the score. The group has the highest bits."""

    row: int
    score: int

    @classmethod
    def of(cls, rows: int, groups: int) -> KeyLayout:
        row = max(rows - 1, 0).bit_length()
        return cls(row, WORD - row - max(groups - 1, 0).bit_length())


class RankedLists:
    """The concatenated lists of all groups. ``length`` contains the number of rows of each group."""

    def __init__(self, length: Ints, keys: Keys, group_from: int) -> None:
        self.length = length
        self._keys = keys
        self._group_from = np.uint64(group_from)  # the group is in the bits of a key from this one upwards

    @cached_property
    def first(self) -> Ints:
        first: Ints = np.cumsum(self.length) - self.length
        return first

    @cached_property
    def group(self) -> Codes:
        return np.repeat(np.arange(len(self.length), dtype=np.int32), self.length)

    @cached_property
    def place(self) -> NDArray[np.int32]:
        """The 1-based position of each row in its list."""
        place = np.arange(1, len(self._keys) + 1, dtype=np.int32)
        place -= np.repeat(self.first.astype(np.int32), self.length)
        return place

    def group_of(self, rows: Ints) -> Codes:
        return (self._keys[rows] >> self._group_from).astype(np.int32)

    def place_of(self, rows: Ints) -> NDArray[np.int32]:
        return (rows - self.first[self.group_of(rows)] + 1).astype(np.int32)


class SortedRows(NamedTuple):
    """Rows sorted by group and descending score: ``row`` is their indices in the input, ``lists`` the groups' lists.

    ``tied`` contains the indices, in the sorted order, of rows with the same score as a neighbour. ``opens`` flags the
    first row of each tie block among these.
    """

    row: Ints
    lists: RankedLists
    tied: Ints
    opens: Flags


def rank_rows(codes: Codes, scores: Scores, length: Ints) -> SortedRows:
    """Return the rows sorted by group (``codes``) and descending score (no NaN). ``length`` counts each group's rows.

    Raise :class:`NotEnoughMemoryError` if the arrays for sorting do not fit in free memory.
    """
    ensure_free(len(codes) * ORDER_BYTES, "the order of all rows", _WITHOUT_ORDER)
    layout = KeyLayout.of(len(codes), len(length))
    keys = _ascending(sort_keys(codes, scores, *layout), codes, length)
    row = (keys & np.uint64((1 << layout.row) - 1)).view(np.int64)
    lists = RankedLists(length, keys, layout.row + layout.score)
    alike = _alike(keys, layout.row)
    prefix, score = keys[alike] >> np.uint64(layout.row), scores[row[alike]]
    same = prefix[1:] == prefix[:-1]
    if (same & (score[1:] > score[:-1])).any():
        order = np.lexsort((-score, prefix))
        row[alike], score = row[alike][order], score[order]
    joined = np.zeros(len(alike) + 1, np.bool_)  # whether row i has the score of row i - 1; false at both ends
    joined[1:-1] = same & (score[1:] == score[:-1])
    tied = joined[:-1] | joined[1:]
    return SortedRows(row, lists, alike[tied], ~joined[:-1][tied])


def _ascending(keys: Keys, codes: Codes, length: Ints) -> Keys:
    """Return the ``keys`` of :func:`sort_keys` in ascending order. Without a compiled loop, sorts ``keys`` in place."""
    if not native.runs("order of lists", codes.dtype == np.int32):
        keys.sort()
        return keys
    ascending = np.empty_like(keys)
    native.keys.sort_lists(np.ascontiguousarray(codes), length, keys, ascending)
    return ascending


def _alike(keys: Keys, row_bits: int) -> Ints:
    """Return the indices of the sorted ``keys`` that equal a neighbour in all but the lowest ``row_bits``.

    Only these rows can be tied.
    """
    joined = np.zeros(len(keys) + 1, np.bool_)
    for part in row_slices(len(keys) - 1):
        np.less(keys[1:][part] ^ keys[:-1][part], np.uint64(1 << row_bits), out=joined[1:-1][part])
    return np.flatnonzero(joined[:-1] | joined[1:])


def sort_keys(codes: Codes, scores: Scores, row_bits: int, score_bits: int) -> Keys:
    """Return keys that sort rows by group, then descending score (to the precision of ``score_bits``), then row."""
    falling = bin_numbers(0.0 - scores.astype(np.float64, copy=False))  # 0 - s is 0.0 for both zeros
    if len(falling) == 0:
        return np.empty(0, np.uint64)
    lowest = falling.min()
    span = int(falling.max()) - int(lowest)
    keys: Keys = np.subtract(falling, lowest, out=falling).view(np.uint64)  # modulo 2^64, which is right
    keys >>= np.uint64(max(span.bit_length() - score_bits, 0))
    if score_bits < WORD:
        keys |= codes.astype(np.uint64) << np.uint64(score_bits)
    if row_bits:
        keys <<= np.uint64(row_bits)
        keys |= np.arange(len(keys), dtype=np.uint64)
    return keys


class ItemOrder(Protocol):
    """The ascending order of the items of judged rows, by the bytes of their texts."""

    def __call__(self, rows: Ints, /) -> Ints:
        """Return the sort ranks of the items of ``rows``, either among these items or among all items."""

    @property
    def has_nulls(self) -> bool:
        """Whether some row has no item."""

    @property
    def texts(self) -> tuple[Ints, NDArray[np.uint8]]:
        """The n + 1 offsets of the texts of all items in an array of bytes, and the bytes. No item may be null."""


Ties: TypeAlias = Literal["expected", "item", "worst", "best", "block"]
Positions: TypeAlias = Literal["dense", "given", "given_from_0"]


@dataclass(frozen=True)
class TieBlocks:
    """The tie blocks of a ranking: each consists of two or more rows of one group with equal scores.

    Three arrays have an entry for each tied row, in rank order: its index in the ranking (``row``), its ``block``, and
    its 1-based ``place`` in the block. The others have an entry for each block: its ``group``, its ``size``, and the
    number of rows ``before`` it in the group.
    """

    row: Ints
    block: Ints
    place: Ints
    before: Ints
    size: Ints
    group: Codes

    def sum(self, amounts: NDArray[np.generic]) -> Floats:
        return sum_by(self.block, amounts, len(self.size))


@dataclass(frozen=True)
class ScoreOrder:
    """The order of the ``retrieved`` rows (None: all) by group and ``scores``. Tied rows are in any order."""

    judgments: Judgments
    scores: Scores
    retrieved: Ints | None

    @cached_property
    def length(self) -> Ints:
        if self.retrieved is None:
            return self.judgments.rows_of_group()
        return count_by(self._codes, self.judgments.groups)

    @cached_property
    def _codes(self) -> Codes:
        return taken(self.judgments.codes, self.retrieved)

    @cached_property
    def ranked(self) -> SortedRows:
        return rank_rows(self._codes, self.scores, self.length)

    @cached_property
    def blocks(self) -> TieBlocks:
        return tie_blocks(self.ranked)


class Ranking:
    """The rows with a score of one model, sorted by group and descending score.

    ``retrieved`` are the rows of ``judgments`` with a score (None: all). ``item_order`` orders tied rows if ``ties`` is
    ``item``, and tied rows with equal labels if it is ``worst`` or ``best``. Unless ``positions`` is ``dense``, scores
    are negated positions, counted from 1 or 0. Positions may have gaps, and rows at the same position count together.
    ``cutoffs`` are the cut-offs of most metrics. ``sorted_rows`` are the same rows, already sorted. ``columns`` maps
    columns to the values of the judged rows, with -1 or NaN for a null. ``totals`` maps a column of items to the number
    of its distinct values in the catalog or, for a popularity, of the groups, rows or items that it counts. ``arrays``
    maps each column of arrays to its distinct arrays.

    Examples
    --------
    >>> import numpy as np
    >>> from sparkrank.metrics import Ranking
    >>> from sparkrank.ranking.judgments import Judgments
    >>> judgments = Judgments(codes=np.array([0, 0, 0, 1]), labels=np.array([0, 1, 1, 1]), groups=2)
    >>> ranking = Ranking(judgments, np.array([0.1, 0.5, 0.9, 0.7]))
    >>> ranking.length.tolist(), ranking.row.tolist()
    ([3, 1], [2, 1, 0, 3])
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
        sorted_rows: ScoreOrder | None = None,
        columns: Mapping[str | ValueColumn, Codes | Floats] | None = None,
        totals: Mapping[ValueColumn, int] | None = None,
        arrays: Mapping[ValueColumn, Arrays] | None = None,
    ) -> None:
        self.judgments = judgments
        self.columns = columns or {}
        self.totals = totals or {}
        self.arrays = arrays or {}
        self.groups = judgments.groups
        self.ties = ties if positions == "dense" else "block"
        self.item_order = item_order
        self.cutoffs = cutoffs
        self._scores = scores
        self._retrieved = retrieved
        self._positions = positions
        self._sorted = sorted_rows or ScoreOrder(judgments, scores, retrieved)

    @cached
    def under(self, ties: Ties) -> Ranking:
        """Return the ranking of the same rows with the rule ``ties`` for tied rows. Both rankings share one sort."""
        if self._positions != "dense" or ties == self.ties:
            return self
        rows = (self.judgments, self._scores, self._retrieved)
        columns = (self.columns, self.totals, self.arrays)
        return Ranking(*rows, ties, self.item_order, self._positions, self.cutoffs, self._sorted, *columns)

    def of_rows(self, listed: Flags) -> Ranking:
        """Return the ranking of the rows flagged by ``listed``, out of the rows with a score in the order of the input.

        The flagged rows must be the first rows of each list.
        """
        rows = np.flatnonzero(listed)
        columns = (self.columns, self.totals, self.arrays)
        judged, scores = self.judged_rows(rows), self._scores[rows]
        rest = (self.ties, self.item_order, self._positions, self.cutoffs, None)
        return Ranking(self.judgments, scores, judged, *rest, *columns)

    @property
    def sorted_rows(self) -> ScoreOrder:
        """The rows with a score in the order of their scores, for rankings of the same rows by another label."""
        return self._sorted

    @property
    def is_ordered_by_other(self) -> bool:
        """Whether the rows were sorted, and the tied rows counted, for a ranking by another label."""
        return self._sorted.judgments is not self.judgments

    @property
    def length(self) -> Ints:
        return self._sorted.length

    @property
    def positions(self) -> Positions:
        return self._positions

    @property
    def tied_rows(self) -> int:
        return len(self._sorted.ranked.tied)

    @cached_property
    def _ranked(self) -> SortedRows:
        """The sorted rows. Unless ``ties`` is ``item`` or ``block``, repeated items follow the rows they tie with."""
        repeats, ranked = self.judgments.repeats, self._sorted.ranked
        if repeats is None or self.ties in ("item", "block"):
            return ranked
        row, block = ranked.row.copy(), np.cumsum(ranked.opens)
        tied = self.judged_rows(row[ranked.tied])
        items = [] if self.item_order is None else [-self.item_order(tied)]  # a cut-off k may fall between two repeats
        values = [of_row[tied] for of_row in self.columns.values()]
        order = np.lexsort((*values, *items, repeats[tied], block))
        row[ranked.tied] = row[ranked.tied][order]
        stays = ~repeats[tied[order]]
        stays &= np.bincount(block[stays], minlength=len(block) + 1)[block] > 1
        return ranked._replace(row=row, tied=ranked.tied[stays], opens=ranked.opens[stays])

    @property
    @cached
    def by_score(self) -> Ranking:
        """The ranking for metrics that never break ties. Repeated items are last in their tie block."""
        if self.judgments.repeats is None or self.ties not in ("item", "block"):
            return self
        return Ranking(self.judgments, self._scores, self._retrieved, sorted_rows=self._sorted)

    def judged_rows(self, listed: Ints) -> Ints:
        """Return the indices in ``judgments`` of ``listed``, which are indices among the rows with a score."""
        return listed if self._retrieved is None else self._retrieved[listed]

    @property
    def lists(self) -> RankedLists:
        return self._sorted.ranked.lists

    @cached_property
    def blocks(self) -> TieBlocks:
        ranked = self._ranked
        return self._sorted.blocks if ranked is self._sorted.ranked else tie_blocks(ranked)

    @cached_property
    def _given(self) -> NDArray[np.int32] | None:
        """The position that the input gives each row, or None if positions are dense."""
        if self._positions == "dense":
            return None
        given: NDArray[np.int32] = (-self._scores[self._sorted.ranked.row]).astype(np.int32)
        return given + np.int32(self._positions == "given_from_0")

    @cached_property
    def row(self) -> Ints:
        return self._with_ties_ordered(self.judged_rows(self._ranked.row))

    def row_by(self, columns: Sequence[ValueColumn]) -> Ints:
        """Return :attr:`row`, where values in ``columns`` order the tied rows that the rule for ties leaves open."""
        return self._with_ties_ordered(self.judged_rows(self._ranked.row), [self.columns[column] for column in columns])

    def _with_ties_ordered(self, row: Ints, values: Sequence[NDArray[Any]] = ()) -> Ints:
        """Return ``row`` with tie blocks ordered as ``ties`` says, or in a fixed order if the order affects sums.

        ``values`` of judged rows, ascending, order tied rows that are still equal.

        If ``ties`` is ``item`` and an item is twice in a block, the row that gets credit comes first; if both rows may
        get credit, the row with the lower label comes first.
        """
        if len(self.blocks.row) == 0:
            return row
        if self.ties == "expected" and not values and not self.judgments.sums_need_order():
            return row
        tied = row[self.blocks.row]
        labels = self.judgments.labels[tied]
        items = [] if self.item_order is None else [-self.item_order(tied)]  # the item may matter as well
        second: NDArray[np.generic] = labels
        if self.ties == "item":
            if not items:
                raise ValueError("ties=item needs the order of the items")
            second = items[0]
        elif self.ties == "best":
            second = -labels.astype(np.float64)
        repeats = [] if self.judgments.repeats is None else [self.judgments.repeats[tied]]
        row = row.copy()
        least = [of_row[tied] for of_row in values] or items  # a bucket may lack items that no rule needs
        row[self.blocks.row] = tied[np.lexsort((*least, labels, *repeats, second, self.blocks.block))]
        return row

    @property
    def is_plain(self) -> bool:
        """Whether ``ties`` is ``expected`` and each item of a group has only one row that may be relevant."""
        return self.judgments.item_row is None and self.ties == "expected"

    @property
    def orders_by_texts(self) -> bool:
        """Whether tied rows are ordered by the text of their items, with one row per item in each group."""
        judgments = self.judgments
        is_once = judgments.item_row is None and judgments.repeats is None
        return self.ties == "item" and self.item_order is not None and not self.item_order.has_nulls and is_once

    @cached
    def item_texts(self) -> tuple[Ints, NDArray[np.uint8], Ints]:
        """Return the offsets and bytes of the items' texts, and the indices of the rows with a score (empty: all)."""
        if self.item_order is None:
            raise ValueError("tied rows do not stand by their items")
        listed = np.empty(0, np.int64) if self._retrieved is None else self._retrieved
        return (*self.item_order.texts, listed)

    @property
    def has_all_rows(self) -> bool:
        return self._retrieved is None

    def of_listed(self, values: NDArray[T]) -> NDArray[T]:
        return taken(values, self._retrieved)

    def of_judged(self, values: NDArray[T]) -> NDArray[T]:
        """Return ``values``, one per row with a score in input order, for all rows, with 0 for rows without a score."""
        if self._retrieved is None:
            return values
        of_all = np.zeros(len(self.judgments.codes), values.dtype)
        of_all[self._retrieved] = values
        return of_all

    def unlisted(self, flags: Flags) -> Ints:
        """Return the rows of ``judgments`` that ``flags`` marks and that have no score."""
        if self._retrieved is None:
            return np.empty(0, np.int64)
        if len(self._retrieved) and self._retrieved[-1] == len(self._retrieved) - 1:
            return len(self._retrieved) + np.flatnonzero(flags[len(self._retrieved) :])
        others = flags.copy()
        others[self._retrieved] = False
        return np.flatnonzero(others)

    def wide_scores(self) -> Floats:
        return np.ascontiguousarray(self._scores, np.float64)

    def ranges_of_scores(self, group: int, most: int, sampled: int) -> Iterator[Ints]:
        """Yield the rows of ``group``, highest scores first, about ``most`` at a time. Tied rows stay together."""
        mine = None if self.groups == 1 else self.judgments.codes == group
        scores = self._scores
        edges = np.sort((scores if mine is None else scores[mine])[:: max(len(scores) // sampled, 1)])
        count = -(-int(self.length[group]) // most)
        ends = [None, *np.unique(edges[[len(edges) * number // count for number in range(1, count)]])[::-1], None]
        for high, low in itertools.pairwise(ends):
            inside = np.ones(len(scores), np.bool_) if mine is None else mine.copy()
            if high is not None:
                inside &= scores < high
            if low is not None:
                inside &= scores >= low
            yield np.flatnonzero(inside)

    def wide_scores_of(self, rows: Ints | Flags) -> Floats:
        return self._scores[rows].astype(np.float64, copy=False)

    @cached
    def relevant_rows(self, rel: float | None) -> Ints:
        return np.flatnonzero(self.judgments.flags(rel)[self.row])

    @cached
    def relevant_groups(self, rel: float | None) -> Codes:
        return self.lists.group_of(self.relevant_rows(rel))

    def position_of(self, rows: Ints) -> NDArray[np.int32]:
        return self.lists.place_of(rows) if self._given is None else self._given[rows]

    def stand_at(self, rows: Ints) -> NDArray[np.int32]:
        """Return the position of each of ``rows``, or the last position of its tie block if ``ties`` is ``block``."""
        return self.stands_at()[rows] if self.ties == "block" else self.position_of(rows)

    @cached
    def stands_at(self) -> NDArray[np.int32]:
        if self._given is not None:
            return self._given
        if self.ties != "block":
            return self.lists.place
        position = self.lists.place.copy()
        position[self.blocks.row] = (self.blocks.before + self.blocks.size)[self.blocks.block]
        return position

    @cached
    def retrieved_ideal(self, gain: Gain) -> Credit:
        """Return the gains of each group's relevant rows with a score, highest first."""
        rows = self.relevant_rows(None)
        return best_order(self.lists.group_of(rows), self.judgments.gain_of(gain, self.row[rows]), self.groups)


def tie_blocks(ranked: SortedRows) -> TieBlocks:
    row, opens = ranked.tied, ranked.opens
    first = row[opens]
    block = np.cumsum(opens) - 1
    size = np.bincount(block, minlength=len(first))
    before = ranked.lists.place_of(first).astype(np.int64) - 1
    return TieBlocks(row, block, row - first[block] + 1, before, size, ranked.lists.group_of(first))
