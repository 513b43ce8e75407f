"""Which lane an evaluation takes, and why. A lane is an implementation detail: same input, same bits out.

``frame`` takes any Spark DataFrame. ``scan`` reads Parquet named by path inside Spark's tasks. ``local`` needs no
Spark at all. ``auto`` takes ``scan`` where it applies and says why where it does not.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from sparkrank.engine.columns import check_arrow_schema, needed_columns
from sparkrank.engine.conditions import UntranslatableError, pushed_down
from sparkrank.engine.group_files import GroupFiles
from sparkrank.engine.local import evaluate_local
from sparkrank.engine.parquet import ParquetInput, read_split
from sparkrank.engine.result import Solved
from sparkrank.errors import SpecError
from sparkrank.metrics import Plan
from sparkrank.roles import Roles

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import DataFrame, SparkSession

LANES = ("auto", "frame", "scan", "local")
LOCAL_SPLIT_ROWS = 1_000_000  # smaller than a task's: threads share the memory of one process


class Lane(Protocol):
    """One way from an input to the states of a day."""

    @property
    def name(self) -> str: ...

    @property
    def reason(self) -> str: ...

    def check(self, roles: Roles, plan: Plan) -> None:
        """Raise :class:`sparkrank.errors.InputError` for a column that is missing or cannot play its role."""

    def rows(self) -> int:
        """How many rows there are, at most: what the number of buckets is chosen by."""

    def evaluate(self, roles: Roles, plan: Plan, buckets: int, files: GroupFiles | None = None) -> Solved:
        """Evaluate everything in one pass; with ``files``, the group table is written there by those who solve it."""


@dataclass(frozen=True)
class FrameLane:
    """Any Spark DataFrame."""

    frame: DataFrame
    reason: str = "the input is a Spark DataFrame"
    name: str = "frame"

    def check(self, roles: Roles, plan: Plan) -> None:
        from sparkrank.engine.frame import check_schema

        check_schema(self.frame.schema, roles, plan)

    def rows(self) -> int:
        return self.frame.count()

    def evaluate(self, roles: Roles, plan: Plan, buckets: int, files: GroupFiles | None = None) -> Solved:
        from sparkrank.engine.frame import evaluate_frame

        return evaluate_frame(self.frame, roles, plan, buckets, files)


@dataclass(frozen=True)
class ScanLane:
    """Parquet files that Spark's tasks read with Arrow."""

    spark: SparkSession
    source: ParquetInput
    where: pc.Expression | None = None
    reason: str = "the input is Parquet named by path"
    name: str = "scan"

    def check(self, roles: Roles, plan: Plan) -> None:
        check_arrow_schema(self.source.schema, roles, plan)

    def rows(self) -> int:
        return self.source.rows

    def evaluate(self, roles: Roles, plan: Plan, buckets: int, files: GroupFiles | None = None) -> Solved:
        from sparkrank.engine.scan import evaluate_scan

        return evaluate_scan(self.spark, self.source, roles, plan, buckets, self.where, files)


@dataclass(frozen=True)
class LocalLane:
    """Parquet files or a table in memory, in this process."""

    source: ParquetInput | pa.Table
    where: pc.Expression | None = None
    reason: str = "there is no Spark session"
    name: str = "local"

    def check(self, roles: Roles, plan: Plan) -> None:
        check_arrow_schema(self.source.schema, roles, plan)

    def rows(self) -> int:
        return self.source.num_rows if isinstance(self.source, pa.Table) else self.source.rows

    def evaluate(self, roles: Roles, plan: Plan, buckets: int, files: GroupFiles | None = None) -> Solved:
        columns = needed_columns(roles, plan)
        return evaluate_local(self._splits(columns), roles, plan, buckets, files=files)

    def _splits(self, columns: list[str]) -> list[Callable[[], Iterator[pa.Table]]]:
        source = self.source
        if isinstance(source, pa.Table):
            table = source.select(columns) if self.where is None else source.select(columns).filter(self.where)
            starts = range(0, table.num_rows, LOCAL_SPLIT_ROWS)
            return [functools.partial(_slice, table, start) for start in starts]
        return [
            functools.partial(read_split, split, source.schema, columns, self.where)
            for split in source.splits(LOCAL_SPLIT_ROWS, self.where)
        ]


def lane_for_path(path: str, where: str | None, roles: Roles, plan: Plan, spark: SparkSession | None) -> Lane:
    """The scan lane, or without ``spark`` the local lane, for Parquet at ``path`` narrowed by the SQL of ``where``.

    Raises :class:`sparkrank.errors.InputError` when nothing is there, and :class:`FrameLaneNeededError` when only
    Spark itself reads this input as it should be read.
    """
    source = ParquetInput.at(path)
    try:
        condition = None if where is None else pushed_down(where, source.schema)
    except UntranslatableError as error:
        raise FrameLaneNeededError(f"input.where needs Spark's SQL: {error}") from None
    check_arrow_schema(source.schema, roles, plan)
    for role, column in roles.columns():
        kind = source.schema.field(column).type
        if not _read_alike(kind):
            raise FrameLaneNeededError(
                f"the {role} column {column} is of type {kind}, which Spark and Arrow read differently"
            )
    return LocalLane(source, condition) if spark is None else ScanLane(spark, source, condition)


class FrameLaneNeededError(SpecError):
    """An input that the scan lane and the local lane leave to the frame lane, with the reason."""


def _read_alike(kind: pa.DataType) -> bool:
    """Whether Arrow and Spark make the same of a column of ``kind``, so that every lane gives the same bits."""
    number = pa.types.is_signed_integer(kind) or pa.types.is_float32(kind) or pa.types.is_float64(kind)
    text = pa.types.is_string(kind) or pa.types.is_binary(kind)
    return bool(number or text or pa.types.is_boolean(kind) or pa.types.is_date32(kind))


def _slice(table: pa.Table, start: int) -> Iterator[pa.Table]:
    yield table.slice(start, LOCAL_SPLIT_ROWS)
