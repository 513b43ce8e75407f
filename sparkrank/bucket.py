"""One bucket of whole groups, evaluated: the unit of work of every lane. Pure pyarrow and numpy.

A bucket is a table of impressions with the columns of :func:`bucket_columns`. Whoever feeds it has made sure that all
rows of a group are in it; that is all the buckets need to know of each other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from sparkrank import checks
from sparkrank.impressions import (
    ITEM,
    LABEL,
    REFERENCE_RANK,
    TRUTH,
    WEIGHT,
    as_numpy,
    group_codes,
    key_column,
    key_columns,
    order_of,
    reject,
    score_column,
    text_order,
    weights_of,
)
from sparkrank.joining import JudgedRows, judge
from sparkrank.kernels.auc import class_counts
from sparkrank.kernels.exposure import shown
from sparkrank.kernels.hits import hits_of
from sparkrank.kernels.judgments import Floats
from sparkrank.kernels.order import Flags
from sparkrank.kernels.ranking import Ranking
from sparkrank.kernels.rowsums import ScoredRows
from sparkrank.lists import ListedRows, chosen_groups, listed_rows
from sparkrank.metrics import Plan
from sparkrank.states import Distribution, ItemCounts, MeanStates, Partials, RowSums, ScoreBlocks, Series
from sparkrank.states.means import weighted_sums

ALL = "all"  # the slice, and its value, that holds the whole day
GROUP_COUNTS = ("n_rows", "n_retrieved", "n_relevant")
MODEL = "model"


@dataclass(frozen=True)
class BucketResult:
    """The partials of a bucket, and its rows of the group table where the plan asks for them."""

    partials: Partials
    groups: pa.Table | None


def bucket_columns(plan: Plan, keys: int) -> list[str]:
    """The columns of a bucket: group key, label, a score per model; weight, item and reference rank where read.

    Where lists and truth are joined, another says which of the rows are truth.
    """
    columns = [*map(key_column, range(keys)), LABEL, *map(score_column, range(len(plan.models)))]
    read = {WEIGHT: plan.weighted, ITEM: plan.needs_item, REFERENCE_RANK: plan.needs_reference_rank, TRUTH: plan.joins}
    return [*columns, *(name for name, is_read in read.items() if is_read)]


def evaluate_bucket(rows: pa.Table, plan: Plan) -> BucketResult:
    """Everything the plan asks for, of the whole groups in ``rows``.

    Rows with a null group key, a NaN score, a label that is NaN or infinite, or a weight that is no number from 0 are
    rejected and counted, as are rows without an item or with a rank that is no position where that matters.
    """
    counts: Counter[tuple[str, str]] = Counter({(checks.ROWS_READ, ""): rows.num_rows})
    if plan.joins:
        counts[checks.TRUTH_ROWS, ""] = int(np.count_nonzero(as_numpy(rows[TRUTH])))
    rows = reject(rows, plan, counts)
    keys = rows.select(key_columns(rows))
    codes, row_of_group = group_codes(keys.columns)
    judged = judge(rows, codes, len(row_of_group), plan, counts)
    rows = judged.rows
    judgments = judged.judgments(_references(judged, plan))
    counts[checks.ROWS_EVALUATED, ""] = rows.num_rows
    counts[checks.GROUPS, ""] = judgments.groups
    weights = weights_of(rows[WEIGHT]) if plan.weighted else None
    ordered = plan.definitions.ties == "item" or plan.exposures  # of rows tied otherwise, the item settles who is shown
    item_order = text_order(rows[ITEM]) if ordered else None
    means: list[Any] = []
    blocks: dict[Series, ScoreBlocks] = {}
    distributions: dict[tuple[str, str, str, str], Distribution] = {}
    items: list[ItemCounts] = [ItemCounts.empty()]
    sums: dict[tuple[str, str, str, str], Floats] = {}
    groups: list[pa.Table] = []
    for index, model in enumerate(plan.models):
        listed = listed_rows(judged, index, model, plan, counts)
        ranking = Ranking(
            judgments, listed.scores, listed.retrieved, plan.definitions.ties, item_order, plan.definitions.positions
        )
        counts.update(_ranking_counts(ranking, model))
        chosen = chosen_groups(judged, index, model, plan, counts)
        values = {str(metric): declared.values(ranking, metric) for metric, declared in plan.group_metrics}
        means += _mean_rows(ranking, model, plan, values, chosen)
        for metric in plan.distributions:
            of_groups = values[str(metric)]
            counted, _ = _counted(of_groups if chosen is None else of_groups[chosen], None, plan)
            distributions[model, ALL, ALL, str(metric)] = Distribution.of(counted)
        items += _item_counts(ranking, rows, model, plan, chosen)
        scored = _scored_rows(ranking, listed, weights, chosen)
        for rule, score_sums in plan.block_rules.items():
            series = Series(model, ALL, ALL, rule)
            blocks[series] = ScoreBlocks.of(rule, scored.scores, scored.flags(rule.rel), score_sums, scored.weights)
        sums |= {(model, ALL, ALL, str(quantity)): scored.sum(quantity) for quantity in plan.row_sums}
        if plan.group_table:
            table = _group_rows(ranking, model, plan, keys.take(pa.array(row_of_group)), values)
            groups.append(table if chosen is None else table.filter(pa.array(chosen)))
    counted_items = items[0].merge(*items[1:])
    partials = Partials(
        MeanStates.of(means), blocks, RowSums.of(sums), distributions, items=counted_items, counts=dict(counts)
    )
    return BucketResult(partials, pa.concat_tables(groups) if plan.group_table else None)


def _references(judged: JudgedRows, plan: Plan) -> dict[str, Floats]:
    """The orders that the plan's metrics compare with, as :class:`sparkrank.kernels.judgments.Judgments` takes them."""
    orders = {
        name: order_of(judged.rows[name], highest_first=False)
        if name == REFERENCE_RANK
        else order_of(judged.rows[score_column(plan.models.index(name))], highest_first=True)
        for name in plan.references
    }
    return {name: judged.first_of_item(order) for name, order in orders.items()}


def _item_counts(
    ranking: Ranking, rows: pa.Table, model: str, plan: Plan, chosen: Flags | None
) -> Iterator[ItemCounts]:
    """What the lists of the groups evaluated show of the catalogue; an item of a group is relevant there once."""
    judgments = ranking.judgments
    counted = judgments.counted()
    for exposure in plan.exposures:
        relevant = judgments.flags(exposure.rel)
        if counted is not None:
            once = np.zeros(len(relevant), np.bool_)
            once[counted] = relevant[counted]
            relevant = once
        exposed = shown(ranking, exposure.k)
        if chosen is not None:  # what other groups list is in the catalogue all the same
            evaluated = chosen[judgments.codes]
            exposed, relevant = np.where(evaluated, exposed, 0), relevant & evaluated
        yield ItemCounts.of((model, ALL, ALL, str(exposure)), rows[ITEM], exposed, relevant)


def _ranking_counts(ranking: Ranking, model: str) -> dict[tuple[str, str], int]:
    positives, negatives = class_counts(hits_of(ranking, None))
    listed = ranking.length > 0
    return {
        (checks.SCORED_ROWS, model): len(ranking.row),
        (checks.TIED_ROWS, model): len(ranking.blocks.row),
        (checks.UNRETRIEVED_GROUPS, model): int(np.count_nonzero(~listed)),
        (checks.ONE_CLASS_GROUPS, model): int(np.count_nonzero(listed & ((positives == 0) | (negatives == 0)))),
    }


def _mean_rows(
    ranking: Ranking, model: str, plan: Plan, values: Mapping[str, Floats], chosen: Flags | None
) -> Iterator[Any]:
    """The mean state of each group metric, as :meth:`MeanStates.of` takes them."""
    codes = ranking.judgments.codes
    n_rows = len(codes) if chosen is None else int(np.count_nonzero(chosen[codes]))
    n_groups = ranking.groups if chosen is None else int(np.count_nonzero(chosen))
    for metric, declared in plan.group_metrics:
        of_groups, weights = values[str(metric)], declared.weights(ranking, metric)
        if chosen is not None:
            of_groups, weights = of_groups[chosen], None if weights is None else weights[chosen]
        n_undefined = int(np.count_nonzero(np.isnan(of_groups)))
        of_groups, weights = _counted(of_groups, weights, plan)
        counts = (n_groups, n_undefined, len(of_groups), n_rows)
        yield (model, ALL, ALL, str(metric)), counts, weighted_sums(of_groups, weights)


def _counted(values: Floats, weights: Floats | None, plan: Plan) -> tuple[Floats, Floats | None]:
    """The values of the groups that count, an undefined one as the definitions say, and their weights."""
    undefined = np.isnan(values)
    if not undefined.any():
        return values, weights
    if plan.definitions.counts_undefined_as is not None:
        return np.where(undefined, plan.definitions.counts_undefined_as, values), weights
    return values[~undefined], None if weights is None else weights[~undefined]


def _scored_rows(ranking: Ranking, listed: ListedRows, weights: Floats | None, chosen: Flags | None) -> ScoredRows:
    """The rows of a model that have a score, in the groups evaluated, as the metrics of the whole day see them."""
    judgments, scores, retrieved = ranking.judgments, listed.scores, listed.retrieved
    if chosen is not None:
        of_chosen = chosen[judgments.codes if retrieved is None else judgments.codes[retrieved]]
        scores = scores[of_chosen]
        retrieved = np.flatnonzero(of_chosen) if retrieved is None else retrieved[of_chosen]
    if retrieved is None:
        return ScoredRows(scores, judgments.labels, weights)
    return ScoredRows(scores, judgments.labels[retrieved], None if weights is None else weights[retrieved])


def _group_rows(ranking: Ranking, model: str, plan: Plan, keys: pa.Table, values: Mapping[str, Floats]) -> pa.Table:
    """The rows of the group table: model, group key, counts, and a column for each metric."""
    judgments = ranking.judgments
    columns = {
        MODEL: pa.array([model] * ranking.groups, pa.string()),
        **dict(zip(plan.keys, keys.columns, strict=True)),
        **dict(zip(GROUP_COUNTS, (judgments.rows_of_group(), ranking.length, judgments.relevant(None)), strict=True)),
        **values,
    }
    return pa.table(columns)
