"""The slices of a bucket: divisions of its groups or rows by the values of columns, with only pyarrow and numpy."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparkrank.base.errors import InputError, shorten
from sparkrank.bucket.bucket_rows import BucketRows
from sparkrank.bucket.grouping import Groups, groups_of
from sparkrank.bucket.impressions import slice_column
from sparkrank.metrics import Plan
from sparkrank.metrics.position_sums import position_names
from sparkrank.metrics.slices import ALL, NO_PART, Slice, SliceColumn, pools, slice_name, source_of
from sparkrank.numeric.array_types import Codes, Floats
from sparkrank.numeric.segments import WHOLE, Segments

# The largest number of values of a slice in a day. Each value has a state for every metric, model and bucket: 1,000
# values of 40 metrics are 12 MB.
MOST_SLICE_VALUES = 1_000
# The same of a slice with ``top``, whose values are pooled after the merge, and the largest number of its states: for
# each value, model and metric about 300 bytes.
MOST_POOLED_VALUES, MOST_POOLED_STATES = 100_000, 1_000_000


@dataclass(frozen=True)
class GroupSlice:
    """A slice of a bucket's groups. ``segments`` divides the groups by their value in ``values`` (None if missing)."""

    name: str
    values: tuple[str | None, ...]
    segments: Segments


WHOLE_DAY = GroupSlice(ALL, (ALL,), WHOLE)


@dataclass(frozen=True)
class SlicedRows:
    """A slice of a bucket's rows. ``code`` contains the index of each row's value in ``values`` (None if missing)."""

    name: str
    values: tuple[str | None, ...]
    code: Codes

    def by_group(self, groups: Groups) -> GroupSlice:
        return GroupSlice(self.name, self.values, Segments(len(self.values), self.code[groups.row]))

    def divides(self, groups: Groups) -> bool:
        return not np.array_equal(self.code[groups.row][groups.codes], self.code)


def sliced_rows(rows: BucketRows, plan: Plan, columns: Slice) -> SlicedRows:
    """Return the slice of ``rows`` by their values in ``columns``. Raise :class:`InputError` for too many values."""
    name = slice_name(columns)
    parts = [_values(rows, plan, part) for part in columns]
    groups = groups_of(parts)
    validate_count(columns, groups.count, plan, " in one bucket alone")
    try:
        values = _texts([part.take(pa.array(groups.row)) for part in parts]).to_pylist()
    except UnicodeDecodeError as error:
        raise InputError(f'the slice "{name}" has a value that is not UTF-8 text: {error.object!r}') from None
    return SlicedRows(name, tuple(values), groups.codes)


def _values(rows: BucketRows, plan: Plan, part: SliceColumn) -> pa.ChunkedArray:
    name = slice_column(plan.slice_sources.index(source_of(part)))
    return _intervals(rows.floats(name), part) if part.edges else rows.table[name]


def _intervals(values: Floats, part: SliceColumn) -> pa.ChunkedArray:
    """Return the interval of each value, out of the intervals of ``part``. NaN becomes null."""
    places = np.searchsorted(np.array(part.edges), values, side="right").astype(np.int32)
    codes = pa.array(places, mask=np.isnan(values))
    return pa.chunked_array([pa.DictionaryArray.from_arrays(codes, pa.array(part.intervals))])


def validate_count(columns: Slice, count: int, plan: Plan, where: str = "") -> None:
    """Raise :class:`InputError` if the slice of ``columns`` has too many values (``count``) or too many states."""
    most, named = (
        MOST_POOLED_VALUES if pools(columns) else MOST_SLICE_VALUES,
        f'the slice "{shorten(slice_name(columns))}" has',
    )
    if count > most:
        raise InputError(f"{named} {count} values{where}: at most {most} are allowed")
    positions = len(position_names(plan))
    states = count * len(plan.models) * (len(plan.metrics) + positions)
    if pools(columns) and states > MOST_POOLED_STATES:
        also = f", {plan.position_depth} positions" if positions else ""
        raise InputError(
            f"{named} {count} values{where}, with {states:,} states of {len(plan.metrics)} metrics{also} and "
            f"{len(plan.models)} models: at most {MOST_POOLED_STATES:,} are allowed"
        )


def _texts(columns: Sequence[pa.ChunkedArray]) -> pa.Array:
    """Join the values of each row by commas. A null is written as :data:`NO_PART`, but a row of nulls gives null."""
    texts = [column.combine_chunks().cast(pa.string()) for column in columns]
    if len(texts) == 1:
        return texts[0]
    all_null = functools.reduce(pc.and_, map(pc.is_null, texts))
    for mark in ("\\", ","):
        texts = [pc.replace_substring(text, mark, f"\\{mark}") for text in texts]
    joined = pc.binary_join_element_wise(*(text.fill_null(NO_PART) for text in texts), ",")
    return pc.if_else(all_null, pa.scalar(None, pa.string()), joined)
