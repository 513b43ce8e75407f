"""Rejection of rows of a bucket that cannot be evaluated. Rejected rows are counted by reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sparkrank.base import checks
from sparkrank.bucket.bucket_rows import BucketRows, as_labels, flags_of
from sparkrank.bucket.impressions import ITEM, PROPENSITY, key_columns, score_column, value_column
from sparkrank.bucket.label_rows import label_columns, read_label
from sparkrank.bucket.propensities import bad_propensities
from sparkrank.histogram.scored_rows import FARTHEST
from sparkrank.inputs.role_table import BadTest, rejections, row_roles
from sparkrank.metrics import Plan
from sparkrank.numeric.array_types import Flags
from sparkrank.ranking.judgments import is_relevant
from sparkrank.ranking.value_columns import ValueColumn

MOST_WEIGHT = 1e288  # so that products with a row's offset in its bin (up to 2^32), and their sums, do not overflow
# Exact sums ignore amounts below 2^-85, which is at most 3e-11 of a weight of this size.
LEAST_WEIGHT = 1e-15
LEAST_LABEL = 1e-6  # for averaged gains: sums ignore amounts below 2^-85, which is 3e-14 of its square
MOST_VALUE = 1e100  # so that squares of sums stay below float64's 2^1024
MOST_POSITION = 2**31 - 2


def reject(rows: BucketRows, plan: Plan, counts: Counter[tuple[str, str]]) -> BucketRows:
    """Return the rows that ``plan`` can evaluate. Add the number of rejected rows to ``counts``, by reason."""
    scores, labels = [score_column(index) for index in range(rows.models)], label_columns(plan)
    reasons: dict[str, Flags | None] = {
        checks.NULL_KEY: _any([rows.missing(name) for name in key_columns(rows.table)]),
        checks.NAN_SCORE: _any([_nan(rows, name) for name in scores]),
        checks.BAD_LABEL: _any([_not_finite(rows, name) for name in labels]),
    }
    adding = [judging for judging, own in plan.by_judging.items() if own.sums_gains]
    if adding:
        reasons[checks.SMALL_LABEL] = _any([_small_label(read_label(rows, judging, plan)) for judging in adding])
    for role in row_roles():
        for bad in role.bad:
            if bad.always or role.key in rows:
                reasons[bad.check] = BAD_ROWS[bad.test](rows, role.key) if role.key in rows else None
    if PROPENSITY in rows:
        reasons[checks.BAD_PROPENSITY] = bad_propensities(rows, plan)
    reasons |= _bad_values(rows, plan)
    if plan.arrays:
        reasons[checks.BEYOND_TRUE_ITEMS] = _without_item(rows, labels)
    if plan.needs_pairs or plan.long:
        reasons[checks.NULL_ITEM] = _without_item(rows, [*labels, *scores])
    if plan.definitions.positions != "dense":
        first = -1 if plan.definitions.positions == "given" else 0
        reasons[checks.BAD_RANK] = _any([_no_position(rows, name, first) for name in scores])
    rejected: Flags | None = None
    for reason in (check for check in rejections() if check in reasons):
        counts[reason, ""], flags = 0, reasons[reason]
        if flags is not None:
            rest = flags if rejected is None else flags & ~rejected
            counts[reason, ""] = int(np.count_nonzero(rest))
            rejected = flags if rejected is None else rejected | flags
    return rows if rejected is None or not rejected.any() else rows.filter(~rejected)


def _bad_values(rows: BucketRows, plan: Plan) -> dict[str, Flags | None]:
    """Return, by reason, flags of the rows with a value or a gain that cannot be evaluated."""
    reasons: dict[str, Flags | None] = {}
    for kind, (check, test) in _VALUE_TESTS.items():
        columns = [value_column(index) for index, value in enumerate(plan.value_columns) if value.kind == kind]
        if columns:
            reasons[check] = _any([test(rows, column) for column in columns])
    bad: dict[str, list[Flags | None]] = {}
    for judging, own in plan.by_judging.items():
        if not own.gain_columns and own.listed_gains is None:
            continue
        labels = as_labels(read_label(rows, judging, plan))
        for column in own.gain_columns:
            bad.setdefault(checks.BAD_GAIN, []).append(_bad_gain(rows, labels, own, column))
        if own.listed_gains is not None:
            bad.setdefault(checks.NO_GAIN, []).append(_without_gain(labels, own.listed_gains))
    return reasons | {check: _any(flags) for check, flags in bad.items()}


def _any(reasons: Sequence[Flags | None]) -> Flags | None:
    flags = [reason for reason in reasons if reason is not None]
    return np.logical_or.reduce(flags) if flags else None


def _nan(rows: BucketRows, name: str) -> Flags | None:
    if not np.isnan(rows.present(name).min(initial=0.0)):  # the minimum is NaN where a value is NaN
        return None
    return flags_of(pc.is_nan(rows.table[name]).fill_null(False))  # a null score means "not retrieved" and stays


def _without_item(rows: BucketRows, names: Sequence[str]) -> Flags | None:
    """Flag the rows without an item that have a value in a column of ``names``. None means that all rows have items."""
    items = rows.valid(ITEM)
    if items is None:
        return None
    present = [rows.valid(name) for name in names]
    some = [flags for flags in present if flags is not None]
    return ~items & np.logical_or.reduce(some) if len(some) == len(present) else ~items


def _no_position(rows: BucketRows, name: str, first: int) -> Flags | None:
    """Flag scores (negated ranks) that are fractions, above ``first`` (the first position's), or beyond 32 bits."""
    scores = rows.floats(name)
    with np.errstate(invalid="ignore"):
        is_position = (scores == np.rint(scores)) & (scores <= first) & (scores >= -MOST_POSITION)
    valid = rows.valid(name)
    return _flags(~is_position if valid is None else ~is_position & valid)


def _not_finite(rows: BucketRows, name: str) -> Flags | None:
    column = rows.table[name]
    return ~flags_of(pc.is_finite(column).fill_null(True)) if pa.types.is_floating(column.type) else None


def _small_label(column: pa.ChunkedArray) -> Flags | None:
    """Flag labels so small that the squares of gains, needed for the standard errors of means, would lose digits."""
    if not pa.types.is_floating(column.type):
        return None
    labels = as_labels(column).astype(np.float64, copy=False)
    return _flags((labels > 0) & (labels < LEAST_LABEL))


def _no_weight(rows: BucketRows, name: str) -> Flags:
    weights = rows.floats(name)
    return ~((weights >= 0) & (weights <= MOST_WEIGHT))


def _small_weight(rows: BucketRows, name: str) -> Flags | None:
    weights = rows.floats(name)
    return _flags((weights > 0) & (weights < LEAST_WEIGHT))


def _no_value(rows: BucketRows, name: str) -> Flags | None:
    """Flag values that are NaN or too large. Nulls are not flagged."""
    values, valid = rows.floats(name), rows.valid(name)
    bad = ~(np.abs(values) <= MOST_VALUE)
    return _flags(bad if valid is None else bad & valid)


def _no_vector(rows: BucketRows, name: str) -> Flags | None:
    """Flag arrays without a direction: those that are empty or 0, or have a value that is null, NaN or too large."""
    codes, arrays = rows.categories(name), rows.arrays(name)
    of_value = np.repeat(np.arange(len(arrays.ends) - 1), np.diff(arrays.ends))
    count = len(arrays.ends) - 1
    bad = np.bincount(of_value, arrays.values != 0, count) == 0
    bad |= np.bincount(of_value, ~(np.abs(arrays.values) <= MOST_VALUE), count) > 0
    return _flags(np.append(bad, False)[codes])


def _bad_gain(rows: BucketRows, labels: NDArray[np.generic], plan: Plan, column: ValueColumn) -> Flags | None:
    """Flag relevant rows with a gain in ``column`` that is below 0 or too small. Nulls are not flagged."""
    gains = rows.floats(value_column(plan.value_columns.index(column)))
    least = LEAST_LABEL if plan.gain_columns[column] else 0.0
    return _flags(is_relevant(labels, None) & ((gains < 0) | ((gains > 0) & (gains < least))))


def _without_gain(labels: NDArray[np.generic], listed: int) -> Flags | None:
    """Flag ``labels`` without a listed gain: fractions above 0, and labels from ``listed``, the number of gains."""
    given = labels.astype(np.float64)
    return _flags((given >= listed) | ((given > 0) & (given != np.rint(given))))


def _flags(flags: Flags) -> Flags | None:
    return flags if flags.any() else None


# For each kind of values that may be bad, the check and the function that flags the rows to reject.
_VALUE_TESTS = {"number": (checks.BAD_VALUE, _no_value), "numbers": (checks.BAD_VECTOR, _no_vector)}
# For each test named in the table of roles, the function that flags the rows to reject.
BAD_ROWS: dict[BadTest, Callable[[BucketRows, str], Flags | None]] = {
    "nan": _nan,
    "no weight": _no_weight,
    "small weight": _small_weight,
    "no number": lambda rows, name: _flags(~(np.abs(rows.floats(name)) <= FARTHEST)),
}
