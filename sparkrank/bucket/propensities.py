"""The propensities of rows: the probability of seeing a relevant row, or of taking a logged action."""

from __future__ import annotations

import functools
from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from sparkrank.bucket.bucket_rows import BucketRows
from sparkrank.bucket.impressions import LABEL, PROPENSITY
from sparkrank.metrics import Plan
from sparkrank.metrics.needs import WeightStates
from sparkrank.metrics.propensity import WeighedRows
from sparkrank.numeric.array_types import Codes, Flags, Floats, Ints
from sparkrank.numeric.cached import cached
from sparkrank.numeric.exact_sums import exact_sums, whole_limbs
from sparkrank.ranking.judgments import Judgments, is_relevant

LEAST_PROPENSITY = 1e-9  # so that squares of weights, which are up to its inverse, add up without losing digits


def bad_propensities(rows: BucketRows, plan: Plan) -> Flags | None:
    """Return flags of the rows without a valid propensity (1e-9 to 1) that a metric reads; None if all are valid."""
    read, known = _read(rows, plan), _known(rows)[0]
    if np.count_nonzero(read[known]) == np.count_nonzero(read):
        return None
    flags = read.copy()
    flags[known] = False
    return flags


@cached
def _known(rows: BucketRows) -> tuple[Ints, Floats]:
    """Return the rows that have a valid propensity, and their propensities."""
    values = rows.present(PROPENSITY).astype(np.float64, copy=False)
    are_known, given = _are_propensities(values), rows.rows_with(PROPENSITY)
    if given is None:
        return np.flatnonzero(are_known), values[are_known]
    return (given, values) if are_known.all() else (given[are_known], values[are_known])


def _read(rows: BucketRows, plan: Plan) -> Flags:
    """Flag the rows whose propensity is read: relevant ones or, for the value of a policy, all that have a label."""
    if plan.policy_values:
        judged = rows.valid(LABEL)
        return np.ones(len(rows), np.bool_) if judged is None else judged
    levels = {weighed.rel for weighed in plan.weighed_rows}
    return functools.reduce(np.logical_or, (is_relevant(rows.labels(), level) for level in levels))


def _are_propensities(values: Floats) -> Flags:
    flags: Flags = (values >= LEAST_PROPENSITY) & (values <= 1)
    return flags


def propensities_of(rows: BucketRows, plan: Plan) -> Floats | None:
    """Return the propensity of each row (NaN if it is not read); None if no metric of lists reads propensities."""
    if not plan.weighed_rows:
        return None
    known, values = _known(rows)
    propensities = np.full(len(rows), np.nan)
    propensities[known] = values
    if LABEL in rows:  # of rows of the same item, some may not be relevant
        is_read = _read(rows, plan)[known]
        if not is_read.all():
            propensities[known[~is_read]] = np.nan
    return propensities


def with_propensities(read: pa.Table, truth: BucketRows, pair: Codes | Ints, row: Codes, plan: Plan) -> pa.Table:
    """Return the rows ``read`` (those of lists, then those of the ``truth``) with the propensity of each row's item.

    ``pair`` contains the number of each row's (group, item) pair in the truth, and ``row`` the matching row of the
    truth for each row of the lists, or -1. Of several relevant rows of an item, the lowest propensity counts.
    """
    values = truth.floats(PROPENSITY)
    lowest = np.full(int(pair.max(initial=-1)) + 1, np.inf)
    known = np.flatnonzero(_are_propensities(values) & _read(truth, plan))
    np.minimum.at(lowest, pair[known], values[known])
    of_truth = lowest[pair]
    of_lists = np.append(of_truth, np.inf)[row]
    propensities = np.concatenate([of_lists, of_truth])
    propensities[np.isinf(propensities)] = np.nan
    return read.set_column(read.column_names.index(PROPENSITY), PROPENSITY, pa.array(propensities))


def weights_of(judgments: Judgments, chosen: Flags | None, weighed: WeighedRows) -> tuple[Floats, int]:
    """Return the weights of the relevant rows of the groups ``chosen`` (None: all), one for each group and item.

    A weight is 1 / max(propensity, ``weighed.clip``). The second result is the number of clipped weights.
    """
    assert judgments.propensities is not None  # noqa: S101 - rows are weighed by them
    flags = judgments.flags(weighed.rel)
    rows = judgments.counted_rows(flags if chosen is None else flags & chosen[judgments.codes])
    propensities = judgments.propensities[rows]
    clipped = int(np.count_nonzero(propensities < weighed.clip)) if weighed.clip else 0
    return 1.0 / np.maximum(propensities, weighed.clip), clipped


def weight_sums(states: WeightStates, weights: Floats, clipped: int) -> Iterator[tuple[str, Floats]]:
    """Yield the name of each sum over the weights of rows, and the sum as six floats, for the table ``quality``."""
    yield states.rows, whole_limbs(np.array([len(weights)]))
    yield states.weights, exact_sums(weights)
    yield states.squares, exact_sums(np.square(weights))
    yield states.clipped, whole_limbs(np.array([clipped]))
