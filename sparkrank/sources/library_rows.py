"""Rows of a lake table that a library reads, because the files alone do not determine them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import pyarrow as pa

from sparkrank.inputs.field_paths import Place
from sparkrank.sources.arrow_scan import gathered
from sparkrank.sources.conditions import Condition
from sparkrank.sources.nested import columns_at
from sparkrank.sources.protocol import RowsWithoutFiles, Split
from sparkrank.sources.sizes import as_rows
from sparkrank.sources.types import plain


@dataclass(frozen=True)
class LibraryRows(RowsWithoutFiles):
    """The rows of one version of a lake table, in one stream of the ``library``.

    ``batches`` returns the named columns of all rows that a condition does not rule out. ``repr`` hides ``batches``,
    which may contain the credentials of a store.
    """

    leaves_to_spark: ClassVar[bool] = True

    library: str
    schema: pa.Schema
    stored_rows: int
    batches: Callable[[Sequence[str], Condition | None], Iterable[pa.RecordBatch]] = field(repr=False)

    def rows(self, columns: Sequence[str], arrays: Mapping[str, Place]) -> int:  # noqa: ARG002
        return as_rows(self.stored_rows, 0)

    def splits(
        self,
        places: Mapping[str, Place],
        split_rows: int,
        where: Condition | None,
        arrays: Mapping[str, Place],  # noqa: ARG002
    ) -> list[Split]:
        return [Split(0, functools.partial(self._read, places, split_rows, where))]

    def _read(self, places: Mapping[str, Place], batch_rows: int, where: Condition | None) -> Iterator[pa.Table]:
        names = dict.fromkeys([place.column for place in places.values()])
        names |= dict.fromkeys([] if where is None else sorted(where.columns))
        for table in gathered(self.batches(list(names), where), batch_rows):
            rows = plain(table)
            for holds in () if where is None else (where.row_group_filter, where.row_filter):
                rows = rows if holds is None else rows.filter(holds)
            yield columns_at(rows, places)
