"""What is asked of an evaluation: the one thing that both doors, ``sr.evaluate`` and the job, hand over."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sparkrank.base.checks import Limits
from sparkrank.inputs.buckets import BUCKET_ROWS
from sparkrank.inputs.roles import Roles
from sparkrank.metrics import Plan
from sparkrank.sources.folders import PartitionTypes
from sparkrank.sources.in_memory import is_frame, is_path
from sparkrank.sources.text_schema import TEXT_FORMATS, Field

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


AUTO = "auto"  # the word by which a request leaves its lane to the policy


@dataclass(frozen=True)
class Side:
    """The rows of one side, which sentences name by ``what`` (input or truth), and how they are to be read.

    They are ``given`` by the caller (a Spark DataFrame, or what Arrow makes a table of), or files at ``path``, or a
    ``table`` of Spark's catalog. ``paths`` are those that ``path``, a pattern, stands for: one of each day. ``name`` is
    the place as a person wrote it. ``options`` and ``fields``, the columns of a schema, are for the reader of
    ``format``; ``where`` is SQL that narrows the rows.
    """

    what: str
    given: Any = None
    path: str | None = None
    paths: tuple[str, ...] = ()
    table: str | None = None
    name: str = "in memory"
    format: str = "parquet"
    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    fields: tuple[Field, ...] | None = None
    where: str | None = None
    partition_types: PartitionTypes = "inferred"

    @classmethod
    def of(cls, what: str, rows: Any, partition_types: PartitionTypes = "inferred") -> Side:
        """What a caller handed over: rows, or a path to Parquet."""
        if not is_path(rows):
            return cls(what, rows)
        path = os.fspath(rows)
        return cls(what, path=path, paths=(path,), name=path, partition_types=partition_types)

    @property
    def is_frame(self) -> bool:
        """Whether it is a Spark DataFrame."""
        return is_frame(self.given)

    @property
    def is_in_memory(self) -> bool:
        """Whether it is a table in the memory of this process."""
        return self.given is not None and not self.is_frame

    @property
    def is_text(self) -> bool:
        """Whether it is files in which numbers are texts."""
        return self.path is not None and self.format in TEXT_FORMATS


@dataclass(frozen=True)
class Request:
    """An evaluation as it is asked for: ``impressions`` and the ``truth`` beside them, ``plan`` over their ``roles``.

    Nothing in it depends on who asks. ``lane`` is that which was asked for, ``spark`` the session if there is one.
    ``buckets`` is how many there shall be, or None, so that the rows are counted and each has about ``bucket_rows``;
    ``row_memory`` is how many bytes of rows the local lane may hold. ``counts`` are of checks on what was handed
    over.
    """

    impressions: Side
    truth: Side | None
    roles: Roles
    plan: Plan
    limits: Limits
    lane: str = AUTO
    spark: SparkSession | None = None
    buckets: int | None = None
    bucket_rows: int = BUCKET_ROWS
    row_memory: int | None = None
    counts: Mapping[tuple[str, str], int] = field(default_factory=dict)

    @property
    def sides(self) -> tuple[tuple[Side, Roles], ...]:
        """Each side with the roles of its columns, the impressions first."""
        if self.truth is None or self.roles.truth is None:
            return ((self.impressions, self.roles),)
        return (self.impressions, self.roles), (self.truth, self.roles.truth)

    @property
    def session(self) -> SparkSession | None:
        """The session of a DataFrame that was given, or else the one that was named."""
        frames = (side.given.sparkSession for side, _ in self.sides if side.is_frame)
        return next(frames, self.spark)

    @property
    def frame_side(self) -> str | None:
        """The side that is a Spark DataFrame, the first of them as sentences name it."""
        return next((side.what for side, _ in self.sides if side.is_frame), None)

    @property
    def memory_side(self) -> str | None:
        """The side that is a table in memory, the first of them as sentences name it."""
        return next((side.what for side, _ in self.sides if side.is_in_memory), None)

    @property
    def is_in_memory(self) -> bool:
        """Whether all of it is in the memory of this process."""
        return all(side.is_in_memory for side, _ in self.sides)
