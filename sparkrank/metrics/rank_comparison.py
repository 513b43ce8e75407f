"""The metrics that compare the order of the score with a reference order, by pairs, by ranks and by positions."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sparkrank.errors import InputError
from sparkrank.metrics import fitness as closeness
from sparkrank.metrics.kinds import GroupMetric
from sparkrank.metrics.parameters import NEED_AN_ORDER, WEIGHT, Choice, Name, Number, weight
from sparkrank.metrics.precision import ratio
from sparkrank.numeric.array_types import Codes, Floats, Ints
from sparkrank.numeric.elementary import powers
from sparkrank.numeric.segments import place_in_group, run_starts, stable_order, sum_by
from sparkrank.ranking.judgments import LABEL
from sparkrank.ranking.pairs import PairedRows, paired_rows
from sparkrank.ranking.ranking import Ranking

if TYPE_CHECKING:
    from sparkrank.metrics.metric import Metric


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
    value = sum_by(of_depth, (1 - p) * powers(p, depth - 1) * agreement, ranking.groups)
    last = depth == longer[of_depth]
    value += sum_by(of_depth[last], powers(p, depth[last]) * agreement[last], ranking.groups)
    return np.where(shorter > 0, value, np.nan)


def _runs(place: Ints, position: NDArray[np.int32]) -> Ints:
    """Where runs of equal ``place`` begin; every group begins one."""
    return np.flatnonzero((np.diff(place, prepend=-1) != 0) | (position == 1))


def _first_positions(position: NDArray[np.int32], first: Ints) -> Ints:
    return np.repeat(position[first].astype(np.int64), np.diff(first, append=len(position)))


REFERENCE_RANK = "reference_rank"
REF = Name(
    "ref",
    LABEL,
    "the reference order: label = judged rows, the highest label first; reference_rank = that column, the lowest rank "
    "first; or the score of another model. Rows that have a score and a reference take part",
    choices=(LABEL, REFERENCE_RANK),
    named="<model>",
)
TIED_PAIRS = (("ties", "it has a rule of its own for tied scores"),)
KENDALL = "Kendall: Rank Correlation Methods, 1970"


def _paired(ranking: Ranking, metric: Metric) -> PairedRows:
    return paired_rows(ranking, metric.word("ref"))


KENDALL_TAU = GroupMetric(
    name="kendall_tau",
    title="Kendall's rank correlation with a reference order",
    formula="(concordant - discordant pairs) / √((pairs not tied in the score)·(pairs not tied in the reference)); "
    "variant=c: over n²(m-1)/(2m), m = the lesser number of distinct values",
    undefined="n < 2, or one of the orders ties all rows",
    reference=f"{KENDALL}; Stuart: Biometrika 1953 (c); as scipy.stats.kendalltau",
    aliases=("kendalltau", "tau"),
    cutoff="none",
    lowest=-1.0,
    common=(WEIGHT,),
    refused=TIED_PAIRS,
    parameters=(Choice("variant", "b", "what the excess of pairs is divided by", choices=("b", "c")), REF),
    values=lambda ranking, metric: kendall_tau(_paired(ranking, metric), metric.word("variant")),
)

KENDALL_DISTANCE = GroupMetric(
    name="kendall_distance",
    title="share of pairs in the opposite order of a reference order",
    formula="(discordant pairs + 1/2 · pairs that the score alone ties) / (n(n-1)/2); 0 = same order, 1 = reversed",
    undefined="n < 2",
    reference=f"{KENDALL}; Fagin et al.: PODS 2004 for tied scores",
    cutoff="none",
    common=(WEIGHT,),
    refused=TIED_PAIRS,
    higher_is_better=False,
    parameters=(REF,),
    values=lambda ranking, metric: kendall_distance(_paired(ranking, metric)),
)

SPEARMAN = GroupMetric(
    name="spearman",
    title="Spearman's rank correlation with a reference order",
    formula="correlation of the ranks of the two orders, tied rows sharing their mid-rank",
    undefined="n < 2, or one of the orders ties all rows",
    reference="Spearman: American Journal of Psychology 1904; as scipy.stats.spearmanr",
    aliases=("spearmanr",),
    lowest=-1.0,
    cutoff="none",
    common=(WEIGHT,),
    refused=TIED_PAIRS,
    parameters=(REF,),
    values=lambda ranking, metric: spearman(_paired(ranking, metric)),
)


def _pair_weights(ranking: Ranking, metric: Metric) -> Floats | None:
    if metric.word("weight") not in ("rows", "pairs"):
        return None
    rows = paired_rows(ranking, None)
    pairs = rows.concordance()
    return (rows.rows if metric.word("weight") == "rows" else pairs.all - pairs.reference_tied).astype(float)


PAIR_AUC = GroupMetric(
    name="pair_auc",
    title="AUC of graded labels inside each group",
    formula="of the pairs of rows with different labels, the share in the right order, a tied pair counting 1/2",
    undefined="no pair of different labels",
    reference="Hanley, McNeil: Radiology 1982, for more than two grades; Rajaram, Agarwal: NIPS 2005 workshop",
    cutoff="none",
    common=(),
    refused=TIED_PAIRS,
    parameters=(
        weight(
            "uniform",
            "uniform = 1; else its listed rows, its relevant rows, or its pairs of different labels",
            ("uniform", "rows", "relevant", "pairs"),
            (("positives", "relevant"),),
        ),
    ),
    values=lambda ranking, metric: pair_auc(paired_rows(ranking, None)),
    weights=_pair_weights,
)

RBO = GroupMetric(
    name="rbo",
    title="rank-biased overlap with a reference list, extrapolated (RBO_EXT)",
    formula="(1-p)/p · Σ_d p^d · A_d + p^l · A_l, d to the length l of the longer list; A_d = 2·rows in both first d / "
    "rows of both; beyond the shorter list its agreement goes on; tied rows all stand at their first position",
    undefined="one of the lists is empty",
    reference="Webber, Moffat, Zobel: TOIS 2010 (extrapolated, ties as there)",
    cutoff="none",
    common=(WEIGHT,),
    refused=TIED_PAIRS,
    parameters=(
        Number("p", 0.9, "persistence: the weight of depth d is (1-p)·p^(d-1)", above=0.0, below=1.0),
        replace(
            REF,
            doc="the reference list: label = judged rows, the highest label first; reference_rank = that column, the "
            "lowest rank first; or the score of another model. The other list are all rows with a score",
        ),
    ),
    values=lambda ranking, metric: rank_biased_overlap(ranking, metric.word("ref"), metric.number("p")),
)

# Rows of one tie block, some of which the reference ties as well: chances are counted up in as many passes, 2 seconds.
MOST_ALIKE = 2**14


def _fitness(ranking: Ranking, metric: Metric) -> Floats:
    reference = metric.word("ref")
    longest = closeness.most_alike(ranking, reference)
    if longest > MOST_ALIKE:
        raise InputError(
            f"{metric} takes the mean over all orders of {longest} rows of equal score, of which some are equal in the "
            f"reference too: up to {MOST_ALIKE} are allowed, and with ties={NEED_AN_ORDER} in the metric any number"
        )
    return closeness.fitness(ranking, reference, closeness.Fit(metric.number("alpha"), metric["discount"] == "log2"))


FITNESS = GroupMetric(
    name="fitness",
    title="closeness of positions to those of a reference order",
    formula="1/Z · Σ w / (alpha·(|p-q| + 1) + (1-alpha)·p), p = position by score, q = by reference, Z = its value for "
    "p = q; where the reference ties, q follows the score",
    undefined="n = 0",
    reference="sparkrank's own, see docs/definitions.md",
    cutoff="none",
    parameters=(
        Number("alpha", 0.5, "weight of the distance |p-q| against the position p", above=0.0, below=1.0, closed=True),
        Choice("discount", "none", "w: 1, or 1/log2(q+1)", choices=("none", "log2")),
        REF,
    ),
    check=lambda metric: (
        "weighs rows as discount=log2 does: weight is that of groups" if metric["weight"] == "log2" else None
    ),
    values=_fitness,
)

DECLARATIONS = (PAIR_AUC, KENDALL_TAU, KENDALL_DISTANCE, SPEARMAN, RBO, FITNESS)
