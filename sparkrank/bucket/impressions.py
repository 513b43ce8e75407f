"""The rows of a bucket: the names of their columns, and which rows can be evaluated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sparkrank.base import checks
from sparkrank.inputs.role_table import BadTest, rejections, row_roles
from sparkrank.metrics import Plan
from sparkrank.numeric.array_types import Flags, Floats, Ints
from sparkrank.numeric.segments import counted_up

LABEL = "label"
ITEM = "item"
TRUTH = "truth"
LIST = "list"  # of rows that were arrays: the number of the row that they came from, unique in the run
REFERENCE_RANK = "reference_rank"
WEIGHT = "weight"
CLUSTER = "cluster"
MOST_WEIGHT = 1e288  # products with a row's offset in its bin, up to 2^32, and sums of these do not overflow
# Exact sums ignore what is below 2^-85, which is at most 3e-11 of a weight of this size.
LEAST_WEIGHT = 1e-15
LEAST_LABEL = 1e-6  # where gains are averaged: sums hold what is above 2^-85, 3e-14 of its square
MOST_POSITION = 2**31 - 2
_KEY = "key_"
_SCORE = "score_"
_SLICE = "slice_"
_GROUP_WEIGHT = "group_weight_"


def key_column(index: int) -> str:
    """The name of the ``index``-th column of the group key."""
    return f"{_KEY}{index}"


def score_column(index: int) -> str:
    """The name of the column with the scores of the plan's ``index``-th model."""
    return f"{_SCORE}{index}"


def slice_column(index: int) -> str:
    """The name of the ``index``-th of the columns that slices are made of."""
    return f"{_SLICE}{index}"


def group_weight_column(index: int) -> str:
    """The name of the ``index``-th of the columns with weights of groups."""
    return f"{_GROUP_WEIGHT}{index}"


def key_columns(rows: pa.Table | pa.RecordBatch) -> list[str]:
    return [name for name in rows.column_names if name.startswith(_KEY)]


def slice_columns(rows: pa.Table) -> list[str]:
    return [name for name in rows.column_names if name.startswith(_SLICE)]


def score_columns(rows: pa.Table) -> list[str]:
    return [name for name in rows.column_names if name.startswith(_SCORE)]


def as_numpy(column: pa.ChunkedArray) -> NDArray[np.generic]:
    """The values of a column without nulls, as one array."""
    if pa.types.is_boolean(column.type) and not column.null_count:
        return flags_of(column)
    values: NDArray[np.generic] = one_array(column).to_numpy(zero_copy_only=False)
    return values


def one_array(column: pa.ChunkedArray) -> pa.Array:
    """The values of a column as one array, copied only where the column has several chunks."""
    if not column.num_chunks and pa.types.is_dictionary(column.type):  # of which pyarrow 18 makes no array
        kind = column.type
        return pa.DictionaryArray.from_arrays(pa.array([], kind.index_type), pa.array([], kind.value_type))
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def in_one_piece(rows: pa.Table) -> pa.Table:
    """``rows`` with each column as one array.

    Exceptions are a single key column, which is read once, chunk by chunk, and columns that have no value in some chunk
    and all in another, as those of lists and of a truth.
    """
    keys = key_columns(rows)
    columns = [
        column if keys == [name] or _is_of_one_side(column) else one_array(column)
        for name, column in zip(rows.column_names, rows.columns, strict=True)
    ]
    return pa.Table.from_arrays(columns, schema=rows.schema)


def _is_of_one_side(column: pa.ChunkedArray) -> bool:
    filled = [chunk for chunk in column.chunks if chunk.null_count < len(chunk)]
    return len(filled) == 1 and not filled[0].null_count and column.num_chunks > 1


def reject(rows: pa.Table, plan: Plan, counts: Counter[tuple[str, str]]) -> pa.Table:
    """The ``rows`` that ``plan`` can evaluate. Adds the rejected rows to ``counts``, by reason."""
    found: dict[str, Flags | None] = {
        checks.NULL_KEY: _any([missing_key(rows[name]) for name in key_columns(rows)]),
        checks.NAN_SCORE: _any([_nan(rows[name]) for name in score_columns(rows)]),
        checks.BAD_LABEL: _not_finite(rows[LABEL]),
    }
    if plan.sums_gains:
        found[checks.SMALL_LABEL] = _small_label(rows[LABEL])
    for role in row_roles():
        for bad in role.bad:
            if bad.always or role.key in rows.column_names:
                found[bad.check] = BAD_ROWS[bad.test](rows[role.key]) if role.key in rows.column_names else None
    if plan.arrays:
        found[checks.BEYOND_TRUE_ITEMS] = _labels_without_item(rows)
    if plan.needs_pairs:
        found[checks.NULL_ITEM] = _without_item(rows)
    if plan.definitions.positions != "dense":
        first = -1 if plan.definitions.positions == "given" else 0
        found[checks.BAD_RANK] = _any([_no_position(rows[name], first) for name in score_columns(rows)])
    rejected: Flags | None = None
    for reason in (each for each in rejections() if each in found):
        counts[reason, ""], flags = 0, found[reason]
        if flags is not None:
            rest = flags if rejected is None else flags & ~rejected
            counts[reason, ""] = int(np.count_nonzero(rest))
            rejected = flags if rejected is None else rejected | flags
    return rows if rejected is None or not rejected.any() else rows.filter(pa.array(~rejected))


def _any(found: Sequence[Flags | None]) -> Flags | None:
    flags = [each for each in found if each is not None]
    return np.logical_or.reduce(flags) if flags else None


def missing_key(column: pa.ChunkedArray) -> Flags | None:
    """Which rows have a null or NaN for a key, or None where there is none."""
    if column.null_count == 0 and not pa.types.is_floating(column.type):
        return None
    return np.asarray(as_numpy(pc.is_null(column, nan_is_null=True)), np.bool_)


def _nan(column: pa.ChunkedArray) -> Flags | None:
    if column.null_count:  # a null score means "not retrieved" and stays
        scores = scores_of(column)
        if not np.isnan(scores.min(initial=0.0)):
            return None
        return np.asarray(as_numpy(pc.is_nan(column).fill_null(False)), np.bool_)
    values = as_numpy(column)
    return np.isnan(values) if np.isnan(values.min(initial=0.0)) else None  # the minimum is NaN where a value is NaN


def _without_item(rows: pa.Table) -> Flags | None:
    """Rows without an item that have a score or a label."""
    if not rows[ITEM].null_count:
        return None
    present = [pc.is_valid(rows[name]) for name in (LABEL, *score_columns(rows))]
    flags: Flags = np.asarray(as_numpy(pc.is_null(rows[ITEM])), np.bool_)
    return np.logical_and(flags, np.logical_or.reduce(list(map(as_numpy, present))))


def _labels_without_item(rows: pa.Table) -> Flags | None:
    """Rows with a label and no item, which come from an array of labels that is longer than that of true items."""
    if not rows[ITEM].null_count:
        return None
    flags: Flags = np.asarray(as_numpy(pc.and_(pc.is_null(rows[ITEM]), pc.is_valid(rows[LABEL]))), np.bool_)
    return flags


def _no_position(column: pa.ChunkedArray, first: int) -> Flags | None:
    """Scores (negated ranks) that are no whole number, above ``first``, or beyond a 32-bit position."""
    scores = as_numpy(column.fill_null(first)).astype(np.float64)
    with np.errstate(invalid="ignore"):
        flags: Flags = (scores != np.rint(scores)) | (scores > first) | (scores < -MOST_POSITION)
    return flags if flags.any() else None


def _not_finite(column: pa.ChunkedArray) -> Flags | None:
    if not pa.types.is_floating(column.type):
        return None
    return ~np.asarray(as_numpy(pc.is_finite(column).fill_null(True)), np.bool_)


def _small_label(column: pa.ChunkedArray) -> Flags | None:
    """Labels of which the squares of gains, under the standard error of a mean, would lose digits."""
    if not pa.types.is_floating(column.type):
        return None
    labels = as_numpy(column.fill_null(0)).astype(np.float64, copy=False)
    flags: Flags = (labels > 0) & (labels < LEAST_LABEL)
    return flags if flags.any() else None


def _no_weight(column: pa.ChunkedArray) -> Flags:
    weights = weights_of(column)
    return ~((weights >= 0) & (weights <= MOST_WEIGHT))


def _small_weight(column: pa.ChunkedArray) -> Flags | None:
    """Weights of which exact sums would lose a part or all."""
    weights = weights_of(column)
    flags: Flags = (weights > 0) & (weights < LEAST_WEIGHT)
    return flags if flags.any() else None


# What rejects a row for a value that plays a role, by the name that the table of roles has for it.
BAD_ROWS: dict[BadTest, Callable[[pa.ChunkedArray], Flags | None]] = {
    "nan": _nan,
    "no weight": _no_weight,
    "small weight": _small_weight,
}


def weights_of(column: pa.ChunkedArray) -> NDArray[np.float64]:
    """The weights of the rows, NaN for a null."""
    return as_numpy(column.fill_null(np.nan) if column.null_count else column).astype(np.float64, copy=False)


def scores_of(column: pa.ChunkedArray) -> NDArray[np.floating[Any]]:
    """The scores of the rows that have one, as floats of the input's width."""
    chunks = [  # drop_null copies even without nulls
        chunk.drop_null() if chunk.null_count else chunk for chunk in column.chunks if chunk.null_count < len(chunk)
    ]
    scores: NDArray[np.floating[Any]] = one_array(pa.chunked_array(chunks, column.type)).to_numpy(zero_copy_only=False)
    return scores


def rows_with_value(column: pa.ChunkedArray) -> Ints | None:
    """The rows of ``column`` that are not null, or None where that is all rows."""
    if not column.null_count:
        return None
    found, start = [np.empty(0, np.int64)], 0
    for chunk in column.chunks:  # most are null as a whole, or nowhere
        if not chunk.null_count:
            found.append(counted_up(start + len(chunk))[start:])
        elif chunk.null_count < len(chunk):
            found.append(start + np.flatnonzero(flags_of(chunk.is_valid())))
        start += len(chunk)
    found = [each for each in found if len(each)] or found[:1]
    return found[0] if len(found) == 1 else np.concatenate(found)


def flags_of(column: pa.Array | pa.ChunkedArray) -> Flags:
    """The values of a column of booleans without nulls. Arrow takes 10 ns for each of them."""
    values = one_array(column) if isinstance(column, pa.ChunkedArray) else column
    bits = np.frombuffer(values.buffers()[1] or b"", np.uint8)
    first = values.offset // 8
    inside = bits[first : first + (values.offset % 8 + len(values) + 7) // 8]
    flags = np.unpackbits(inside, count=values.offset % 8 + len(values), bitorder="little")[values.offset % 8 :]
    return flags.view(np.bool_)


def labels_of(column: pa.ChunkedArray) -> NDArray[np.generic]:
    """The labels as numbers, 0 where a row was not judged."""
    return as_numpy(column.fill_null(0) if column.null_count else column)


def judged_rows(column: pa.ChunkedArray) -> Flags | None:
    """Which rows have a label, or None where all have one."""
    return np.asarray(as_numpy(column.is_valid()), np.bool_) if column.null_count else None


def order_of(column: pa.ChunkedArray, highest_first: bool) -> Floats:
    """The values of ``column`` as a reference order: the first row has the lowest number, a null is NaN."""
    values = np.asarray(as_numpy(column.cast(pa.float64())), np.float64)  # a null becomes NaN
    return -values if highest_first else values
