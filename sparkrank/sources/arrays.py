"""Conversion of rows with arrays, one row per group, to rows of lists and truth. All lanes use this conversion."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sparkrank.bucket.impressions import (
    CLUSTER,
    ITEM,
    LABEL,
    LIST,
    PAST,
    TIME,
    TRUTH,
    group_weight_column,
    key_column,
    label_column,
    one_array,
    score_column,
    slice_column,
)
from sparkrank.inputs.buckets import BUCKET_ROWS
from sparkrank.inputs.roles import Roles
from sparkrank.metrics import Plan
from sparkrank.numeric.array_types import Floats, Ints
from sparkrank.sources.sizes import bytes_of_elements, elements_in, in_parts
from sparkrank.sources.types import list_parts
from sparkrank.sources.values import double_values, float_values, item_values, key_values, label_values, time_values


def whole_lists(rows: pa.Table, arrays: Sequence[str], texts: Sequence[str]) -> Iterator[pa.Table]:
    """Divide ``rows`` into tables that fit a bucket. Columns in ``texts`` are repeated for each array element."""
    for part in in_parts(rows, bytes_of_elements(arrays, texts)):
        yield from in_parts(part, partial(elements_in, arrays=arrays), BUCKET_ROWS)


def array_rows(rows: pa.Table, roles: Roles, plan: Plan, first: int) -> pa.Table:
    """Return the bucket rows of ``rows`` with arrays: those of the lists, then those of the truth.

    Lists are numbered from ``first``. True items are labelled as described at :meth:`Roles.of_arrays`.
    """
    columns = {key_column(index): key_values(rows[column]) for index, column in enumerate(roles.group)}
    for index, (column, is_number) in plan.row_slices:
        columns[slice_column(index)] = (double_values if is_number else item_values)(rows[column])
    for index, column in enumerate(plan.group_weights):
        columns[group_weight_column(index)] = float_values(rows[column]).cast(pa.float64())
    if plan.cluster is not None:
        columns[CLUSTER] = key_values(rows[plan.cluster])
    if plan.times:
        columns[TIME] = time_values(rows[roles.time])
    columns[LIST] = pa.chunked_array([np.arange(first, first + rows.num_rows)])
    lists = [_Elements.of(rows[column]) for column in roles.scores.values()]
    truth = _Elements.of(rows[str(roles.true_items)])
    labels = {_column_of(name, plan): _Elements.of(rows[column]) for name, column in roles.labels.items()}
    scores = ({score_column(index): pa.chunked_array([own.scores()])} for index, own in enumerate(lists))
    parts = [_Part(own.lengths, own.items(), filled) for own, filled in zip(lists, scores, strict=True)]
    items = truth.items()
    of_items = {name: _labels(own, truth) for name, own in labels.items()} or {LABEL: _given_labels(truth, roles)}
    if items.null_count:
        is_item = pc.is_valid(items)
        of_items = {name: pc.if_else(is_item, own, pa.scalar(None, own.type)) for name, own in of_items.items()}
    true = [_Part(truth.lengths, items, of_items)]
    lengths = [own.lengths for own in (*lists, truth)]
    for name, own in labels.items():
        counts, beyond = _labels_beyond(own, truth.lengths)
        true.append(_Part(counts, _nulls(len(beyond)), {name: beyond}))
        lengths.append(counts)
    empty = np.logical_and.reduce([of_column == 0 for of_column in lengths]).astype(np.int64)
    parts.append(_Part(empty, _nulls(int(empty.sum())), {}))
    return _joined(pa.table(columns), parts, true, plan)


def _column_of(label: str, plan: Plan) -> str:
    return label_column(plan.further_labels[label]) if label in plan.further_labels else LABEL


class _Elements(NamedTuple):
    """The elements of all arrays, in their original chunks (``values``), and the number of elements of each array.

    The chunks are not combined, because the items of lists and truth are combined anyway.
    """

    lengths: Ints
    values: pa.ChunkedArray

    @classmethod
    def of(cls, arrays: pa.ChunkedArray) -> _Elements:
        if pa.types.is_null(arrays.type):
            return cls(np.zeros(len(arrays), np.int64), pa.chunked_array([pa.nulls(0)]))
        parts = [list_parts(chunk) for chunk in arrays.chunks]
        lengths = [np.empty(0, np.int64), *(np.diff(ends) for ends, _ in parts)]
        return cls(np.concatenate(lengths), pa.chunked_array([own for _, own in parts], arrays.type.value_type))

    def items(self) -> pa.ChunkedArray:
        """Return the elements in the form that items have in a bucket."""
        return self.values if pa.types.is_null(self.values.type) else item_values(self.values)

    def starts(self) -> Ints:
        """Return the index of each array's first element among all elements, with the shape (groups,)."""
        return np.cumsum(self.lengths) - self.lengths

    def places(self) -> Ints:
        """Return the index of each element within the array to which it belongs, from 0."""
        return np.arange(int(self.lengths.sum())) - np.repeat(self.starts(), self.lengths)

    def scores(self) -> Floats:
        """Return a score for each element: -1 for the first of each array, -2 for the second, and so on."""
        scores = np.repeat(self.starts().astype(np.float64), self.lengths)
        scores -= np.arange(1, len(scores) + 1, dtype=np.float64)
        return scores


class _Part(NamedTuple):
    """Bucket rows of one kind: ``counts`` rows per group, their ``items``, and the columns of ``filled``."""

    counts: Ints
    items: pa.ChunkedArray
    filled: Mapping[str, pa.ChunkedArray]


def _joined(rows: pa.Table, lists: Sequence[_Part], true: Sequence[_Part], plan: Plan) -> pa.Table:
    """Return the bucket rows of the parts ``lists`` and ``true``, with the values that ``rows`` has for each group."""
    parts = [*lists, *true]
    group = np.arange(rows.num_rows, dtype=np.int32)
    row = np.concatenate([np.repeat(group, part.counts) for part in parts])
    columns = {name: _of_rows(one_array(rows[name]), row) for name in rows.column_names if name != LIST}
    # the numbers are distinct, so that a bucket need not look them up to number its groups
    columns[LIST] = pa.DictionaryArray.from_arrays(pa.array(row), one_array(rows[LIST]), safe=False)
    labels = (LABEL, *map(label_column, plan.further_labels.values()))
    for name in (*labels, *map(score_column, range(len(plan.models)))):
        columns[name] = _filled(name, parts)
    columns[ITEM] = one_array(_concatenated([part.items for part in parts]))
    is_true = [pa.repeat(side is true, sum(len(part.items) for part in side)) for side in (lists, true)]
    columns[TRUTH] = pa.concat_arrays(is_true)
    if plan.past:
        columns[PAST] = pa.repeat(pa.scalar(0, pa.int8()), len(row))
    return pa.table(columns)


def _of_rows(values: pa.Array, row: NDArray[np.int32]) -> pa.Array:
    """Return the value of each ``row``. ``values`` contains one value per group."""
    if (pa.types.is_integer(values.type) or pa.types.is_floating(values.type)) and not values.null_count:
        return pa.array(values.to_numpy().take(row))  # faster than an index
    return values.take(pa.array(row))


def _filled(name: str, parts: Sequence[_Part]) -> pa.ChunkedArray:
    """Return the column ``name``, which is null in all ``parts`` that do not fill the column."""
    return _concatenated([part.filled.get(name, _nulls(len(part.items))) for part in parts])


def _concatenated(parts: Sequence[pa.ChunkedArray]) -> pa.ChunkedArray:
    """Return all chunks of ``parts`` as one column, in the narrowest type that fits all parts."""
    kinds = [pa.schema([("", part.type)]) for part in parts]
    kind = pa.unify_schemas(kinds, promote_options="permissive").field(0).type
    return pa.chunked_array([chunk for part in parts for chunk in part.cast(kind).chunks if len(chunk)], kind)


def _nulls(count: int) -> pa.ChunkedArray:
    return pa.chunked_array([pa.nulls(count)])


def _given_labels(truth: _Elements, roles: Roles) -> pa.ChunkedArray:
    """Return the label of each true item if no array has labels."""
    if roles.relevance == "reciprocal_rank":
        return pa.chunked_array([1 / (truth.places() + 1.0)])
    return pa.chunked_array([pa.repeat(pa.scalar(1, pa.int8()), len(truth.values))])


def _labels(labels: _Elements, truth: _Elements) -> pa.ChunkedArray:
    """Return the label of each true item, or null if the array of labels is too short."""
    places = truth.places()
    index = np.repeat(labels.starts(), truth.lengths) + places
    missing = places >= np.repeat(labels.lengths, truth.lengths)
    return label_values(labels.values.take(pa.array(index, mask=missing)))


def _labels_beyond(labels: _Elements, true_items: Ints) -> tuple[Ints, pa.ChunkedArray]:
    """Return how many labels each row has beyond its last true item, and these labels. Null labels are ignored."""
    values = label_values(labels.values)
    is_beyond = labels.places() >= np.repeat(true_items, labels.lengths)
    beyond = np.flatnonzero(is_beyond & values.is_valid().to_numpy(zero_copy_only=False))
    row = np.repeat(np.arange(len(labels.lengths)), labels.lengths)[beyond]
    return np.bincount(row, minlength=len(labels.lengths)), values.take(pa.array(beyond))
