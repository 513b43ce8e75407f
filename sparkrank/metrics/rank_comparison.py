"""Declarations of metrics of the order by score against a reference order, by pairs, ranks or positions."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from sparkrank.base.errors import InputError
from sparkrank.metrics import fitness as closeness
from sparkrank.metrics.arithmetic import Arithmetic, Step, TermTable, given, list_table, spread_judged, step, total
from sparkrank.metrics.arithmetic import ratio as quotient
from sparkrank.metrics.group_metric import GroupMetric
from sparkrank.metrics.metric import Metric
from sparkrank.metrics.parameters import NEED_AN_ORDER, UNJUDGED, WEIGHT, Choice, Name, Number, weight
from sparkrank.metrics.precision import ratio
from sparkrank.numeric.array_types import Codes, Flags, Floats, Ints
from sparkrank.numeric.elementary import powers
from sparkrank.numeric.segments import place_in_group, run_starts, stable_order, sum_by
from sparkrank.ranking.judgments import LABEL
from sparkrank.ranking.pairs import PairedRows, paired_rows
from sparkrank.ranking.ranking import Ranking

HALF = 32  # bits of half a product of ranks; the halves are summed separately, so that 2^31 rows cannot overflow


def kendall_tau(rows: PairedRows, variant: str) -> Floats:
    """Return Kendall's tau of each group: (concordant pairs - discordant pairs) / a maximum.

    The maximum depends on ``variant``. For b, it is sqrt((pairs not tied in the score) · (pairs not tied in the
    reference)); for c (Stuart), it is n² (m-1) / 2m, where m is the number of distinct scores or of distinct reference
    positions, whichever is smaller. Tau is NaN if the maximum is 0.
    """
    pairs = rows.concordance()
    excess = pairs.concordant - pairs.discordant
    ordered = (pairs.all - pairs.score_tied).astype(np.float64)
    if variant == "b":
        return np.clip(ratio(excess, np.sqrt(ordered * (pairs.all - pairs.reference_tied))), -1.0, 1.0)
    least = pairs.fewer_values.astype(np.float64)
    most = rows.rows.astype(np.float64) ** 2 * (least - 1)  # 0 if an order has only one value, or if there is no row
    return np.clip(ratio(2 * least * excess, most), -1.0, 1.0)


def kendall_distance(rows: PairedRows) -> Floats:
    """Return the share of pairs in opposite order, for each group; NaN for fewer than two rows.

    A pair that is tied only in the score counts 1/2.
    """
    pairs = rows.concordance()
    return ratio(pairs.discordant + pairs.undecided / 2, pairs.all)


def pair_auc(rows: PairedRows) -> Floats:
    """Return the share of pairs in the same order by score and by reference, for each group.

    Pairs tied in the reference are left out. A pair tied only in the score counts 1/2. The share is NaN if all pairs of
    the group are tied in the reference.
    """
    pairs = rows.concordance()
    return ratio(pairs.concordant + pairs.undecided / 2, pairs.all - pairs.reference_tied)


def spearman(rows: PairedRows) -> Floats:
    """Return the correlation of the mid-ranks in the two orders; NaN for n < 2 rows, or if all rows tie in one."""
    score, reference = rows.score_ranks(), rows.reference_ranks()
    squares = _sum(rows, score, score) * _sum(rows, reference, reference)
    return np.clip(ratio(_sum(rows, score, reference), np.sqrt(squares)), -1.0, 1.0)


def _sum(rows: PairedRows, left: Ints, right: Ints) -> Floats:
    """Return the sum of the products ``left * right`` over each group, exact except for one rounding at the end."""
    products = left * right
    total = np.zeros(rows.groups)
    first = run_starts(rows.group)
    if len(first):
        high = np.add.reduceat(products >> HALF, first).astype(np.float64)
        low = np.add.reduceat(products & ((1 << HALF) - 1), first)
        total[rows.group[first]] = high * 2.0**HALF + low
    return total


@dataclass(frozen=True)
class Depths:
    """The overlap of two lists in each group, at every depth from 1 to the length of the longer list.

    ``group``, ``depth``, ``shared``, ``agreement`` and ``last`` have one element for each depth of each group.
    ``shared`` is the number of common rows of both lists down to the depth, and ``agreement`` is their share of the
    lists (:func:`overlap_by_depth`). ``last`` marks the last depth of a group. ``shorter`` is the length of the shorter
    list of each group. ``matched`` is the position of each ranked row in the reference, or 0 if the reference lacks the
    row.
    """

    group: Codes
    depth: Ints
    shared: Floats
    agreement: Floats
    last: Flags
    shorter: Ints
    matched: Ints


def rank_biased_overlap(ranking: Ranking, reference: str, p: float) -> Floats:
    """Return RBO_EXT: the sum of agreements with weights (1-p) p^(d-1) over depths d, extrapolated beyond the last."""
    depths = overlap_by_depth(ranking, reference)
    value = sum_by(depths.group, (1 - p) * powers(p, depths.depth - 1) * depths.agreement, ranking.groups)
    last = depths.last
    value += sum_by(depths.group[last], powers(p, depths.depth[last]) * depths.agreement[last], ranking.groups)
    return np.where(depths.shorter > 0, value, np.nan)


def overlap_by_depth(ranking: Ranking, reference: str) -> Depths:
    """Return the agreement of two lists at each depth: the rows with a score, and the rows in the order ``reference``.

    As in Webber, Moffat and Zobel, all tied rows have the first of their positions. The agreement at a depth is 2 ·
    (shared rows) / (rows of one list + rows of the other), with rows down to the depth. Beyond the end of the shorter
    list, the agreement is that at the end.
    """
    ranking = ranking.by_score
    judgments = ranking.judgments
    place = judgments.places(reference)
    counted = judgments.counted()
    listed = np.flatnonzero(place >= 0) if counted is None else counted[place[counted] >= 0]
    by_reference = stable_order(judgments.codes, listed[np.argsort(place[listed])])
    group = judgments.codes[by_reference]
    other = np.zeros(len(place), np.int64)  # the position of each row in the reference, or 0 if it lacks the row
    position, length = place_in_group(group, ranking.groups)
    first = np.flatnonzero((np.diff(place[by_reference], prepend=-1) != 0) | (position == 1))  # of a tie or a group
    other[by_reference] = np.repeat(position[first].astype(np.int64), np.diff(first, append=len(position)))
    if judgments.item_row is not None:
        other = other[judgments.item_row]
    own = ranking.lists.place.astype(np.int64)
    own[ranking.blocks.row] = ranking.blocks.before[ranking.blocks.block] + 1
    matched = other[ranking.row]
    both = matched > 0

    longer = np.maximum(ranking.length, length)
    shorter = np.minimum(ranking.length, length)
    first = np.cumsum(longer) - longer  # depth d of group g is at index first[g] + d - 1
    end = int(longer.sum())
    of_depth: Codes = np.repeat(np.arange(ranking.groups, dtype=np.int32), longer)
    depth = np.arange(end) - first[of_depth] + 1

    def through(groups: Codes, positions: Ints) -> Ints:
        """Return the number of rows of a list at or above each depth of each group."""
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
    return Depths(of_depth, depth, shared, agreement, depth == longer[of_depth], shorter, matched)


REFERENCE_RANK = "reference_rank"
REF = Name(
    "ref",
    LABEL,
    "the reference order: label = judged rows, the highest label first; reference_rank = that column, the lowest rank "
    "first; or the score of another model. Only rows with both a score and a reference take part",
    choices=(LABEL, REFERENCE_RANK),
    named="<model>",
)
TIED_PAIRS = (("ties", "it has a rule of its own for tied scores"),)
KENDALL = "Kendall: Rank Correlation Methods, 1970"


def _paired(ranking: Ranking, metric: Metric) -> PairedRows:
    return paired_rows(ranking, metric.word("ref"))


MOST_PAIRED = 20_000  # in larger groups, explanations do not count the pairs of each row


def _pair_counts(ranking: Ranking, rows: PairedRows) -> tuple[dict[str, Floats], list[Step]]:
    """Return the numbers of pairs of each row of one group, by kind of pair, and the steps that add up each kind."""
    pairs, count = rows.concordance(), len(rows.place)
    names = ("concordant", "discordant", "tied by score")
    numbers = (int(pairs.concordant[0]), int(pairs.discordant[0]), int(pairs.undecided[0]))
    if count > MOST_PAIRED:
        return {}, [given(name, number) for name, number in zip(names, numbers, strict=True)]
    run, place = np.cumsum(rows.opens), rows.place
    counts = np.zeros((3, count))
    for first in range(0, count, 1024):
        part = slice(first, first + 1024)
        score, other = np.sign(run - run[part, None]), np.sign(place - place[part, None])
        both = score * other
        counts[:, part] = (both > 0).sum(1), (both < 0).sum(1), ((score == 0) & (other != 0)).sum(1)
    columns = {name: spread_judged(ranking, rows.row, column) for name, column in zip(names, counts, strict=True)}
    steps: list[Step] = []
    for name in names:
        steps += [total(f"{name}, at both rows", name), step(name, "times", 0.5, f"{name}, at both rows")]
    return columns, steps


def _tau_terms(ranking: Ranking, metric: Metric) -> Arithmetic:
    rows = _paired(ranking, metric)
    pairs = rows.concordance()
    columns, steps = _pair_counts(ranking, rows)
    steps.append(step("excess", "minus", "concordant", "discordant"))
    if metric.word("variant") == "b":
        steps += [
            given("pairs not tied in the score", int(pairs.all[0] - pairs.score_tied[0])),
            given("pairs not tied in the reference", int(pairs.all[0] - pairs.reference_tied[0])),
            step("product", "times", "pairs not tied in the score", "pairs not tied in the reference"),
            step("most", "root", "product"),
            quotient(str(metric), "excess", "most"),
        ]
    else:
        least = int(pairs.fewer_values[0])
        steps += [
            given("n", int(rows.rows[0])),
            given("m", least),
            step("2m", "times", 2.0, "m"),
            step("2m · excess", "times", "2m", "excess"),
            step("n²", "times", "n", "n"),
            step("n²(m-1)", "times", "n²", float(least - 1)),
            quotient(str(metric), "2m · excess", "n²(m-1)"),
        ]
    return Arithmetic.of([list_table(ranking, columns)], steps)


def _share_terms(ranking: Ranking, metric: Metric, column: str, name: str, whole: str) -> Arithmetic:
    """Return the calculation of a share: pairs in ``column`` plus half of the tied ones (``name``), over ``whole``."""
    reference = metric.word("ref") if "ref" in metric.declaration.defaults else None
    rows = paired_rows(ranking, reference)
    pairs, (columns, steps) = rows.concordance(), _pair_counts(ranking, rows)
    more = [
        step("half of the tied", "times", 0.5, "tied by score"),
        step(name, "plus", column, "half of the tied"),
        given(whole, int(pairs.all[0] - (0 if reference else pairs.reference_tied[0]))),
        quotient(str(metric), name, whole),
    ]
    return Arithmetic.of([list_table(ranking, columns)], [*steps, *more])


def _rank_terms(ranking: Ranking, metric: Metric) -> Arithmetic:
    rows = _paired(ranking, metric)
    score, reference = rows.score_ranks() / 2, rows.reference_ranks() / 2
    columns = {
        "score rank": score,
        "reference rank": reference,
        "product": score * reference,
        "score rank²": score * score,
        "reference rank²": reference * reference,
    }
    steps = [
        total("products", "product"),
        total("score squares", "score rank²"),
        total("reference squares", "reference rank²"),
        step("product of both", "times", "score squares", "reference squares"),
        step("root", "root", "product of both"),
        quotient(str(metric), "products", "root"),
    ]
    spread_columns = {name: spread_judged(ranking, rows.row, column) for name, column in columns.items()}
    notes = ("ranks are mid-ranks, less their mean",)
    return Arithmetic.of([list_table(ranking, spread_columns)], steps, notes)


def _overlap_terms(ranking: Ranking, metric: Metric) -> Arithmetic:
    depths, p = overlap_by_depth(ranking, metric.word("ref")), metric.number("p")
    by_score = ranking.by_score
    matched = np.where(depths.matched > 0, depths.matched, math.nan).astype(np.float64)
    weight = (1 - p) * powers(p, depths.depth - 1)
    weight[depths.last] += powers(p, depths.depth[depths.last])  # the agreement stays the same beyond the end
    table = TermTable(
        "depths",
        {
            "depth": depths.depth.astype(np.float64),
            "shared": depths.shared.astype(np.float64),
            "agreement": depths.agreement,
            "weight": weight,
            "contribution": weight * depths.agreement,
        },
    )
    lists = list_table(ranking, {"reference position": spread_judged(ranking, by_score.row, matched)})
    steps = [
        total("contributions", "contribution", table.name),
        given("length of the shorter list", int(depths.shorter[0])),
        step(str(metric), "where", "contributions", "length of the shorter list"),
    ]
    return Arithmetic.of([lists, table], steps)


# Declares a metric of whole lists that has a special rule for ties.
_of_two_orders = partial(GroupMetric, cutoff="none", common=(WEIGHT, UNJUDGED), refused=TIED_PAIRS, parameters=(REF,))


def _pair_weights(ranking: Ranking, metric: Metric) -> Floats | None:
    if metric.word("weight") not in ("rows", "pairs"):
        return None
    rows = paired_rows(ranking, None)
    pairs = rows.concordance()
    return (rows.rows if metric.word("weight") == "rows" else pairs.all - pairs.reference_tied).astype(float)


# The most rows of a tie block in which the reference ties rows too. Their probabilities take 2 seconds.
MOST_ALIKE = 2**14
WEIGHT_IS_OF_GROUPS = "gives weight=log2: rows are discounted by discount=log2, and weight is that of groups"


def _fitness(ranking: Ranking, metric: Metric) -> Floats:
    reference = metric.word("ref")
    longest = closeness.most_alike(ranking, reference)
    if longest > MOST_ALIKE:
        raise InputError(
            f"{metric} takes the mean over all orders of {longest} rows of equal score, of which some are equal in the "
            f"reference too: up to {MOST_ALIKE} are allowed, and with ties={NEED_AN_ORDER} in the metric any number"
        )
    return closeness.fitness(ranking, reference, _fit(metric))


def _fit(metric: Metric) -> closeness.Fit:
    return closeness.Fit(metric.number("alpha"), metric["discount"] == "log2")


def _fitness_terms(ranking: Ranking, metric: Metric) -> Arithmetic:
    rows, fit = closeness.positions(ranking, metric.word("ref")), _fit(metric)
    alone = np.where((rows.tied == 1) | (ranking.ties != "expected"), rows.p, math.nan)  # others have several places
    columns = {"p": alone, "q": rows.q, "fit": closeness.fits(ranking, rows, fit), "best fit": fit.of(rows.q, rows.q)}
    spread_columns = {name: spread_judged(ranking, rows.row, column) for name, column in columns.items()}
    steps = [total("fits", "fit"), total("Z", "best fit"), quotient(str(metric), "fits", "Z")]
    return Arithmetic.of([list_table(ranking, spread_columns)], steps)


DECLARATIONS = (
    GroupMetric(
        name="pair_auc",
        title="AUC of graded labels inside each group",
        formula="share in the right order of the pairs of rows with different labels, a tied pair counting 1/2",
        undefined="no pair of different labels",
        reference="Hanley, McNeil: Radiology 1982, for more than two grades; Rajaram, Agarwal: NIPS 2005 workshop",
        cutoff="none",
        common=(UNJUDGED,),
        refused=TIED_PAIRS,
        parameters=(
            weight(
                "uniform",
                "uniform = 1; rows = its listed rows; relevant = its relevant rows; pairs = its pairs with different "
                "labels",
                ("uniform", "rows", "relevant", "pairs"),
                (("positives", "relevant"),),
            ),
        ),
        values=lambda ranking, metric: pair_auc(paired_rows(ranking, None)),
        arithmetic=partial(_share_terms, column="concordant", name="in order", whole="pairs of different labels"),
        weights=_pair_weights,
        interval="logit",
    ),
    _of_two_orders(
        name="kendall_tau",
        title="Kendall's rank correlation with a reference order",
        formula="(concordant - discordant pairs) / √((pairs not tied in the score)·(pairs not tied in the reference)); "
        "variant=c: over n²(m-1)/(2m), m = the lesser number of distinct values",
        undefined="n < 2, or one of the orders ties all rows",
        reference=f"{KENDALL}; Stuart: Biometrika 1953 (c); as scipy.stats.kendalltau",
        aliases=("kendalltau", "tau"),
        lowest=-1.0,
        parameters=(Choice("variant", "b", "the divisor of the excess of pairs", choices=("b", "c")), REF),
        values=lambda ranking, metric: kendall_tau(_paired(ranking, metric), metric.word("variant")),
        arithmetic=_tau_terms,
    ),
    _of_two_orders(
        name="kendall_distance",
        title="share of pairs in the opposite order to a reference order",
        formula="(discordant pairs + 1/2 · pairs that the score alone ties) / (n(n-1)/2); 0 = same order, 1 = reversed",
        undefined="n < 2",
        reference=f"{KENDALL}; Fagin et al.: PODS 2004 for tied scores",
        higher_is_better=False,
        values=lambda ranking, metric: kendall_distance(_paired(ranking, metric)),
        arithmetic=partial(_share_terms, column="discordant", name="out of order", whole="pairs"),
        interval="logit",
    ),
    _of_two_orders(
        name="spearman",
        title="Spearman's rank correlation with a reference order",
        formula="correlation of the ranks of the two orders, tied rows sharing their mid-rank",
        undefined="n < 2, or one of the orders ties all rows",
        reference="Spearman: American Journal of Psychology 1904; as scipy.stats.spearmanr",
        aliases=("spearmanr",),
        lowest=-1.0,
        values=lambda ranking, metric: spearman(_paired(ranking, metric)),
        arithmetic=_rank_terms,
    ),
    _of_two_orders(
        name="rbo",
        title="rank-biased overlap with a reference list, extrapolated (RBO_EXT)",
        formula="(1-p)/p · Σ_d p^d · A_d + p^l · A_l, d to the length l of the longer list; A_d = 2·rows in both "
        "first d / rows of both; beyond the end of the shorter list the agreement at its end continues; tied rows all "
        "have the first of their positions",
        undefined="one of the lists is empty",
        reference="Webber, Moffat, Zobel: TOIS 2010 (extrapolated, ties as there)",
        parameters=(
            Number("p", 0.9, "persistence: the weight of depth d is (1-p)·p^(d-1)", above=0.0, below=1.0),
            replace(
                REF,
                doc="the reference list: label = judged rows, the highest label first; reference_rank = that column, "
                "the lowest rank first; or the score of another model. The other list is all rows with a score",
            ),
        ),
        values=lambda ranking, metric: rank_biased_overlap(ranking, metric.word("ref"), metric.number("p")),
        arithmetic=_overlap_terms,
        interval="logit",
    ),
    GroupMetric(
        name="fitness",
        title="closeness of positions to those in a reference order",
        formula="1/Z · Σ w / (alpha·(|p-q| + 1) + (1-alpha)·p), p = position by score, q = by reference, Z = its value "
        "for p = q; where the reference ties, q follows the score",
        undefined="n = 0",
        reference="sparkrank's own, see docs/definitions.md",
        cutoff="none",
        parameters=(
            Number(
                "alpha", 0.5, "weight of the distance |p-q| against the position p", above=0.0, below=1.0, closed=True
            ),
            Choice("discount", "none", "w: 1, or 1/log2(q+1)", choices=("none", "log2")),
            REF,
        ),
        check=lambda metric: WEIGHT_IS_OF_GROUPS if metric["weight"] == "log2" else None,
        values=_fitness,
        arithmetic=_fitness_terms,
        interval="logit",
    ),
)
