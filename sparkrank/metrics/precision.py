"""Declarations of metrics of binary relevance, computed from the hits (relevant rows) of a ranking."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from sparkrank.metrics.arithmetic import Arithmetic, Step, at_k, given, list_table, spread, step, total, within
from sparkrank.metrics.arithmetic import ratio as quotient
from sparkrank.metrics.group_metric import GroupMetric
from sparkrank.metrics.metric import Metric, NeedsOrder
from sparkrank.metrics.parameters import OF_LISTS_WITH_BEST, UNJUDGED, Choice, Number
from sparkrank.numeric.array_types import Floats, Ints
from sparkrank.numeric.segments import count_by
from sparkrank.ranking.hit_sums import HitSums, hit_sums
from sparkrank.ranking.hits import Hits, hits_of
from sparkrank.ranking.ranking import Ranking


def ratio(numerator: NDArray[np.generic], denominator: NDArray[np.generic] | float) -> Floats:
    """Return the quotient of each pair of elements, with NaN where the denominator is 0."""
    below = np.asarray(denominator, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        value: Floats = np.divide(numerator, below)
    value[below == 0] = np.nan  # takes a fifth of the time of masking the divisors first
    return value


def precision(hits: HitSums, k: int | None, over: str) -> Floats:
    """Return hits@k divided by :func:`precision_divisor`, for each list; 0 if the divisor is 0.

    ``over`` chooses the divisor: ``k``, ``retrieved``, ``min_k_relevant`` or ``min_retrieved_relevant``.
    """
    if over == "k" and k is not None:
        return hits.count(k) / k
    return np.nan_to_num(ratio(hits.count(k), precision_divisor(hits.length, hits.relevant, k, over)))


def precision_divisor(length: Ints, relevant: Ints, k: int | None, over: str) -> NDArray[np.generic]:
    """Return k, min(k, ``length``) (``over="retrieved"``), or min(R = ``relevant``, one of these) (``min_...``)."""
    listed = length if k is None else np.minimum(k, length)
    if over == "min_retrieved_relevant":
        return np.minimum(listed, relevant)
    if over == "min_k_relevant" and k is not None:
        return np.minimum(k, relevant)
    return listed if over == "retrieved" or k is None else np.full(len(length), k)


def recall_divisor(relevant: Ints, k: int | None, over: str) -> Floats:
    """Return R = ``relevant`` rows (``over="relevant"``), or min(``k``, R), as the divisor of recall; NaN if R = 0."""
    below = np.where(relevant > 0, relevant, np.nan)
    return below if over == "relevant" or k is None else np.minimum(k, below)


def recall(hits: HitSums, k: int | None, over: str) -> Floats:
    """Return hits@k / R (``over="relevant"``) or hits@k / min(k, R), for each list of R relevant rows; NaN if R = 0."""
    below = hits.relevant_or_nan
    return hits.count(k) / (below if over == "relevant" or k is None else np.minimum(k, below))


def f_measure(hits: HitSums, k: int | None, beta: float, over: str) -> Floats:
    """Return van Rijsbergen's F of precision@k and recall@k, (1 + b²) hits@k / (b² R + k), b = ``beta``; NaN if R = 0.

    If ``over`` is ``retrieved``, min(k, length of the list) replaces k.
    """
    length = hits.length.astype(np.float64)
    cut = length if k is None else np.minimum(k, length) if over == "retrieved" else float(k)
    value = ratio((1 + beta * beta) * hits.count(k), beta * beta * hits.relevant + cut)
    return hits.where_relevant(value)


def r_precision(hits: Hits) -> Floats:
    """Return hits@R / R for each group, where R is the number of relevant rows; NaN if R = 0."""
    within = hits.position <= hits.relevant[hits.group]
    count = np.bincount(hits.group[within], weights=hits.probability[within], minlength=hits.groups)
    return ratio(count, hits.relevant)


def average_precision(hits: HitSums, k: int | None, over: str) -> Floats:
    """Return Σ (hits so far / position) over hits within k, / divisor (by ``over``), for each list; NaN if R = 0.

    The divisor is R, the number of relevant rows (``relevant``), min(k, R) (``min_k_relevant``), k (``k``), hits@k
    (``hits``) or min(k, R, length of the list) (``min_k_relevant_retrieved``: an empty list has the value 0).
    """
    total, below = hits.precisions(k), hits.relevant_or_nan
    if over == "min_k_relevant" and k is not None:
        return total / np.minimum(k, below)
    if over == "k" and k is not None:
        return hits.where_relevant(total / k)
    if over == "min_k_relevant_retrieved":
        within = hits.length if k is None else np.minimum(k, hits.length)
        return total / np.maximum(np.minimum(within, below), 1)
    if over == "hits":
        return hits.where_relevant(total / np.maximum(hits.count(k), 1))
    return total / below


def set_average_precision(hits: HitSums) -> Floats:
    """Return precision times recall of the whole list, hits² / (length of the list · R); NaN if R = 0."""
    count = hits.count(None)
    return count * count / (np.maximum(hits.length, 1) * hits.relevant_or_nan)


def _rows_not_relevant(ranking: Ranking, rel: float | None) -> Ints:
    """Return the number of rows of each group minus R. A row that repeats a relevant item counts as not relevant."""
    return ranking.judgments.rows_of_group() - ranking.judgments.relevant(rel)


def fallout(ranking: Ranking, k: int | None, rel: float | None) -> Floats:
    """Return (non-relevant rows within ``k``) / (non-relevant rows) of each group; NaN if all rows are relevant."""
    hits, all_rows = hits_of(ranking, rel), _rows_not_relevant(ranking, rel)
    listed = ranking.length if k is None else count_by(ranking.lists.group, ranking.groups, ranking.stands_at() <= k)
    return ratio(listed - hits.count(k), all_rows)


def hit_column(ranking: Ranking, hits: Hits, amounts: Floats, k: int | None, other: float = 0.0) -> Floats:
    """Return a column of the list: ``amounts`` at hits, ``other`` at other rows, and NaN at positions above ``k``."""
    return within(spread(ranking, hits.row, amounts, other), ranking.stands_at(), k)


def _of_hits(ranking: Ranking, metric: Metric) -> tuple[Hits, dict[str, Floats], list[Step]]:
    hits = hits_of(ranking, metric.rel)
    steps = [total(at_k("hits", metric.k), "hit"), given("R", hits.relevant[0])]
    return hits, {"hit": hit_column(ranking, hits, hits.probability, metric.k)}, steps


def _precision_terms(ranking: Ranking, metric: Metric) -> Arithmetic:
    _, columns, (counted, relevant) = _of_hits(ranking, metric)
    k, over, length = metric.k, metric.word("over"), given("length of the list", ranking.length[0])
    if over == "min_retrieved_relevant":
        rows = [length] if k is None else [length, step("min(k, length)", "min", float(k), length.name)]
        below: list[Step] = [relevant, *rows, step("min of both", "min", rows[-1].name, relevant.name)]
    elif k is None:
        below = [length]
    elif over == "k":
        below = [given("k", k)]
    else:
        whole = relevant if over == "min_k_relevant" else length
        below = [whole, step(f"min(k, {whole.name})", "min", float(k), whole.name)]
    last = step(str(metric), "share", counted.name, below[-1].name)
    return Arithmetic.of([list_table(ranking, columns)], [counted, *below, last])


def _recall_terms(ranking: Ranking, metric: Metric) -> Arithmetic:
    _, columns, steps = _of_hits(ranking, metric)
    if metric.word("over") == "min_k_relevant" and metric.k is not None:
        steps.append(step("min(k, R)", "min", float(metric.k), "R"))
    last = quotient(str(metric), steps[0].name, steps[-1].name)
    return Arithmetic.of([list_table(ranking, columns)], [*steps, last])


def _f_terms(ranking: Ranking, metric: Metric) -> Arithmetic:
    _, columns, steps = _of_hits(ranking, metric)
    square = metric.number("beta") ** 2
    length = given("length of the list", ranking.length[0])
    if metric.k is None:
        cut = [length]
    elif metric.word("over") == "retrieved":
        cut = [length, step("min(k, length)", "min", float(metric.k), length.name)]
    else:
        cut = [given("k", metric.k)]
    below = [
        step("(1+b²)·hits", "times", 1 + square, steps[0].name),
        step("b²·R", "times", square, "R"),
        step("b²·R + k", "plus", "b²·R", cut[-1].name),
    ]
    last = [quotient("F", "(1+b²)·hits", "b²·R + k"), step(str(metric), "where", "F", "R")]
    return Arithmetic.of([list_table(ranking, columns)], [*steps, *cut, *below, *last])


def _first_hit_terms(ranking: Ranking, metric: Metric, *, discounted: bool) -> Arithmetic:
    hits, columns, (_, relevant) = _of_hits(ranking, metric)
    first = hits.first_probability()
    columns["first hit"] = hit_column(ranking, hits, first, metric.k)
    if discounted:
        columns["contribution"] = hit_column(ranking, hits, first / hits.position, metric.k)
    counted = total("contributions" if discounted else "chance of a hit", next(reversed(columns)))
    last = step(str(metric), "where", counted.name, "R")
    return Arithmetic.of([list_table(ranking, columns)], [counted, relevant, last])


def _r_precision_terms(ranking: Ranking, metric: Metric) -> Arithmetic:
    hits = hits_of(ranking, metric.rel)
    within_r = hit_column(ranking, hits, hits.probability, int(hits.relevant[0]))
    steps = [total("hits@R", "hit"), given("R", hits.relevant[0]), quotient(str(metric), "hits@R", "R")]
    return Arithmetic.of([list_table(ranking, {"hit": within_r})], steps)


def _average_precision_terms(ranking: Ranking, metric: Metric) -> Arithmetic:
    hits, columns, (counted, relevant) = _of_hits(ranking, metric)
    k, over = metric.k, metric.word("over")
    columns["hits so far"] = hit_column(ranking, hits, hits.through, k, math.nan)
    columns["contribution"] = hit_column(ranking, hits, hits.probability * hits.through / hits.position, k)
    summed = total("contributions", "contribution")
    steps = [summed, relevant]
    if over == "min_k_relevant" and k is not None:
        steps.append(step("D", "min", float(k), "R"))
    elif over == "k" and k is not None:
        steps.append(given("D", k))
    elif over == "min_k_relevant_retrieved":
        steps.append(given("length of the list", ranking.length[0]))
        if k is not None:
            steps.append(step("min(k, length)", "min", float(k), "length of the list"))
        steps += [step("min of both", "min", steps[-1].name, "R"), step("D", "max", "min of both", 1.0)]
    elif over == "hits":
        steps += [counted, step("D", "max", counted.name, 1.0)]
    else:
        steps.append(given("D", relevant.value))
    steps += [quotient("contributions / D", summed.name, "D"), step(str(metric), "where", "contributions / D", "R")]
    return Arithmetic.of([list_table(ranking, columns)], steps)


def _set_terms(ranking: Ranking, metric: Metric) -> Arithmetic:
    _, columns, (counted, relevant) = _of_hits(ranking, metric)
    steps = [
        counted,
        given("length of the list", ranking.length[0]),
        relevant,
        step("P", "share", counted.name, "length of the list"),
        quotient("r", counted.name, "R"),
        step(str(metric), "times", "P", "r"),
    ]
    return Arithmetic.of([list_table(ranking, columns)], steps)


def _fallout_terms(ranking: Ranking, metric: Metric) -> Arithmetic:
    hits = hits_of(ranking, metric.rel)
    hit = spread(ranking, hits.row, hits.probability, 0.0)
    columns = {"not relevant": within(1 - hit, ranking.stands_at(), metric.k)}
    rows = _rows_not_relevant(ranking, metric.rel)
    steps = [total("rows not relevant", "not relevant"), given("N", rows[0])]
    last = quotient(str(metric), "rows not relevant", "N")
    return Arithmetic.of([list_table(ranking, columns)], [*steps, last])


def _relevant_terms(ranking: Ranking, metric: Metric) -> Arithmetic:
    return Arithmetic.of([list_table(ranking, {})], [given(str(metric), ranking.judgments.relevant(metric.rel)[0])])


def _count_terms(ranking: Ranking, metric: Metric) -> Arithmetic:
    _, columns, _ = _of_hits(ranking, metric)
    return Arithmetic.of([list_table(ranking, columns)], [total(str(metric), "hit")])


# With these limits of b, F equals precision or recall to the last bit; squares of more extreme numbers may overflow.
LEAST_BETA, MOST_BETA = 1e-9, 1e6
REL = Number(
    "rel", None, "least relevant label, compared as float64; without it, every label above 0 is relevant", above=0.0
)
TREC = "NIST trec_eval"
MANNING = "Manning, Raghavan, Schütze: Introduction to Information Retrieval, 2008, ch. 8"


def hits(ranking: Ranking, metric: Metric) -> HitSums:
    return hit_sums(ranking, metric.rel)


def needs_cutoff(parameter: str, *words: str) -> Callable[[Metric], str | None]:
    """Return a check that requires a cut-off if ``parameter`` is one of ``words``, all of which refer to k."""

    def check(metric: Metric) -> str | None:
        word = metric[parameter]
        return (
            f"needs a cut-off: {parameter}={word} means nothing without @k" if word in words and not metric.k else None
        )

    return check


def _why_no_precision(metric: Metric) -> str | None:
    if metric[UNJUDGED.name] == "best" and metric.word("over").endswith("relevant"):
        return f"gives unjudged=best with over={metric['over']}: R then grows too, so the value is not the highest"
    return needs_cutoff("over", "min_k_relevant")(metric)


# Declares a metric of binary relevance that is undefined for groups without relevant rows.
of_relevant = partial(GroupMetric, undefined="R = 0", parameters=(REL,), interval="logit")

DECLARATIONS = (
    GroupMetric(
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
                "denominator: k; retrieved = min(k, length of the list); min_k_relevant = min(k, R); "
                "min_retrieved_relevant = min(k, length of the list, R)",
                choices=("k", "retrieved", "min_k_relevant", "min_retrieved_relevant"),
            ),
            REL,
        ),
        common=OF_LISTS_WITH_BEST,
        check=_why_no_precision,
        sums=hits,
        values=lambda hits, metric: precision(hits, metric.k, metric.word("over")),
        arithmetic=_precision_terms,
        interval="wilson",
    ),
    of_relevant(
        name="r",
        title="recall",
        formula="hits@k / R",
        reference=MANNING,
        aliases=("recall@", "setr"),
        others=(("sampled", "sampled_r"),),
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
        values=lambda hits, metric: recall(hits, metric.k, metric.word("over")),
        arithmetic=_recall_terms,
        interval="wilson",
    ),
    of_relevant(
        name="f",
        title="F-measure of precision@k and recall@k",
        formula="(1+b²)·hits@k / (b²·R + k); without k, the length of the list stands for k",
        reference="van Rijsbergen: Information Retrieval, 1979, ch. 7",
        aliases=("f1@", "fbeta@", "setf", "set_f"),
        # trec_eval weighs recall by the parameter itself instead of its square
        translations=(("setf", "beta", math.sqrt), ("set_f", "beta", math.sqrt)),
        parameters=(
            Number("beta", 1.0, "b, the weight of recall against precision", above=LEAST_BETA, below=MOST_BETA),
            Choice("over", "k", "of precision: k; retrieved = min(k, length of the list)", choices=("k", "retrieved")),
            REL,
        ),
        sums=hits,
        values=lambda hits, metric: f_measure(hits, metric.k, metric.number("beta"), metric.word("over")),
        arithmetic=_f_terms,
    ),
    of_relevant(
        name="hit",
        title="hit rate (success)",
        formula="1 if any hit stands in the first k, else 0",
        reference=f"{TREC}: success",
        aliases=("hr", "success", "hit_rate"),
        common=OF_LISTS_WITH_BEST,
        others=(("sampled", "sampled_hit"),),
        sums=hits,
        values=lambda hits, metric: hits.where_relevant(hits.any(metric.k)),
        arithmetic=lambda ranking, metric: _first_hit_terms(ranking, metric, discounted=False),
        interval="wilson",
    ),
    of_relevant(
        name="rprec",
        title="R-precision",
        formula="hits@R / R",
        reference=f"{TREC}: Rprec",
        aliases=("r_precision",),
        cutoff="none",
        values=lambda ranking, metric: r_precision(hits_of(ranking, metric.rel)),
        arithmetic=_r_precision_terms,
        interval="wilson",
    ),
    of_relevant(
        name="ap",
        title="average precision (its mean over groups is MAP)",
        formula="Σ over hits within k of (hits so far / i) / D",
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
        needs_order=NeedsOrder(
            "a mean over orders of a quotient by hits@k", "over=hits", lambda m: m["over"] == "hits"
        ),
        sums=hits,
        values=lambda hits, metric: average_precision(hits, metric.k, metric.word("over")),
        arithmetic=_average_precision_terms,
    ),
    of_relevant(
        name="rr",
        title="reciprocal rank (its mean over groups is MRR)",
        formula="1 / position of the first hit, 0 if none stands in the first k",
        reference=f"{TREC}: recip_rank; McSherry, Najork: ECIR 2008 for ties",
        aliases=("mrr", "recip_rank", "reciprocal_rank"),
        common=OF_LISTS_WITH_BEST,
        others=(("sampled", "sampled_rr"),),
        sums=hits,
        values=lambda hits, metric: hits.where_relevant(hits.first(metric.k)),
        arithmetic=lambda ranking, metric: _first_hit_terms(ranking, metric, discounted=True),
    ),
    of_relevant(
        name="set_ap",
        title="precision times recall of the whole list",
        formula="hits / length of the list · hits / R, 0 for an empty list",
        reference=f"{TREC}: set_map",
        aliases=("set_map", "setap"),
        cutoff="none",
        sums=hits,
        values=lambda hits, metric: set_average_precision(hits),
        arithmetic=_set_terms,
    ),
    GroupMetric(
        name="fallout",
        title="fallout, the share of the rows not relevant that are in the first k",
        formula="rows not relevant in the first k / N, N = all rows of the group, listed or not, less R",
        undefined="N = 0",
        reference="van Rijsbergen: Information Retrieval, 1979, ch. 7",
        aliases=("fall_out", "retrievalfallout"),
        parameters=(REL,),
        higher_is_better=False,
        values=lambda ranking, metric: fallout(ranking, metric.k, metric.rel),
        arithmetic=_fallout_terms,
        interval="logit",
    ),
    GroupMetric(
        name="n_rel",
        title="relevant rows of a group, listed or not",
        formula="R, the number of relevant rows",
        undefined="never",
        reference=f"{TREC}: num_rel, which is the sum over groups",
        aliases=("num_rel", "numrel"),
        parameters=(REL,),
        cutoff="none",
        higher_is_better=None,
        highest=math.inf,
        sums=hits,
        values=lambda hits, metric: hits.relevant.astype(np.float64),
        arithmetic=_relevant_terms,
    ),
    GroupMetric(
        name="n_rel_ret",
        title="hits in the first k",
        formula="hits@k",
        undefined="never",
        reference=f"{TREC}: num_rel_ret, which is the sum over groups",
        aliases=("num_rel_ret", "numrelret"),
        parameters=(REL,),
        highest=math.inf,
        sums=hits,
        values=lambda hits, metric: hits.count(metric.k),
        arithmetic=_count_terms,
    ),
)
