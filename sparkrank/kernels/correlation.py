"""How much the order of the score agrees with a reference order, each read off the pairs or ranks of their rows.

Every function returns one float64 per group, NaN where the metric is undefined. All counts are whole numbers, so the
values do not depend on the order of the rows.
"""

from __future__ import annotations

import numpy as np

from sparkrank.kernels.judgments import Floats
from sparkrank.kernels.order import Ints, run_starts
from sparkrank.kernels.pairs import PairedRows
from sparkrank.kernels.precision import ratio

HALF = 32  # bits: products of ranks are added in two halves, so those of 2^31 rows add up without overflow


def kendall_tau(rows: PairedRows, variant: str) -> Floats:
    """(concordant - discordant) pairs over what ``variant`` (b or c) takes for the most there could be.

    b: sqrt((pairs not tied in the score) · (pairs not tied in the reference)), undefined where that is 0.
    c: n² (m-1) / 2m with m the lesser number of distinct values (Stuart), undefined where m < 2.
    """
    pairs = rows.concordance()
    excess = pairs.concordant - pairs.discordant
    ordered = (pairs.all - pairs.score_tied).astype(np.float64)
    if variant == "b":
        return np.clip(ratio(excess, np.sqrt(ordered * (pairs.all - pairs.reference_tied))), -1.0, 1.0)
    least = pairs.fewer_values.astype(np.float64)
    most = rows.rows.astype(np.float64) ** 2 * (least - 1)  # 0 where no order has two values, or there is no row
    return np.clip(ratio(2 * least * excess, most), -1.0, 1.0)


def kendall_distance(rows: PairedRows) -> Floats:
    """Pairs in opposite order over all pairs; a pair that the score alone ties counts 1/2. Undefined where n < 2."""
    pairs = rows.concordance()
    return ratio(pairs.discordant + pairs.undecided / 2, pairs.all)


def pair_auc(rows: PairedRows) -> Floats:
    """Of the pairs that the reference orders, the share that the score orders alike, a tied pair counting 1/2.

    Undefined where the reference orders no pair.
    """
    pairs = rows.concordance()
    return ratio(pairs.concordant + pairs.undecided / 2, pairs.all - pairs.reference_tied)


def spearman(rows: PairedRows) -> Floats:
    """The correlation of the mid-ranks of the two orders. Undefined where n < 2 or one order ties all rows."""
    score, reference = rows.score_ranks(), rows.reference_ranks()
    squares = _sum(rows, score, score) * _sum(rows, reference, reference)
    return np.clip(ratio(_sum(rows, score, reference), np.sqrt(squares)), -1.0, 1.0)


def _sum(rows: PairedRows, left: Ints, right: Ints) -> Floats:
    """The sum (groups) of the products of two numbers of each row: exact but for one rounding at the end."""
    products = left * right
    total = np.zeros(rows.groups)
    first = run_starts(rows.group)
    if len(first):
        high = np.add.reduceat(products >> HALF, first).astype(np.float64)
        low = np.add.reduceat(products & ((1 << HALF) - 1), first)
        total[rows.group[first]] = high * 2.0**HALF + low
    return total
