"""Wide rows, which have a score of each model, built from long rows, which have the score of one model.

A group has one wide row per item, and more if some model's list repeats the item. The n-th wide row of an item has the
scores of models that list the item at least n times, and null for other models. All other values come from the first
model, in the order of the plan, that has a value.
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
from sparkrank.bucket.encoding import encode, paired
from sparkrank.bucket.grouping import groups_of
from sparkrank.bucket.impressions import ITEM, LABEL, MODEL, in_one_piece, one_array, score_column
from sparkrank.bucket.joining import Counts
from sparkrank.bucket.row_order import row_order
from sparkrank.metrics import Plan
from sparkrank.numeric.array_types import Codes, Flags, Ints

_SCORE = score_column(0)  # of long rows, whatever their model
_KEY_BITS = 64


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
    """The wide rows of long ``rows``, followed by rows without an item and rows of the truth, which have no score."""
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
    """Long rows sorted by wide row, then by model: the index (``row``), ``model`` and ``wide`` row of each.

    ``first`` has the index, in this order, of the first long row of each wide row.
    """

    row: Ints
    model: NDArray[np.uint8]
    wide: Codes
    first: Ints

    def first_with(self, valid: Flags | None) -> Ints:
        """For each wide row, the row of the first model with a ``valid`` value, or else of the first model."""
        if valid is None:
            return self.row[self.first]
        place, having = self.first.copy(), np.flatnonzero(valid[self.row])[::-1]
        place[self.wide[having]] = having  # of several the last one that is written stays, which is the first model's
        return self.row[place]


def _in_turn(rows: BucketRows, joined: Ints) -> _InTurn:
    """Sort the ``joined`` rows. If a model repeats an item, its two rows of that item belong to two wide rows."""
    groups, models = groups_of(rows.keys.columns).codes[joined], _models(rows)[joined]
    keys, shifts = _sorted_keys(groups, _item_numbers(rows, joined), models)
    lists = keys >> shifts[1]
    again = np.flatnonzero(lists[1:] == lists[:-1])
    if len(again):
        order = _unpacked(keys, shifts, joined)
        occurrence = _occurrences(rows, order, lists, np.isin(lists, lists[again]))
        numbers = np.empty(len(joined), np.int64)
        numbers[keys & _mask(shifts[1])] = order.wide.astype(np.int64) * (int(occurrence.max()) + 1) + occurrence
        keys, shifts = _sorted_keys(np.zeros(len(joined), np.int32), numbers, models)
    return _unpacked(keys, shifts, joined)


def _sorted_keys(groups: Codes, items: Ints, models: Codes) -> tuple[Ints, tuple[int, int]]:
    """Sorted integers made of group, item, model and row index, and the number of bits below the item and the model.

    numpy sorts integers with vector instructions, in a tenth of the time that numbering pairs by a hash takes.
    """
    of_place, of_model = (max(length - 1, 0).bit_length() for length in (len(groups), int(models.max(initial=0)) + 1))
    of_item = int(items.max(initial=0)).bit_length()
    if int(groups.max(initial=0)).bit_length() + of_item + of_model + of_place >= _KEY_BITS:
        items = paired(groups, encode(pa.chunked_array([items]))[0]).astype(np.int64)
        groups, of_item = np.zeros(len(groups), np.int32), int(items.max(initial=0)).bit_length()
    keys = groups.astype(np.int64) << of_item
    keys |= items
    keys <<= of_model
    keys |= models
    keys <<= of_place
    keys |= np.arange(len(keys))
    keys.sort()
    return keys, (of_model + of_place, of_place)


def _unpacked(keys: Ints, shifts: tuple[int, int], joined: Ints) -> _InTurn:
    pairs, models = keys >> shifts[0], (keys >> shifts[1]) & _mask(shifts[0] - shifts[1])
    is_first = np.ones(len(keys), np.bool_)
    np.not_equal(pairs[1:], pairs[:-1], out=is_first[1:])
    place = keys & _mask(shifts[1])
    row = place if not len(joined) or joined[-1] == len(joined) - 1 else joined[place]
    wide = np.cumsum(is_first, dtype=np.int32)
    wide -= np.int32(1)
    return _InTurn(row, models.astype(np.uint8), wide, np.flatnonzero(is_first))


def _mask(bits: int) -> int:
    return (1 << bits) - 1


def _models(rows: BucketRows) -> Codes:
    """The number of each row's model, 0 for rows without a model."""
    numbers: Codes = one_array(rows.table[MODEL]).fill_null(0).to_numpy().astype(np.int32)
    return numbers


def _item_numbers(rows: BucketRows, joined: Ints) -> Ints:
    """A number from 0 for the item of each of the ``joined`` rows."""
    if pa.types.is_signed_integer(rows.table[ITEM].type):
        items: Ints = one_array(rows.table[ITEM]).fill_null(0).to_numpy()[joined].astype(np.int64)
        lowest = int(items.min(initial=0))
        if int(items.max(initial=0)) - lowest < 1 << _KEY_BITS // 2:
            return items - lowest
    return rows.items()[0][joined].astype(np.int64)


def _occurrences(rows: BucketRows, order: _InTurn, lists: Ints, several: Flags) -> Ints:
    """How often the item of each row occurs earlier in the list of the same model, best score first.

    ``lists`` numbers combinations of group, item and model. Order matters only where ``several`` rows share a number.
    """
    occurrence, places = np.zeros(len(lists), np.int64), np.flatnonzero(several)
    table = rows.table.take(pa.array(order.row[places])).append_column("in_list", pa.array(lists[places]))
    places = places[row_order(table, [("in_list", "ascending"), (_SCORE, "descending")])]
    starts = np.flatnonzero(np.append(True, lists[places[1:]] != lists[places[:-1]]))
    occurrence[places] = np.arange(len(places)) - np.repeat(starts, np.diff(np.append(starts, len(places))))
    return occurrence


def _scores(rows: BucketRows, order: _InTurn, index: int) -> pa.Array:
    """The score of each wide row from the ``index``-th model, null where that model does not list the item."""
    own = np.flatnonzero(order.model == index)
    row, wide, valid = order.row[own], order.wide[own], rows.valid(_SCORE)
    values = rows.values(_SCORE)
    scores, is_missing = np.zeros(len(order.first), values.dtype), np.ones(len(order.first), np.bool_)
    scores[wide] = values[row]
    is_missing[wide] = False if valid is None else ~valid[row]
    return pa.array(scores, rows.table[_SCORE].type, mask=is_missing if is_missing.any() else None)


def _other_labels(rows: BucketRows, order: _InTurn, first: Ints) -> int:
    """The number of rows whose label differs from that of their wide row, which is taken from the row ``first``."""
    labels, judged = rows.labels(), rows.valid(LABEL)
    differ = labels[order.row] != labels[first][order.wide]
    return int(np.count_nonzero(differ if judged is None else differ & judged[order.row]))
