"""The share of each row that is in the first k positions of its list: 1, 0, or a fraction for tied rows."""

from __future__ import annotations

import numpy as np

from sparkrank import native
from sparkrank.numeric.array_types import Ints
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
    of_rank = np.full(len(ranking.row), unit, np.int64)
    if k is not None:
        of_rank[ranking.stands_at() > k] = 0
        blocks = ranking.blocks
        if ranking.ties == "expected" and len(blocks.row):
            within = np.clip(k - blocks.before, 0, blocks.size) / blocks.size
            of_rank[blocks.row] = np.rint(within * unit).astype(np.int64)[blocks.block]
    of_row = np.zeros(len(ranking.judgments.codes), np.int64)
    of_row[ranking.row] = of_rank
    return of_row
