"""The largest groups of a bucket, by which a skewed key is seen before it is a nuisance."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from sparkrank.bucket.grouping import Groups
from sparkrank.bucket.impressions import key_columns, one_array
from sparkrank.metrics import Plan
from sparkrank.numeric.array_types import Ints
from sparkrank.numeric.spark_hashes import xxhash64
from sparkrank.states.largest import LEAST_NAMED, MOST_LARGEST, NO_GROUPS, LargeGroup, LargestGroups, merged_largest


def largest_groups(rows: pa.Table, groups: Groups, sizes: Ints, plan: Plan) -> LargestGroups:
    """The largest of the ``groups`` of ``rows``, of which ``sizes`` (groups) are evaluated."""
    if not plan.keys:
        return ()
    if not groups.count:
        return NO_GROUPS
    last = max(len(sizes) - MOST_LARGEST, 0)
    largest = np.partition(sizes, last)[last:]
    if largest.max() < LEAST_NAMED:
        return merged_largest([NO_GROUPS, tuple(LargeGroup(each) for each in largest.tolist())])
    chosen = np.flatnonzero(
        sizes >= max(int(largest.min()), LEAST_NAMED)
    )  # more than the first few where some are equal
    shorter = tuple(LargeGroup(each) for each in largest.tolist() if each < LEAST_NAMED)
    found = zip(sizes[chosen].tolist(), hashes_of_keys(rows, groups, chosen), strict=True)
    return merged_largest([NO_GROUPS, shorter, tuple(LargeGroup(size, True, of_key) for size, of_key in found)])


def hashes_of_keys(rows: pa.Table, groups: Groups, chosen: Ints) -> list[int]:
    """The hash of the key of each of the ``chosen`` groups."""
    if groups.values is not None:
        return xxhash64([groups.values.take(pa.array(chosen))])
    keys = rows.select(key_columns(rows)).take(pa.array(groups.row[chosen]))
    columns = [one_array(column) for column in keys.columns]
    return xxhash64(columns)
