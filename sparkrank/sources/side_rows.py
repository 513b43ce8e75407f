"""The description of the rows of an input: their location, and the settings for reading them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sparkrank.sources.folders import PartitionTypes
from sparkrank.sources.in_memory import is_delta_table, is_frame, is_path
from sparkrank.sources.lakes import DELTA
from sparkrank.sources.stored_files import has_files
from sparkrank.sources.text_schema import TEXT_FORMATS, DdlField


@dataclass(frozen=True)
class SideRows:
    """The location of the rows of one input, with settings for reading. ``what`` is its name in messages.

    The rows are ``given`` by the caller, or in files at ``path``, or in a ``table`` of Spark's catalog. ``paths`` lists
    the paths for which the pattern ``path`` stands, one per day. ``name`` is the location as the user wrote it.
    ``fields`` lists the columns of the schema in the spec, if any. ``where`` is a condition in SQL. An ``optional``
    input may have no rows. ``version`` or ``as_of`` selects the version of a lake table.
    """

    what: str
    given: Any = None
    path: str | None = None
    paths: tuple[str, ...] = ()
    table: str | None = None
    name: str = "in memory"
    format: str = "parquet"
    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    fields: tuple[DdlField, ...] | None = None
    where: str | None = None
    partition_types: PartitionTypes = "inferred"
    optional: bool = False
    version: int | None = None
    as_of: datetime | None = None

    @classmethod
    def of(cls, what: str, rows: Any, partition_types: PartitionTypes = "inferred") -> SideRows:
        """Describe ``rows`` that a caller passed: a path, a table, a Spark DataFrame, or rows in memory."""
        if is_delta_table(rows):
            path = rows.table_uri
            return cls(what, path=path, paths=(path,), name=path, format=DELTA, version=rows.version())
        if not is_path(rows):
            return cls(what, rows)
        path = os.fspath(rows)
        return cls(what, path=path, paths=(path,), name=path, partition_types=partition_types)

    @property
    def is_frame(self) -> bool:
        """Whether the rows are a Spark DataFrame."""
        return is_frame(self.given)

    @property
    def is_in_memory(self) -> bool:
        """Whether the rows are a table in the memory of this process."""
        return self.given is not None and not self.is_frame

    @property
    def is_absent(self) -> bool:
        """Whether the rows are optional, and there are no files at their paths."""
        return self.optional and bool(self.paths) and not has_files(self.paths)

    @property
    def is_text(self) -> bool:
        """Whether the rows are in text files, which store numbers as characters."""
        return self.path is not None and self.format in TEXT_FORMATS
