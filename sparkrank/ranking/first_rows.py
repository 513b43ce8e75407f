"""How much of each row counts as among the first k of its list: 1, 0, or a fraction for tied rows."""

from __future__ import annotations

import numpy as np

from sparkrank import native
from sparkrank.numeric.array_types import Floats, Ints
from sparkrank.numeric.cached import cached
from sparkrank.ranking.discounts import Discount
from sparkrank.ranking.ranking import Ranking
from sparkrank.ranking.value_columns import ValueColumn

PADDING = 3  # places that a compiled loop may add to a list
UNIT = 2**32  # that of the states too, so that their amounts serve here
MOST_WITHIN = 0.75  # of all rows: if the first rows are more, all rows are sorted at once


@cached
def first_rows(
    ranking: Ranking, k: int | None, unit: int, discount: Discount | None = None, by: ValueColumn | None = None
) -> Ints:
    """Return an amount for each judged row: ``unit`` if the row is among the first ``k`` of its list, else 0.

    With ``discount``, the amount is multiplied by the discount of the row's position over that of the first position.
    With ``ties=expected``, all rows of a tie block get the same amount: the mean over the block's positions. With
    ``by``, tied rows that no rule orders are ordered by their values in this column.
    """
    is_plain = ranking.ties == "expected" and ranking.judgments.repeats is None
    if native.runs("rows shown", discount is None and is_plain):
        codes = np.ascontiguousarray(ranking.of_listed(ranking.judgments.codes), np.int32)
        shown = np.full(len(codes), unit, np.int64)
        if k is not None:
            room = np.empty(len(codes) + PADDING * ranking.groups)
            native.keys.stand_within(codes, ranking.wide_scores(), ranking.length, k, float(unit), room, shown)
        return ranking.of_judged(shown)
    of_row = np.zeros(len(ranking.judgments.codes), np.int64)
    row = ranking.row if by is None else ranking.row_by([by])
    of_row[row] = np.rint(first_shares(ranking, k, discount) * unit).astype(np.int64)
    return of_row


@cached
def head_of(ranking: Ranking, k: int | None) -> Ranking:
    """Return the ranking of only those rows that may be among the first ``k`` of their list.

    Return ``ranking`` itself if ``k`` is None, if most rows may be, or if only a sort of all rows tells which may be.
    """
    serves = ranking.ties == "expected" and ranking.judgments.repeats is None
    if k is None or not serves:
        return ranking
    serves = bool(np.minimum(ranking.length, k).sum() < MOST_WITHIN * ranking.length.sum())
    if not native.runs("heads of lists", serves):
        return ranking
    amounts = first_rows(ranking, k, UNIT, None)  # as catalogue metrics call it, which share the result
    return ranking.of_rows(ranking.of_listed(amounts) > 0)


def first_shares(ranking: Ranking, k: int | None, discount: Discount | None = None) -> Floats:
    """Return how much of each ranked row counts as among the first ``k`` of its list (None: the whole list): 0 to 1.

    The result is 1 or 0, or, with ``ties=expected``, the mean over the positions of the row's tie block. With a
    ``discount``, each position counts its discount over that of the first position instead of 1.
    """
    position = ranking.stands_at()
    share = np.ones(len(position))
    if discount is not None:
        share = discount.at(position) / discount.at(np.ones(1, np.int32))
    if k is not None:
        share[position > k] = 0.0
    blocks = ranking.blocks
    if ranking.ties == "expected" and len(blocks.row):
        share[blocks.row] = (blocks.sum(share[blocks.row]) / blocks.size)[blocks.block]
    return share
