"""Declarations of metrics of fairness: the shares of a list's attention that values such as providers get."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sparkrank.metrics.arithmetic import LIST, Arithmetic, TermTable, given, step, total
from sparkrank.metrics.gain import DISCOUNT, why_no_discounts
from sparkrank.metrics.group_metric import GroupMetric
from sparkrank.metrics.metric import Metric, NeedsOrder
from sparkrank.metrics.parameters import Choice, Column, discount_of
from sparkrank.metrics.precision import REL
from sparkrank.numeric.array_types import Codes, Flags, Floats, Ints
from sparkrank.numeric.elementary import log2
from sparkrank.numeric.segments import sum_by
from sparkrank.ranking.ranking import Ranking
from sparkrank.ranking.value_columns import CATALOG, POPULARITY, TIER, ValueColumn, catalog_column, table_of_items

BY, VALUES = "by", "values"
RELEVANT = "relevant"
AGAINST = Choice(
    "against",
    RELEVANT,
    "T: the shares of values among the relevant rows, listed or not, among the items of the catalog, or among the rows "
    "of the interactions",
    choices=(RELEVANT, CATALOG, POPULARITY),
)
DISTANCE = Choice(
    "distance",
    "tv",
    "of E and T: tv = 1/2 Σ |E_v - T_v|, or js = the Jensen-Shannon divergence in bits",
    choices=("tv", "js"),
)


def common_shares(shown: Floats, target: Floats, distance: str) -> Floats:
    """Return one term per value. The terms add up to 1 minus the distance between the shares ``shown`` and ``target``.

    For the distance ``tv``, a term is min(shown, target). Otherwise, with b = shown + target, a term is (shown · log2(b
    / shown) + target · log2(b / target)) / 2 (by Jensen and Shannon). A share of NaN gives NaN. A value not shown has
    the term 0.
    """
    if distance == "tv":
        return np.minimum(shown, target)
    both = shown + target
    return (_information(shown, both) + np.where(shown > 0, _information(target, both), shown)) / 2


def _information(share: Floats, both: Floats) -> Floats:
    has_share = ~(share <= 0)
    return np.where(has_share, share * log2(np.where(has_share, both / np.where(has_share, share, 1.0), 1.0)), 0.0)


@dataclass(frozen=True, eq=False)
class ListShares:
    """The shares of values in lists, with one entry for each value that is shown to a group.

    ``group`` is the group, ``row`` a judged row with the value, ``shown`` the value's share of the list's attention,
    and ``target`` its share of the target. ``has_both`` flags the groups that have both attention and a target.
    """

    group: Codes
    row: Ints
    shown: Floats
    target: Floats
    has_both: Flags

    @classmethod
    def of(cls, ranking: Ranking, metric: Metric) -> ListShares:
        column = metric.value_column(BY)
        code, position, every = ranking.columns[column], ranking.stands_at(), ranking.row_by([column])
        of_list = np.ones(len(position), np.bool_) if metric.k is None else position <= metric.k
        listed = np.flatnonzero(of_list & (code[every] >= 0))
        row, group = every[listed], ranking.lists.group_of(listed)
        values = int(code.max(initial=-1)) + 1
        pair, first, of_pair = np.unique(group * np.int64(values) + code[row], return_index=True, return_inverse=True)
        attention = discount_of(metric["discount"]).at(position[listed])
        amount, whole = sum_by(of_pair, attention, len(pair)), sum_by(group, attention, ranking.groups)
        some = np.flatnonzero(amount)  # the list of discounts may be shorter than k
        pair, row, group = pair[some], row[first[some]], group[first[some]]
        shown = amount[some] / whole[group]
        against = metric.word(AGAINST.name)
        if against != RELEVANT:
            target = ranking.columns[column.as_share_of(against)][row].astype(np.float64)
            return cls(group, row, shown, target, whole > 0)
        wanted = _relevant_pairs(ranking, metric, column, values)
        wanted, count = np.unique(wanted, return_counts=True)
        of_group = sum_by(wanted // max(values, 1), count, ranking.groups)
        place = np.searchsorted(wanted, pair)
        is_wanted = np.append(wanted, -1)[place] == pair
        amounts = np.where(is_wanted, np.append(count, 0)[place], 0)
        has_both = (whole > 0) & (of_group > 0)
        return cls(group, row, shown, amounts / np.maximum(of_group, 1)[group], has_both)


def _relevant_pairs(ranking: Ranking, metric: Metric, column: ValueColumn, values: int) -> Ints:
    """Return group and value of each relevant row as one number. An item counts once for each of its values."""
    judgments, code = ranking.judgments, ranking.columns[column]
    rows = np.flatnonzero(judgments.once(judgments.flags(metric.rel) & (code >= 0), code))
    pair: Ints = judgments.codes[rows] * np.int64(values) + code[rows]
    return pair


def awrf(ranking: Ranking, metric: Metric) -> Floats:
    """Return 1 minus the distance between the values' shares of a list's attention and of the target, by group.

    The result is NaN if the list or the target has no value.
    """
    shares = ListShares.of(ranking, metric)
    terms = common_shares(shares.shown, shares.target, metric.word(DISTANCE.name))
    order = np.lexsort((terms, shares.group))  # values have no order: equal terms add up to equal sums
    value = np.minimum(sum_by(shares.group[order], terms[order], ranking.groups), 1.0)
    value[~shares.has_both] = math.nan
    return value


def why_no_shares(metric: Metric) -> str | None:
    """Return the reason why the parameters of a metric of shares are contradictory, or None."""
    if metric[BY] is None:
        return f"names no column: {BY}=<column> says what is shown, as in {metric.name}({BY}={CATALOG}.provider)@10"
    against = metric.word(AGAINST.name)
    if against == CATALOG and catalog_column(metric.word(BY)) is None:
        return f"compares {metric.word(BY)} with the items of a catalog: {BY}={CATALOG}.<column> is needed"
    if against == POPULARITY and table_of_items(metric.word(BY), has_interactions=True) is None:
        needed = f"{BY}={CATALOG}.<column> or {BY}={TIER} is needed"
        return f"compares {metric.word(BY)} with the items of the interactions: {needed}"
    if against != RELEVANT and metric["rel"] is not None:
        return f"gives rel, but {AGAINST.name}={against} reads no labels"
    return why_no_discounts(metric)


def _awrf_terms(ranking: Ranking, metric: Metric) -> Arithmetic:
    shares = ListShares.of(ranking, metric)
    terms = common_shares(shares.shown, shares.target, metric.word(DISTANCE.name))
    columns = {"share of attention": shares.shown, "share of the target": shares.target, "in common": terms}
    position = ranking.stands_at()
    row = ranking.row_by([column := metric.value_column(BY)])
    has_value = ranking.columns[column][row] >= 0
    within_k = has_value if metric.k is None else has_value & (position <= metric.k)
    attention = np.where(within_k, discount_of(metric["discount"]).at(position), math.nan)
    steps = [
        total("Σ in common", "in common", VALUES),
        given("attention and a target", float(shares.has_both[0])),
        step(str(metric), "where", "Σ in common", "attention and a target"),
    ]
    return Arithmetic.of(
        [TermTable(LIST, {"attention": attention}, row), TermTable(VALUES, columns, shares.row)], steps
    )


FAIRNESS_PARAMETERS = (
    Column(
        BY,
        None,
        "a column of texts or numbers; a row with a null is left out",
        kind="category",
        shares="against",
    ),
    AGAINST,
    DISCOUNT,
    DISTANCE,
    REL,
)

DECLARATIONS = (
    GroupMetric(
        name="awrf",
        title="closeness of the attention that values such as providers get in a list to what they are due",
        formula="1 - distance of E and T over the values v of a column: E_v = the share of Σ d_i over the first k that "
        "rows of v have, T_v = its share of the relevant rows, of the catalog's items or of the rows of the "
        "interactions; rows without a value are left out",
        undefined="no row in the first k has a value and a discount above 0, or no row or item of the target has a "
        "value",
        reference="Sapiezynski et al.: WWW 2019 companion; Raj, Ekstrand: SIGIR 2022",
        parameters=FAIRNESS_PARAMETERS,
        check=why_no_shares,
        needs_order=NeedsOrder("the mean of a distance over the orders of tied rows has no closed form"),
        values=awrf,
        arithmetic=_awrf_terms,
    ),
)
