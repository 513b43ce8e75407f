"""Declarations of metrics of the positions of relevant rows: the first position, and means of positions."""

from __future__ import annotations

import math

import numpy as np

from sparkrank.metrics.arithmetic import Arithmetic, given, list_table, spread, step, total, within
from sparkrank.metrics.arithmetic import ratio as quotient
from sparkrank.metrics.gain import checked_gain, gains_of
from sparkrank.metrics.group_metric import GroupMetric
from sparkrank.metrics.metric import Metric, NeedsOrder
from sparkrank.metrics.parameters import Count
from sparkrank.metrics.precision import REL, of_relevant, ratio
from sparkrank.numeric.array_types import Flags, Floats
from sparkrank.numeric.segments import count_by, sum_by
from sparkrank.ranking.hits import Hits, hits_of
from sparkrank.ranking.judgments import Credit, Gain
from sparkrank.ranking.ranking import Ranking

MOST_ITEMS = 10**9
MOST_SAMPLED = 1_000  # nobody draws more, and the time of an estimate grows with the number


def first_rank(hits: Hits, k: int | None) -> Floats:
    """Return the position of each group's first hit within ``k``; NaN without a hit."""
    value = hits.sum(hits.first_probability() * hits.position, k)
    return np.where(hits.count(k) > 0, value, np.nan)


def is_sampled(ranking: Ranking, metric: Metric) -> Flags:
    """Return flags of the groups with one relevant row and ``sampled`` other rows (a parameter) in the list."""
    relevant = ranking.judgments.relevant(metric.rel)
    fits: Flags = (relevant == 1) & (ranking.length == metric.number("sampled") + 1)
    return fits


def _first_rank(ranking: Ranking, metric: Metric) -> Floats:
    value = first_rank(hits_of(ranking, metric.rel), metric.k)
    return value if metric["sampled"] is None else np.where(is_sampled(ranking, metric), value, np.nan)


def relevance_position(credit: Credit, groups: int) -> Floats:
    """Return Σ gain · position / Σ gain over the rows of each list; NaN for a list without a gain."""
    weighted = sum_by(credit.group, credit.amount * credit.position, groups)
    return ratio(weighted, sum_by(credit.group, credit.amount, groups))


def percentile_rank(ranking: Ranking, rel: float | None, items: int | None) -> Floats:
    """Return the mean share of items above a relevant item, for each group; NaN if R = 0.

    For a relevant row outside the list, the position is the middle of those of all items not in the list.
    """
    hits, items_of_group = hits_of(ranking, rel), _items(ranking, items)
    unlisted = np.maximum(hits.relevant - hits.retrieved_relevant(), 0)
    above = sum_by(hits.group, hits.probability * (hits.position - 1), ranking.groups)
    above += unlisted * _above_unlisted(ranking, items_of_group)
    return ratio(above / np.maximum(items_of_group, 1), unlisted + hits.retrieved_relevant())


def _items(ranking: Ranking, items: int | None) -> Floats:
    """Return the number of items that each list may contain."""
    rows = count_by(ranking.judgments.codes, ranking.groups).astype(np.float64)
    return np.maximum(rows, 0 if items is None else items)


def _above_unlisted(ranking: Ranking, items: Floats) -> Floats:
    """Return the mean number of items above an item outside each list.

    Its place is halfway from the last row to the end.
    """
    return (np.maximum(ranking.length - 1, 0) + items) / 2


def _gains(ranking: Ranking, metric: Metric) -> Credit:
    return gains_of(ranking, checked_gain(ranking, metric, Gain()))


def _first_terms(ranking: Ranking, metric: Metric) -> Arithmetic:
    hits = hits_of(ranking, metric.rel)
    first = hits.first_probability()
    columns = {
        "first hit": spread(ranking, hits.row, first, 0.0),
        "contribution": spread(ranking, hits.row, first * hits.position, 0.0),
    }
    columns = {name: within(terms, ranking.stands_at(), metric.k) for name, terms in columns.items()}
    steps = [total("chance of a hit", "first hit"), total("contributions", "contribution")]
    last = step(str(metric), "where", "contributions", "chance of a hit")
    if metric["sampled"] is not None:
        fits = given("one relevant row and the others", is_sampled(ranking, metric)[0])
        rank = step("rank", "where", "contributions", "chance of a hit")
        return Arithmetic.of(
            [list_table(ranking, columns)], [*steps, fits, rank, step(str(metric), "where", "rank", fits.name)]
        )
    return Arithmetic.of([list_table(ranking, columns)], [*steps, last])


def _position_terms(ranking: Ranking, metric: Metric) -> Arithmetic:
    credit, hits = _gains(ranking, metric), hits_of(ranking, None)
    columns = {
        "gain": spread(ranking, hits.row, credit.amount, 0.0),
        "contribution": spread(ranking, hits.row, credit.amount * credit.position, 0.0),
    }
    steps = [total("contributions", "contribution"), total("gains", "gain")]
    return Arithmetic.of([list_table(ranking, columns)], [*steps, quotient(str(metric), "contributions", "gains")])


def _percentile_terms(ranking: Ranking, metric: Metric) -> Arithmetic:
    hits, items = hits_of(ranking, metric.rel), _items(ranking, _items_of(metric))
    listed = int(hits.retrieved_relevant()[0])
    unlisted = max(int(hits.relevant[0]) - listed, 0)
    columns = {
        "hit": spread(ranking, hits.row, hits.probability, 0.0),
        "above": spread(ranking, hits.row, hits.probability * (hits.position - 1), 0.0),
    }
    steps = [
        total("above hits", "above"),
        given("relevant, not listed", unlisted),
        given("above each of them", _above_unlisted(ranking, items)[0]),
        step("above them", "times", "relevant, not listed", "above each of them"),
        step("above all", "plus", "above hits", "above them"),
        given("I", items[0]),
        step("share above", "share", "above all", "I"),
        given("R", listed + unlisted),
    ]
    return Arithmetic.of([list_table(ranking, columns)], [*steps, quotient(str(metric), "share above", "R")])


def _items_of(metric: Metric) -> int | None:
    return None if metric["items"] is None else int(metric.number("items"))


DECLARATIONS = (
    GroupMetric(
        name="first_rank",
        title="position of the first hit, for median(first_rank)",
        formula="least i of a hit within k",
        undefined="no hit in the first k; with sampled=m, a list other than one relevant row and m others",
        reference="sparkrank's own; 1 / first_rank is rr where it is defined",
        aliases=("min_label_position",),
        parameters=(
            Count(
                "sampled",
                None,
                "m, how many other items stand in a list with the one relevant item",
                later=True,
                least=1,
                most=MOST_SAMPLED,
            ),
            REL,
        ),
        higher_is_better=False,
        lowest=1.0,
        highest=math.inf,
        needs_order=NeedsOrder(
            "a mean over orders of which some have no hit, or a rank to be counted",
            "first_rank@k, first_rank(sampled=m)",
            lambda metric: metric.k is not None or metric["sampled"] is not None,
        ),
        values=_first_rank,
        arithmetic=_first_terms,
    ),
    GroupMetric(
        name="relevance_position",
        title="mean position of what is relevant, weighted by label (ARP)",
        formula="Σ i·g_i / Σ g_i over the list, g = the label, a label below 0 counts 0",
        undefined="no row of the list has a gain",
        reference="TensorFlow Ranking: ARPMetric",
        aliases=("arpmetric", "average_relevance_position"),
        cutoff="none",
        higher_is_better=False,
        lowest=1.0,
        highest=math.inf,
        values=lambda ranking, metric: relevance_position(_gains(ranking, metric), ranking.groups),
        arithmetic=_position_terms,
    ),
    of_relevant(
        name="percentile_rank",
        title="mean share of the items that stand above a relevant one",
        formula="1/R · Σ over relevant rows of (i-1) / I; of one that is not listed (n-1 + I) / (2·I), n = length of "
        "the list; I = rows of the group, or items if that is more",
        reference="Hu, Koren, Volinsky: ICDM 2008; recpack: PercentileRanking, times 100, over all groups "
        "(weight=relevant)",
        aliases=("percentileranking", "mpr"),
        cutoff="none",
        higher_is_better=False,
        parameters=(
            Count("items", None, "how many items could be listed, if the group lacks some", least=1, most=MOST_ITEMS),
            REL,
        ),
        values=lambda ranking, metric: percentile_rank(ranking, metric.rel, _items_of(metric)),
        arithmetic=_percentile_terms,
    ),
)
