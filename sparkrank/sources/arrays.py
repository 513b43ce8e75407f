"""Conversion of rows with arrays, one row per group, to rows of lists and truth. All lanes use this conversion."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparkrank.bucket.impressions import (
    CLUSTER,
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
from sparkrank.inputs.buckets import BUCKET_ROWS
from sparkrank.inputs.roles import Roles
from sparkrank.metrics import Plan
from sparkrank.numeric.array_types import Ints
from sparkrank.sources.sizes import bytes_of_elements, elements_in, in_parts
from sparkrank.sources.types import list_parts
from sparkrank.sources.values import float_values, item_values, key_values, label_values

TRUE_ITEMS, TRUE_LABELS = "true_items", "true_labels"
_LISTED = "listed_"


def listed_column(index: int) -> str:
    """Return the name of the column with the lists of the plan's model at ``index``."""
    return f"{_LISTED}{index}"


def whole_lists(rows: pa.Table, arrays: Sequence[str], texts: Sequence[str]) -> Iterator[pa.Table]:
    """Divide ``rows`` into parts that can be evaluated at once. ``texts`` are the columns repeated for each element."""
    for part in in_parts(rows, bytes_of_elements(arrays, texts)):
        yield from in_parts(part, partial(elements_in, arrays=arrays), BUCKET_ROWS)


def array_columns(names: Sequence[str]) -> list[str]:
    """Return those ``names`` that are names of array columns with one element per bucket row."""
    return [name for name in names if name.startswith(_LISTED) or name == TRUE_ITEMS]


def array_rows(rows: pa.Table, roles: Roles, plan: Plan, first: int) -> pa.Table:
    """Convert ``rows`` with arrays to bucket rows of lists and truth. Lists are numbered from ``first``."""
    columns = {key_column(index): key_values(rows[column]) for index, column in enumerate(roles.group)}
    columns |= {slice_column(index): item_values(rows[column]) for index, column in enumerate(plan.slice_columns)}
    for index, column in enumerate(plan.group_weights):
        columns[group_weight_column(index)] = float_values(rows[column]).cast(pa.float64())
    if plan.cluster is not None:
        columns[CLUSTER] = key_values(rows[plan.cluster])
    columns[LIST] = pa.chunked_array([np.arange(first, first + rows.num_rows)])
    for index, column in enumerate(roles.scores.values()):
        columns[listed_column(index)] = rows[column]
    columns[TRUE_ITEMS] = rows[str(roles.true_items)]
    if roles.label is not None:
        columns[TRUE_LABELS] = rows[roles.label]
    return exploded(pa.table(columns), plan, by_rank=roles.relevance == "reciprocal_rank")


def exploded(rows: pa.Table, plan: Plan, *, by_rank: bool) -> pa.Table:
    """Convert rows with arrays to one table of bucket rows, those of the lists before those of the truth.

    ``rows`` has the bucket columns that all rows of a group share, a list for each model of ``plan``
    (:func:`listed_column`), and the true items with their labels. If ``by_rank`` is true, the label of a true item is
    the reciprocal of its rank instead.
    """
    lists = [_Elements.of(rows[listed_column(index)]) for index in range(len(plan.models))]
    truth = _Elements.of(rows[TRUE_ITEMS])
    labels = _Elements.of(rows[TRUE_LABELS]) if TRUE_LABELS in rows.column_names else None
    shared = [name for name in rows.column_names if not name.startswith(_LISTED)]
    keys = {name: one_array(rows[name]) for name in shared if name not in (TRUE_ITEMS, TRUE_LABELS)}
    listed = [
        _part(keys, of_list.lengths, of_list.items(), {score_column(index): -1.0 - of_list.places()}, plan)
        for index, of_list in enumerate(lists)
    ]
    items = truth.items()
    of_items = _labels(labels, truth, by_rank=by_rank)
    of_items = pc.if_else(pc.is_valid(items), of_items, pa.scalar(None, of_items.type))
    true = [_part(keys, truth.lengths, items, {LABEL: of_items, TRUTH: True}, plan)]
    said = [elements.lengths for elements in (*lists, truth)]
    if labels is not None:
        counts, beyond = _labels_beyond(labels, truth.lengths)
        true.append(_part(keys, counts, pa.nulls(len(beyond)), {LABEL: beyond, TRUTH: True}, plan))
        said.append(counts)
    empty = np.logical_and.reduce([lengths == 0 for lengths in said]).astype(np.int64)
    listed.append(_part(keys, empty, pa.nulls(int(empty.sum())), {}, plan))
    return _joined([*listed, *true])


class _Elements(NamedTuple):
    """The elements of all arrays, concatenated (``values``), and the number of elements in each array (``lengths``)."""

    lengths: Ints
    values: pa.Array

    @classmethod
    def of(cls, arrays: pa.ChunkedArray) -> _Elements:
        if pa.types.is_null(arrays.type):
            return cls(np.zeros(len(arrays), np.int64), pa.nulls(0))
        ends, values = list_parts(one_array(arrays))
        return cls(np.diff(ends), values)

    def items(self) -> pa.Array:
        """Return the elements in the form that items have in a bucket."""
        if pa.types.is_null(self.values.type):
            return self.values
        return one_array(item_values(pa.chunked_array([self.values])))

    def starts(self) -> Ints:
        """Return the index of each array's first element among all elements, with the shape (groups,)."""
        return np.cumsum(self.lengths) - self.lengths

    def places(self) -> Ints:
        """Return the index of each element within the array to which it belongs, from 0."""
        return np.arange(int(self.lengths.sum())) - np.repeat(self.starts(), self.lengths)


def _part(
    keys: Mapping[str, pa.Array], counts: Ints, items: pa.Array, values: Mapping[str, object], plan: Plan
) -> pa.Table:
    """Return a table with ``counts`` rows per group. It has the repeated ``keys``, the ``items`` and the ``values``."""
    columns: dict[str, object] = {name: _repeated(key, counts) for name, key in keys.items()}
    columns[LABEL] = values.get(LABEL, pa.nulls(len(items)))
    for index in range(len(plan.models)):
        columns[score_column(index)] = values.get(score_column(index), pa.nulls(len(items), pa.float64()))
    columns[ITEM] = items
    columns[TRUTH] = pa.repeat(TRUTH in values, len(items))
    return pa.table(columns)


def _repeated(key: pa.Array, counts: Ints) -> pa.Array:
    """Repeat each value of ``key`` the number of times given in ``counts``."""
    if (pa.types.is_integer(key.type) or pa.types.is_floating(key.type)) and not key.null_count:
        return pa.array(np.repeat(key.to_numpy(), counts))
    return key.take(pa.array(np.repeat(np.arange(len(key)), counts)))


def _joined(parts: Sequence[pa.Table]) -> pa.Table:
    with_rows = [part for part in parts if part.num_rows]
    return with_rows[0] if len(with_rows) == 1 else pa.concat_tables(parts, promote_options="permissive")


def _labels(labels: _Elements | None, truth: _Elements, *, by_rank: bool) -> pa.Array:
    """Return the label of each true item, or null if the array of labels is too short."""
    if by_rank:
        return pa.array(1 / (truth.places() + 1.0))
    if labels is None:
        return pa.repeat(pa.scalar(1, pa.int8()), len(truth.values))
    places = truth.places()
    index = np.repeat(labels.starts(), truth.lengths) + places
    missing = places >= np.repeat(labels.lengths, truth.lengths)
    return label_values(labels.values.take(pa.array(index, mask=missing)))


def _labels_beyond(labels: _Elements, true_items: Ints) -> tuple[Ints, pa.Array]:
    """Return how many labels each row has beyond its last true item, and these labels. Null labels are ignored."""
    values = label_values(labels.values)
    is_beyond = labels.places() >= np.repeat(true_items, labels.lengths)
    beyond = np.flatnonzero(is_beyond & values.is_valid().to_numpy(zero_copy_only=False))
    row = np.repeat(np.arange(len(labels.lengths)), labels.lengths)[beyond]
    return np.bincount(row, minlength=len(labels.lengths)), values.take(pa.array(beyond))
