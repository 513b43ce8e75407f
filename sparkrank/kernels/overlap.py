"""Rank-biased overlap: two orders of a group compared by position, which may be lists of different items."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sparkrank.kernels.judgments import Floats
from sparkrank.kernels.order import Codes, Ints, place_in_group, stable_order, sum_by
from sparkrank.kernels.ranking import Ranking


def rank_biased_overlap(ranking: Ranking, reference: str, p: float) -> Floats:
    """RBO_EXT: agreement of the first d of both lists, over all depths d with weight (1-p) p^(d-1), extrapolated.

    One list are the rows with a score, the other those that ``reference`` orders. As Webber, Moffat and Zobel have it:
    rows that tie all stand at the first of their positions, and agreement is 2 · rows in both / rows of both; beyond
    the end of the shorter list its agreement there goes on. Undefined where a list is empty.
    """
    ranking = ranking.by_score
    judgments = ranking.judgments
    place = judgments.places(reference)
    counted = judgments.counted()
    listed = np.flatnonzero(place >= 0) if counted is None else counted[place[counted] >= 0]
    by_reference = stable_order(judgments.codes, listed[np.argsort(place[listed])])
    group = judgments.codes[by_reference]
    other = np.zeros(len(place), np.int64)  # the position of each row in the reference, 0 where it has none
    position, length = place_in_group(group, ranking.groups)
    other[by_reference] = _first_positions(position, _runs(place[by_reference], position))
    if judgments.item_row is not None:
        other = other[judgments.item_row]
    own = ranking.lists.place.astype(np.int64)
    own[ranking.blocks.row] = ranking.blocks.before[ranking.blocks.block] + 1
    matched = other[ranking.row]
    both = matched > 0

    longer = np.maximum(ranking.length, length)
    shorter = np.minimum(ranking.length, length)
    first = np.cumsum(longer) - longer  # depth d of group g stands at first[g] + d - 1
    end = int(longer.sum())
    of_depth: Codes = np.repeat(np.arange(ranking.groups, dtype=np.int32), longer)
    depth = np.arange(end) - first[of_depth] + 1

    def through(groups: Codes, positions: Ints) -> Ints:
        """How many of the rows stand at or above each depth."""
        counts: Ints = np.concatenate(([0], np.cumsum(np.bincount(first[groups] + positions - 1, minlength=end))))
        within: Ints = counts[1:] - counts[first][of_depth]
        return within

    common = through(ranking.lists.group[both], np.maximum(own[both], matched[both]))
    sizes = (through(ranking.lists.group, own), through(group, other[by_reference]))
    cut = shorter[of_depth]
    at_cut = common[np.minimum(first + np.maximum(shorter, 1), end) - 1][of_depth] if end else common
    beyond = np.maximum(depth - cut, 0)
    shared = common + at_cut * beyond / np.maximum(cut, 1)
    agreement = 2 * shared / (sizes[0] + sizes[1] + beyond)
    value = sum_by(of_depth, (1 - p) * np.power(p, depth - 1.0) * agreement, ranking.groups)
    last = depth == longer[of_depth]
    value += sum_by(of_depth[last], np.power(p, depth[last].astype(np.float64)) * agreement[last], ranking.groups)
    return np.where(shorter > 0, value, np.nan)


def _runs(place: Ints, position: NDArray[np.int32]) -> Ints:
    """Where runs of equal ``place`` begin; every group begins one."""
    return np.flatnonzero((np.diff(place, prepend=-1) != 0) | (position == 1))


def _first_positions(position: NDArray[np.int32], first: Ints) -> Ints:
    return np.repeat(position[first].astype(np.int64), np.diff(first, append=len(position)))
