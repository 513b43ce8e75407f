"""The declaration of ``shown``, the mean or sum of a column over the first k rows, such as the mean price."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sparkrank.metrics.arithmetic import Arithmetic, given, list_table, step, total, within
from sparkrank.metrics.arithmetic import ratio as quotient
from sparkrank.metrics.gain import DISCOUNT, why_no_discounts
from sparkrank.metrics.group_metric import GroupMetric
from sparkrank.metrics.metric import Metric, NeedsOrder
from sparkrank.metrics.parameters import Choice, Column, Name, discount_of
from sparkrank.metrics.precision import ratio
from sparkrank.numeric.array_types import Codes, Flags, Floats
from sparkrank.numeric.cached import cached
from sparkrank.numeric.segments import sum_by
from sparkrank.ranking.cut_blocks import CutBlocks
from sparkrank.ranking.first_rows import head_of
from sparkrank.ranking.ranking import Ranking
from sparkrank.ranking.value_columns import ValueColumn

NO_DISCOUNT = "none"
IS = "is"
SOME_HAVE_NONE = "a mean over the orders of the tied rows that k divides, as some of them have no value"


@dataclass(frozen=True, eq=False)
class PlacedValues:
    """The values at the positions of all lists, one for each ranked row.

    ``amount`` is the value; it is 0 for a row without a value, and the mean over tied rows under ``ties=expected``.
    ``has_value`` flags rows with a value, which come first in a tie block.
    """

    group: Codes
    position: NDArray[np.int32]
    amount: Floats
    has_value: Flags


@cached
def placed_values(ranking: Ranking, column: ValueColumn) -> PlacedValues:
    """Return the values of ``column``. In a tie block, the lowest value is first, or the highest under ``ties=best``.

    Under ``ties=item``, only rows of the same item are sorted. Values therefore do not depend on the order of the
    input.
    """
    values, blocks = ranking.columns[column][ranking.row].astype(np.float64), ranking.blocks
    tied, items = values[blocks.row], []
    if ranking.ties == "item" and ranking.item_order is not None:
        items = [-ranking.item_order(ranking.row[blocks.row])]
    values[blocks.row] = tied[np.lexsort((-tied if ranking.ties == "best" else tied, *items, blocks.block))]
    has_value = ~np.isnan(values)
    amount = np.where(has_value, values, 0.0)
    if ranking.ties == "expected":
        amount[blocks.row] = (blocks.sum(amount[blocks.row]) / blocks.size)[blocks.block]
    return PlacedValues(ranking.lists.group, ranking.stands_at(), amount, has_value)


def shown(ranking: Ranking, metric: Metric) -> Floats:
    """Return the mean or the sum of the values in the first k rows of each group; NaN without a value in these rows.

    Under ``ties=expected``, the result is the mean over those orders of tied rows in which a row within k has a value.
    """
    ranking = head_of(ranking, metric.k)
    placed, is_mean = placed_values(ranking, metric.value_column("of")), metric["by"] == "mean"
    rows = np.arange(len(placed.amount)) if metric.k is None else np.flatnonzero(placed.position <= metric.k)
    group, has_value, weight = placed.group[rows], placed.has_value[rows], _discounts(placed.position[rows], metric)
    summed = sum_by(group, placed.amount[rows] * weight, ranking.groups)
    valued = sum_by(group, has_value, ranking.groups)
    value = ratio(summed, sum_by(group, weight * has_value, ranking.groups) if is_mean else np.minimum(valued, 1.0))
    if ranking.ties == "expected" and len((cut := _cut_blocks(ranking, metric)).group):
        above, expected = valued[cut.group] - np.minimum(cut.shown, cut.valued), summed[cut.group]
        block, number, probability = cut.draws()
        counted = above[block] + number
        probability[counted == 0] = 0.0
        if is_mean:
            amount = placed.amount[ranking.blocks.row[ranking.blocks.place == 1][cut.block]]  # in each tied row
            others, each = expected - cut.shown * amount, amount * cut.size / cut.valued
            terms = probability * (others[block] + number * each[block]) / np.maximum(counted, 1.0)
            expected = sum_by(block, terms, len(expected))
        value[cut.group] = expected / sum_by(block, probability, len(expected))
    return value


def _cut_blocks(ranking: Ranking, metric: Metric) -> CutBlocks:
    """Return the tie blocks that the cut-off divides so that chance decides how many of their values it includes."""
    placed = placed_values(ranking, metric.value_column("of"))
    return CutBlocks.of(ranking, metric.k, placed.has_value).of_some()


def _discounts(position: NDArray[np.int32], metric: Metric) -> Floats:
    return np.ones(len(position)) if metric["discount"] == NO_DISCOUNT else discount_of(metric["discount"]).at(position)


def _check(metric: Metric) -> str | None:
    if metric["of"] is None:
        return "names no column: of=<column> says what is shown, as in shown(of=price)@10"
    return None if metric["discount"] == NO_DISCOUNT else why_no_discounts(metric)


def _shown_terms(ranking: Ranking, metric: Metric) -> Arithmetic:
    placed = placed_values(ranking, metric.value_column("of"))
    tied = np.zeros(len(placed.amount), np.bool_)
    tied[ranking.blocks.row] = ranking.ties == "expected"
    columns = {"value": np.where(placed.has_value | tied, placed.amount, math.nan)}
    weight = _discounts(placed.position, metric)
    if metric["discount"] != NO_DISCOUNT:
        columns |= {"discount": weight, "contribution": columns["value"] * weight}
    last = next(reversed(columns))
    columns["counts"] = within(weight * placed.has_value, placed.position, metric.k)
    columns[last] = within(columns[last], placed.position, metric.k)
    steps = [total("Σ of what is shown", last), total("rows with a value", "counts")]
    if ranking.ties == "expected" and len(_cut_blocks(ranking, metric).group):
        steps.append(given(str(metric), float(shown(ranking, metric)[0])))
        return Arithmetic.of([list_table(ranking, columns)], steps, [SOME_HAVE_NONE])
    names = (steps[0].name, steps[1].name)
    last_step = quotient(str(metric), *names) if metric["by"] == "mean" else step(str(metric), "where", *names)
    return Arithmetic.of([list_table(ranking, columns)], [*steps, last_step])


DECLARATIONS = (
    GroupMetric(
        name="shown",
        title="mean or sum of a quantity, such as the price, over the rows shown",
        formula="Σ d_i·x_i / Σ d_i over the rows with a value x_i in the first k, d_i = 1 unless discount says "
        "otherwise; by=sum: Σ d_i·x_i",
        undefined="no row in the first k has a value",
        reference="Yin et al.: VLDB 2012 (ARP); Abdollahpouri, Burke, Mobasher: FLAIRS 2019 (APLT)",
        parameters=(
            Column("of", None, "x: a column of numbers or booleans; a row with a null is left out", equals=IS),
            Name(IS, None, "x is 1 where the column has this text, and 0 where it has another", named="<text>"),
            Choice("by", "mean", "mean, or sum without the division", choices=("mean", "sum")),
            replace(DISCOUNT, default=NO_DISCOUNT, choices=(NO_DISCOUNT, *DISCOUNT.choices), later=False),
        ),
        reads_labels=False,
        higher_is_better=None,
        lowest=-math.inf,
        highest=math.inf,
        check=_check,
        needs_order=NeedsOrder(
            "a mean over orders of a quotient by sums of discounts",
            "by=mean with a discount",
            lambda metric: metric["by"] == "mean" and metric["discount"] != NO_DISCOUNT,
        ),
        values=shown,
        arithmetic=_shown_terms,
    ),
)
