"""Wide rows, with a score of each model, from long rows, which have the score of one model.

A wide row is an item of a group, or its second occurrence in the list of some model, and so on. It has the score of
each model that lists the item so often, and null for the others. All else comes from the first model, in the order of
the plan, that has a value.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from sparkrank.base import checks
from sparkrank.base.errors import InputError
from sparkrank.bucket.bucket_rows import BucketRows
from sparkrank.bucket.encoding import paired
from sparkrank.bucket.grouping import groups_of
from sparkrank.bucket.impressions import ITEM, LABEL, MODEL, in_one_piece, one_array, score_column
from sparkrank.bucket.joining import Counts
from sparkrank.bucket.row_order import row_order
from sparkrank.metrics import Plan
from sparkrank.numeric.array_types import Codes, Flags, Ints
from sparkrank.numeric.segments import order_by_code

_SCORE = score_column(0)  # of long rows, whatever their model


def count_rows_of_models(rows: BucketRows, plan: Plan, counts: Counts) -> None:
    """Count the long ``rows`` of each model. Raises :class:`InputError` for a row of no model of the ``plan``."""
    named = rows.valid(MODEL)
    is_known = np.ones(len(rows), np.bool_) if named is None else named
    if unknown := int(np.count_nonzero(~is_known & ~rows.truth)):
        raise InputError(
            f"{unknown:,} rows are of a model that was not there when models were looked for: run it again"
        )
    numbers = np.bincount(_models(rows, np.flatnonzero(is_known)), minlength=len(plan.models))
    for model, count in zip(plan.models, numbers.tolist(), strict=True):
        counts[checks.MODEL_ROWS, model] = count


def wide_rows(rows: BucketRows, plan: Plan, counts: Counts) -> BucketRows:
    """The wide rows of long ``rows``, then rows without an item and those of the truth, without a score."""
    has_item = rows.valid(ITEM)
    is_joined = ~rows.truth if has_item is None else ~rows.truth & has_item
    joined = np.flatnonzero(is_joined)
    pair = _pairs(rows, joined)
    of_model = _rows_of_models(_models(rows, joined), len(plan.models))
    width = int(pair.max(initial=-1)) + 1
    places = [_places(pair, own, width) for own in of_model]
    repeated = [own[place[pair[own]] != own] for own, place in zip(of_model, places, strict=True)]
    if any(map(len, repeated)):
        pair = paired(pair, _occurrences(rows, joined, pair, of_model, repeated))
        width = int(pair.max(initial=-1)) + 1
        places = [_places(pair, own, width) for own in of_model]
    counts[checks.ROWS_JOINED, ""] = len(joined) - width
    of_first = _first_with(None, places)
    others = pa.array(np.flatnonzero(~is_joined))
    columns: dict[str, pa.ChunkedArray] = {}
    for name in rows.table.column_names:
        column = rows.table[name]
        if name == _SCORE:
            own = column if len(joined) == len(rows) else column.take(pa.array(joined))
            for index, place in enumerate(places):
                scores = one_array(own).take(pa.array(place, mask=place < 0))
                columns[score_column(index)] = pa.chunked_array([scores, pa.nulls(len(others), column.type)])
        elif name != MODEL:
            valid = rows.valid(name)
            first = joined[of_first if valid is None else _first_with(valid[joined], places, of_first)]
            if name == LABEL:
                counts[checks.LABELS_DIFFER, ""] = _other_labels(rows, joined, first[pair])
            columns[name] = pa.chunked_array([*column.take(pa.array(first)).chunks, *column.take(others).chunks])
    return BucketRows(in_one_piece(pa.table(columns)))


def _models(rows: BucketRows, chosen: Ints) -> Codes:
    """The number of the model of each of the ``chosen`` rows."""
    numbers: Codes = one_array(rows.table[MODEL]).fill_null(0).to_numpy()[chosen].astype(np.int32)
    return numbers


def _pairs(rows: BucketRows, joined: Ints) -> Codes:
    """A number for the group and item of each of the ``joined`` rows."""
    columns = [*rows.keys.columns, rows.table[ITEM]]
    if len(joined) < len(rows):
        columns = [column.take(pa.array(joined)) for column in columns]
    return groups_of(columns).codes


def _rows_of_models(models: Codes, count: int) -> list[Ints]:
    ends = np.cumsum(np.bincount(models, minlength=count))
    return np.split(order_by_code(models, count), ends[:-1])


def _places(pair: Codes, own: Ints, width: int) -> Codes:
    """The row among a model's ``own`` rows that each wide row (width) takes; -1 for none."""
    place = np.full(width, -1, np.int32)
    place[pair[own]] = own
    return place


def _occurrences(
    rows: BucketRows, joined: Ints, pair: Codes, of_model: Sequence[Ints], repeated: Sequence[Ints]
) -> Codes:
    """How often the item of each joined row comes before it in the list of its model, the best scores first."""
    occurrence = np.zeros(len(joined), np.int32)
    for own, again in zip(of_model, repeated, strict=True):
        if not len(again):
            continue
        several = own[np.isin(pair[own], pair[again])]
        table = rows.table.take(pa.array(joined[several])).append_column("pair", pa.array(pair[several]))
        order = several[row_order(table, [("pair", "ascending"), (_SCORE, "descending")])]
        starts = np.flatnonzero(np.append(True, np.diff(pair[order]) != 0))
        lengths = np.diff(np.append(starts, len(order)))
        occurrence[order] = np.arange(len(order)) - np.repeat(starts, lengths)
    return occurrence


def _first_with(valid: Flags | None, places: Sequence[Codes], others: Ints | None = None) -> Ints:
    """For each wide row, the joined row of the first model whose row is ``valid`` (None: all), else of ``others``."""
    first = np.full(len(places[0]), -1, np.int64) if others is None else others.copy()
    for place in reversed(places):
        has_value = place >= 0 if valid is None else np.append(valid, np.False_)[place]  # the place -1 has none
        first[has_value] = place[has_value]
    return first


def _other_labels(rows: BucketRows, joined: Ints, first: Ints) -> int:
    """The number of joined rows whose label is not that of their wide row, which is that of the row ``first``."""
    labels, judged = rows.labels(), rows.valid(LABEL)
    differ = labels[joined] != labels[first]
    return int(np.count_nonzero(differ if judged is None else differ & judged[joined]))
