"""Declarations of metrics of the common rows of a list and another list of its group."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from sparkrank.metrics.arithmetic import Arithmetic, Step, given, list_table, step, total
from sparkrank.metrics.arithmetic import ratio as quotient
from sparkrank.metrics.group_metric import GroupMetric
from sparkrank.metrics.metric import Metric, NeedsOrder
from sparkrank.metrics.parameters import Choice
from sparkrank.metrics.precision import REL, ratio
from sparkrank.metrics.rank_comparison import REF, REFERENCE_RANK
from sparkrank.numeric.array_types import Floats
from sparkrank.ranking.ranking import Ranking
from sparkrank.ranking.two_lists import TwoLists, two_lists


def overlap(lists: TwoLists, k: int | None, over: str) -> Floats:
    """Return the share of the first ``k`` positions with a row that is also in the other list, for each group.

    With ``over=union``, the result is Jaccard's index, (rows in both) / (rows in either), and NaN for two empty lists.
    """
    shared = lists.shared()
    if over == "union":
        return ratio(shared, lists.sum(lists.own) + lists.sum(lists.other) - shared)
    return share_of(shared, lists.ranking, k, over)


def serendipity(lists: TwoLists, k: int | None, rel: float | None) -> Floats:
    """Return for each group the share of the first ``k`` positions whose row is relevant and not in the other list."""
    return share_of(lists.own_alone(lists.ranking.judgments.flags(rel)), lists.ranking, k)


def share_of(amounts: Floats, ranking: Ranking, k: int | None, over: str = "k") -> Floats:
    """Return ``amounts`` divided by ``k`` if ``over="k"``, otherwise by the list's number of rows within ``k``.

    If ``k`` is None, the divisor is the number of all rows. The result is 0 for an empty list.
    """
    if k is not None and over == "k":
        return amounts / k
    length = ranking.length
    return np.nan_to_num(ratio(amounts, length if k is None else np.minimum(k, length)))


def _both(ranking: Ranking, metric: Metric) -> TwoLists:
    reference = metric.word(REF.name)
    return two_lists(ranking, reference, "dense" if reference == REFERENCE_RANK else ranking.positions, metric.k)


def divisor(ranking: Ranking, k: int | None, over: str = "k") -> list[Step]:
    length = given("length of the list", int(ranking.length[0]))
    if k is None:
        return [length]
    return [given("k", k)] if over == "k" else [length, step("min(k, length)", "min", float(k), length.name)]


def _overlap_terms(ranking: Ranking, metric: Metric) -> Arithmetic:
    lists, row = _both(ranking, metric), ranking.row
    columns = {"shown": lists.own[row], "in the other list": lists.same[row], "shared": (lists.own * lists.same)[row]}
    steps = [total("shared rows", "shared")]
    is_less = metric.name == "unexpected"
    name = "overlap" if is_less else str(metric)
    if metric.word("over") == "union":
        steps += [
            total("rows", "shown"),
            given("rows of the other list", lists.sum(lists.other)[0]),
            step("rows of both", "plus", "rows", "rows of the other list"),
            step("rows of either", "minus", "rows of both", "shared rows"),
            quotient(name, "shared rows", "rows of either"),
        ]
    else:
        below = divisor(ranking, metric.k, metric.word("over"))
        steps += [*below, step(name, "share", "shared rows", below[-1].name)]
    if is_less:
        steps.append(step(str(metric), "minus", 1.0, name))
    return Arithmetic.of([list_table(ranking, columns)], steps)


def _serendipity_terms(ranking: Ranking, metric: Metric) -> Arithmetic:
    lists, row, (below,) = _both(ranking, metric), ranking.row, divisor(ranking, metric.k)
    flags = ranking.judgments.flags(metric.rel)
    columns = {
        "hit": (flags * lists.own)[row],
        "in the other list": lists.same[row],
        "surprise": (flags * lists.own * (1 - lists.same))[row],
    }
    steps = [total("surprises", "surprise"), below, step(str(metric), "share", "surprises", below.name)]
    return Arithmetic.of([list_table(ranking, columns)], steps)


OTHER_LIST = replace(
    REF,
    default=REFERENCE_RANK,
    doc="the other list, M: the rows with a reference_rank, the lowest rank first; or that of another model. Its tied "
    "rows stand as those of the list do; rows that stay tied (under worst and best those of equal label) share places",
    choices=(REFERENCE_RANK,),
)
OVER = Choice(
    "over",
    "k",
    "what the common rows are divided by: k, or the rows of the list without @k; retrieved = the rows of the list "
    "within k; union = the rows of either list (Jaccard)",
    choices=("k", "retrieved", "union"),
)
_of_two_lists = partial(
    GroupMetric,
    parameters=(OTHER_LIST, OVER),
    reads_labels=False,
    needs_order=NeedsOrder(
        "a mean over orders of a quotient of counts",
        "over=union and @k",
        lambda metric: metric.k is not None and metric["over"] == "union",
    ),
    arithmetic=_overlap_terms,
)
EMPTY = "never; over=union: both lists are empty"

DECLARATIONS = (
    _of_two_lists(
        name="overlap",
        title="share of the list that another list has too",
        formula="rows in the first k of both lists / k, or, without @k, / rows of the list; over=retrieved: / rows of "
        "the list within k; over=union: / rows in the first k of either",
        undefined=EMPTY,
        reference="Jaccard 1901 (over=union); RecTools: Intersection (over=retrieved)",
        higher_is_better=None,
        values=lambda ranking, metric: overlap(_both(ranking, metric), metric.k, metric.word("over")),
    ),
    _of_two_lists(
        name="unexpected",
        title="share of the list that another list does not have",
        formula="1 - overlap",
        undefined=EMPTY,
        reference="Adamopoulos, Tuzhilin: TIST 2014; RePlay: Unexpectedness",
        higher_is_better=None,
        values=lambda ranking, metric: 1 - overlap(_both(ranking, metric), metric.k, metric.word("over")),
    ),
    GroupMetric(
        name="serendipity",
        title="share of the list that is relevant and that another list does not have",
        formula="relevant rows in the first k that the first k of M lack / k, or, without @k, / rows of the list",
        undefined="never",
        reference="Murakami, Mori, Orihara: JSAI 2008; Ge, Delgado-Battenfeld, Jannach: RecSys 2010",
        parameters=(OTHER_LIST, REL),
        others=(("of", "past_serendipity"),),
        values=lambda ranking, metric: serendipity(_both(ranking, metric), metric.k, metric.rel),
        arithmetic=_serendipity_terms,
    ),
)
