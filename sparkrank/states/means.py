"""The mergeable state of means over groups: counts and exact sums for each model, slice value and metric."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sparkrank.numeric.array_types import Floats, Ints
from sparkrank.numeric.cached import cached
from sparkrank.numeric.elementary import squared
from sparkrank.numeric.exact_sums import LIMBS, UNITS, exact_sums, sums_with_squares, whole_limbs
from sparkrank.numeric.segments import WHOLE, Segments
from sparkrank.schemas.tables import MEAN_NUMBERS, schema_of
from sparkrank.states.keys import KeyedRows, KeyedSums, SliceKey, StateKey, Subject

MEAN_KEY = ("model", "slice", "slice_value", "metric")
MEAN_COUNTS = ("n_groups", "n_undefined", "n_averaged", "n_rows")
# With w the weight and v the value of a group, over the groups in the mean: sums of w, wv, w², w²v, w²v².
MEAN_SUMS = ("w", "wv", "ww", "wwv", "wwvv")
# If squared deviations are below this share of Σw²v², the differences in float64 have lost half of their digits.
CANCELLED = 2.0**-26
_ONE = int(1 / UNITS[-1])
# How often the summands were rounded: v² once; with weights w²v² three times, and w²v, which counts twice, two times.
# Squared deviations below that rounding error are meaningless, and may even have the wrong sign.
INVERSE_ROUNDING, ROUNDINGS_OF_WEIGHTED = 2**53, 7

MEAN_SCHEMA = pa.schema([*((name, pa.string()) for name in MEAN_KEY), *schema_of(MEAN_NUMBERS)])


class MeanRows(NamedTuple):
    """A metric for all v values of a slice. Shapes: ``counts`` (v, 4), ``limbs`` (v, 30).

    The limbs are the floats that make up an exact sum, six for each of five sums.
    """

    key: SliceKey
    counts: NDArray[np.integer]
    limbs: Floats


@dataclass(frozen=True)
class Mean:
    """A mean over groups, with its standard error and the numbers of groups.

    ``n_groups`` counts all groups, ``n_undefined`` the groups for which the metric is undefined, and ``n_averaged`` the
    groups in the mean. ``weight`` is the sum of their weights. ``stderr`` is the standard error of a ratio estimator,
    sqrt(sum w²(v - mean)² · m/(m-1)) / sum w. Here m = (sum w)² / sum w² is the effective number of groups
    (``n_effective``). ``stderr`` is NaN unless several groups have a weight, and 0 if the standard deviation is below
    1e-8 of the mean (3e-8 with weights). ``is_share`` is true if all values are 0 or 1.
    """

    value: float
    stderr: float
    n_groups: int
    n_undefined: int
    n_rows: int
    weight: float
    n_averaged: int = 0
    n_effective: float = 0.0
    is_share: bool = False


NO_GROUPS = Mean(math.nan, math.nan, 0, 0, 0, 0.0)


class MeanStates(KeyedSums):
    """Counts and sums for means, as a table of :data:`MEAN_SCHEMA`. No group may be in two of the merged states."""

    schema, key = MEAN_SCHEMA, MEAN_KEY

    @classmethod
    def of(cls, parts: Sequence[MeanRows]) -> MeanStates:
        # floats represent counts below 2^53 exactly
        rows = [(part.key, np.column_stack([part.counts, part.limbs])) for part in parts]
        return cls(KeyedRows.of(rows, len(MEAN_SCHEMA) - len(MEAN_KEY)))

    @cached
    def columns(self) -> MeanColumns:
        """Return the means of all rows of the table."""
        numbers = np.column_stack([self.table[name].to_numpy() for name in MEAN_SCHEMA.names[len(MEAN_KEY) :]])
        return MeanColumns.of(numbers.astype(np.float64))

    @cached
    def places(self) -> dict[tuple[str | None, ...], int]:
        """Return the index of each row in the table, by key."""
        keys = zip(*(self.table[name].to_pylist() for name in MEAN_KEY), strict=True)
        return {key: place for place, key in enumerate(keys)}

    @cached
    def of_subjects(self, subjects: tuple[Subject, ...], name: str) -> MeanColumns:
        """Return the mean ``name`` of each of ``subjects`` (model and slice value), or :data:`NO_GROUPS`."""
        places = self.places()
        rows = np.array([places.get((*subject, name), -1) for subject in subjects], np.int64)
        return self.columns().at(rows)

    @cached
    def results(self) -> dict[StateKey, Mean]:
        rows = zip(*(column.tolist() for column in self.columns()), strict=True)
        return {StateKey(*key): Mean(*row) for key, row in zip(self.places(), rows, strict=True)}  # type: ignore[arg-type]


class MeanColumns(NamedTuple):
    """The fields of n :class:`Mean` objects, as arrays of shape (n,)."""

    value: Floats
    stderr: Floats
    n_groups: Ints
    n_undefined: Ints
    n_rows: Ints
    weight: Floats
    n_averaged: Ints
    n_effective: Floats
    is_share: NDArray[np.bool_]

    @classmethod
    def of(cls, numbers: Floats) -> MeanColumns:
        """Return the means of ``numbers`` (n, 34): :data:`MEAN_COUNTS`, then :data:`MEAN_SUMS` as six floats each."""
        n_groups, n_undefined, n, n_rows = numbers[:, : len(MEAN_COUNTS)].astype(np.int64).T
        limbs = numbers[:, len(MEAN_COUNTS) :].reshape(-1, len(MEAN_SUMS), LIMBS)
        w, wv, ww, wwv, wwvv = (np.array([*map(math.fsum, own.tolist())], np.float64) for own in limbs.swapaxes(0, 1))
        with np.errstate(divide="ignore", invalid="ignore"):
            value = np.where(w != 0, wv / w, np.nan)
            squares = wwvv - 2 * value * wwv + squared(value) * ww
            for place in np.flatnonzero(squares < CANCELLED * wwvv).tolist():
                squares[place] = _squared_deviations(limbs[place].tolist(), int(n[place]))
            effective = np.where((w == ww) & (ww == n), n, np.where(ww != 0, w * w / ww, 0.0))
            has_error = (n > 1) & (effective > 1)
            stderr = np.sqrt(squares * effective / (effective - 1)) / w
        stderr[~has_error] = np.nan
        return cls(value, stderr, n_groups, n_undefined, n_rows, w, n, effective, wwv == wwvv)  # each v² is v

    def at(self, rows: Ints) -> MeanColumns:
        """Return the means at the indices ``rows``, with :data:`NO_GROUPS` for the index -1."""
        if rows.min(initial=0) >= 0:
            return MeanColumns._make(own[rows] for own in self)
        missing = (getattr(NO_GROUPS, name) for name in self._fields)
        return MeanColumns(*(np.append(own, none)[rows] for own, none in zip(self, missing, strict=True)))


def _squared_deviations(sums: Sequence[Sequence[float]], n: int) -> float:
    """Return Σw²(v - mean)² over n groups, computed from the limbs of :data:`MEAN_SUMS` without further rounding."""
    # whole numbers of the finest unit, with which Python computes far faster than with fractions
    w, wv, ww, wwv, wwvv = (sum(int(limb / UNITS[-1]) for limb in limbs) for limbs in sums)
    squares = wwvv * w * w - 2 * wv * wwv * w + wv * wv * ww
    roundings = 1 if w == ww == n * _ONE else ROUNDINGS_OF_WEIGHTED
    return squares / (w * w * _ONE) if squares * INVERSE_ROUNDING >= roundings * wwvv * w * w else 0.0


class ValueSums(NamedTuple):
    """Sums of a metric for all values of a slice.

    ``undefined`` and ``averaged`` are numbers of groups; ``limbs`` are the floats that make up the exact sums.
    """

    undefined: Ints
    averaged: Ints
    limbs: Floats


def equal_sums(values: Sequence[Floats], counted_as: float | None, segments: Segments = WHOLE) -> list[ValueSums]:
    """Return the sums of each metric over each of ``segments`` (slice values), with equal weights, in one pass.

    ``values`` contains an array of shape (groups,) for each metric. An undefined value counts as ``counted_as``, or is
    left out if ``counted_as`` is None.
    """
    if not values:
        return []
    undefined, first, second = sums_with_squares(values, counted_as or 0.0, segments)
    sizes = np.broadcast_to(segments.sizes(len(values[0])), undefined.shape)
    averaged = sizes - undefined if counted_as is None else sizes  # zeros add nothing to the sums
    count = whole_limbs(averaged.ravel()).reshape(first.shape)
    return list(map(ValueSums, undefined, averaged, np.concatenate([count, first, count, first, second], axis=2)))


def weighted_sums(values: Floats, weights: Floats | None, segments: Segments = WHOLE) -> Floats:
    """Return :data:`MEAN_SUMS` per segment, six floats a sum: (segments, 30). ``values`` must not be NaN."""
    if weights is None:
        count = whole_limbs(segments.sizes(len(values)))
        first, second = (exact_sums(part, segments) for part in (values, values * values))
        return np.concatenate([count, first, count, first, second], axis=1)
    weighted = weights * values
    parts = (weights, weighted, weights**2, weights * weighted, weighted**2)
    return np.concatenate([exact_sums(part, segments) for part in parts], axis=1)
