"""A format from outside the package: files of Arrow's own, each of which is a split."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import pyarrow as pa
from pyarrow import feather

from sparkrank.sources.nested import columns_at
from sparkrank.sources.protocol import FileSplit, Partitioning, Split
from sparkrank.sources.stored_files import StoredFiles

if TYPE_CHECKING:
    from sparkrank.inputs.field_paths import Place
    from sparkrank.inputs.roles import Roles
    from sparkrank.sources.conditions import Condition
    from sparkrank.sources.side_rows import SideRows


@dataclass(frozen=True)
class FeatherInput:
    """Files of one schema on this machine."""

    pushes_conditions: ClassVar[bool] = False
    leaves_to_spark: ClassVar[bool] = False

    paths: tuple[str, ...]
    schema: pa.Schema
    lengths: tuple[int, ...]

    @classmethod
    def open(cls, side: SideRows, roles: Roles) -> FeatherInput:
        files = StoredFiles.at(str(side.path), side.what, side.format).listing.files
        tables = [feather.read_table(file) for file in files]
        return cls(files, tables[0].schema, tuple(table.num_rows for table in tables))

    @property
    def partitionings(self) -> list[Partitioning]:
        return [{}]

    @property
    def warnings(self) -> list[str]:
        return ["feathers are read whole"]

    def check(self, roles: Roles, where: str | None) -> None:
        pass

    def rows(self, columns: Sequence[str], arrays: Mapping[str, Place]) -> int:
        return sum(self.lengths)

    def splits(
        self, places: Mapping[str, Place], split_rows: int, where: Condition | None, arrays: Mapping[str, Place]
    ) -> list[Split]:
        return [
            Split(index * max(self.lengths), functools.partial(read_feather, file, places, where))
            for index, file in enumerate(self.paths)
        ]

    def files(self, places: Mapping[str, Place], batch_rows: int, where: Condition | None) -> list[FileSplit]:
        return [
            FileSplit(file, length, {}, functools.partial(read_feather, file, places, where))
            for file, length in zip(self.paths, self.lengths, strict=True)
        ]


def read_feather(file: str, places: Mapping[str, Place], where: Condition | None) -> Iterator[pa.Table]:
    table = feather.read_table(file)
    for expression in () if where is None else (where.row_group_filter, where.row_filter):
        table = table if expression is None else table.filter(expression)
    yield columns_at(table, places)
