"""Declarations of metrics of the cover of subtopics by lists: alpha_ndcg, strecall."""

from __future__ import annotations

import math

import numpy as np

from sparkrank.metrics.arithmetic import IDEAL, Arithmetic, TermTable, at_k, given, ratio, total
from sparkrank.metrics.diversity import list_terms
from sparkrank.metrics.group_metric import GroupMetric
from sparkrank.metrics.metric import Metric, NeedsOrder, Unbounded
from sparkrank.metrics.parameters import Column, Number
from sparkrank.metrics.precision import REL
from sparkrank.numeric.array_types import Floats, Ints
from sparkrank.numeric.segments import run_starts, sum_by
from sparkrank.ranking.discounts import LOG2
from sparkrank.ranking.ranking import Ranking
from sparkrank.ranking.subtopic_cover import Cover, GreedyLists, cover_of, relevant_subtopics


def _cover(ranking: Ranking, metric: Metric) -> Cover:
    return cover_of(ranking, metric.value_column("by"), metric.rel, metric.k)


def _greedy(ranking: Ranking, metric: Metric) -> GreedyLists:
    subtopics = relevant_subtopics(ranking, metric.value_column("by"), metric.rel)
    return subtopics.greedy(metric.number("alpha"), metric.k)


def _count(ranking: Ranking, metric: Metric) -> Ints:
    return relevant_subtopics(ranking, metric.value_column("by"), metric.rel).counts(ranking.groups)


def alpha_ndcg(ranking: Ranking, metric: Metric) -> Floats:
    """Return Σ gain / log2(position + 1) of each list, divided by that of the greedy list; NaN without a subtopic.

    The gain of a relevant row is Σ (1 - alpha)^c over its subtopics, with c relevant rows above with the subtopic.
    """
    place, gain = _cover(ranking, metric).gains(metric.number("alpha"))
    earned = gain * LOG2.at(ranking.stands_at()[place])
    greedy = _greedy(ranking, metric)
    ideal = sum_by(greedy.group, greedy.gain * LOG2.at(greedy.position), ranking.groups)
    return _over(sum_by(ranking.lists.group_of(place), earned, ranking.groups), ideal)


def strecall(ranking: Ranking, metric: Metric) -> Floats:
    """Return the share of each group's subtopics in its first k rows; NaN if no relevant row has a subtopic."""
    cover = _cover(ranking, metric)
    first = cover.place[cover.times == 0]
    covered = np.bincount(ranking.lists.group_of(first), minlength=ranking.groups)
    return _over(covered, _count(ranking, metric))


def _over(amounts: Floats | Ints, whole: Floats | Ints) -> Floats:
    quotient: Floats = np.divide(amounts, whole, out=np.full(len(whole), math.nan), where=whole > 0)
    return quotient


def _alpha_ndcg_terms(ranking: Ranking, metric: Metric) -> Arithmetic:
    place, gain = _cover(ranking, metric).gains(metric.number("alpha"))
    discount, greedy = LOG2.at(ranking.stands_at()[place]), _greedy(ranking, metric)
    of_list = {"gain": gain, "discount": discount, "contribution": gain * discount}
    discount = LOG2.at(greedy.position)
    of_ideal = {"gain": greedy.gain, "discount": discount, "contribution": greedy.gain * discount}
    order = ranking.row_by([metric.value_column("by")])
    tables = [list_terms(order, place, of_list), TermTable(IDEAL, of_ideal, greedy.row)]
    own, best = at_k("alpha_dcg", metric.k), at_k("greedy alpha_dcg", metric.k)
    steps = [total(own, "contribution"), total(best, "contribution", IDEAL), ratio(str(metric), own, best)]
    return Arithmetic.of(tables, steps)


def _strecall_terms(ranking: Ranking, metric: Metric) -> Arithmetic:
    cover, order = _cover(ranking, metric), ranking.row_by([metric.value_column("by")])
    start = run_starts(cover.place)
    new = np.add.reduceat(cover.times == 0, start, dtype=np.float64) if len(start) else np.empty(0)
    terms = list_terms(order, cover.place[start], {"new subtopics": new})
    every = given("subtopics of relevant rows", _count(ranking, metric)[0])
    steps = [total("subtopics covered", "new subtopics"), every]
    return Arithmetic.of([terms], [*steps, ratio(str(metric), "subtopics covered", every.name)])


def _check(metric: Metric) -> str | None:
    if metric["by"] is None:
        return f"names no column: by=<column> has the subtopics of a row, as in {metric.name}(by=subtopics)@10"
    return None


BY = Column(
    "by",
    None,
    "a column of arrays of texts: the subtopics for which a row is relevant if its label is; a row with none or a null "
    "covers none",
    kind="texts",
    of_relevant=True,
)
NO_SUBTOPIC = "no relevant row has a subtopic"

DECLARATIONS = (
    GroupMetric(
        name="alpha_ndcg",
        title="discounted gain of subtopics, each counting less if rows above have it, over the greedy list",
        formula="Σ_i Σ_t J(i,t)·(1-alpha)^c / log2(i+1), c = relevant rows above i that have subtopic t, J = 1 where "
        "row i is relevant and has t; over the same of the greedy list of all relevant rows, in which each next row is "
        "one of the highest gain, of equal ones that with the greater item (without an item column, the greater texts)",
        undefined=NO_SUBTOPIC,
        reference="Clarke et al.: SIGIR 2008; NIST ndeval: alpha-nDCG",
        parameters=(
            BY,
            Number(
                "alpha", 0.5, "the share of its gain that a subtopic loses each time", above=0.0, below=1.0, closed=True
            ),
            REL,
        ),
        unbounded=Unbounded("a list that is better than the greedy one", lambda metric: True),
        needs_order=NeedsOrder("what a row counts depends on all rows above"),
        check=_check,
        values=alpha_ndcg,
        arithmetic=_alpha_ndcg_terms,
    ),
    GroupMetric(
        name="strecall",
        title="subtopic recall: the share of a group's subtopics that the list covers",
        formula="different subtopics of the relevant rows in the first k / those of all relevant rows of the group",
        undefined=NO_SUBTOPIC,
        reference="Zhai, Cohen, Lafferty: SIGIR 2003; NIST ndeval: strec",
        parameters=(BY, REL),
        needs_order=NeedsOrder(
            "the chance that a subtopic is covered is a product over rows", "@k", lambda metric: metric.k is not None
        ),
        check=_check,
        values=strecall,
        arithmetic=_strecall_terms,
    ),
)
