"""The rows of a bucket: which columns they have, and which of them can be evaluated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sparkrank import checks
from sparkrank.columns import BadTest, rejections, row_roles
from sparkrank.metrics import Plan
from sparkrank.numeric.types import Flags, Floats

LABEL = "label"
ITEM = "item"
TRUTH = "truth"
LIST = "list"  # of rows made of arrays: a number of the row that they were, which no other row of the run has
REFERENCE_RANK = "reference_rank"
WEIGHT = "weight"
SPOILED = "spoiled"  # whether a text of the row that should be a number is none
MOST_WEIGHT = 1e288  # its products with a row's place in its block, up to 2^32, and sums of these are floats
# Sums hold what is above 2^-85: of a weight from here on at most 3e-11 of it is lost.
LEAST_WEIGHT = 1e-15
LEAST_LABEL = 1e-6  # where gains are averaged: sums hold what is above 2^-85, 3e-14 of its square
MOST_POSITION = 2**31 - 2
_KEY = "key_"
_SCORE = "score_"
_SLICE = "slice_"
_GROUP_WEIGHT = "group_weight_"


def key_column(index: int) -> str:
    """The column that holds the ``index``-th column of the group key."""
    return f"{_KEY}{index}"


def score_column(index: int) -> str:
    """The column that holds the scores of the plan's ``index``-th model."""
    return f"{_SCORE}{index}"


def slice_column(index: int) -> str:
    """The column that holds the ``index``-th of the columns that slices are made of."""
    return f"{_SLICE}{index}"


def group_weight_column(index: int) -> str:
    """The column that holds the ``index``-th of the columns by which groups weigh."""
    return f"{_GROUP_WEIGHT}{index}"


def key_columns(rows: pa.Table | pa.RecordBatch) -> list[str]:
    return [name for name in rows.column_names if name.startswith(_KEY)]


def slice_columns(rows: pa.Table) -> list[str]:
    return [name for name in rows.column_names if name.startswith(_SLICE)]


def score_columns(rows: pa.Table) -> list[str]:
    return [name for name in rows.column_names if name.startswith(_SCORE)]


def as_numpy(column: pa.ChunkedArray) -> NDArray[np.generic]:
    """The values of a column without nulls, as one array."""
    values: NDArray[np.generic] = one_array(column).to_numpy(zero_copy_only=False)
    return values


def one_array(column: pa.ChunkedArray) -> pa.Array:
    """The values of a column as one array, copied only where they came in pieces."""
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def in_one_piece(rows: pa.Table) -> pa.Table:
    """``rows`` with each column as one array. A key of one column stays as it came: it is read once, piece by piece."""
    keys = key_columns(rows)
    columns = [
        column if keys == [name] else one_array(column)
        for name, column in zip(rows.column_names, rows.columns, strict=True)
    ]
    return pa.Table.from_arrays(columns, schema=rows.schema)


def reject(rows: pa.Table, plan: Plan, counts: Counter[tuple[str, str]]) -> pa.Table:
    """``rows`` without those that ``plan`` cannot evaluate, each counted by its reason."""
    found: dict[str, Flags | None] = {
        **({checks.NO_NUMBER: _said(rows[SPOILED])} if plan.reads_texts else {}),
        checks.NULL_KEY: _any([_missing_key(rows[name]) for name in key_columns(rows)]),
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
        found[checks.BEYOND_TRUE_ITEMS] = _labels_of_nothing(rows)
    if plan.needs_pairs:
        found[checks.NULL_ITEM] = _nameless(rows)
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
    kept = rows if rejected is None or not rejected.any() else rows.filter(pa.array(~rejected))
    return kept.drop_columns([SPOILED]) if plan.reads_texts else kept


def _any(found: Sequence[Flags | None]) -> Flags | None:
    flags = [each for each in found if each is not None]
    return np.logical_or.reduce(flags) if flags else None


def _said(column: pa.ChunkedArray) -> Flags | None:
    flags: Flags = np.asarray(as_numpy(column), np.bool_)
    return flags if flags.any() else None


def _missing_key(column: pa.ChunkedArray) -> Flags | None:
    if column.null_count == 0 and not pa.types.is_floating(column.type):
        return None
    return np.asarray(as_numpy(pc.is_null(column, nan_is_null=True)), np.bool_)


def _nan(column: pa.ChunkedArray) -> Flags | None:
    if column.null_count:  # a null score means "not retrieved" and stays
        return np.asarray(as_numpy(pc.is_nan(column).fill_null(False)), np.bool_)
    values = as_numpy(column)
    return np.isnan(values) if np.isnan(values.min(initial=0.0)) else None  # the least of NaN and others is NaN


def _nameless(rows: pa.Table) -> Flags | None:
    """Rows without an item that say more than which group there is: a score, or a label."""
    if not rows[ITEM].null_count:
        return None
    said = [pc.is_valid(rows[name]) for name in (LABEL, *score_columns(rows))]
    flags: Flags = np.asarray(as_numpy(pc.is_null(rows[ITEM])), np.bool_)
    return np.logical_and(flags, np.logical_or.reduce(list(map(as_numpy, said))))


def _labels_of_nothing(rows: pa.Table) -> Flags | None:
    """Rows that an array of labels leaves where it goes on behind the last true item."""
    if not rows[ITEM].null_count:
        return None
    flags: Flags = np.asarray(as_numpy(pc.and_(pc.is_null(rows[ITEM]), pc.is_valid(rows[LABEL]))), np.bool_)
    return flags


def _no_position(column: pa.ChunkedArray, first: int) -> Flags | None:
    """Scores (ranks, negated) that are no whole number at or below ``first``, or beyond a 32-bit position."""
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
    """Weights that exact sums would hold in part, or not at all."""
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
    """The weights of the rows, NaN for none."""
    return as_numpy(column.fill_null(np.nan) if column.null_count else column).astype(np.float64, copy=False)


def scores_of(column: pa.ChunkedArray) -> NDArray[np.floating[Any]]:
    """The scores of the rows that have one, as floats of the width in which they came."""
    scored = column.drop_null() if column.null_count else column  # without nulls it copies all the same
    scores: NDArray[np.floating[Any]] = one_array(scored).to_numpy(zero_copy_only=False)
    return scores


def labels_of(column: pa.ChunkedArray) -> NDArray[np.generic]:
    """The labels as numbers, 0 where a row was not judged."""
    return as_numpy(column.fill_null(0) if column.null_count else column)


def judged_rows(column: pa.ChunkedArray) -> Flags | None:
    """Which rows have a label, or nothing where all have."""
    return np.asarray(as_numpy(column.is_valid()), np.bool_) if column.null_count else None


def order_of(column: pa.ChunkedArray, highest_first: bool) -> Floats:
    """The values of ``column`` as an order to compare with: what stands first is lowest, NaN where there is none."""
    values = np.asarray(as_numpy(column.cast(pa.float64())), np.float64)  # a null becomes NaN
    return -values if highest_first else values
