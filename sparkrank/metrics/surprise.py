"""Declarations of metrics of surprise, measured by the earlier popularity of the items in lists."""

from __future__ import annotations

import math

import numpy as np

from sparkrank.metrics.arithmetic import LIST, Arithmetic, TermTable, given, step, total
from sparkrank.metrics.arithmetic import ratio as quotient
from sparkrank.metrics.group_metric import GroupMetric
from sparkrank.metrics.metric import Metric, Unbounded
from sparkrank.metrics.overlap import divisor, share_of
from sparkrank.metrics.parameters import WEIGHT, Choice, ColumnChoice
from sparkrank.metrics.precision import REL, needs_cutoff, ratio
from sparkrank.numeric.array_types import Floats, Ints
from sparkrank.numeric.cached import cached
from sparkrank.numeric.elementary import log2
from sparkrank.numeric.segments import sum_by
from sparkrank.ranking.first_rows import first_shares
from sparkrank.ranking.ranking import Ranking
from sparkrank.ranking.value_columns import ITEM_RANK, ROWS, USERS, ValueColumn


def _information(popularity: Floats, all_: int, scale: str) -> Floats:
    """Return -log2(popularity / all_) in bits, or divided by its highest value; NaN where all_ is 0."""
    if all_ < (2 if scale == "unit" else 1):
        return np.full(len(popularity), math.nan)
    bits = log2(all_ / np.maximum(popularity, 1.0))
    return bits / log2(np.array([all_], np.float64)) if scale == "unit" else bits


@cached
def _surprise(ranking: Ranking, column: ValueColumn, k: int | None, scale: str) -> tuple[Ints, Floats, Floats]:
    """Return the listed rows, the share of each that is within ``k`` and has an item, and their information.

    Information is -log2 of the item's popularity.
    """
    row = ranking.row_by([column])  # tied rows in an order that does not depend on the input's
    popularity = ranking.columns[column][row].astype(np.float64)
    share = np.where(np.isnan(popularity), 0.0, first_shares(ranking, k))
    information = np.full(len(row), math.nan)
    shown = np.flatnonzero(share)
    information[shown] = _information(popularity[shown], ranking.totals[column], scale)
    return row, share, information


def _rows_shown(ranking: Ranking, metric: Metric) -> Floats:
    _, share, _ = _surprise(ranking, metric.value_column("of"), metric.k, metric.word("scale"))
    return sum_by(ranking.lists.group_of(np.arange(len(share))), share, ranking.groups)


def _divisor(metric: Metric) -> int | None:
    """Return the number that divides the information of every list, or None if its rows do."""
    return metric.k if metric["over"] == "k" else None


def past_novelty(ranking: Ranking, metric: Metric) -> Floats:
    """Return the mean of -log2(share of the popularity) of the first k items of each group.

    With ``scale=unit``, the mean is divided by the highest possible value, and with ``over=k`` the sum is divided by k.
    The result is NaN without items.
    """
    _, share, information = _surprise(ranking, metric.value_column("of"), metric.k, metric.word("scale"))
    shown = np.flatnonzero(share)
    summed = sum_by(ranking.lists.group_of(shown), share[shown] * information[shown], ranking.groups)
    rows, k = _rows_shown(ranking, metric), _divisor(metric)
    mean = ratio(summed, rows if k is None else np.where(rows > 0, k, 0.0))
    return np.minimum(mean, 1.0) if metric["scale"] == "unit" else mean


def _novelty_terms(ranking: Ranking, metric: Metric) -> Arithmetic:
    column = metric.value_column("of")
    row, share, information = _surprise(ranking, column, metric.k, metric.word("scale"))
    popularity, shown = ranking.columns[column][row].astype(np.float64), share > 0
    columns = {metric.word("of"): popularity, "shown": np.where(shown, share, math.nan)}
    columns["self-information"] = np.where(shown, share * information, math.nan)
    k = _divisor(metric)
    below = total("rows shown", "shown") if k is None else given("k", k)
    steps = [
        given(f"{metric['of']} of the interactions", ranking.totals[column]),
        total("Σ of self-information", "self-information"),
        below,
        quotient(str(metric), "Σ of self-information", below.name),
    ]
    return Arithmetic.of([TermTable(LIST, columns, row)], steps)


@cached
def _leads(ranking: Ranking, column: ValueColumn, k: int | None) -> tuple[Ints, Floats, Floats]:
    """Return the listed rows, the rank of each by popularity, and how far its position is above that rank (its lead).

    The lead is 0 if the position is below the rank or beyond ``k``. Under ``ties=expected``, a tied row has the mean
    over the positions of its block. An item that no group had has the rank after the last.
    """
    row = ranking.row_by([column])
    last = ranking.totals[column] + 1
    rank = ranking.columns[column][row].astype(np.float64)
    rank = np.where(rank > 0, np.minimum(rank, last), last)
    low = high = ranking.stands_at().astype(np.float64)
    size = np.ones(len(row))
    blocks = ranking.blocks
    if ranking.ties == "expected" and len(blocks.row):
        low, high = low.copy(), high.copy()
        size[blocks.row] = blocks.size[blocks.block]
        low[blocks.row] = blocks.before[blocks.block] + 1
        high[blocks.row] = low[blocks.row] + size[blocks.row] - 1
    high = np.minimum(high, rank - 1 if k is None else np.minimum(rank - 1, k))
    positions = np.maximum(high - low + 1, 0.0)  # the positions above the rank and within k
    return row, rank, positions * (rank - (low + high) / 2) / size


def past_serendipity(ranking: Ranking, metric: Metric) -> Floats:
    """Return Σ lead / N over the relevant rows within k of each group, divided as ``over`` says (:func:`share_of`).

    The lead of a row is its rank by popularity minus its position, or 0 if that is negative. N is the number of items
    with a rank. The result is NaN if N is 0.
    """
    column = metric.value_column("of")
    row, _, lead = _leads(ranking, column, metric.k)
    items = ranking.totals[column]
    if not items:
        return np.full(ranking.groups, math.nan)
    counted = np.where(ranking.judgments.flags(metric.rel)[row], lead, 0.0)
    summed = sum_by(ranking.lists.group_of(np.arange(len(row))), counted, ranking.groups)
    return share_of(summed / items, ranking, metric.k, metric.word("over"))


def _serendipity_terms(ranking: Ranking, metric: Metric) -> Arithmetic:
    column = metric.value_column("of")
    row, rank, lead = _leads(ranking, column, metric.k)
    flags = ranking.judgments.flags(metric.rel)[row].astype(np.float64)
    columns = {"relevant": flags, "rank by popularity": rank, "positions above the rank": lead}
    columns["counts"] = flags * lead
    below = divisor(ranking, metric.k, metric.word("over"))
    steps = [
        total("Σ of positions", "counts"),
        given("items", ranking.totals[column]),
        quotient("serendipity", "Σ of positions", "items"),
        *below,
        step(str(metric), "share", "serendipity", below[-1].name),
    ]
    return Arithmetic.of([TermTable(LIST, columns, row)], steps)


def _check(metric: Metric) -> str | None:
    if metric["of"] is None:
        return f"names no popularity of the interactions: of={metric.declaration.parameters[0].allowed} does"
    if metric["over"] == "rows" and metric[WEIGHT.name] != "uniform":
        return f"gives {WEIGHT.name}, but under over=rows a list weighs as many rows as it shows: write over=lists"
    return None


DECLARATIONS = (
    GroupMetric(
        name="past_novelty",
        called="novelty",
        title="mean self-information of the items shown, by the popularity that they had before",
        formula="mean over rows within k of -log2(max(u, 1) / U), u = the groups (of=users) or the rows (of=rows) of "
        "the interactions that have the item, U = all of them; over=lists: the mean over lists of this mean; "
        "over=k: of the sum over these rows / k",
        undefined="no row with an item is listed, or the interactions are empty; scale=unit: or U is 1",
        reference="Zhou et al.: PNAS 2010; Castells, Vargas, Wang 2011",
        parameters=(
            ColumnChoice(
                "of",
                None,
                "the popularity of an item in the interactions: the groups that had it, or its rows",
                columns=(("users", USERS), ("rows", ROWS)),
            ),
            Choice(
                "over",
                "rows",
                "the mean: over the rows of all lists; over lists, each of which counts equally; k = over lists, of "
                "which an empty place is no surprise",
                choices=("rows", "lists", "k"),
            ),
            Choice("scale", "bits", "bits, or unit = divided by log2 U", choices=("bits", "unit")),
        ),
        reads_labels=False,
        highest=1.0,
        unbounded=Unbounded("scale=bits", lambda metric: metric["scale"] == "bits", has_ideal=lambda metric: False),
        check=lambda metric: _check(metric) or needs_cutoff("over", "k")(metric),
        alike=(("over", "lists", "k"), (WEIGHT.name, "uniform")),
        values=past_novelty,
        weights=lambda ranking, metric: _rows_shown(ranking, metric) if metric["over"] == "rows" else None,
        arithmetic=_novelty_terms,
    ),
    GroupMetric(
        name="past_serendipity",
        called="serendipity",
        title="how much higher relevant rows stand in the list than among all items by popularity",
        formula="Σ max(p_i - u_i, 0) over the relevant rows in the first k / k, or, without @k, / rows of the list; "
        "p_i = (N + 1 - i) / N, i = the position; u_i = (N + 1 - r_i) / N, r_i = the rank of the item by its rows in "
        "the interactions, equal ones sharing a rank, u_i = 0 where nobody had it; N = the items of the catalog, or, "
        "without one, of the interactions",
        undefined="neither the catalog nor the interactions have an item",
        reference="RecTools: Serendipity; its form of Murakami, Mori, Orihara: JSAI 2008",
        parameters=(
            ColumnChoice("of", None, "the popularity that ranks the items", columns=(("rows", ITEM_RANK),)),
            Choice(
                "over",
                "k",
                "denominator: k; retrieved = min(k, length of the list)",
                choices=("k", "retrieved"),
            ),
            REL,
        ),
        check=_check,
        values=past_serendipity,
        arithmetic=_serendipity_terms,
    ),
)
