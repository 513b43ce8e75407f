"""The largest groups of a bucket, which reveal a skewed group key before it causes problems."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from sparkrank.bucket.grouping import Groups
from sparkrank.bucket.impressions import key_columns
from sparkrank.bucket.unmatched_rows import values_as_bytes
from sparkrank.metrics import Plan
from sparkrank.numeric.array_types import Ints
from sparkrank.states.largest import LEAST_NAMED, MOST_LARGEST, NO_GROUPS, LargeGroup, LargestGroups, merged_largest


def largest_groups(rows: pa.Table, groups: Groups, sizes: Ints, plan: Plan) -> LargestGroups:
    """Return the sizes and keys of the largest groups. ``sizes`` is the number of evaluated rows in each group."""
    if not plan.keys:
        return ()
    if not groups.count:
        return NO_GROUPS
    last = max(len(sizes) - MOST_LARGEST, 0)
    largest = np.partition(sizes, last)[last:]
    if not plan.group_table or largest.max() < LEAST_NAMED:
        return merged_largest([NO_GROUPS, tuple(map(LargeGroup, largest.tolist()))])
    # more than MOST_LARGEST groups if several have the same size
    chosen = np.flatnonzero(sizes >= max(int(largest.min()), LEAST_NAMED))
    shorter = tuple(map(LargeGroup, largest[largest < LEAST_NAMED].tolist()))
    named = map(LargeGroup, sizes[chosen].tolist(), keys_of_groups(rows, groups, chosen))
    return merged_largest([NO_GROUPS, shorter, tuple(named)])


def keys_of_groups(rows: pa.Table, groups: Groups, chosen: Ints) -> list[tuple[bytes, ...]]:
    if groups.values is not None:  # then the row of each group, of which most are not chosen, need not be known
        keys = [groups.values.take(pa.array(chosen))]
    else:
        taken = rows.select(key_columns(rows)).take(pa.array(groups.row[chosen]))
        keys = [column.combine_chunks() for column in taken.columns]
    return list(zip(*(values_as_bytes(column).to_pylist() for column in keys), strict=True))
