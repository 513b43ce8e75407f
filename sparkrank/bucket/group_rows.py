"""The rows of the group table for one bucket. Uses only pyarrow and numpy."""

from __future__ import annotations

import pyarrow as pa

from sparkrank.bucket.ranked import RankedModel
from sparkrank.ranking.distinct_lists import DistinctLists, GroupValues, in_order
from sparkrank.ranking.hit_sums import hit_sums
from sparkrank.ranking.hits import hits_of

GROUP_COUNTS = ("n_rows", "n_retrieved", "n_relevant")
MODEL = "model"


def group_rows(model: RankedModel, keys: pa.Table) -> pa.Table:
    """Return a table with one row per group (name, key, counts, metrics). Groups with equal lists are adjacent."""
    ranking = model.ranking
    level = model.plan.level
    hits = hit_sums(ranking, level)
    distinct = hits.distinct or DistinctLists.of_each(ranking.judgments.rows_of_group(), hits_of(ranking, level))
    alike = distinct.alike_together()
    counts = [GroupValues(numbers, hits.distinct) for numbers in (hits.length, hits.relevant)]
    # groups with the same distinct list may differ in rows without a score
    rows = counts[0] if ranking.has_all_rows else GroupValues(ranking.judgments.rows_of_group())
    values = model.values()
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


def with_plain_models(groups: pa.Table) -> pa.Table:
    index = groups.schema.get_field_index(MODEL)
    return groups.set_column(index, MODEL, groups[MODEL].cast(pa.string()))
