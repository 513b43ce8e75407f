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
    WEIGHT,
    as_numpy,
    group_codes,
    judged_rows,
    key_column,
    key_columns,
    labels_of,
    order_of,
    reject,
    score_column,
    scores_of,
    text_order,
    weights_of,
)
from sparkrank.kernels.auc import class_counts
from sparkrank.kernels.exposure import shown
from sparkrank.kernels.hits import hits_of
from sparkrank.kernels.judgments import Floats, Judgments
from sparkrank.kernels.order import Ints
from sparkrank.kernels.ranking import Ranking, Scores
from sparkrank.kernels.rowsums import ScoredRows
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
    """The columns of a bucket: group key, label, a score per model; weight, item and reference rank where read."""
    columns = [*map(key_column, range(keys)), LABEL, *map(score_column, range(len(plan.models)))]
    return columns + [WEIGHT] * plan.weighted + [ITEM] * plan.needs_item + [REFERENCE_RANK] * plan.needs_reference_rank


def evaluate_bucket(rows: pa.Table, plan: Plan) -> BucketResult:
    """Everything the plan asks for, of the whole groups in ``rows``.

    Rows with a null group key, a NaN score, a label that is NaN or infinite, or a weight that is no number from 0 are
    rejected and counted.
    """
    counts: Counter[tuple[str, str]] = Counter({(checks.ROWS_READ, ""): rows.num_rows})
    rows = reject(rows, counts)
    keys = rows.select(key_columns(rows))
    codes, row_of_group = group_codes(keys.columns)
    judgments = Judgments(
        codes, labels_of(rows[LABEL]), len(row_of_group), judged_rows(rows[LABEL]), _references(rows, plan)
    )
    counts[checks.ROWS_EVALUATED, ""] = rows.num_rows
    counts[checks.UNJUDGED_ROWS, ""] = rows[LABEL].null_count
    counts[checks.GROUPS, ""] = judgments.groups
    weights = weights_of(rows[WEIGHT]) if plan.weighted else None
    item_order = text_order(rows[ITEM]) if plan.needs_item else None
    means: list[Any] = []
    blocks: dict[Series, ScoreBlocks] = {}
    distributions: dict[tuple[str, str, str, str], Distribution] = {}
    items: list[ItemCounts] = [ItemCounts.empty()]
    sums: dict[tuple[str, str, str, str], Floats] = {}
    groups: list[pa.Table] = []
    for index, model in enumerate(plan.models):
        column = rows[score_column(index)]
        retrieved = np.flatnonzero(as_numpy(column.is_valid())) if column.null_count else None
        scores = scores_of(column)
        ranking = Ranking(judgments, scores, retrieved, plan.definitions.ties, item_order)
        counts.update(_ranking_counts(ranking, model))
        values = {str(metric): declared.values(ranking, metric) for metric, declared in plan.group_metrics}
        means += _mean_rows(ranking, model, plan, values)
        for metric in plan.distributions:
            counted, _ = _counted(values[str(metric)], None, plan)
            distributions[model, ALL, ALL, str(metric)] = Distribution.of(counted)
        for exposure in plan.exposures:
            relevant = judgments.flags(exposure.rel)
            key = (model, ALL, ALL, str(exposure))
            items.append(ItemCounts.of(key, rows[ITEM], shown(ranking, exposure.k), relevant))
        scored = _scored_rows(judgments, scores, retrieved, weights)
        for rule, score_sums in plan.block_rules.items():
            series = Series(model, ALL, ALL, rule)
            blocks[series] = ScoreBlocks.of(rule, scores, scored.flags(rule.rel), score_sums, scored.weights)
        sums |= {(model, ALL, ALL, str(quantity)): scored.sum(quantity) for quantity in plan.row_sums}
        if plan.group_table:
            groups.append(_group_rows(ranking, model, plan, keys.take(pa.array(row_of_group)), values))
    counted_items = items[0].merge(*items[1:])
    partials = Partials(
        MeanStates.of(means), blocks, RowSums.of(sums), distributions, items=counted_items, counts=dict(counts)
    )
    return BucketResult(partials, pa.concat_tables(groups) if plan.group_table else None)


def _references(rows: pa.Table, plan: Plan) -> dict[str, Floats]:
    """The orders that the plan's metrics compare with, as :class:`Judgments` takes them."""
    return {
        name: order_of(rows[name], highest_first=False)
        if name == REFERENCE_RANK
        else order_of(rows[score_column(plan.models.index(name))], highest_first=True)
        for name in plan.references
    }


def _ranking_counts(ranking: Ranking, model: str) -> dict[tuple[str, str], int]:
    positives, negatives = class_counts(hits_of(ranking, None))
    listed = ranking.length > 0
    return {
        (checks.SCORED_ROWS, model): len(ranking.row),
        (checks.TIED_ROWS, model): len(ranking.blocks.row),
        (checks.UNRETRIEVED_GROUPS, model): int(np.count_nonzero(~listed)),
        (checks.ONE_CLASS_GROUPS, model): int(np.count_nonzero(listed & ((positives == 0) | (negatives == 0)))),
    }


def _mean_rows(ranking: Ranking, model: str, plan: Plan, values: Mapping[str, Floats]) -> Iterator[Any]:
    """The mean state of each group metric, as :meth:`MeanStates.of` takes them."""
    n_rows = len(ranking.judgments.codes)
    for metric, declared in plan.group_metrics:
        n_undefined = int(np.count_nonzero(np.isnan(values[str(metric)])))
        of_groups, weights = _counted(values[str(metric)], declared.weights(ranking, metric), plan)
        counts = (ranking.groups, n_undefined, len(of_groups), n_rows)
        yield (model, ALL, ALL, str(metric)), counts, weighted_sums(of_groups, weights)


def _counted(values: Floats, weights: Floats | None, plan: Plan) -> tuple[Floats, Floats | None]:
    """The values of the groups that count, an undefined one as the definitions say, and their weights."""
    undefined = np.isnan(values)
    if not undefined.any():
        return values, weights
    if plan.definitions.counts_undefined_as is not None:
        return np.where(undefined, plan.definitions.counts_undefined_as, values), weights
    return values[~undefined], None if weights is None else weights[~undefined]


def _scored_rows(judgments: Judgments, scores: Scores, retrieved: Ints | None, weights: Floats | None) -> ScoredRows:
    """The rows of a model that have a score, as the metrics of the whole day see them."""
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
