"""The mergeable state of pooled metrics that are computed from exact sums over rows. Each sum is one table row."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from sparkrank.numeric.array_types import Floats
from sparkrank.numeric.cached import cached
from sparkrank.numeric.exact_sums import LIMBS, total
from sparkrank.schemas.tables import SUM_NUMBERS, schema_of
from sparkrank.states.keys import KeyedRows, KeyedSums, SliceKey, StateKey

SUM_KEY = ("model", "slice", "slice_value", "sum")

SUM_SCHEMA = pa.schema([*((name, pa.string()) for name in SUM_KEY), *schema_of(SUM_NUMBERS)])


class RowSums(KeyedSums):
    """Sums over rows, by key. The column ``sum`` names a sum (:class:`sparkrank.histogram.scored_rows.RowSum`)."""

    schema, key = SUM_SCHEMA, SUM_KEY

    @classmethod
    def of(cls, parts: Sequence[tuple[SliceKey, Floats]]) -> RowSums:
        return cls(KeyedRows.of(parts, LIMBS))

    @cached
    def limbs(self) -> dict[StateKey, Floats]:
        rows = zip(*(self.table[name].to_pylist() for name in SUM_SCHEMA.names), strict=True)
        return {StateKey(*row[: len(SUM_KEY)]): np.array(row[len(SUM_KEY) :]) for row in rows}

    @cached
    def results(self) -> dict[StateKey, float]:
        return {key: total(limbs) for key, limbs in self.limbs().items()}
