"""The past: tables of the (group, item) pairs that groups had before. A bucket receives the pairs as rows.

The pairs are removed before groups are formed, so that a group only in the past is not evaluated.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparkrank.base import checks
from sparkrank.bucket.bucket_rows import BucketRows, flags_of
from sparkrank.bucket.impressions import ITEM, PAST, TIME, key_columns, one_array, past_column, slice_column
from sparkrank.bucket.listed_pairs import ListedPairs
from sparkrank.bucket.times import TimedPairs
from sparkrank.metrics import Plan
from sparkrank.metrics.needs import INTERACTIONS
from sparkrank.numeric.array_types import Codes, Flags
from sparkrank.numeric.key_hashes import Hashes, hash_keys


def without_past(table: pa.Table, plan: Plan, counts: Counter[tuple[str, str]]) -> tuple[pa.Table, dict[str, pa.Table]]:
    """Return the rows of lists and truth, and the pairs of each table of the past. Add their numbers to ``counts``."""
    if not plan.past:
        return table, {}
    past = table[PAST].to_numpy()
    pairs = {}
    for number, name in enumerate(plan.past, 1):
        read = [*key_columns(table), ITEM]
        rows = _where(table, past == number).select([*read, *([TIME] if name in plan.times else [])])
        pairs[name] = with_values(rows, read)
        counts[checks.PAST_ROWS[name], ""] = rows.num_rows
        counts[checks.PAST_WITHOUT_PAIR[name], ""] = rows.num_rows - pairs[name].num_rows
    return _where(table, past == 0).drop_columns([PAST]), pairs


def _where(table: pa.Table, flags: Flags) -> pa.Table:
    """Return the flagged rows of ``table``, without a copy if they are adjacent, as rows of one input mostly are."""
    rows = np.flatnonzero(flags)
    if len(rows) and rows[-1] - rows[0] + 1 > len(rows):
        return table.filter(pa.array(flags))
    return table.slice(rows[0] if len(rows) else 0, len(rows))


def with_values(rows: pa.Table, read: Sequence[str]) -> pa.Table:
    """Return ``rows`` without those that contain a null or NaN in one of the columns ``read``."""
    columns = map(rows.column, read)
    missing = [pc.is_null(column, nan_is_null=True) for column in columns if _may_lack_values(column)]
    if not missing:
        return rows
    return rows.filter(~pa.array(np.logical_or.reduce([flags_of(flags) for flags in missing])).to_numpy(False))


def _may_lack_values(column: pa.ChunkedArray) -> bool:
    return bool(column.null_count or pa.types.is_floating(column.type))


def with_past(
    rows: BucketRows, pairs: Mapping[str, pa.Table], plan: Plan, counts: Counter[tuple[str, str]]
) -> BucketRows:
    """Return ``rows`` with a flag column for each table of the past, true if it has the row's (group, item) pair.

    A slice by the number of items that the group had before gets a column too. Counts are added to ``counts``.
    """
    columns: dict[str, pa.Array] = {}
    for name, own in pairs.items():
        kind = TimedPairs if name in plan.times else ListedPairs
        listed = kind.of(rows, own, plan)
        counts.update(listed.counts())
        flags = listed.flags()
        columns[past_column(name)] = pa.array(flags)
        for index in plan.items_had if name == INTERACTIONS else ():
            columns[slice_column(index)] = pa.array(listed.items_had().astype(np.float64))
        if name != plan.exclude:
            counts[checks.ROWS_IN_PAST, ""] = int(np.count_nonzero(flags & ~rows.truth))
            if plan.joins:
                counts[checks.TRUTH_IN_PAST, ""] = int(np.count_nonzero(flags & rows.truth))
    return rows.appended(columns)


def hashes_with_past(hashes: Hashes, pairs: Mapping[str, pa.Table]) -> Hashes:
    """Return ``hashes``, the hashes of group keys, together with those of the groups in ``pairs``."""
    past = [hash_keys([one_array(own[name]) for name in key_columns(own)]) for own in pairs.values()]
    return np.unique(np.concatenate([hashes, *past])) if past else hashes


def excluded_rows(rows: BucketRows, plan: Plan) -> Flags:
    """Flag the rows that ``plan`` excludes."""
    if plan.exclude is None:
        return np.zeros(len(rows), np.bool_)
    return rows.values(past_column(plan.exclude)).astype(np.bool_)


def without_excluded(
    rows: BucketRows, codes: Codes, plan: Plan, counts: Counter[tuple[str, str]]
) -> tuple[BucketRows, Codes]:
    """Return ``rows`` and ``codes`` without the pairs that ``plan`` excludes. Groups stay, even without a row."""
    if plan.exclude is None:
        return rows, codes
    excluded = excluded_rows(rows, plan)
    counts[checks.EXCLUDED_ROWS, ""] = int(np.count_nonzero(excluded & ~rows.truth))
    if plan.joins:
        counts[checks.EXCLUDED_TRUTH, ""] = int(np.count_nonzero(excluded & rows.truth))
    if not excluded.any():
        return rows, codes
    return rows.filter(~excluded), codes[~excluded]
