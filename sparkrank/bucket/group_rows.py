"""The rows of the group table for one bucket, made with only pyarrow and numpy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from sparkrank.bucket.ranked import RankedModel
from sparkrank.metrics import Plan
from sparkrank.numeric.array_types import Ints
from sparkrank.ranking.distinct_lists import DistinctLists, GroupValues, in_order
from sparkrank.ranking.hit_sums import hit_sums
from sparkrank.ranking.hits import hits_of

GROUP_COUNTS = ("n_rows", "n_retrieved", "n_relevant")
MODEL = "model"


def group_rows(by_label: Sequence[tuple[RankedModel, Ints | None]], keys: pa.Table, plan: Plan) -> pa.Table:
    """Return a table with one row per evaluated group (model, key, counts, metrics). Equal lists are adjacent.

    ``by_label`` contains, for each label, the model ranked with that label, and the index in the bucket of each group
    of that label (None: the groups are those of the bucket, in order). The first label comes first.
    """
    model = by_label[0][0]
    ranking = model.ranking
    level = model.plan.level
    hits = hit_sums(ranking, level)
    distinct = hits.distinct or DistinctLists.of_each(ranking.judgments.rows_of_group(), hits_of(ranking, level))
    alike = distinct.alike_together()
    counts = [GroupValues(numbers, hits.distinct) for numbers in (hits.length, hits.relevant)]
    # groups with the same distinct list may differ in rows without a score
    rows = counts[0] if ranking.has_all_rows else GroupValues(ranking.judgments.rows_of_group())
    values = _values(by_label, plan)
    names = model.plan.models
    name = pa.repeat(pa.scalar(names.index(model.name), pa.int32()), ranking.groups)
    columns = {
        MODEL: pa.DictionaryArray.from_arrays(name, pa.array(names, pa.string())),
        **dict(zip(model.plan.keys, keys.take(pa.array(alike.order)).columns, strict=True)),
        **dict(zip(GROUP_COUNTS, in_order([rows, *counts], distinct, alike), strict=True)),
        **dict(zip(values, in_order([*values.values()], distinct, alike), strict=True)),
    }
    table = pa.table(columns)
    return table if model.chosen is None else table.filter(pa.array(model.chosen[alike.order]))


def _values(by_label: Sequence[tuple[RankedModel, Ints | None]], plan: Plan) -> dict[str, GroupValues]:
    """Return the value of each group, by metric. It is NaN in a group without a row that the metric reads.

    A metric that the model does not have, because the model has a label of its own, is NaN in all groups.
    """
    none = np.full(by_label[0][0].ranking.groups, np.nan)
    known = {str(metric): GroupValues(none) for metric, _ in plan.group_metrics}
    for model, groups in by_label:
        for name, values in model.values().items():
            known[name] = values if groups is None else GroupValues(none.copy())
            if groups is not None:
                known[name].numbers[groups] = values.by_group()
    return known


def with_plain_models(groups: pa.Table) -> pa.Table:
    index = groups.schema.get_field_index(MODEL)
    return groups.set_column(index, MODEL, groups[MODEL].cast(pa.string()))
