"""The source of the rows of an Arrow table in memory."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa

from sparkrank.inputs.field_paths import Place
from sparkrank.inputs.roles import Roles
from sparkrank.sources.conditions import Condition
from sparkrank.sources.in_memory import valid_table
from sparkrank.sources.nested import columns_at
from sparkrank.sources.protocol import RowsWithoutFiles, Split
from sparkrank.sources.side_rows import SideRows
from sparkrank.sources.sizes import as_rows, elements_in, in_parts, plain_bytes
from sparkrank.sources.types import plain_schema


@dataclass(frozen=True)
class TableInput(RowsWithoutFiles):
    """The source of a table's rows in memory. The caller has already applied any condition."""

    leaves_to_spark: ClassVar[bool] = False

    table: pa.Table

    @classmethod
    def open(cls, side: SideRows, roles: Roles) -> TableInput:
        return cls(valid_table(side.given, roles, side.what))

    @property
    def schema(self) -> pa.Schema:
        return plain_schema(self.table.schema)

    def rows(self, columns: Sequence[str], arrays: Mapping[str, Place]) -> int:
        return as_rows(self._elements(arrays), plain_bytes(self.table.select(list(columns))))

    def splits(
        self,
        places: Mapping[str, Place],
        split_rows: int,
        where: Condition | None,  # noqa: ARG002
        arrays: Mapping[str, Place],
    ) -> list[Split]:
        table = self.table.select(list(dict.fromkeys(place.column for place in places.values())))
        step = max(1, split_rows * table.num_rows // max(1, self._elements(arrays)))
        starts = range(0, table.num_rows, step)
        return [Split(start, functools.partial(_slice, table, start, step, places)) for start in starts]

    def _elements(self, arrays: Mapping[str, Place]) -> int:
        """Return the number of elements in ``arrays``, or the number of rows if that number is larger."""
        return elements_in(columns_at(self.table, arrays), list(arrays)) if arrays else int(self.table.num_rows)


def _slice(table: pa.Table, start: int, rows: int, places: Mapping[str, Place]) -> Iterator[pa.Table]:
    for part in in_parts(table.slice(start, rows)):
        yield columns_at(part, places)
