"""The weights of groups, from columns with one value per group. Groups with no value or several values are rejected."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np

from sparkrank.base import checks
from sparkrank.bucket.bucket_rows import BucketRows
from sparkrank.bucket.grouping import Groups, groups_of_rows
from sparkrank.bucket.impressions import group_weight_column
from sparkrank.metrics import Plan
from sparkrank.numeric.array_types import Flags, Floats

# Squared, this is 2^60. Sums of squared weights are the same in any order up to 2^78: 262,144 groups of this weight.
MOST_GROUP_WEIGHT = 1e9
# Sums keep amounts above 2^-85: squares of weights of at least this size lose at most 3e-14 of their value.
LEAST_GROUP_WEIGHT = 1e-6


def weighed_groups(
    rows: BucketRows, groups: Groups, plan: Plan, counts: Counter[tuple[str, str]]
) -> tuple[BucketRows, Groups]:
    if not plan.group_weights:
        return rows, groups
    bad, small = np.zeros((2, groups.count), np.bool_)
    for index in range(len(plan.group_weights)):
        weights, faults = _weights_and_faults(rows, group_weight_column(index), groups)
        bad |= faults
        small |= (weights > 0) & (weights < LEAST_GROUP_WEIGHT)
    counts[checks.BAD_GROUP_WEIGHT, ""] = int(np.count_nonzero(bad[groups.codes]))
    counts[checks.SMALL_GROUP_WEIGHT, ""] = int(np.count_nonzero((small & ~bad)[groups.codes]))
    bad |= small
    if not bad.any():
        return rows, groups
    rows = rows.filter(~bad[groups.codes])
    return rows, groups_of_rows(rows, plan)


def _weights_and_faults(rows: BucketRows, name: str, groups: Groups) -> tuple[Floats, Flags]:
    """Return the weight of each group (NaN if no row gives one), and flags of the groups with an invalid weight."""
    values, truth, valid = rows.floats(name), rows.truth, rows.valid(name)
    having = slice(None) if valid is None or not truth.any() else ~truth | valid
    codes, values = groups.codes[having], values[having]
    weights = np.full(groups.count, np.nan)
    weights[codes] = values
    one = (values == weights[codes]) & (values >= 0) & (values <= MOST_GROUP_WEIGHT)
    bad = np.zeros(groups.count, np.bool_)
    bad[codes[~one]] = True
    return weights, bad


def weights_of_groups(rows: BucketRows, groups: Groups, plan: Plan) -> Mapping[str, Floats]:
    """Return the weight of each group, by weight column. A group that is only in the truth gets the weight NaN."""
    return {
        column: _weights_and_faults(rows, group_weight_column(index), groups)[0]
        for index, column in enumerate(plan.group_weights)
    }
