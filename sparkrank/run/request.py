"""What is asked of an evaluation: the one thing that both doors, ``sr.evaluate`` and the job, hand over."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Real
from typing import TYPE_CHECKING, Any, get_args

from sparkrank.checks import Limits
from sparkrank.engines.arrow.folders import PartitionTypes
from sparkrank.engines.arrow.in_memory import is_frame, is_path
from sparkrank.engines.arrow.text_schema import TEXT_FORMATS, Field
from sparkrank.engines.buckets import BUCKET_ROWS, MOST_BUCKETS
from sparkrank.engines.lanes import LANES
from sparkrank.errors import SpecError, did_you_mean, listed, shortened, shown
from sparkrank.metrics import Plan
from sparkrank.metrics.plan import MOST_CURVE_POINTS
from sparkrank.roles import Roles

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


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
    options: Mapping[str, str] = field(default_factory=dict)
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
    lane: str = "auto"
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


def refuse_numbers(buckets: Any, curve_points: Any, max_bad_fraction: Any, row_memory: Any) -> None:
    """Raise :class:`SpecError` where a number that the caller gave is none that can be meant."""
    if buckets is not None and not (_is_whole(buckets) and 1 <= buckets <= MOST_BUCKETS):
        raise SpecError(f"buckets is {shown(buckets)}: an int from 1 to {MOST_BUCKETS} is allowed")
    if not (_is_whole(curve_points) and 0 <= curve_points <= MOST_CURVE_POINTS):
        raise SpecError(
            f"curve_points is {shown(curve_points)}: a whole number from 0 to {MOST_CURVE_POINTS} is allowed"
        )
    if row_memory is not None and not (_is_whole(row_memory) and 0 <= row_memory < 1 << 63):
        raise SpecError(f"row_memory is {shown(row_memory)}: a whole number of bytes from 0, below 8 EiB, is allowed")
    is_number = isinstance(max_bad_fraction, Real) and not isinstance(max_bad_fraction, bool)
    if not (is_number and 0 <= max_bad_fraction <= 1):
        raise SpecError(f"max_bad_fraction is {shown(max_bad_fraction)}: a number from 0 to 1 is allowed")


def refuse_others(group_table: Any, spark: Any) -> None:
    """Raise :class:`SpecError` where ``group_table`` is neither a choice nor a folder, or ``spark`` no session."""
    if not isinstance(group_table, (bool, str, os.PathLike)) or group_table == "":  # the folder of this process
        raise SpecError(f"group_table is {shown(group_table)}: True, False or a folder is needed")
    if spark is not None and not hasattr(spark, "createDataFrame"):
        raise SpecError(f"spark is {shown(spark)}: a SparkSession is needed")


def refuse_words(lane: Any, partition_types: Any, paths: bool) -> None:
    """Raise :class:`SpecError` where a word that the caller gave is unknown, or says how to read ``paths`` that are
    not there.
    """
    for name, word, known in (("lane", lane, LANES), ("partition_types", partition_types, get_args(PartitionTypes))):
        if word not in known:
            raise SpecError(f'{name} is "{shortened(word)}"{did_you_mean(word, known)} (allowed: {listed(known)})')
    if partition_types == "text" and not paths:
        raise SpecError("partition_types is text, but no path is given: only the names of folders have types to infer")


def _is_whole(number: object) -> bool:
    return isinstance(number, int) and not isinstance(number, bool)
