"""The mergeable state of means over groups: counts and exact sums, one row per model, slice value and metric."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sparkrank.numeric.array_types import Floats, Ints
from sparkrank.numeric.cached import cached
from sparkrank.numeric.exact_sums import LIMBS, exact_sums, sums_with_squares, whole_limbs
from sparkrank.numeric.segments import WHOLE, Segments
from sparkrank.schemas.tables import MEAN_NUMBERS, schema_of
from sparkrank.states.keys import KeyedRows, KeyedSums, SliceKey, StateKey

MEAN_KEY = ("model", "slice", "slice_value", "metric")
MEAN_COUNTS = ("n_groups", "n_undefined", "n_averaged", "n_rows")
# With w the weight and v the value of a group, over the groups in the mean: sums of w, wv, w², w²v, w²v².
MEAN_SUMS = ("w", "wv", "ww", "wwv", "wwvv")
# If squared deviations are below this share of Σw²v², the differences in float64 have lost half of their digits.
CANCELLED = 2.0**-26
# How often the summands were rounded: v² once; with weights w²v² three times, and w²v, which counts twice, two times.
# Squared deviations below that rounding error are meaningless, and may even have the wrong sign.
ROUNDING, ROUNDINGS_OF_WEIGHTED = Fraction(1, 2**53), 7

MEAN_SCHEMA = pa.schema([*((name, pa.string()) for name in MEAN_KEY), *schema_of(MEAN_NUMBERS)])


class MeanRows(NamedTuple):
    """A metric for all values (v) of a slice: :data:`MEAN_COUNTS` (v, 4), and limbs of :data:`MEAN_SUMS` (v, 30)."""

    key: SliceKey
    counts: NDArray[np.integer]
    limbs: Floats


@dataclass(frozen=True)
class Mean:
    """A mean over groups, its standard error, and its numbers of groups.

    ``n_groups`` counts all groups, ``n_undefined`` those for which the metric is undefined, ``n_averaged`` those in the
    mean. ``stderr`` is that of a ratio estimator, sqrt(sum w²(v - mean)² · m/(m-1)) / sum w, with m = (sum w)² / sum w²
    the effective number of groups; NaN if only one has a weight, and 0 if the standard deviation is below 1e-8 of the
    mean (3e-8 with weights). ``is_share``: all values are 0 or 1.
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
    """Mean states as a table of :data:`MEAN_SCHEMA`. No group may be in more than one of the merged states."""

    schema, key = MEAN_SCHEMA, MEAN_KEY

    @classmethod
    def of(cls, parts: Sequence[MeanRows]) -> MeanStates:
        # floats represent counts below 2^53 exactly
        rows = [(part.key, np.column_stack([part.counts, part.limbs])) for part in parts]
        return cls(KeyedRows.of(rows, len(MEAN_SCHEMA) - len(MEAN_KEY)))

    @cached
    def results(self) -> dict[StateKey, Mean]:
        keys = zip(*(self.table[name].to_pylist() for name in MEAN_KEY), strict=True)
        numbers = np.column_stack([self.table[name].to_numpy() for name in MEAN_SCHEMA.names[len(MEAN_KEY) :]])
        # row by row: as Python objects all together would take gigabytes if slices have many values
        return {StateKey(*key): _mean(row.tolist()) for key, row in zip(keys, numbers, strict=True)}


def _mean(row: list[float]) -> Mean:
    n_groups, n_undefined, n, n_rows = map(int, row[: len(MEAN_COUNTS)])
    sums = [row[start : start + LIMBS] for start in range(len(MEAN_COUNTS), len(row), LIMBS)]
    w, wv, ww, wwv, wwvv = map(math.fsum, sums)
    value = wv / w if w else math.nan
    squares = wwvv - 2 * value * wwv + value**2 * ww
    if squares < CANCELLED * wwvv:
        squares = _squared_deviations(sums, n)
    effective = float(n) if w == ww == n else w * w / ww if ww else 0.0
    return Mean(
        value=value,
        stderr=math.sqrt(squares * effective / (effective - 1)) / w if n > 1 and effective > 1 else math.nan,
        n_groups=n_groups,
        n_undefined=n_undefined,
        n_rows=n_rows,
        weight=w,
        n_averaged=n,
        n_effective=effective,
        is_share=wwv == wwvv,  # each v² is v
    )


def _squared_deviations(sums: Sequence[Sequence[float]], n: int) -> float:
    """Σw²(v - mean)² over n groups from the limbs of :data:`MEAN_SUMS`, computed without further rounding."""
    w, wv, ww, wwv, wwvv = (sum(map(Fraction, limbs), Fraction()) for limbs in sums)
    mean = wv / w
    squares = wwvv - 2 * mean * wwv + mean**2 * ww
    roundings = 1 if w == ww == n else ROUNDINGS_OF_WEIGHTED
    return float(squares) if squares >= roundings * ROUNDING * wwvv else 0.0


class ValueSums(NamedTuple):
    """A metric for all values (v) of a slice: groups ``undefined`` and ``averaged`` (v), limbs of the sums."""

    undefined: Ints
    averaged: Ints
    limbs: Floats


def equal_sums(values: Sequence[Floats], counted_as: float | None, segments: Segments = WHOLE) -> list[ValueSums]:
    """The sums of each metric's ``values`` (groups) over each segment, with equal weights, in one pass.

    An undefined value counts as ``counted_as``, or not at all if that is None.
    """
    if not values:
        return []
    undefined, first, second = sums_with_squares(values, counted_as or 0.0, segments)
    sizes = np.broadcast_to(segments.sizes(len(values[0])), undefined.shape)
    averaged = sizes - undefined if counted_as is None else sizes  # zeros add nothing to the sums
    count = whole_limbs(averaged.ravel()).reshape(first.shape)
    return list(map(ValueSums, undefined, averaged, np.concatenate([count, first, count, first, second], axis=2)))


def weighted_sums(values: Floats, weights: Floats | None, segments: Segments = WHOLE) -> Floats:
    """The limbs (count, 30) of :data:`MEAN_SUMS` over the groups of each segment. ``values`` have no NaN."""
    if weights is None:
        count = whole_limbs(segments.sizes(len(values)))
        first, second = (exact_sums(part, segments) for part in (values, values * values))
        return np.concatenate([count, first, count, first, second], axis=1)
    weighted = weights * values
    parts = (weights, weighted, weights**2, weights * weighted, weighted**2)
    return np.concatenate([exact_sums(part, segments) for part in parts], axis=1)
