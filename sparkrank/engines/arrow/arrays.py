"""A row per group with arrays of items, as the rows of lists and truth that it stands for (Arrow).

Predictions are in rank order, so an item's score is its place in the array, negated. A group of which all arrays are
empty or null leaves a row that only names it.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparkrank.bucket.impressions import (
    ITEM,
    LABEL,
    LIST,
    TRUTH,
    group_weight_column,
    key_column,
    one_array,
    score_column,
    slice_column,
)
from sparkrank.engines.arrow.values import float_values, item_values, key_values, label_values
from sparkrank.engines.field_paths import nan_ratings
from sparkrank.metrics import Plan
from sparkrank.numeric.array_types import Ints
from sparkrank.roles import Roles


def array_rows(rows: pa.Table, roles: Roles, plan: Plan, first: int) -> pa.Table:
    """The bucket rows of lists and of truth that the arrays of ``rows`` hold, which are numbered from ``first``."""
    true_items = str(roles.true_items)
    arrays = {column: rows[column].combine_chunks() for role, _, column in roles.played() if role.is_array}
    keys = {key_column(index): key_values(rows[column]) for index, column in enumerate(roles.group)}
    keys |= {slice_column(index): item_values(rows[column]) for index, column in enumerate(plan.slice_columns)}
    keys[LIST] = pa.chunked_array([np.arange(first, first + rows.num_rows)])
    for index, column in enumerate(plan.group_weights):
        keys[group_weight_column(index)] = float_values(rows[column]).cast(pa.float64())
    parts = []
    for index, column in enumerate(roles.scores.values()):
        group, place = _places(arrays[column])
        scores = _scores(arrays[column], group, place, rows, column)
        parts.append(_part(keys, group, _items(arrays[column]), {score_column(index): scores}, plan))
    group, place = _places(arrays[true_items])
    beside = None if roles.label is None else arrays[roles.label]
    labels = _labels(beside, group, place, roles.relevance)
    items = _items(arrays[true_items])
    labels = pc.if_else(pc.is_valid(items), labels, pa.scalar(None, labels.type))
    parts.append(_part(keys, group, items, {LABEL: labels, TRUTH: True}, plan))
    said = [_lengths(arrays[column]) for column in (*roles.scores.values(), true_items)]
    if beside is not None:
        group, labels = _labels_beyond(beside, _lengths(arrays[true_items]))
        parts.append(_part(keys, group, pa.nulls(len(group)), {LABEL: labels, TRUTH: True}, plan))
        said.append(np.bincount(group, minlength=rows.num_rows))
    empty = np.flatnonzero(np.logical_and.reduce([each == 0 for each in said]))
    parts.append(_part(keys, empty, pa.nulls(len(empty)), {}, plan))
    return pa.concat_tables(parts, promote_options="permissive")


def _part(
    keys: Mapping[str, pa.ChunkedArray], group: Ints, items: pa.Array, values: dict[str, object], plan: Plan
) -> pa.Table:
    """Rows of the groups numbered by ``group``, with their ``items`` and the columns ``keys`` that all have.

    Of the other columns, ``values`` has some.
    """
    columns: dict[str, object] = {name: key.take(pa.array(group)) for name, key in keys.items()}
    columns[LABEL] = values.get(LABEL, pa.nulls(len(group)))
    for index in range(len(plan.models)):
        columns[score_column(index)] = values.get(score_column(index), pa.nulls(len(group), pa.float64()))
    columns[ITEM] = items
    columns[TRUTH] = pa.repeat(TRUTH in values, len(group))
    return pa.table(columns)


def _items(arrays: pa.Array) -> pa.Array:
    """The elements of ``arrays`` as items."""
    items = pc.list_flatten(arrays)
    return items if pa.types.is_null(items.type) else one_array(item_values(pa.chunked_array([items])))


def _lengths(arrays: pa.Array) -> Ints:
    lengths: Ints = pc.list_value_length(arrays).fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    return lengths


def _places(arrays: pa.Array) -> tuple[Ints, np.ndarray]:
    """Of each element of ``arrays``: the row that it is of, and its place there from 1 as a float."""
    lengths = _lengths(arrays)
    group = np.repeat(np.arange(len(lengths)), lengths)
    first = np.cumsum(lengths) - lengths
    return group, np.arange(1.0, len(group) + 1) - first[group]


def _scores(arrays: pa.Array, group: Ints, place: np.ndarray, rows: pa.Table, column: str) -> np.ndarray:
    """The score of each element: its place, negated, or NaN for as many of the last as have such a rating."""
    if (beside := nan_ratings(column)) not in rows.column_names:
        return -place
    rated = _lengths(arrays) - rows[beside].fill_null(0).to_numpy()
    return np.where(place > rated[group], np.nan, -place)


def _labels(labels: pa.Array | None, group: Ints, place: np.ndarray, relevance: str) -> pa.Array:
    """The label of each true item; null where the array of labels is the shorter one."""
    if relevance == "reciprocal_rank":
        return pa.array(1 / place)
    if labels is None:
        return pa.repeat(pa.scalar(1, pa.int8()), len(group))
    lengths = _lengths(labels)
    index = (np.cumsum(lengths) - lengths)[group] + place.astype(np.int64) - 1
    return label_values(pc.list_flatten(labels).take(pa.array(index, mask=place > lengths[group])))


def _labels_beyond(labels: pa.Array, true_items: Ints) -> tuple[Ints, pa.Array]:
    """Labels behind the last of as many ``true_items`` as a row has, with their rows; nulls fill up and say nothing."""
    group, place = _places(labels)
    values = label_values(pc.list_flatten(labels))
    beyond = np.flatnonzero((place > true_items[group]) & values.is_valid().to_numpy(zero_copy_only=False))
    return group[beyond], values.take(pa.array(beyond))
