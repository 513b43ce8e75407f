"""Cumulated gain and its discount (Järvelin and Kekäläinen, TOIS 2002).

Every function returns one float64 per group, or per kind where sums are by kind, NaN where the metric is undefined.
``k`` absent means the whole list.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sparkrank.kernels.discounts import TABLED_POSITIONS, discounts
from sparkrank.kernels.hits import hits_of
from sparkrank.kernels.judgments import Credit, Floats, Gain
from sparkrank.kernels.order import sum_by
from sparkrank.kernels.precision import ratio
from sparkrank.kernels.ranking import Ranking
from sparkrank.kernels.remember import remembered
from sparkrank.kernels.walked import Sum, Walked, walked


def _discount_of(position: NDArray[np.int32]) -> Floats:
    furthest = int(position.max(initial=1))
    if furthest < TABLED_POSITIONS:
        return discounts(furthest)[position]
    far: Floats = 1.0 / np.log2(position + 1.0)
    return far


@remembered
def gains_of(ranking: Ranking, gain: Gain) -> Credit:
    """The gain earned at each position: the row's own, or under ``ties=expected`` its tie block's mean.

    It is earned where a hit is or may be: none but labels above 0 have a gain.
    """
    hits, blocks = hits_of(ranking, None), ranking.blocks
    amounts = gain.of(ranking.judgments.labels[ranking.row[hits.row]])
    if ranking.ties == "expected" and len(blocks.row):
        tied, place = hits.tied()
        block = blocks.block[place]
        amounts[tied] = (sum_by(block, amounts[tied], len(blocks.size)) / blocks.size)[block]
    return Credit(hits.group, hits.position, amounts)


def cumulated_gain(credit: Credit, k: int | None, groups: int, discounted: bool) -> Floats:
    """The sum of gains at positions up to ``k``, times 1 / log2(position + 1) if ``discounted``. Never undefined."""
    earned = _discounted(credit) if discounted else credit
    counted = earned if k is None else earned.within(k)
    return sum_by(counted.group, counted.amount, groups)


@remembered
def _discounted(credit: Credit) -> Credit:
    """``credit`` with each gain times its discount, for every cut-off."""
    return replace(credit, amount=credit.amount * _discount_of(credit.position))


class GainSums:
    """What the lists of ``ranking``, and their ideal ones, earn of a ``gain``, discounted at each position.

    Sums are one float64 for each of the ``kinds`` of its groups, or per group where it has no kinds; the shapes below
    say ``kinds`` for either.
    """

    def __init__(self, ranking: Ranking, gain: Gain) -> None:
        found = walked(ranking, gain.rel, None, gain)
        self.kinds = None if found is None else found.kinds
        self._count = ranking.groups if found is None else len(found.kinds.rows)
        self._ranking = ranking
        self._gain = gain

    def _walked(self, k: int | None) -> Walked | None:
        return walked(self._ranking, self._gain.rel, k, self._gain)

    def of_list(self, k: int | None) -> Floats:
        """The discounted gain (kinds) up to ``k``."""
        if (found := self._walked(k)) is not None:
            return found.sum(Sum.GAIN, k)
        return cumulated_gain(gains_of(self._ranking, self._gain), k, self._count, discounted=True)

    def of_ideal(self, k: int | None, ideal: str | tuple[float, ...]) -> Floats:
        """The discounted gain of the ideal list (kinds) up to ``k``.

        ``ideal``: ``judged`` (all labels of the group), ``retrieved`` (those of the list), ``k_relevant`` (k items of
        gain 1), or the grades of one ideal list for every group.
        """
        if isinstance(ideal, tuple):
            best = np.sort(self._gain.of(np.asarray(ideal)))[::-1][:k]
            return np.full(self._count, float(best @ discounts(len(best))[1 : len(best) + 1]))
        if ideal == "k_relevant":
            if k is None:
                raise ValueError("an ideal list of k relevant items needs k")
            return np.full(self._count, float(np.cumsum(discounts(k)[1 : k + 1])[-1]))
        if (found := self._walked(k)) is not None:  # which serves lists of all that was judged
            return found.sum(Sum.IDEAL, k)
        judgments = self._ranking.judgments
        if ideal == "judged" and (alike := judgments.equal_gain(self._gain)) is not None:
            return best_of_equal(alike, judgments.relevant(self._gain.rel), k)
        credit = judgments.ideal(self._gain) if ideal == "judged" else self._ranking.retrieved_ideal(self._gain)
        return cumulated_gain(credit, k, self._count, discounted=True)


@remembered
def gain_sums(ranking: Ranking, gain: Gain) -> GainSums:
    """What the lists of ``ranking`` earn of ``gain``, shared by all metrics of that gain."""
    return GainSums(ranking, gain)


def best_of_equal(gain: float, rows: NDArray[np.integer], k: int | None) -> Floats:
    """The discounted gain of ideal lists in which so many ``rows`` (groups) have the same ``gain`` and others none."""
    longest = int(rows.max(initial=0))
    counted = rows if k is None else np.minimum(rows, k)
    through = np.zeros(longest + 1)
    np.cumsum(gain * discounts(longest)[1 : longest + 1], out=through[1:])  # adds in the order of the list
    best: Floats = through[counted]
    return best


def discounted_gain(gains: GainSums, k: int | None) -> Floats:
    """The sum of gains at positions up to ``k``, each times 1 / log2(position + 1). Never undefined."""
    return gains.of_list(k)


def normalised_gain(gains: GainSums, k: int | None, ideal: str | tuple[float, ...]) -> Floats:
    """Discounted gain over that of the ideal list. Undefined where the ideal list has no gain."""
    return ratio(gains.of_list(k), gains.of_ideal(k, ideal))
