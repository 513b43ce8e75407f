"""Clusters of groups, such as all sessions of one user. A group in two clusters is rejected. A null stops the run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from sparkrank.base import checks
from sparkrank.bucket.bucket_rows import BucketRows
from sparkrank.bucket.encoding import encode
from sparkrank.bucket.grouping import Groups, groups_of_rows
from sparkrank.bucket.impressions import CLUSTER, TRUTH
from sparkrank.bucket.ranked import RankedModel
from sparkrank.metrics import Plan
from sparkrank.numeric.array_types import Ints


def clustered_groups(
    rows: BucketRows, groups: Groups, plan: Plan, counts: Counter[tuple[str, str]]
) -> tuple[BucketRows, Groups]:
    if plan.cluster is None:
        return rows, groups
    having = _rows_with_cluster(rows)
    code, codes = encode(rows.table[CLUSTER])[0][having], groups.codes[having]
    first = np.zeros(groups.count, np.int32)
    first[codes] = code
    has_several = np.zeros(groups.count, np.bool_)
    has_several[codes[code != first[codes]]] = True
    rejected = has_several[groups.codes]
    counts[checks.SEVERAL_CLUSTERS, ""] = int(np.count_nonzero(rejected))
    if has_several.any():
        rows = rows.filter(~rejected)
        groups = groups_of_rows(rows, plan)
    missing = rows.missing(CLUSTER)
    counts[checks.NULL_CLUSTER, ""] = 0 if missing is None else int(np.count_nonzero(missing & ~rows.truth))
    return rows, groups


def clusters_of(
    rows: BucketRows, groups: Groups, models: Sequence[RankedModel], counts: Counter[tuple[str, str]]
) -> pa.ChunkedArray:
    """Return the cluster of each group. Add the number of groups without a cluster, by model, to ``counts``."""
    row, lacks_one, having = groups.row.copy(), np.ones(groups.count, np.bool_), _rows_with_cluster(rows)
    row[groups.codes[having]] = having
    lacks_one[groups.codes[having]] = False
    for model in models if TRUTH in rows else ():
        evaluated = lacks_one if model.chosen is None else lacks_one & model.chosen
        counts[checks.CLUSTERLESS_GROUPS, model.name] = int(np.count_nonzero(evaluated))
    return rows.table[CLUSTER].take(pa.array(row))


def _rows_with_cluster(rows: BucketRows) -> Ints:
    missing = rows.missing(CLUSTER)
    return np.arange(len(rows)) if missing is None else np.flatnonzero(~missing)
