"""Declarations of further metrics for search: ARHR, ERR, pFound, bpref, interpolated precision and infAP."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sparkrank.metrics.arithmetic import LIST, Arithmetic, TermColumn, given, list_table, spread, step, total, within
from sparkrank.metrics.arithmetic import ratio as quotient
from sparkrank.metrics.gain import MOST_GRADE
from sparkrank.metrics.group_metric import GroupMetric
from sparkrank.metrics.metric import Metric, NeedsOrder
from sparkrank.metrics.parameters import OF_LISTS_WITH_BEST, Choice, Number
from sparkrank.metrics.precision import REL, TREC, hit_column, of_relevant, ratio
from sparkrank.numeric.array_types import Flags, Floats, Ints
from sparkrank.numeric.elementary import exp2
from sparkrank.numeric.segments import run_starts, running_product, sum_by
from sparkrank.ranking.hits import Hits, hits_of
from sparkrank.ranking.ranking import Ranking

INFAP_EPSILON = 1e-5  # as in trec_eval: it prevents a share of 0 / 0


def above(ranking: Ranking, flags: Flags) -> tuple[Ints, Ints]:
    """Return the least number of flagged rows above each ranked row, and that of others possibly above it.

    The second number is 0 except for tied rows under ``ties=expected``: for these, it is the number of flagged rows in
    the tie block. Under ``ties=block``, all other rows of the tie block count as above a row.
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
    """Return bpref: the mean over relevant rows of 1 - min(judged non-relevant rows above, R) / min(R, N).

    R and N are the numbers of relevant and of judged non-relevant rows of the group. A relevant row outside the list
    counts 0. If a tie block has n non-relevant rows, any number of them from 0 to n is equally likely to be above a
    relevant row of the block. The result is NaN if R = 0.
    """
    row, lost = lost_of_hits(ranking, rel)
    group = ranking.lists.group_of(row)
    return ratio(sum_by(group, 1 - lost, ranking.groups), ranking.judgments.relevant(rel))


def lost_of_hits(ranking: Ranking, rel: float | None) -> tuple[Ints, Floats]:
    """Return the relevant rows of a ranking, and the amount that bpref deducts at each for other rows above it."""
    judgments = ranking.judgments
    relevant = judgments.relevant(rel)
    other = judgments.non_relevant(rel)
    row = np.flatnonzero(judgments.flags(rel)[ranking.row])
    group = ranking.lists.group_of(row)
    limit = relevant[group]
    least, maybe = (counts[row] for counts in above(ranking, other[ranking.row]))
    least = np.minimum(least, limit)
    rising = np.minimum(limit - least, maybe)  # the number of equally likely counts below the limit
    counted = (rising + 1) * least + rising * (rising + 1) // 2 + (maybe - rising) * limit
    non_relevant = judgments.count(other)
    return row, np.nan_to_num(ratio(counted / (maybe + 1), np.minimum(limit, non_relevant[group])))


def inferred_average_precision(ranking: Ranking, rel: float | None) -> Floats:
    """Return infAP: the sum of the inferred precisions at the relevant rows of the list, divided by R; NaN if R = 0.

    The inferred precision at position i is (1 + n · s) / i. n is the number of pool rows above the position, and s is
    the share of relevant rows among the judged rows above the position.
    """
    row, terms = inferred_precisions(ranking, rel)
    value = terms["precision"]
    return ratio(sum_by(ranking.lists.group_of(row), value, ranking.groups), ranking.judgments.relevant(rel))


def inferred_precisions(ranking: Ranking, rel: float | None) -> tuple[Ints, dict[str, Floats]]:
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
    return row, {"pool above": pooled, "relevant above": relevant, "others above": other, "precision": value}


def interpolated_precision(hits: Hits, recall: float, added: float) -> Floats:
    """Return the highest precision at any hit, starting with hit number floor(recall·R + added).

    The result is 0 for a list with fewer hits, and NaN if R = 0.
    """
    needed = np.floor(recall * hits.relevant + added)
    value = np.zeros(hits.groups)
    first, group = hits.first_of_group()
    if len(first):
        precision = np.where(hits.through >= needed[hits.group], hits.through / hits.position, 0.0)
        value[group] = np.maximum.reduceat(precision, first)
    return np.where(hits.relevant > 0, value, np.nan)


def mean_interpolated_precision(hits: Hits, added: float) -> Floats:
    """Return the mean of the interpolated precisions at the levels of recall 0, 0.1, ..., 1; NaN if R = 0."""
    value = interpolated_precision(hits, LEVELS[0], added)
    for level in LEVELS[1:]:
        value = value + interpolated_precision(hits, level, added)
    return value / len(LEVELS)


@dataclass(frozen=True)
class Cascade:
    """The model of a reader of a list, who may stop at each row, or else goes on with the probability ``decay``.

    A row of grade g stops the reader with the probability (2^g - 1) / 2^max_grade. A grade above ``max_grade`` counts
    as ``max_grade``. Without ``max_grade``, labels are these probabilities, and labels above 1 count as 1.
    """

    max_grade: float | None
    decay: float = 1.0

    def stops(self, labels: NDArray[np.generic]) -> Floats:
        highest = 1.0 if self.max_grade is None else self.max_grade
        grades = np.clip(labels.astype(np.float64, copy=False), 0, highest)  # because powers of float32 are float32
        if self.max_grade is None:
            return grades
        chances: Floats = (exp2(grades) - 1) / exp2(np.array([self.max_grade]))
        return chances

    def walk(self, ranking: Ranking, k: int | None) -> tuple[Ints, Floats, Floats]:
        """Return the ranked rows up to ``k``, and the probabilities of reaching each row and of stopping at it."""
        position = ranking.stands_at()
        row = np.arange(len(position)) if k is None else np.flatnonzero(position <= k)
        stops = self.stops(ranking.judgments.labels[ranking.row[row]])
        goes_on = np.ones(len(row))
        goes_on[1:] = (1 - stops[:-1]) * self.decay  # the product within a group starts after the group's first row
        return row, running_product(goes_on, ranking.lists.place_of(row).astype(np.int64)), stops


def expected_reciprocal_rank(ranking: Ranking, k: int | None, max_grade: float) -> Floats:
    """Return ERR, the mean of 1 / (position of the row that stops the reader), for each group; never NaN."""
    row, reached, stops = Cascade(max_grade).walk(ranking, k)
    position = ranking.stands_at()
    return sum_by(ranking.lists.group_of(row), reached * stops / position[row], ranking.groups)


def chance_of_finding(ranking: Ranking, k: int | None, decay: float) -> Floats:
    """Return pFound, the probability that the reader stops within ``k``, for each group; never NaN."""
    row, reached, stops = Cascade(None, decay).walk(ranking, k)
    return sum_by(ranking.lists.group_of(row), reached * stops, ranking.groups)


def _cascade_terms(ranking: Ranking, metric: Metric) -> Arithmetic:
    is_err = metric.name == "err"
    cascade = Cascade(metric.number("max_grade")) if is_err else Cascade(None, metric.number("decay"))
    row, reached, stops = cascade.walk(ranking, metric.k)
    amounts = reached * stops / ranking.stands_at()[row] if is_err else reached * stops
    columns = {
        "stops": spread(ranking, row, stops),
        "reached": spread(ranking, row, reached),
        "contribution": spread(ranking, row, amounts),
    }
    return Arithmetic.of([list_table(ranking, columns)], [total(str(metric), "contribution")])


def _reciprocal_terms(ranking: Ranking, metric: Metric) -> Arithmetic:
    hits = hits_of(ranking, metric.rel)
    columns = {
        "hit": hit_column(ranking, hits, hits.probability, metric.k),
        "contribution": hit_column(ranking, hits, hits.probability / hits.position, metric.k),
    }
    steps = [total("contributions", "contribution"), given("R", hits.relevant[0])]
    return Arithmetic.of([list_table(ranking, columns)], [*steps, step(str(metric), "where", "contributions", "R")])


def _preference_terms(ranking: Ranking, metric: Metric) -> Arithmetic:
    row, lost = lost_of_hits(ranking, metric.rel)
    judgments = ranking.judgments
    columns = {"lost": spread(ranking, row, lost), "contribution": spread(ranking, row, 1 - lost)}
    steps = [
        given("N", judgments.count(judgments.non_relevant(metric.rel))[0]),
        given("R", judgments.relevant(metric.rel)[0]),
        total("contributions", "contribution"),
        quotient(str(metric), "contributions", "R"),
    ]
    return Arithmetic.of([list_table(ranking, columns)], steps)


def _inferred_terms(ranking: Ranking, metric: Metric) -> Arithmetic:
    row, terms = inferred_precisions(ranking, metric.rel)
    columns = {name: spread(ranking, row, values) for name, values in terms.items()}
    steps = [total("precisions", "precision"), given("R", ranking.judgments.relevant(metric.rel)[0])]
    last = quotient(str(metric), "precisions", "R")
    return Arithmetic.of([list_table(ranking, columns)], [*steps, last])


def _interpolated_terms(ranking: Ranking, metric: Metric) -> Arithmetic:
    hits = hits_of(ranking, metric.rel)
    needed = float(np.floor(metric.number("recall") * hits.relevant[0] + ADDED[metric.word("round")]))
    counted = np.where(hits.through >= needed, hits.through / hits.position, math.nan)
    columns = {
        "hits so far": within(spread(ranking, hits.row, hits.through), ranking.stands_at(), None),
        "precision": spread(ranking, hits.row, counted),
    }
    steps = [
        given("R", hits.relevant[0]),
        given("h", needed),
        step("highest precision", "highest", TermColumn(LIST, "precision")),
    ]
    return Arithmetic.of([list_table(ranking, columns)], [*steps, step(str(metric), "where", "highest precision", "R")])


def _mean_interpolated_terms(ranking: Ranking, metric: Metric) -> Arithmetic:
    hits, added = hits_of(ranking, metric.rel), ADDED[metric.word("round")]
    columns = {
        "hits so far": spread(ranking, hits.row, hits.through),
        "precision": spread(ranking, hits.row, hits.through / hits.position),
    }
    levels = [
        given(f"iprec at {level:g}", float(np.nan_to_num(interpolated_precision(hits, level, added)[0])))
        for level in LEVELS
    ]
    sums = [step(f"sum to {LEVELS[1]:g}", "plus", levels[0].name, levels[1].name)]
    for level, own in zip(LEVELS[2:], levels[2:], strict=True):
        sums.append(step(f"sum to {level:g}", "plus", sums[-1].name, own.name))
    mean = quotient("mean", sums[-1].name, float(len(LEVELS)))
    last = step(str(metric), "where", "mean", "R")
    return Arithmetic.of([list_table(ranking, columns)], [given("R", hits.relevant[0]), *levels, *sums, mean, last])


def _reciprocal_ranks(ranking: Ranking, metric: Metric) -> Floats:
    hits = hits_of(ranking, metric.rel)
    return np.where(hits.relevant > 0, hits.reciprocals(metric.k), np.nan)


ROUND = Choice(
    "round",
    "up",
    "how a level is rounded to a number of hits: up (trec_eval 9, pytrec_eval, ir_measures) or nearest (trec_eval 10)",
    choices=("up", "nearest"),
)
ADDED = {"up": 0.9, "nearest": 0.5}
LEVELS = tuple(tenth / 10 for tenth in range(11))  # of recall

DECLARATIONS = (
    of_relevant(
        name="arhr",
        title="reciprocal hit ranks (ARHR): rr counts the first hit, arhr every hit; they are equal where R = 1",
        formula="Σ over hits within k of 1/i",
        reference="Deshpande, Karypis: TOIS 2004, for one held-out item per user; the sum over several is common",
        highest=math.inf,
        values=_reciprocal_ranks,
        interval="t",
        arithmetic=_reciprocal_terms,
    ),
    GroupMetric(
        name="err",
        title="expected reciprocal rank",
        formula="Σ over i ≤ k of 1/i · S_i · Π over j < i of (1 - S_j), S = (2^g - 1) / 2^max_grade, g at most "
        "max_grade",
        undefined="never",
        reference="Chapelle, Metzler, Zhang, Grinspan: CIKM 2009",
        parameters=(Number("max_grade", 4.0, "the highest grade that a label can have", above=0.0, below=MOST_GRADE),),
        common=OF_LISTS_WITH_BEST,
        needs_order=NeedsOrder("a mean over orders of a product of all rows above takes n² steps for n tied rows"),
        values=lambda ranking, metric: expected_reciprocal_rank(ranking, metric.k, metric.number("max_grade")),
        arithmetic=_cascade_terms,
        interval="logit",
    ),
    of_relevant(
        name="bpref",
        title="binary preference, computed from judged rows only",
        formula="1/R · Σ over hits of (1 - min(n, R) / min(R, N)), n = judged non-relevant rows above the hit; "
        "a null label, or one below 0, is not judged",
        reference=f"Buckley, Voorhees: SIGIR 2004; {TREC}: bpref",
        cutoff="none",
        values=lambda ranking, metric: binary_preference(ranking, metric.rel),
        arithmetic=_preference_terms,
    ),
    of_relevant(
        name="iprec",
        title="interpolated precision at a level of recall",
        formula="max of hits so far / i over the hits from the h-th on, 0 if there is none; h = ⌊recall·R + 0.9⌋, "
        "round=nearest: ⌊recall·R + 0.5⌋",
        reference=f"{TREC}: iprec_at_recall",
        aliases=("iprec_at_recall",),
        cutoff="none",
        at="recall",
        parameters=(Number("recall", 0.0, "level of recall", above=0.0, below=1.0, closed=True), ROUND, REL),
        needs_order=NeedsOrder("a mean over orders of a maximum"),
        values=lambda ranking, metric: interpolated_precision(
            hits_of(ranking, metric.rel), metric.number("recall"), ADDED[metric.word("round")]
        ),
        arithmetic=_interpolated_terms,
    ),
    of_relevant(
        name="iprec11",
        title="mean of the interpolated precisions at eleven levels of recall",
        formula="1/11 · Σ iprec(recall=l) over l = 0, 0.1, ..., 1",
        reference=f"{TREC}: 11pt_avg",
        aliases=("11pt_avg",),
        cutoff="none",
        parameters=(ROUND, REL),
        needs_order=NeedsOrder("a mean over orders of a maximum"),
        values=lambda ranking, metric: mean_interpolated_precision(
            hits_of(ranking, metric.rel), ADDED[metric.word("round")]
        ),
        arithmetic=_mean_interpolated_terms,
    ),
    GroupMetric(
        name="pfound",
        title="the chance that a reader who loses patience finds what is relevant (pFound)",
        formula="Σ over i ≤ k of S_i · Π over j < i of (1 - S_j) · decay, S = the label, a chance from 0 to 1; one "
        "below 0 counts as 0, one above 1 as 1; of rows at one position, the least label comes first",
        undefined="never",
        reference="CatBoost: PFound; Gulin, Karpovich, Raskovalov, Segalovich: ROMIP 2009",
        parameters=(
            Number(
                "decay",
                0.85,
                "the chance that a reader who has not found it goes on to the next row",
                above=0.0,
                below=1.0,
                closed=True,
            ),
        ),
        needs_order=NeedsOrder("a mean over orders of a product of all rows above takes n² steps for n tied rows"),
        values=lambda ranking, metric: chance_of_finding(ranking, metric.k, metric.number("decay")),
        arithmetic=_cascade_terms,
        interval="logit",
    ),
    of_relevant(
        name="infap",
        title="inferred average precision, for partly judged pools",
        formula="1/R · Σ over hits of 1/i + p/i · (r + ε)/(r + n + 2ε), 1 where i = 1, of the rows above the hit: p in "
        "the pool, r relevant, n judged not relevant; a label below 0 is in the pool and not judged; ε = 0.00001",
        reference=f"Yilmaz, Aslam: CIKM 2006; {TREC}: infAP",
        cutoff="none",
        needs_order=NeedsOrder("a mean over orders of a quotient of counts above a row"),
        values=lambda ranking, metric: inferred_average_precision(ranking, metric.rel),
        arithmetic=_inferred_terms,
    ),
)
