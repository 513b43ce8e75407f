"""Conversion of long rows, which have the score of one model, to wide rows, which have the scores of all models.

A group has one wide row per item, or more if a model's list repeats the item. The n-th wide row of an item has the
scores of the models that list the item at least n times, and null for the other models. In all other columns, the
value comes from the first model in the plan that has a value.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sparkrank.base import checks
from sparkrank.base.errors import InputError, itemize
from sparkrank.bucket.bucket_rows import BucketRows
from sparkrank.bucket.encoding import KEY_BITS, low_bits, sorted_keys
from sparkrank.bucket.grouping import groups_of
from sparkrank.bucket.impressions import ITEM, LABEL, MODEL, in_one_piece, one_array, score_column
from sparkrank.bucket.joining import Counts
from sparkrank.bucket.row_order import row_order
from sparkrank.metrics import Plan
from sparkrank.numeric.array_types import Codes, Flags, Ints

_SCORE = score_column(0)  # the score column of long rows, for any model


def count_rows_of_models(rows: BucketRows, plan: Plan, counts: Counts) -> None:
    """Count the long ``rows`` of each model. Raises :class:`InputError` if a row's model is not in the ``plan``."""
    column = rows.table[MODEL]
    if unknown := column.null_count - int(np.count_nonzero(rows.truth)):
        models = itemize(plan.models)
        raise InputError(f"the model column is null or names another model than {models} in {unknown:,} or more rows")
    counted = pc.value_counts(column.drop_null()).to_pylist()
    counts.update({(checks.MODEL_ROWS, model): 0 for model in plan.models})
    counts.update({(checks.MODEL_ROWS, plan.models[number["values"]]): number["counts"] for number in counted})


def wide_rows(rows: BucketRows, plan: Plan, counts: Counts) -> BucketRows:
    """Convert long ``rows`` to wide rows. Rows without an item and truth rows follow, with null scores."""
    has_item = rows.valid(ITEM)
    is_joined = ~rows.truth if has_item is None else ~rows.truth & has_item
    joined, others = np.flatnonzero(is_joined), np.flatnonzero(~is_joined)
    order = _in_turn(rows, joined)
    width = len(order.first)
    counts[checks.ROWS_JOINED, ""] = len(joined) - width
    columns: dict[str, pa.Array | pa.ChunkedArray] = {}
    for name in rows.table.column_names:
        if name == _SCORE:
            nothing = pa.nulls(len(others), rows.table[_SCORE].type)
            for index in range(len(plan.models)):
                columns[score_column(index)] = pa.chunked_array([_scores(rows, order, index), nothing])
        elif name != MODEL:
            has_none = name == LABEL and plan.joins  # no list has labels
            first = order.first_with(None if has_none else rows.valid(name))
            if name == LABEL and not plan.joins:
                counts[checks.LABELS_DIFFER, ""] = _other_labels(rows, order, first)
            columns[name] = one_array(rows.table[name]).take(pa.array(np.concatenate([first, others])))
    return BucketRows(in_one_piece(pa.table(columns)))


class _InTurn(NamedTuple):
    """Long rows, sorted by the wide row to which they belong, then by model.

    ``row``, ``model`` and ``wide`` have the index, the model and the wide row of each long row. ``first`` has, for each
    wide row, the position of its first long row in this order.
    """

    row: Ints
    model: NDArray[np.uint8]
    wide: Codes
    first: Ints

    def first_with(self, valid: Flags | None) -> Ints:
        """Return, for each wide row, the long row of the first model with a valid value, or else of the first model."""
        if valid is None:
            return self.row[self.first]
        place, having = self.first.copy(), np.flatnonzero(valid[self.row])[::-1]
        place[self.wide[having]] = having  # later writes replace earlier ones, so the first model's row stays
        return self.row[place]


def _in_turn(rows: BucketRows, joined: Ints) -> _InTurn:
    """Sort the long rows ``joined``. If a model repeats an item, its rows of that item go to separate wide rows."""
    groups, models = groups_of(rows.keys.columns).codes[joined], _models(rows)[joined]
    keys, shifts = sorted_keys(groups, _item_numbers(rows, joined), models)
    lists = keys >> shifts[1]
    again = np.flatnonzero(lists[1:] == lists[:-1])
    if len(again):
        order = _unpacked(keys, shifts, joined)
        occurrence = _occurrences(rows, order, lists, np.isin(lists, lists[again]))
        numbers = np.empty(len(joined), np.int64)
        numbers[keys & low_bits(shifts[1])] = order.wide.astype(np.int64) * (int(occurrence.max()) + 1) + occurrence
        keys, shifts = sorted_keys(np.zeros(len(joined), np.int32), numbers, models)
    return _unpacked(keys, shifts, joined)


def _unpacked(keys: Ints, shifts: tuple[int, int], joined: Ints) -> _InTurn:
    pairs, models = keys >> shifts[0], (keys >> shifts[1]) & low_bits(shifts[0] - shifts[1])
    is_first = np.ones(len(keys), np.bool_)
    np.not_equal(pairs[1:], pairs[:-1], out=is_first[1:])
    place = keys & low_bits(shifts[1])
    row = place if not len(joined) or joined[-1] == len(joined) - 1 else joined[place]
    wide = np.cumsum(is_first, dtype=np.int32)
    wide -= np.int32(1)
    return _InTurn(row, models.astype(np.uint8), wide, np.flatnonzero(is_first))


def _models(rows: BucketRows) -> Codes:
    """Return the number of each row's model, or 0 if the row has no model."""
    numbers: Codes = one_array(rows.table[MODEL]).fill_null(0).to_numpy().astype(np.int32)
    return numbers


def _item_numbers(rows: BucketRows, joined: Ints) -> Ints:
    """Return a nonnegative integer for the item of each of the rows ``joined``."""
    if pa.types.is_signed_integer(rows.table[ITEM].type):
        items: Ints = one_array(rows.table[ITEM]).fill_null(0).to_numpy()[joined].astype(np.int64)
        lowest = int(items.min(initial=0))
        if int(items.max(initial=0)) - lowest < 1 << KEY_BITS // 2:
            return items - lowest
    return rows.items()[0][joined].astype(np.int64)


def _occurrences(rows: BucketRows, order: _InTurn, lists: Ints, several: Flags) -> Ints:
    """Count, for each row, how often the row's item is higher up in the list of the same model.

    ``lists`` has the number of each row's (group, item, model). ``several`` flags rows that share this number.
    """
    occurrence, places = np.zeros(len(lists), np.int64), np.flatnonzero(several)
    table = rows.table.take(pa.array(order.row[places])).append_column("in_list", pa.array(lists[places]))
    places = places[row_order(table, [("in_list", "ascending"), (_SCORE, "descending")])]
    starts = np.flatnonzero(np.append(True, lists[places[1:]] != lists[places[:-1]]))
    occurrence[places] = np.arange(len(places)) - np.repeat(starts, np.diff(np.append(starts, len(places))))
    return occurrence


def _scores(rows: BucketRows, order: _InTurn, index: int) -> pa.Array:
    """Return the score of each wide row from the ``index``-th model, or null if that model does not list the item."""
    own = np.flatnonzero(order.model == index)
    row, wide, valid = order.row[own], order.wide[own], rows.valid(_SCORE)
    values = rows.values(_SCORE)
    scores, is_missing = np.zeros(len(order.first), values.dtype), np.ones(len(order.first), np.bool_)
    scores[wide] = values[row]
    is_missing[wide] = False if valid is None else ~valid[row]
    return pa.array(scores, rows.table[_SCORE].type, mask=is_missing if is_missing.any() else None)


def _other_labels(rows: BucketRows, order: _InTurn, first: Ints) -> int:
    """Count the rows whose label differs from the label of their wide row, which comes from the row in ``first``."""
    labels, judged = rows.labels(), rows.valid(LABEL)
    differ = labels[order.row] != labels[first][order.wide]
    return int(np.count_nonzero(differ if judged is None else differ & judged[order.row]))
