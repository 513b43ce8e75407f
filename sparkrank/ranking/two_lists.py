"""The common rows of two lists of a group: the list of a ranking, and the list in the order of a reference."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparkrank.numeric.array_types import Flags, Floats
from sparkrank.numeric.cached import cached
from sparkrank.numeric.segments import sum_by
from sparkrank.ranking.first_rows import first_rows
from sparkrank.ranking.ranking import Positions, Ranking

WHOLE = 2**52  # the amount of a row that is certainly shown, so that a share of a row has all digits of a float64


@dataclass(frozen=True)
class TwoLists:
    """The first rows of two lists, as one share for each judged row: 1, 0, or a fraction for tied rows.

    ``own`` contains the share of each row that is among the first rows of ``ranking``, and ``other`` the share among
    those of the other list. ``same`` contains for each row the share of its item, in any row, in the other list.
    """

    ranking: Ranking
    own: Floats
    other: Floats
    same: Floats

    def sum(self, amounts: Floats) -> Floats:
        """Return the sum of ``amounts``, one per judged row, for each group. The order of rows has no effect."""
        rows, codes = np.flatnonzero(amounts), self.ranking.judgments.codes
        if np.any(amounts[rows] != 1):  # sums of fractions depend on their order
            rows = rows[np.lexsort((amounts[rows], codes[rows]))]
        return sum_by(codes[rows], amounts[rows], self.ranking.groups)

    def shared(self) -> Floats:
        """Return the number of rows in both lists for each group, as its mean over the orders of tied rows."""
        return self.sum(self.own * self.same)

    def own_alone(self, flags: Flags) -> Floats:
        """Return the number of flagged rows of ``own`` that the other list lacks, for each group."""
        return self.sum(flags * self.own * (1 - self.same))


@cached
def _shares(ranking: Ranking, k: int | None) -> Floats:
    """Return, for each judged row, the share of it that is among the first ``k`` positions (None: all) of its list.

    Tied rows that ``ties`` does not order (under ``worst`` and ``best`` rows of equal label, under ``item`` rows of one
    item) have equal shares. Otherwise results would depend on the order of the input.
    """
    share: Floats = first_rows(ranking, k, WHOLE) / WHOLE
    blocks, judgments = ranking.blocks, ranking.judgments
    if k is None or not len(blocks.row) or ranking.ties not in ("item", "worst", "best"):
        return share
    row = ranking.row[blocks.row]
    keys = [blocks.block, judgments.labels[row]]
    keys += [] if judgments.repeats is None else [judgments.repeats[row]]
    keys += [ranking.item_order(row)] if ranking.ties == "item" and ranking.item_order is not None else []
    opens = np.ones(len(row), np.bool_)
    opens[1:] = np.any([key[1:] != key[:-1] for key in keys], axis=0)
    run = np.cumsum(opens) - 1
    share[row] = (np.bincount(run, weights=share[row]) / np.bincount(run))[run]
    return share


@cached
def two_lists(ranking: Ranking, reference: str, positions: Positions, k: int | None) -> TwoLists:
    """Return the first ``k`` rows of the list of ``ranking`` and of the list in the order of ``reference``.

    The other list has the same rule for tied rows as ``ranking``. By ``positions``, the values of the reference only
    order the rows (``dense``) or are their positions, counted from 1 or 0.
    """
    judgments = ranking.judgments
    order, counted = judgments.references[reference], judgments.counted()
    listed = ~np.isnan(order)
    rows = np.flatnonzero(listed) if counted is None else counted[listed[counted]]
    other = Ranking(judgments, -order[rows], rows, ranking.ties, ranking.item_order, positions)
    own, shown = (_shares(each, k) for each in (ranking, other))
    return TwoLists(ranking, own, shown, shown if judgments.item_row is None else shown[judgments.item_row])
