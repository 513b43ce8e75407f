"""What lists show of a catalogue: how often each item stands in the first k, and what follows from those counts.

An exposure is kept in units of 2^-32, so that fractions of tied rows add up in whole numbers: exactly, in any order.
"""

from __future__ import annotations

import math

import numpy as np

from sparkrank.kernels.order import Ints
from sparkrank.kernels.ranking import Ranking

UNIT = 2**32


def shown(ranking: Ranking, k: int | None) -> Ints:
    """How often each judged row (n) stands in the first ``k`` of its list: 0 or 1, in units of 1 / :data:`UNIT`.

    Under ``ties=expected`` a row of a tie block that k cuts stands there with probability m / n, of m of n rows.
    """
    of_rank = np.full(len(ranking.row), UNIT, np.int64)
    if k is not None:
        of_rank[ranking.stands_at() > k] = 0
        blocks = ranking.blocks
        if ranking.ties == "expected" and len(blocks.row):
            within = np.clip(k - blocks.before, 0, blocks.size) / blocks.size
            of_rank[blocks.row] = np.rint(within * UNIT).astype(np.int64)[blocks.block]
    of_row = np.zeros(len(ranking.judgments.codes), np.int64)
    of_row[ranking.row] = of_rank
    return of_row


def rows_shown(exposure: Ints) -> float:
    """How many rows all of ``exposure`` are: 2^31 of them are more units than 64 bits hold."""
    whole, part = (int(units.sum()) for units in np.divmod(exposure, UNIT))
    return (whole * UNIT + part) / UNIT


def coverage(exposure: Ints, items: int) -> float:
    """The share of ``items`` that stand in some list. NaN where there are none."""
    return int(np.count_nonzero(exposure)) / items if items else math.nan


def gini(exposure: Ints, items: int) -> float:
    """Gini's coefficient of the exposures of ``items``, those that are never shown included: 0 = all the same.

    Σ (2j - n - 1) x_j / (n Σ x) over the n exposures x in ascending order. NaN where nothing is shown.
    """
    some = np.sort(exposure[exposure > 0]).astype(np.float64)
    if len(some) == 0:
        return math.nan
    place = np.arange(items - len(some) + 1, items + 1, dtype=np.float64)
    return float(np.sum((2 * place - items - 1) * some) / (items * np.sum(some)))


def novelty(exposure: Ints, relevant: Ints, groups: int) -> float:
    """The mean over shown rows of -log2(popularity): the share of ``groups`` in which an item is relevant.

    An item that is relevant nowhere counts as relevant in one group. NaN where nothing is shown.
    """
    order = np.lexsort((relevant, exposure))  # equal pairs add the same, so the order of the items cannot show
    weight = exposure[order].astype(np.float64)
    total = float(np.sum(weight))
    if total == 0:
        return math.nan
    information = np.log2(groups / np.maximum(relevant[order], 1))
    return float(np.sum(weight * information)) / total
