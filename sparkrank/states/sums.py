"""The state under the metrics of a whole day that read exact sums over its rows: one row per sum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sparkrank.kernels.judgments import Floats
from sparkrank.kernels.limbs import LIMBS, total
from sparkrank.kernels.remember import remembered
from sparkrank.states.keys import SliceKey, keyed_table

KEY = ("model", "slice", "slice_value", "sum")
Key = tuple[str, str, str, str]

SCHEMA = pa.schema(
    [pa.field(name, pa.string()) for name in KEY] + [pa.field(f"total_{limb}", pa.float64()) for limb in range(LIMBS)]
)


@dataclass(frozen=True)
class RowSums:
    """Sums over rows as a table of :data:`SCHEMA`; ``sum`` is the text of a
    :class:`sparkrank.kernels.rowsums.RowSum`.
    """

    table: pa.Table

    @classmethod
    def empty(cls) -> RowSums:
        return cls(SCHEMA.empty_table())

    @classmethod
    def of(cls, parts: Sequence[tuple[SliceKey, Floats]]) -> RowSums:
        """A row for every value of every part, from the limbs (values, 6) of its sums."""
        return cls(keyed_table(SCHEMA, parts))

    def merge(self, *others: RowSums) -> RowSums:
        """The sums over all rows together."""
        together = pa.concat_tables([self.table, *(other.table for other in others)])
        summed = [name for name in SCHEMA.names if name not in KEY]
        merged = together.group_by(list(KEY), use_threads=False).aggregate([(name, "sum") for name in summed])
        columns = [merged[name if name in KEY else f"{name}_sum"].combine_chunks() for name in SCHEMA.names]
        return RowSums(pa.Table.from_arrays(columns, schema=SCHEMA))

    @remembered
    def limbs(self) -> dict[Key, Floats]:
        """The limbs (6) of each sum."""
        rows = zip(*(self.table[name].to_pylist() for name in SCHEMA.names), strict=True)
        return {row[: len(KEY)]: np.array(row[len(KEY) :]) for row in rows}

    @remembered
    def results(self) -> dict[Key, float]:
        """The float64 nearest to each sum."""
        return {key: total(limbs) for key, limbs in self.limbs().items()}
