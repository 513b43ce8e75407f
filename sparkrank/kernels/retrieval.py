"""Metrics of search runs: judged and unjudged rows told apart, interpolated precision, and the cascade of ERR.

Every function returns one float64 per group, NaN where the metric is undefined. ``k`` absent means the whole list.
"""

from __future__ import annotations

import numpy as np

from sparkrank.kernels.hits import Hits
from sparkrank.kernels.judgments import Floats
from sparkrank.kernels.order import Flags, Ints, run_starts, running_product, sum_by
from sparkrank.kernels.precision import ratio
from sparkrank.kernels.ranking import Ranking

INFAP_EPSILON = 1e-5  # trec_eval's own: it keeps the share of relevant rows from being 0 / 0


def above(ranking: Ranking, flags: Flags) -> tuple[Ints, Ints]:
    """How many rows with ``flags`` (n, ranked) stand above each ranked row: (at least, how many may or may not).

    The second is 0 but for tied rows under ``ties=expected``: their block's rows with ``flags``. Under ``ties=block``
    all other rows of the block count as above.
    """
    through = np.concatenate(([0], np.cumsum(flags)))
    least = through[:-1] - through[ranking.lists.first][ranking.lists.group]
    maybe = np.zeros(len(flags), np.int64)
    blocks = ranking.blocks
    if len(blocks.row) and ranking.ties in ("expected", "block"):
        inside = blocks.sum(flags[blocks.row]).astype(np.int64)
        at_top = least[blocks.row[run_starts(blocks.block)]]
        if ranking.ties == "expected":
            least[blocks.row], maybe[blocks.row] = at_top[blocks.block], inside[blocks.block]
        else:
            least[blocks.row] = (at_top + inside)[blocks.block] - flags[blocks.row]
    return least, maybe


def binary_preference(ranking: Ranking, rel: float | None) -> Floats:
    """bpref: over relevant rows of the list, 1 - min(judged non-relevant rows above, R) / min(R, N); over R.

    R and N count the whole group. In a tie block of n non-relevant rows, 0 to n of them are above a relevant one with
    equal probability. Undefined where R = 0.
    """
    judgments = ranking.judgments
    relevant = judgments.relevant(rel)
    other = judgments.non_relevant(rel)
    row = np.flatnonzero(judgments.flags(rel)[ranking.row])
    group = ranking.lists.group_of(row)
    limit = relevant[group]
    least, maybe = (counts[row] for counts in above(ranking, other[ranking.row]))
    least = np.minimum(least, limit)
    rising = np.minimum(limit - least, maybe)  # so many of the equally likely counts stay below the limit
    total = (rising + 1) * least + rising * (rising + 1) // 2 + (maybe - rising) * limit
    non_relevant = judgments.count(other)
    lost = np.nan_to_num(ratio(total / (maybe + 1), np.minimum(limit, non_relevant[group])))
    return ratio(sum_by(group, 1 - lost, ranking.groups), relevant)


def inferred_average_precision(ranking: Ranking, rel: float | None) -> Floats:
    """infAP: precision at each relevant row, inferred from the judged share of the pool above it; over R.

    At position i, of the i-1 rows above, those of the pool count by the share of relevant ones among the judged.
    Undefined where R = 0.
    """
    judgments = ranking.judgments
    hit = judgments.flags(rel)[ranking.row]
    row = np.flatnonzero(hit)
    pooled, relevant, other = (
        above(ranking, flags)[0][row].astype(np.float64)
        for flags in (judgments.pooled()[ranking.row], hit, judgments.non_relevant(rel)[ranking.row])
    )
    position = ranking.stand_at(row).astype(np.float64)
    share = (relevant + INFAP_EPSILON) / (relevant + other + 2 * INFAP_EPSILON)
    value = 1 / position + np.where(position > 1, pooled / position * share, 0.0)
    return ratio(sum_by(ranking.lists.group_of(row), value, ranking.groups), judgments.relevant(rel))


def interpolated_precision(hits: Hits, recall: float, added: float) -> Floats:
    """The highest precision at any hit from the floor(recall·R + added)-th on, 0 if there is none.

    Undefined where R = 0.
    """
    needed = np.floor(recall * hits.relevant + added)
    value = np.zeros(hits.groups)
    first, group = hits.first_of_group()
    if len(first):
        precision = np.where(hits.through >= needed[hits.group], hits.through / hits.position, 0.0)
        value[group] = np.maximum.reduceat(precision, first)
    return np.where(hits.relevant > 0, value, np.nan)


def expected_reciprocal_rank(ranking: Ranking, k: int | None, max_grade: float) -> Floats:
    """ERR: the mean of 1 / position at which a reader stops who is satisfied at each row with probability
    (2^g - 1) / 2^max_grade. A label above ``max_grade`` counts as ``max_grade``. Never undefined.
    """
    position = ranking.stands_at()
    row = np.arange(len(position)) if k is None else np.flatnonzero(position <= k)
    labels = ranking.judgments.labels[ranking.row[row]]
    grades = np.clip(labels.astype(np.float64, copy=False), 0, max_grade)  # powers of float32 are float32
    stops = (np.exp2(grades) - 1) / 2.0**max_grade
    goes_on = np.ones(len(row))
    goes_on[1:] = 1 - stops[:-1]  # the first of a group is left out of its product
    reached = running_product(goes_on, ranking.lists.place_of(row).astype(np.int64))
    return sum_by(ranking.lists.group_of(row), reached * stops / position[row], ranking.groups)
