"""The metric fitness: the nearness of the rows of a list to their positions in a reference order.

Under ``ties=expected``, fitness is the mean over all orders of the tied rows. Take a tie block of n rows at the
positions c + 1 to c + n. If the reference does not tie a row with another row of the block, the row is equally likely
to be at each of these positions, and the sum of 1 / (a·p + b) over a run of positions p is a difference of digamma
functions. If the reference ties r rows of the block, these rows get their reference positions q in the order of the
score. The j-th of these rows is at position c + i with the probability that i is the j-th smallest of r numbers drawn
from 1 to n. These probabilities are computed position by position, in r·n steps.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparkrank.metrics.precision import ratio
from sparkrank.numeric.array_types import Codes, Floats, Ints
from sparkrank.numeric.cached import cached
from sparkrank.numeric.elementary import log1p, log2
from sparkrank.numeric.segments import place_in_group, run_starts, sum_by
from sparkrank.ranking.ranking import Ranking

DIRECT = 16  # so many terms of a sum are added one by one; for the rest, the series has all digits of a float64
# B_2k / 2k of the asymptotic series of digamma; the next term is below 1e-18 from DIRECT on.
SERIES = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760)


@dataclass(frozen=True)
class Fit:
    """The summand of fitness, a function of the positions p and q: w / (alpha·(|p-q| + 1) + (1-alpha)·p).

    The weight w is 1 / log2(q+1) if ``discounted``, and 1 otherwise.
    """

    alpha: float
    discounted: bool

    def weight(self, q: Floats) -> Floats:
        return 1 / log2(q + 1) if self.discounted else np.ones(len(q))

    def of(self, p: Floats, q: Floats) -> Floats:
        below: Floats = self.alpha * (np.abs(p - q) + 1) + (1 - self.alpha) * p
        return (1 / log2(q + 1) if self.discounted else 1.0) / below

    def over(self, above: Floats, count: Floats, q: Floats) -> Floats:
        """Return for each ``q`` the sum of the fit over the positions p from ``above`` + 1 to ``above`` + ``count``."""
        first, last = above + 1, above + count
        up_to = np.clip(q - 1, above, last)  # the last p before q
        least = up_to + 1
        lower = digamma_difference(least + self.alpha * (1 - q), last - up_to)  # 1 / (p + alpha·(1-q)) from q on
        slope, constant = 1 - 2 * self.alpha, self.alpha * (q + 1)  # above q: slope·p + constant
        if slope == 0:
            upper = (up_to - above) / constant
        elif slope > 0:
            upper = digamma_difference(first + constant / slope, up_to - above) / slope
        else:
            upper = digamma_difference(constant / -slope - up_to, up_to - above) / -slope
        return self.weight(q) * (upper + lower)


def digamma_difference(x: Floats, count: Floats) -> Floats:
    """Return digamma(x + count) - digamma(x) for x > 0: the sum of 1 / (x + i) for i from 0 to count - 1."""
    total = np.zeros(len(x))
    for step in range(int(min(count.max(initial=0), DIRECT))):
        more = count > step
        total[more] += 1 / (x[more] + step)
    far = np.flatnonzero(count > DIRECT)
    if len(far):
        low, steps = x[far] + DIRECT, count[far] - DIRECT
        high = low + steps
        below, beyond = 1 / (low * low), 1 / (high * high)
        difference = steps * (low + high) * below * beyond  # below - beyond
        # below^k - beyond^k is (below - beyond) times the sum of below^(k-1-i)·beyond^i
        factor, power, series = np.ones(len(far)), beyond, np.zeros(len(far))
        for coefficient in SERIES:
            series += coefficient * factor * difference
            factor, power = factor * below + power, power * beyond
        total[far] += log1p(steps / low) + steps / (2 * low * high) + series
    return total


@dataclass(frozen=True)
class RowPositions:
    """The positions of the rows in both orders (score and reference), sorted by group and then by reference.

    ``row`` is the judgment row, ``p`` the position by score, and ``q`` the position by reference. The tie block of a
    row begins after position ``above`` and has ``tied`` rows (1 if the score is unique). ``alike`` is the number of
    rows of the block that the reference ties with the row, including the row itself. ``turn`` is the 1-based index of
    the row among these by q.
    """

    row: Ints
    group: Codes
    p: Floats
    q: Floats
    above: Floats
    tied: Ints
    alike: Ints
    turn: Ints


def most_alike(ranking: Ranking, reference: str) -> int:
    """Return the size n of the longest tie block in which the reference ties r > 1 rows.

    The computation for such a block takes r·n steps.
    """
    rows = positions(ranking, reference)
    return int(rows.tied[rows.alike > 1].max(initial=0)) if ranking.ties == "expected" else 0


def fitness(ranking: Ranking, reference: str, fit: Fit) -> Floats:
    """Return the fitness of each group: the fit of all rows, divided by the fit of all rows at reference positions.

    Only rows in both orders count; without such rows, the value is NaN. Rows tied in the reference get their reference
    positions in the order of the score. Rows tied in the score get positions by ``ties``; ``best`` and ``worst`` are by
    the reference.
    """
    rows = positions(ranking, reference)
    got = sum_by(rows.group, fits(ranking, rows, fit), ranking.groups)
    best = sum_by(rows.group, fit.of(rows.q, rows.q), ranking.groups)
    return ratio(got, best)


def fits(ranking: Ranking, rows: RowPositions, fit: Fit) -> Floats:
    value = fit.of(rows.p, rows.q)
    if ranking.ties == "expected":
        once = np.flatnonzero((rows.tied > 1) & (rows.alike == 1))
        count = rows.tied[once].astype(np.float64)
        value[once] = fit.over(rows.above[once], count, rows.q[once]) / count
        several = np.flatnonzero(rows.alike > 1)
        if len(several):
            value[several] = _in_turn(rows, several, fit)
    return value


def _in_turn(rows: RowPositions, several: Ints, fit: Fit) -> Floats:
    """Return the expected fit of the rows at indices ``several``, which both orders tie with the same other rows."""
    order = several[np.argsort(-rows.tied[several], kind="stable")]  # rows alike stay together, in turn
    tied, turn = rows.tied[order], rows.turn[order]
    left = (rows.alike[order] - turn + 1).astype(np.float64)
    above, q, unweighted = rows.above[order], rows.q[order], Fit(fit.alpha, discounted=False)
    waits, value = (turn == 1).astype(np.float64), np.zeros(len(order))
    begins = turn == 1
    # ``waits`` is the probability that, of the rows alike, exactly those before this row have been placed so far. The
    # row then takes the next position with the probability that a row alike is drawn from all remaining rows.
    for step in range(1, int(tied[0]) + 1):
        count = int(np.searchsorted(-tied, -step, side="right"))  # rows in blocks of at least ``step`` rows
        takes = waits[:count] * (left[:count] / (tied[:count] - step + 1))
        value[:count] += takes * unweighted.of(above[:count] + step, q[:count])
        waits[:count] -= takes
        waits[1:count] += np.where(begins[1:count], 0.0, takes[:-1])
    back = np.empty(len(rows.q))
    back[order] = fit.weight(q) * value
    result: Floats = back[several]
    return result


@cached
def positions(ranking: Ranking, reference: str) -> RowPositions:
    judgments, blocks = ranking.judgments, ranking.blocks
    places = judgments.places(reference)
    row = ranking.row.copy()
    tied = row[blocks.row]
    if ranking.ties == "item" and ranking.item_order is not None:
        tie_order = -ranking.item_order(tied)
    else:
        tie_order = -places[tied] if ranking.ties == "worst" else places[tied]
    row[blocks.row] = tied[np.lexsort((places[tied], judgments.labels[tied], tie_order, blocks.block))]
    run = np.ones(len(row), np.int64)
    run[blocks.row[blocks.place > 1]] = 0
    run = np.cumsum(run)
    present = places[row] >= 0
    group, place, run, row = ranking.lists.group[present], places[row][present], run[present], row[present]
    position, _ = place_in_group(group, ranking.groups)
    p = position.astype(np.float64)
    by_reference = np.lexsort((place, group))
    q = p  # for rows sorted by group, and inside a group by position
    first = run_starts(run)
    size = np.diff(first, append=len(run))
    above = np.repeat(p[first] - 1, size)
    if ranking.ties == "block":
        p = np.repeat(above[first] + size, size)
    group, run, place = group[by_reference], run[by_reference], place[by_reference]
    p, above = p[by_reference], above[by_reference]
    tied_rows = np.repeat(size, size)[by_reference]
    starts = run_starts(run, place, group)
    alike = np.diff(starts, append=len(run))
    turn = np.arange(len(run)) - np.repeat(starts, alike) + 1
    return RowPositions(row[by_reference], group, p, q, above, tied_rows, np.repeat(alike, alike), turn)
