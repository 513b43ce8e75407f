"""Sums over the hits of each group: what most metrics of binary relevance are quotients of.

Where the compiled walk serves a ranking they come from there, and its rows are never sorted; else from
:class:`sparkrank.kernels.hits.Hits`, which has one entry for each hit.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from sparkrank.kernels.hits import Hits, hits_of
from sparkrank.kernels.judgments import Floats
from sparkrank.kernels.order import Ints
from sparkrank.kernels.ranking import Ranking
from sparkrank.kernels.remember import remembered
from sparkrank.kernels.walked import Sum, walked


class HitSums:
    """The hits of ``ranking`` at the threshold ``rel``, summed up.

    All sums are one float64 for each of the ``kinds`` of its groups, or per group where it has no kinds; the shapes
    below say ``kinds`` for either. Under ``ties=expected`` they are exact means over every order of tied rows.
    ``relevant`` (kinds) is R, retrieved or not, and ``length`` (kinds) the rows of the list.
    """

    def __init__(self, ranking: Ranking, rel: float | None) -> None:
        found = walked(ranking, rel, None)
        self.kinds = None if found is None else found.kinds
        self.relevant = ranking.judgments.relevant(rel) if found is None else found.kinds.relevant
        self.length = ranking.length if found is None else found.kinds.rows
        self._ranking = ranking
        self._rel = rel

    @cached_property
    def relevant_or_nan(self) -> Floats:
        """R (kinds) to divide by: NaN where it is 0, and so is the quotient."""
        found = self.relevant.astype(np.float64)
        found[found == 0] = np.nan
        return found

    def where_relevant(self, values: Floats) -> Floats:
        """``values`` (kinds), NaN where R = 0."""
        return values + self._undefined  # one pass, where a choice between the two is three

    @cached_property
    def _undefined(self) -> Floats:
        """0, or NaN where R = 0."""
        return self.relevant_or_nan * 0.0

    def _hits(self) -> Hits:
        return hits_of(self._ranking, self._rel)

    def _hits_by_score(self) -> Hits:
        return hits_of(self._ranking.by_score, self._rel)

    def _walked(self, of: Sum, k: int | None) -> Floats | None:
        found = walked(self._ranking, self._rel, k)  # for a cut-off of its own another walk, which finds the same kinds
        return None if found is None else found.sum(of, k)

    def count(self, k: int | None) -> Floats:
        """hits@k."""
        found = self._walked(Sum.COUNT, k)
        return self._hits().count(k) if found is None else found

    def precisions(self, k: int | None) -> Floats:
        """Over hits within k, the hits so far / position."""
        found = self._walked(Sum.PRECISION, k)
        return self._hits().precisions(k) if found is None else found

    def any(self, k: int | None) -> Floats:
        """1 if any hit stands within k, else 0; under ``ties=expected`` the chance of it."""
        found = self._walked(Sum.ANY, k)
        return self._hits().any(k) if found is None else found

    def first(self, k: int | None) -> Floats:
        """1 / position of the first hit, 0 if none stands within k."""
        found = self._walked(Sum.FIRST, k)
        return self._hits().first(k) if found is None else found

    def retrieved_relevant(self) -> Ints:
        """The relevant rows of each list."""
        return self._hits().retrieved_relevant() if self.kinds is None else self.relevant

    def mid_rank_sum(self) -> Floats:
        """Over each list's relevant rows, their place; tied rows at their block's mid-rank."""
        found = walked(self._ranking, self._rel, None)
        return self._hits_by_score().mid_rank_sum() if found is None else found.mid_ranks

    def tied_pairs(self) -> Floats | Ints:
        """The (relevant, non-relevant) pairs of each list that stand in one tie block."""
        found = walked(self._ranking, self._rel, None)
        return self._hits_by_score().tied_pairs() if found is None else found.tied_pairs


@remembered
def hit_sums(ranking: Ranking, rel: float | None) -> HitSums:
    """The sums over the hits of ``ranking`` at the threshold ``rel``, shared by all metrics of that threshold."""
    return HitSums(ranking, rel)


def tied_rows(ranking: Ranking, rel: float | None = None) -> int:
    """The rows of all lists that have the score of another row of their list; ``rel`` is of a walk that is there."""
    found = walked(ranking, rel, None)
    return ranking.tied_rows if found is None else found.tied_rows
