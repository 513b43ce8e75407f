"""The share of each row that is in the first k positions of its list: 1, 0, or a fraction for tied rows."""

from __future__ import annotations

import numpy as np

from sparkrank import native
from sparkrank.numeric.array_types import Floats, Ints
from sparkrank.ranking.ranking import Ranking


def first_rows(ranking: Ranking, k: int | None, unit: int) -> Ints:
    """Return an amount for each judged row: ``unit`` if the row is among the first ``k`` of its list, else 0.

    With ``ties=expected``, all rows of a tie block that the cut-off divides get the same fraction of ``unit``.
    """
    if native.runs("rows shown", ranking.ties == "expected" and ranking.judgments.repeats is None):
        codes = np.ascontiguousarray(ranking.of_listed(ranking.judgments.codes), np.int32)
        shown = np.full(len(codes), unit, np.int64)
        if k is not None:
            native.keys.stand_within(codes, ranking.wide_scores(), ranking.length, k, float(unit), shown)
        return ranking.of_judged(shown)
    of_row = np.zeros(len(ranking.judgments.codes), np.int64)
    of_row[ranking.row] = np.rint(first_shares(ranking, k) * unit).astype(np.int64)
    return of_row


def first_shares(ranking: Ranking, k: int | None) -> Floats:
    """Return the share of each ranked row that is among the first ``k`` of its list."""
    if k is None:
        return np.ones(len(ranking.row))
    share = (ranking.stands_at() <= k).astype(np.float64)
    blocks = ranking.blocks
    if ranking.ties == "expected" and len(blocks.row):
        within = np.clip(k - blocks.before, 0, blocks.size) / blocks.size
        share[blocks.row] = within[blocks.block]
    return share
