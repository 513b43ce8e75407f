"""The state under every mean over groups: counts and exact sums, one row per model, slice and metric."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sparkrank.numeric.exact_sums import LIMBS, exact_sums, sums_with_squares, total, whole_limbs
from sparkrank.numeric.segments import WHOLE, Segments
from sparkrank.numeric.types import Floats, Ints
from sparkrank.states.keys import KeyedRows, KeyedSums, SliceKey, StateKey
from sparkrank.tables.schemas import MEAN_NUMBERS, schema_of

KEY = ("model", "slice", "slice_value", "metric")
COUNTS = ("n_groups", "n_undefined", "n_averaged", "n_rows")
# With w the weight and v the value of a group, over the groups in the mean: sums of w, wv, w², w²v, w²v².
SUMS = ("w", "wv", "ww", "wwv", "wwvv")
# Where the squared deviations are less than this of Σw²v², float64 has lost half of their digits in the differences.
CANCELLED = 2.0**-26
# How often what is summed was rounded: v² once, and with weights w²v² three times, w²v (which counts twice) two times.
# What of the squared deviations lies below says nothing, least of all its sign.
ROUNDING, ROUNDINGS_OF_WEIGHTED = Fraction(1, 2**53), 7

SCHEMA = pa.schema([*((name, pa.string()) for name in KEY), *schema_of(MEAN_NUMBERS)])


class MeanRows(NamedTuple):
    """A metric over the values (v) of a slice: :data:`COUNTS` (v, 4) and the limbs of :data:`SUMS` (v, 30)."""

    key: SliceKey
    counts: NDArray[np.integer]
    limbs: Floats


@dataclass(frozen=True)
class Mean:
    """What a mean state says: the mean, its standard error, and over what.

    ``n_groups`` counts all groups and ``n_undefined`` those where the metric is undefined; whether these are in the
    mean is a setting of the evaluation. ``stderr`` is that of a ratio estimator,
    sqrt(sum w²(v - mean)² · n/(n-1)) / sum w over the n groups in the mean; NaN for n < 2. It is 0 where the standard
    deviation is below 1e-8 of the mean, or 3e-8 where groups have weights, and has few digits where it is little more.
    """

    value: float
    stderr: float
    n_groups: int
    n_undefined: int
    n_rows: int
    weight: float


class MeanStates(KeyedSums):
    """Mean states as a table of :data:`SCHEMA`. No group may be in two that are merged."""

    schema, key = SCHEMA, KEY

    @classmethod
    def of(cls, parts: Sequence[MeanRows]) -> MeanStates:
        """A row for every value of every part."""
        # counts below 2^53 are whole as floats, too
        rows = [(part.key, np.column_stack([part.counts, part.limbs])) for part in parts]
        return cls(KeyedRows.of(rows, len(SCHEMA) - len(KEY)))

    def results(self) -> dict[StateKey, Mean]:
        """The mean of each (model, slice, slice value, metric)."""
        return {StateKey(*(row[name] for name in KEY)): _mean(row) for row in self.table.to_pylist()}


def _mean(row: dict[str, float]) -> Mean:
    sums = [[row[f"{name}_{limb}"] for limb in range(LIMBS)] for name in SUMS]
    w, wv, ww, wwv, wwvv = (total(np.array(limbs)) for limbs in sums)
    n = int(row["n_averaged"])
    value = wv / w if w else math.nan
    squares = wwvv - 2 * value * wwv + value**2 * ww
    if squares < CANCELLED * wwvv:
        squares = _squared_deviations(sums, n)
    return Mean(
        value=value,
        stderr=math.sqrt(squares * n / (n - 1)) / w if n > 1 and w else math.nan,
        n_groups=int(row["n_groups"]),
        n_undefined=int(row["n_undefined"]),
        n_rows=int(row["n_rows"]),
        weight=w,
    )


def _squared_deviations(sums: Sequence[Sequence[float]], n: int) -> float:
    """Σw²(v - mean)² over n groups from the limbs of :data:`SUMS`, without a rounding of its own."""
    w, wv, ww, wwv, wwvv = (sum(map(Fraction, limbs), Fraction()) for limbs in sums)
    mean = wv / w
    squares = wwvv - 2 * mean * wwv + mean**2 * ww
    roundings = 1 if w == ww == n else ROUNDINGS_OF_WEIGHTED
    return float(squares) if squares >= roundings * ROUNDING * wwvv else 0.0


class ValueSums(NamedTuple):
    """Of a metric by the values (v) of a slice: ``undefined`` groups (v), those ``averaged`` (v), and the limbs of
    :data:`SUMS` (v, 30).
    """

    undefined: Ints
    averaged: Ints
    limbs: Floats


def equal_sums(values: Sequence[Floats], counted_as: float | None, segments: Segments = WHOLE) -> list[ValueSums]:
    """The sums of each metric's ``values`` (groups, NaN where undefined) over each segment; groups weigh the same.

    An undefined value is ``counted_as`` that, or left out. All metrics are added up in one pass over the groups.
    """
    if not values:
        return []
    undefined, first, second = sums_with_squares(values, counted_as or 0.0, segments)
    sizes = np.broadcast_to(segments.sizes(len(values[0])), undefined.shape)
    averaged = sizes - undefined if counted_as is None else sizes  # of zeros nothing comes
    count = whole_limbs(averaged.ravel()).reshape(first.shape)
    return list(map(ValueSums, undefined, averaged, np.concatenate([count, first, count, first, second], axis=2)))


def weighted_sums(values: Floats, weights: Floats | None, segments: Segments = WHOLE) -> Floats:
    """The limbs (count, 30) of :data:`SUMS` over the groups of each segment; of no weights, each is 1.

    ``values`` (groups) have no NaN.
    """
    if weights is None:
        count = whole_limbs(segments.sizes(len(values)))
        first, second = (exact_sums(part, segments) for part in (values, values * values))
        return np.concatenate([count, first, count, first, second], axis=1)
    weighted = weights * values
    parts = (weights, weighted, weights**2, weights * weighted, weighted**2)
    return np.concatenate([exact_sums(part, segments) for part in parts], axis=1)
