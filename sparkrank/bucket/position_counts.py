"""The rows at each position of the lists of a bucket: their number, and the sums of relevance, scores and weights."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sparkrank.histogram.scored_rows import FARTHEST
from sparkrank.metrics.plan import Plan
from sparkrank.metrics.position_sums import BEYOND, GROUPS, RELEVANT, ROWS, SCORES, WEIGHTS, sum_at
from sparkrank.numeric.array_types import Codes, Flags, Floats, Ints
from sparkrank.numeric.exact_sums import exact_sums, rounded, whole_limbs
from sparkrank.numeric.segments import Segments, codes_of
from sparkrank.ranking.hits import hits_of
from sparkrank.ranking.ranking import Ranking


def position_sums(
    ranking: Ranking, scores: Floats, weights: Floats | None, chosen: Flags | None, values: Segments, plan: Plan
) -> Iterator[tuple[str, Floats]]:
    """Yield the name of each sum of the table ``positions``, and the sum as six floats. Shape: (values, 6).

    ``values`` divides the groups by the value of a slice. ``scores`` contains the score of each row with one, and
    ``weights`` the weight of each judged row, if rows have weights. ``chosen`` flags the groups that are evaluated.
    """
    depth, judgments = plan.position_depth, ranking.judgments
    relevant = judgments.relevant(plan.level)
    groups = ranking.groups if chosen is None else int(np.count_nonzero(chosen))
    yield GROUPS, whole_limbs(values.of(chosen).sizes(groups))
    yield (
        RELEVANT,
        whole_limbs(values.of(chosen).sum(relevant if chosen is None else relevant[chosen]).astype(np.int64)),
    )

    def cells(position: Ints | Codes, group: Codes) -> tuple[Ints, Segments]:
        """Return the rows of evaluated groups down to the depth, and segments by slice value and position."""
        within = position <= depth if chosen is None else (position <= depth) & chosen[group]
        rows = np.flatnonzero(within)
        value = codes_of(values.of(group[rows]), len(rows))
        return rows, Segments(values.count * depth, (value * depth + position[rows] - 1).astype(np.int32))

    def at_each(quantity: str, sums: Floats) -> Iterator[tuple[str, Floats]]:
        by_position = sums.reshape(values.count, depth, -1)
        return ((sum_at(quantity, place + 1), by_position[:, place]) for place in range(depth))

    rows, of_rows = cells(ranking.stands_at(), ranking.lists.group)
    yield from at_each(ROWS, whole_limbs(of_rows.sizes(len(rows))))
    hits = hits_of(ranking, plan.level)
    hit, of_hits = cells(hits.position, hits.group)
    yield from at_each(RELEVANT, exact_sums(hits.probability[hit], of_hits))
    if not plan.by_rank:
        far = np.abs(scores) > FARTHEST
        codes = ranking.of_listed(judgments.codes)[far]
        evaluated = codes if chosen is None else codes[chosen[codes]]
        yield BEYOND, whole_limbs(values.of(evaluated).sizes(len(evaluated)))
        near = ranking.of_judged(np.where(far, 0.0, scores))
        yield from at_each(SCORES, exact_sums(near[ranking.row[rows]], of_rows))
    if weights is not None:
        yield from at_each(WEIGHTS, exact_sums(_spread(ranking, weights)[rows], of_rows))


def _spread(ranking: Ranking, weights: Floats) -> Floats:
    """Return the weight of each ranked row. If positions are dense, tied rows get the mean of their weights.

    Otherwise sums would depend on the order of tied rows, which may be that of the input.
    """
    of_row, blocks = weights[ranking.row], ranking.sorted_rows.blocks
    if ranking.positions != "dense" or not len(blocks.row):
        return of_row
    sums = rounded(exact_sums(of_row[blocks.row], Segments(len(blocks.size), blocks.block.astype(np.int32))))
    of_row[blocks.row] = (sums / blocks.size)[blocks.block]
    return of_row
