"""Declarations of further metrics of search runs; their kernels are in :mod:`sparkrank.kernels.retrieval`."""

from __future__ import annotations

import math

from sparkrank.kernels import precision as precision_kernel
from sparkrank.kernels import retrieval as kernel
from sparkrank.kernels.hits import hits_of
from sparkrank.metrics.declaration import GroupMetric, NeedsOrder
from sparkrank.metrics.parameters import Choice, Number
from sparkrank.metrics.precision import REL, TREC

UNDEFINED = "R = 0"
MOST_GRADE = 1000.0  # 2^1024 is no float
ROUND = Choice(
    "round",
    "up",
    "how a level becomes a number of hits: up (trec_eval 9, pytrec_eval, ir_measures) or nearest (trec_eval 10)",
    choices=("up", "nearest"),
)
ADDED = {"up": 0.9, "nearest": 0.5}

RECIPROCAL_RANKS = GroupMetric(
    name="arhr",
    title="reciprocal hit ranks (ARHR): rr counts the first hit, this every one; equal where R = 1",
    formula="Σ over hits within k of 1/i",
    undefined=UNDEFINED,
    reference="Deshpande, Karypis: TOIS 2004, of one held-out item a user; summed over several as is common",
    parameters=(REL,),
    highest=math.inf,
    values=lambda ranking, metric: precision_kernel.reciprocal_ranks(hits_of(ranking, metric.rel), metric.k),
)

EXPECTED_RECIPROCAL_RANK = GroupMetric(
    name="err",
    title="expected reciprocal rank",
    formula="Σ over i ≤ k of 1/i · S_i · Π over j < i of (1 - S_j), S = (2^g - 1) / 2^max_grade, g at most max_grade",
    undefined="never",
    reference="Chapelle, Metzler, Zhang, Grinspan: CIKM 2009",
    parameters=(Number("max_grade", 4.0, "the highest grade that a label can have", above=0.0, below=MOST_GRADE),),
    needs_order=NeedsOrder("a mean over orders of a product of all rows above takes n² steps for n tied rows"),
    values=lambda ranking, metric: kernel.expected_reciprocal_rank(ranking, metric.k, metric.number("max_grade")),
)

BINARY_PREFERENCE = GroupMetric(
    name="bpref",
    title="binary preference: of judged rows alone",
    formula="1/R · Σ over hits of (1 - min(n, R) / min(R, N)), n = judged non-relevant rows above the hit; "
    "a null label, or one below 0, is not judged",
    undefined=UNDEFINED,
    reference=f"Buckley, Voorhees: SIGIR 2004; {TREC}: bpref",
    cutoff="none",
    parameters=(REL,),
    values=lambda ranking, metric: kernel.binary_preference(ranking, metric.rel),
)

INTERPOLATED_PRECISION = GroupMetric(
    name="iprec",
    title="interpolated precision at a level of recall",
    formula="max of hits so far / i over the hits from the h-th on, 0 if there is none; h = ⌊recall·R + 0.9⌋, "
    "round=nearest: ⌊recall·R + 0.5⌋",
    undefined=UNDEFINED,
    reference=f"{TREC}: iprec_at_recall",
    aliases=("iprec_at_recall",),
    cutoff="none",
    at="recall",
    parameters=(Number("recall", 0.0, "level of recall", above=0.0, below=1.0, closed=True), ROUND, REL),
    needs_order=NeedsOrder("a mean over orders of a maximum"),
    values=lambda ranking, metric: kernel.interpolated_precision(
        hits_of(ranking, metric.rel), metric.number("recall"), ADDED[metric.word("round")]
    ),
)

INFERRED_AVERAGE_PRECISION = GroupMetric(
    name="infap",
    title="inferred average precision, for pools judged in part",
    formula="1/R · Σ over hits of 1/i + p/i · (r + ε)/(r + n + 2ε), 1 where i = 1, of the rows above the hit: p in the "
    "pool, r relevant, n judged not relevant; a label below 0 is in the pool and not judged; ε = 0.00001",
    undefined=UNDEFINED,
    reference=f"Yilmaz, Aslam: CIKM 2006; {TREC}: infAP",
    cutoff="none",
    parameters=(REL,),
    needs_order=NeedsOrder("a mean over orders of a quotient of counts above a row"),
    values=lambda ranking, metric: kernel.inferred_average_precision(ranking, metric.rel),
)

DECLARATIONS = (
    RECIPROCAL_RANKS,
    EXPECTED_RECIPROCAL_RANK,
    BINARY_PREFERENCE,
    INTERPOLATED_PRECISION,
    INFERRED_AVERAGE_PRECISION,
)
