"""The weights of groups: columns that have one value in each group. They are checked group by group.

A group is rejected as a whole where a row of its list has no weight, or where its rows have several. To leave out some
of its rows would change its metrics, and nobody can say which of two weights is right. Its rows are counted, as those
of other rejections are, so the same limit holds and every lane has the same numbers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from sparkrank.base import checks
from sparkrank.bucket.grouping import Groups, regrouped
from sparkrank.bucket.impressions import TRUTH, as_numpy, group_weight_column
from sparkrank.metrics import Plan
from sparkrank.numeric.array_types import Flags, Floats

# Its square is 2^60, and sums of squares of weights are the same in any order up to 2^78: 262,144 groups of it.
MOST_GROUP_WEIGHT = 1e9
# Sums hold what is above 2^-85: of the square of a weight from here on at most 3e-14 of it is lost.
LEAST_GROUP_WEIGHT = 1e-6


def weighed_groups(
    rows: pa.Table, groups: Groups, plan: Plan, counts: Counter[tuple[str, str]]
) -> tuple[pa.Table, Groups]:
    """The ``rows`` of groups that have one weight in each column, with that weight in all rows of the group, and their
    groups.

    Rows of a truth have no weight of their own; that of a group that has no others is NaN.
    """
    if not plan.group_weights:
        return rows, groups
    names = [group_weight_column(index) for index in range(len(plan.group_weights))]
    truth = np.asarray(as_numpy(rows[TRUTH]), np.bool_) if plan.joins else None
    found = {name: _weights_and_faults(rows[name].cast(pa.float64()), truth, groups) for name in names}
    bad = np.logical_or.reduce([is_bad for _, is_bad in found.values()])
    small = np.logical_or.reduce([(weights > 0) & (weights < LEAST_GROUP_WEIGHT) for weights, _ in found.values()])
    counts[checks.BAD_GROUP_WEIGHT, ""] = int(np.count_nonzero(bad[groups.codes]))
    counts[checks.SMALL_GROUP_WEIGHT, ""] = int(np.count_nonzero((small & ~bad)[groups.codes]))
    bad |= small
    rejected = bad[groups.codes]
    for name, (weights, _) in found.items():
        rows = rows.set_column(rows.column_names.index(name), name, pa.chunked_array([weights[groups.codes]]))
    if not bad.any():
        return rows, groups
    return regrouped(rows.filter(pa.array(~rejected)), plan)


def _weights_and_faults(column: pa.ChunkedArray, truth: Flags | None, groups: Groups) -> tuple[Floats, Flags]:
    """The weight of each group (groups), NaN where no row gives one, and whether it is bad (groups)."""
    values = np.asarray(as_numpy(column), np.float64)  # a null becomes NaN
    giving = slice(None) if truth is None else ~truth | np.asarray(as_numpy(column.is_valid()), np.bool_)
    codes, given = groups.codes[giving], values[giving]
    weights = np.full(groups.count, np.nan)
    weights[codes] = given
    one = (given == weights[codes]) & (given >= 0) & (given <= MOST_GROUP_WEIGHT)
    bad = np.zeros(groups.count, np.bool_)
    bad[codes[~one]] = True
    return weights, bad


def weights_of_groups(rows: pa.Table, groups: Groups, plan: Plan) -> Mapping[str, Floats]:
    """The weight of each of the ``groups`` of ``rows`` (groups) by each column, of rows that :func:`weighed_groups`
    gave.
    """
    found = {}
    for index, column in enumerate(plan.group_weights):
        weights = np.full(groups.count, np.nan)
        weights[groups.codes] = as_numpy(rows[group_weight_column(index)])
        found[column] = weights
    return found
