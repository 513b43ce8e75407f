"""The state under every mean over groups: counts and exact sums, one row per model, slice and metric."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from sparkrank.kernels.exact import LIMBS, exact_sum, total
from sparkrank.kernels.judgments import Floats

KEY = ("model", "slice", "slice_value", "metric")
COUNTS = ("n_groups", "n_undefined", "n_averaged", "n_rows")
# With w the weight and v the value of a group, over the groups in the mean: sums of w, wv, w², w²v, w²v².
SUMS = ("w", "wv", "ww", "wwv", "wwvv")

SCHEMA = pa.schema(
    [pa.field(name, pa.string()) for name in KEY]
    + [pa.field(name, pa.int64()) for name in COUNTS]
    + [pa.field(f"{name}_{limb}", pa.float64()) for name in SUMS for limb in range(LIMBS)]
)


# The key, the counts, and the limbs of each of SUMS.
MeanRow: TypeAlias = tuple[tuple[str, str, str, str], tuple[int, ...], Sequence[Floats]]


@dataclass(frozen=True)
class Mean:
    """What a mean state says: the mean, its standard error, and over what.

    ``n_groups`` counts all groups and ``n_undefined`` those where the metric is undefined; whether these are in the
    mean is a setting of the evaluation. ``stderr`` is that of a ratio estimator,
    sqrt(sum w²(v - mean)² · n/(n-1)) / sum w over the n groups in the mean; NaN for n < 2.
    """

    value: float
    stderr: float
    n_groups: int
    n_undefined: int
    n_rows: int
    weight: float


@dataclass(frozen=True)
class MeanStates:
    """Mean states as a table of :data:`SCHEMA`."""

    table: pa.Table

    @classmethod
    def empty(cls) -> MeanStates:
        return cls(SCHEMA.empty_table())

    @classmethod
    def of(cls, rows: Sequence[MeanRow]) -> MeanStates:
        """From rows of (key, counts, limbs of each of :data:`SUMS`)."""
        columns: list[pa.Array] = [pa.array([key[i] for key, _, _ in rows], pa.string()) for i in range(len(KEY))]
        columns += [pa.array([counts[i] for _, counts, _ in rows], pa.int64()) for i in range(len(COUNTS))]
        limbs = np.array([np.concatenate(sums) for _, _, sums in rows]).reshape(len(rows), len(SUMS) * LIMBS)
        columns += [pa.array(np.ascontiguousarray(column)) for column in limbs.T]
        return cls(pa.Table.from_arrays(columns, schema=SCHEMA))

    def merge(self, *others: MeanStates) -> MeanStates:
        """The states of all groups together; no group may be in two of them."""
        together = pa.concat_tables([self.table, *(other.table for other in others)])
        summed = [name for name in SCHEMA.names if name not in KEY]
        merged = together.group_by(list(KEY), use_threads=False).aggregate([(name, "sum") for name in summed])
        columns = [merged[name if name in KEY else f"{name}_sum"].combine_chunks() for name in SCHEMA.names]
        return MeanStates(pa.Table.from_arrays(columns, schema=SCHEMA))

    def results(self) -> dict[tuple[str, str, str, str], Mean]:
        """The mean of each (model, slice, slice value, metric)."""
        return {tuple(row[name] for name in KEY): _mean(row) for row in self.table.to_pylist()}


def _mean(row: dict[str, float]) -> Mean:
    w, wv, ww, wwv, wwvv = (total(np.array([row[f"{name}_{limb}"] for limb in range(LIMBS)])) for name in SUMS)
    n = int(row["n_averaged"])
    value = wv / w if w else math.nan
    squares = max(wwvv - 2 * value * wwv + value**2 * ww, 0.0)
    return Mean(
        value=value,
        stderr=math.sqrt(squares * n / (n - 1)) / w if n > 1 and w else math.nan,
        n_groups=int(row["n_groups"]),
        n_undefined=int(row["n_undefined"]),
        n_rows=int(row["n_rows"]),
        weight=w,
    )


def weighted_sums(values: Floats, weights: Floats | None) -> list[Floats]:
    """The limbs of each of :data:`SUMS` over groups with ``values`` (no NaN); ``weights`` absent means 1 each."""
    if weights is None:
        count = exact_sum(np.array([float(len(values))]))
        first = exact_sum(values)
        return [count, first, count, first, exact_sum(values * values)]
    weighted = weights * values
    return [exact_sum(part) for part in (weights, weighted, weights**2, weights * weighted, weighted**2)]
