"""Declarations of the metrics that compare the order of the score with a reference order."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sparkrank.errors import InputError
from sparkrank.kernels import correlation as kernel
from sparkrank.kernels import fitness as closeness
from sparkrank.kernels import overlap
from sparkrank.kernels.judgments import LABEL, Floats
from sparkrank.kernels.pairs import PairedRows, paired_rows
from sparkrank.kernels.ranking import Ranking
from sparkrank.metrics.common import NEED_AN_ORDER, WEIGHT, weight
from sparkrank.metrics.declaration import GroupMetric
from sparkrank.metrics.parameters import Choice, Name, Number

if TYPE_CHECKING:
    from sparkrank.metrics.metric import Metric

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
    values=lambda ranking, metric: kernel.kendall_tau(_paired(ranking, metric), metric.word("variant")),
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
    values=lambda ranking, metric: kernel.kendall_distance(_paired(ranking, metric)),
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
    values=lambda ranking, metric: kernel.spearman(_paired(ranking, metric)),
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
    values=lambda ranking, metric: kernel.pair_auc(paired_rows(ranking, None)),
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
    values=lambda ranking, metric: overlap.rank_biased_overlap(ranking, metric.word("ref"), metric.number("p")),
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
    reference="sparkrank's own, see docs/design.md",
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
