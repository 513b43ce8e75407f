"""Declarations of the metrics of binary relevance; their kernels are in :mod:`sparkrank.kernels.precision`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from sparkrank.kernels import precision as kernel
from sparkrank.kernels.hit_sums import HitSums, hit_sums
from sparkrank.kernels.hits import hits_of
from sparkrank.metrics.declaration import GroupMetric, NeedsOrder
from sparkrank.metrics.parameters import Choice, Number

if TYPE_CHECKING:
    from sparkrank.kernels.ranking import Ranking
    from sparkrank.metrics.metric import Metric

# F is precision, or recall, to the last bit long before; the squares of others may be no floats.
LEAST_BETA, MOST_BETA = 1e-9, 1e6
REL = Number(
    "rel", None, "least relevant label, compared as float64; without it, every label above 0 is relevant", above=0.0
)
TREC = "NIST trec_eval"
MANNING = "Manning, Raghavan, Schütze: Introduction to Information Retrieval, 2008, ch. 8"


def hits(ranking: Ranking, metric: Metric) -> HitSums:
    """The sums that most metrics of binary relevance are quotients of."""
    return hit_sums(ranking, metric.rel)


def needs_cutoff(parameter: str, *words: str) -> Callable[[Metric], str | None]:
    """A check that refuses ``words`` of ``parameter`` without a cut-off, where they would mean nothing."""

    def check(metric: Metric) -> str | None:
        word = metric[parameter]
        return (
            f"needs a cut-off: {parameter}={word} means nothing without @k" if word in words and not metric.k else None
        )

    return check


PRECISION = GroupMetric(
    name="p",
    title="precision",
    formula="hits@k / k; without k, hits / length of the list",
    undefined="never",
    reference=MANNING,
    aliases=("precision@", "prec@", "setp"),
    parameters=(
        Choice(
            "over",
            "k",
            "denominator: k; retrieved = min(k, length of the list); min_k_relevant = min(k, R)",
            choices=("k", "retrieved", "min_k_relevant"),
        ),
        REL,
    ),
    check=needs_cutoff("over", "min_k_relevant"),
    sums=hits,
    values=lambda hits, metric: kernel.precision(hits, metric.k, metric.word("over")),
)

RECALL = GroupMetric(
    name="r",
    title="recall",
    formula="hits@k / R",
    undefined="R = 0",
    reference=MANNING,
    aliases=("recall@", "setr"),
    parameters=(
        Choice(
            "over",
            "relevant",
            "denominator: relevant = R; min_k_relevant = min(k, R)",
            choices=("relevant", "min_k_relevant"),
        ),
        REL,
    ),
    check=needs_cutoff("over", "min_k_relevant"),
    sums=hits,
    values=lambda hits, metric: kernel.recall(hits, metric.k, metric.word("over")),
)

F_MEASURE = GroupMetric(
    name="f",
    title="F-measure of precision@k and recall@k",
    formula="(1+b²)·hits@k / (b²·R + k); without k, the length of the list stands for k",
    undefined="R = 0",
    reference="van Rijsbergen: Information Retrieval, 1979, ch. 7",
    aliases=("f1@", "fbeta@", "setf", "set_f"),
    # trec_eval weighs recall by its parameter, not by the square of it
    translations=(("setf", "beta", math.sqrt), ("set_f", "beta", math.sqrt)),
    parameters=(
        Number("beta", 1.0, "b, the weight of recall against precision", above=LEAST_BETA, below=MOST_BETA),
        Choice("over", "k", "of precision: k; retrieved = min(k, length of the list)", choices=("k", "retrieved")),
        REL,
    ),
    sums=hits,
    values=lambda hits, metric: kernel.f_measure(hits, metric.k, metric.number("beta"), metric.word("over")),
)

HIT = GroupMetric(
    name="hit",
    title="hit rate (success)",
    formula="1 if any hit stands in the first k, else 0",
    undefined="R = 0",
    reference=f"{TREC}: success",
    aliases=("hr", "success", "hit_rate"),
    parameters=(REL,),
    sums=hits,
    values=lambda hits, metric: kernel.hit_rate(hits, metric.k),
)

R_PRECISION = GroupMetric(
    name="rprec",
    title="R-precision",
    formula="hits@R / R",
    undefined="R = 0",
    reference=f"{TREC}: Rprec",
    aliases=("r_precision",),
    cutoff="none",
    parameters=(REL,),
    values=lambda ranking, metric: kernel.r_precision(hits_of(ranking, metric.rel)),
)

AVERAGE_PRECISION = GroupMetric(
    name="ap",
    title="average precision (its mean over groups is MAP)",
    formula="Σ over hits within k of (hits so far / i) / D",
    undefined="R = 0",
    reference=f"{TREC}: map, map_cut; McSherry, Najork: ECIR 2008 for ties",
    aliases=("map", "average_precision"),
    parameters=(
        Choice(
            "over",
            "relevant",
            "D: relevant = R (trec_eval); min_k_relevant = min(k, R) (CDAE, Spark, RePlay); k; hits = hits@k; "
            "min_k_relevant_retrieved = min(k, R, length of the list)",
            choices=("relevant", "min_k_relevant", "k", "hits", "min_k_relevant_retrieved"),
        ),
        REL,
    ),
    check=needs_cutoff("over", "min_k_relevant", "k"),
    needs_order=NeedsOrder("a mean over orders of a quotient by hits@k", "over=hits", lambda m: m["over"] == "hits"),
    sums=hits,
    values=lambda hits, metric: kernel.average_precision(hits, metric.k, metric.word("over")),
)

RECIPROCAL_RANK = GroupMetric(
    name="rr",
    title="reciprocal rank (its mean over groups is MRR)",
    formula="1 / position of the first hit, 0 if none stands in the first k",
    undefined="R = 0",
    reference=f"{TREC}: recip_rank; McSherry, Najork: ECIR 2008 for ties",
    aliases=("mrr", "recip_rank", "reciprocal_rank"),
    parameters=(REL,),
    sums=hits,
    values=lambda hits, metric: kernel.reciprocal_rank(hits, metric.k),
)

RANK_BIASED_PRECISION = GroupMetric(
    name="rbp",
    title="rank-biased precision",
    formula="(1-p) · Σ rel_i · p^(i-1)",
    undefined="never",
    reference="Moffat, Zobel: TOIS 2008",
    parameters=(
        Number("p", 0.8, "persistence: the chance that a reader goes on to the next row", above=0.0, below=1.0),
        REL,
    ),
    values=lambda ranking, metric: kernel.rank_biased_precision(
        hits_of(ranking, metric.rel), metric.k, metric.number("p")
    ),
)

DECLARATIONS = (
    PRECISION,
    RECALL,
    F_MEASURE,
    HIT,
    R_PRECISION,
    AVERAGE_PRECISION,
    RECIPROCAL_RANK,
    RANK_BIASED_PRECISION,
)
