"""The area under the ROC curve: of one group by the rank sum, of a whole day by walking its score blocks."""

from __future__ import annotations

import numpy as np

from sparkrank.kernels.hits import Hits
from sparkrank.kernels.judgments import Floats
from sparkrank.kernels.precision import ratio


def class_counts(hits: Hits) -> tuple[Floats, Floats]:
    """Relevant and non-relevant rows of each list (groups); rows without a score stand in no pair."""
    positives = hits.retrieved_relevant().astype(np.float64)
    return positives, hits.ranking.length - positives


def group_auc(hits: Hits, tied: str = "half") -> Floats:
    """The share of (relevant, non-relevant) pairs in the right order, a tied pair counting 1/2, or 0.

    By the rank sum of Mann and Whitney with mid-ranks: every term is a whole number of halves, so it is exact.
    Undefined where a group has one class only.
    """
    positives, negatives = class_counts(hits)
    lower = positives * negatives + positives * (positives + 1) / 2 - hits.mid_rank_sum()
    if tied == "zero":
        lower -= hits.tied_pairs() / 2
    return ratio(lower, positives * negatives)


def pairs_in_order(positives: Floats, negatives: Floats) -> float:
    """Over blocks from the lowest to the highest: positives times the negatives below, half of those beside."""
    below = np.cumsum(negatives) - negatives / 2
    return float(np.sum(positives * below))


def blocks_auc(positives: Floats, negatives: Floats) -> float:
    """AUC of a day from the positives and negatives of its blocks, by ascending score. NaN with one class only."""
    all_pairs = float(positives.sum() * negatives.sum())
    return pairs_in_order(positives, negatives) / all_pairs if all_pairs else float("nan")


def blocks_auc_bound(positives: Floats, negatives: Floats) -> float:
    """How far the AUC of the blocks may be from that of the scores: inside a block the order is unknown.

    Half the share of pairs that stand inside one block. NaN with one class only.
    """
    all_pairs = float(positives.sum() * negatives.sum())
    return 0.5 * float(np.sum(positives * negatives)) / all_pairs if all_pairs else float("nan")


def blocks_auc_up(positives: Floats, negatives: Floats) -> float:
    """AUC if the blocks stood in the order of their empirical rates: what these blocks could reach at best."""
    order = np.argsort(positives / (positives + negatives), kind="stable")
    return blocks_auc(positives[order], negatives[order])
