"""The source of the rows of an Arrow stream that are kept in a file."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa

from sparkrank.inputs.field_paths import Place
from sparkrank.inputs.roles import Roles
from sparkrank.sources.conditions import Condition
from sparkrank.sources.protocol import RowsWithoutFiles, Split
from sparkrank.sources.side_rows import SideRows
from sparkrank.sources.sizes import as_rows
from sparkrank.sources.stream_file import StreamFile, StreamPart
from sparkrank.sources.table_input import TableInput
from sparkrank.sources.types import plain_schema


@dataclass(frozen=True)
class StreamInput(RowsWithoutFiles):
    """The source of a stream's rows in a file. A split reads one part of the file."""

    leaves_to_spark: ClassVar[bool] = False

    stream: StreamFile

    @classmethod
    def open(cls, side: SideRows, roles: Roles) -> StreamInput:  # noqa: ARG003
        return cls(side.given)

    @property
    def schema(self) -> pa.Schema:
        return plain_schema(self.stream.schema)

    def rows(self, columns: Sequence[str], arrays: Mapping[str, Place]) -> int:
        if arrays:  # the number of their elements is known only after reading
            return sum(TableInput(self.stream.read(part)).rows(columns, arrays) for part in self.stream.parts)
        return sum(as_rows(part.rows, part.size) for part in self.stream.parts)

    def splits(
        self,
        places: Mapping[str, Place],
        split_rows: int,
        where: Condition | None,
        arrays: Mapping[str, Place],
    ) -> list[Split]:
        def read(part: StreamPart) -> Iterator[pa.Table]:
            for split in TableInput(self.stream.read(part)).splits(places, split_rows, where, arrays):
                yield from split.read()

        return [Split(part.first, functools.partial(read, part)) for part in self.stream.parts]
