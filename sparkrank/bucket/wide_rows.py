"""Conversion of long rows (with the score of one model) to wide rows (with the scores of all models).

A group has one wide row per item, or more if a model's list repeats the item. The n-th wide row of an item contains the
scores of the models that list the item at least n times, and null for the other models. In all other columns, the value
comes from the first model in the plan with a value.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sparkrank import native
from sparkrank.base import checks
from sparkrank.base.errors import InputError, itemize
from sparkrank.bucket.bucket_rows import BucketRows
from sparkrank.bucket.encoding import encode, paired
from sparkrank.bucket.grouping import Groups, groups_of
from sparkrank.bucket.impressions import ITEM, MODEL, TRUTH, in_one_piece, one_array, score_column
from sparkrank.bucket.joining import Counts
from sparkrank.bucket.label_rows import label_columns
from sparkrank.bucket.row_order import row_order
from sparkrank.bucket.twins import Twins
from sparkrank.metrics import Plan
from sparkrank.numeric.array_types import Codes, Flags, Ints

_SCORE = score_column(0)  # the score column of long rows, for any model
_NO_MODEL = 255  # above the number of any model


def count_rows_of_models(rows: BucketRows, plan: Plan, counts: Counts) -> None:
    """Add the number of long ``rows`` of each model to ``counts``. Raise :class:`InputError` for an unknown model."""
    column = rows.table[MODEL]
    if unknown := column.null_count - int(np.count_nonzero(rows.truth)):
        models = itemize(plan.models)
        raise InputError(f"the model column is null or names another model than {models} in {unknown:,} or more rows")
    of_models = np.bincount(one_array(column.drop_null()).to_numpy(), minlength=len(plan.models)).tolist()
    counts.update({(checks.MODEL_ROWS, model): rows_of for model, rows_of in zip(plan.models, of_models, strict=True)})


def wide_rows(rows: BucketRows, plan: Plan, counts: Counts) -> BucketRows:
    """Return the wide rows of the long ``rows``, then rows without an item and truth rows, with null scores."""
    long = _long_rows(rows, len(plan.models))
    counts[checks.ROWS_JOINED, ""] = int(np.count_nonzero(long.is_joined)) - long.wide_rows
    others = pa.array(np.flatnonzero(~long.is_joined))
    columns: dict[str, pa.Array | pa.ChunkedArray] = {}
    labels, differ = label_columns(plan), np.zeros(len(rows), np.bool_)
    for name in rows.table.column_names:
        column = one_array(rows.table[name])
        if name == _SCORE:
            columns |= {score_column(index): scores for index, scores in enumerate(_scores(rows, long, len(others)))}
        elif name == TRUTH:
            columns[name] = pa.chunked_array([pa.repeat(False, long.wide_rows), column.take(others)])
        elif name in labels and plan.joins:  # no list has labels
            columns[name] = pa.chunked_array([pa.nulls(long.wide_rows, column.type), column.take(others)])
        elif name != MODEL:
            first = pa.array(long.first_with(rows.valid(name)))
            if name in labels:
                differ |= _other_labels(rows, long, first.to_numpy(), name)
                counts[checks.LABELS_DIFFER, ""] = int(np.count_nonzero(differ))
            columns[name] = pa.chunked_array([column.take(first), column.take(others)])
    return BucketRows(in_one_piece(pa.table(columns)))


class _LongRows(NamedTuple):
    """Long rows and the wide rows to which they belong.

    ``model`` contains the number of each row's model out of ``models``, or :data:`_NO_MODEL` for truth rows and rows
    without an item. ``wide`` contains the number of each row's wide row, if the row has a model. ``first`` has, for
    each wide row, the row of its first model. ``has_repeats`` is true if two rows of one model share a wide row.
    """

    model: NDArray[np.uint8]
    models: int
    wide: Codes
    first: Ints
    has_repeats: bool

    @property
    def wide_rows(self) -> int:
        return len(self.first)

    @property
    def is_joined(self) -> Flags:
        flags: Flags = self.model < self.models
        return flags

    def first_with(self, valid: Flags | None) -> Ints:
        """Return, for each wide row, the row of the first model with a valid value, or else of the first model."""
        if valid is None:
            return self.first
        rows = _last_model_first(self.model, np.flatnonzero(self.is_joined & valid))
        first = self.first.copy()
        first[self.wide[rows]] = rows  # later writes replace earlier ones, so the row of the first model stays
        return first


def _long_rows(rows: BucketRows, models: int) -> _LongRows:
    """Return the long rows with their wide rows: one for each group and item, and more if a model repeats the item."""
    model = one_array(rows.table[MODEL]).fill_null(_NO_MODEL).to_numpy().astype(np.uint8)
    has_item = rows.valid(ITEM)
    if has_item is not None:
        model[~has_item] = _NO_MODEL
    groups = groups_of(rows.keys.columns)
    long = _numbered(groups, _item_numbers(rows), model, models)
    if not long.has_repeats:
        return long
    occurrence = _occurrences(rows, long)
    numbers = long.wide.astype(np.int64) * (int(occurrence.max()) + 1) + occurrence
    return _numbered(groups, numbers, model, models)


def _numbered(groups: Groups, items: Ints, model: NDArray[np.uint8], models: int) -> _LongRows:
    """Return the long rows with one wide row for each pair of a group and an item.

    The compiled loop numbers wide rows group by group, which also makes the steps that follow faster.
    """
    codes, wide = np.ascontiguousarray(groups.codes, np.int32), np.zeros(len(model), np.int32)
    if native.runs("wide rows"):
        first = np.empty(len(model), np.int64)
        count, has_repeats = native.wide.number(codes, items, model, models, groups.count, wide, first)
        return _LongRows(model, models, wide, first[:count], has_repeats)
    rows = _last_model_first(model, np.flatnonzero(model < models))
    wide[rows] = pair = paired(codes[rows], encode(pa.chunked_array([items[rows]]))[0])
    first = np.empty(int(pair.max(initial=-1)) + 1, np.int64)
    first[pair] = rows  # later writes replace earlier ones, so the row of the first model stays
    return _LongRows(model, models, wide, first, len(np.unique(_of_model(pair, model[rows]))) < len(pair))


def _last_model_first(model: NDArray[np.uint8], rows: Ints) -> Ints:
    return rows[np.argsort(np.uint8(_NO_MODEL) - model[rows], kind="stable")]


def _of_model(wide: Codes, model: NDArray[np.uint8]) -> Ints:
    """Return a number for each row's pair of wide row and model. Equal pairs have equal numbers."""
    return wide.astype(np.int64) * (_NO_MODEL + 1) + model


def _item_numbers(rows: BucketRows) -> Ints:
    """Return an integer for the item of each row. Equal items have equal integers."""
    if pa.types.is_signed_integer(rows.table[ITEM].type):
        items: Ints = one_array(rows.table[ITEM]).fill_null(0).to_numpy().astype(np.int64, copy=False)
        return items
    return rows.items()[0].astype(np.int64)


def _occurrences(rows: BucketRows, long: _LongRows) -> Ints:
    """Return, for each row with a model, how often its item is higher up in the list of the same model."""
    occurrence, joined = np.zeros(len(rows), np.int64), np.flatnonzero(long.is_joined)
    twins = Twins.of_pairs(encode(pa.chunked_array([_of_model(long.wide[joined], long.model[joined])]))[0])
    places = joined[twins.rows]
    table = rows.table.take(pa.array(places)).append_column("in_list", pa.array(twins.code))
    order = row_order(table, [("in_list", "ascending"), (_SCORE, "descending")])
    sizes = np.bincount(twins.code)
    occurrence[places[order]] = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return occurrence


def _scores(rows: BucketRows, long: _LongRows, others: int) -> Iterator[pa.ChunkedArray]:
    """Yield the scores of each model, null for wide rows that the model does not list, and for ``others`` more rows."""
    values, valid, kind = rows.values(_SCORE), rows.valid(_SCORE), rows.table[_SCORE].type
    is_valid = np.ones(len(rows), np.bool_) if valid is None else valid
    length = long.wide_rows + others
    scores = np.zeros((long.models, length), values.dtype)
    bits = np.zeros((long.models, (length + 7) // 8), np.uint8)
    if native.runs("scores of models", values.dtype in (np.float32, np.float64)):
        native.wide.place(long.wide, long.model, is_valid.view(np.uint8), values, scores, bits)
    else:
        for index in range(long.models):
            own = np.flatnonzero((long.model == index) & is_valid)
            scores[index, long.wide[own]] = values[own]
            is_there = np.zeros(length, np.bool_)
            is_there[long.wide[own]] = True
            bits[index] = np.packbits(is_there, bitorder="little")
    for of_model, flags in zip(scores, bits, strict=True):
        column = pa.Array.from_buffers(kind, length, [pa.py_buffer(flags), pa.py_buffer(of_model)])
        wide, rest = column.slice(0, long.wide_rows), column.slice(long.wide_rows)
        yield pa.chunked_array([column] if wide.null_count else [wide, rest])


def _other_labels(rows: BucketRows, long: _LongRows, first: Ints, name: str) -> Flags:
    """Flag the rows whose label differs from the label of their wide row, which comes from the row in ``first``."""
    labels, judged = rows.labels(name), rows.valid(name)
    differ = long.is_joined & (labels != labels[first][long.wide] if long.wide_rows else False)
    return differ if judged is None else differ & judged
