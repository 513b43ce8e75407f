"""Which lane an evaluation takes, and why. A lane is an implementation detail: same input, same bits out.

``frame`` takes any Spark DataFrame. ``scan`` reads Parquet named by path inside Spark's tasks. ``local`` needs no
Spark at all. ``auto`` takes ``scan`` where it applies and says why where it does not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, get_args

import pyarrow as pa

from sparkrank.engines.arrow.columns import check_arrow_schema
from sparkrank.engines.arrow.conditions import UntranslatableError, pushed_down
from sparkrank.engines.arrow.folders import PartitionTypes
from sparkrank.engines.arrow.parquet import ParquetInput
from sparkrank.engines.arrow.sources import Sides, Source
from sparkrank.engines.arrow.stored_files import refuse_spelled_twice
from sparkrank.engines.arrow.text_files import open_texts
from sparkrank.engines.arrow.text_schema import Field
from sparkrank.engines.arrow.values import is_array
from sparkrank.engines.group_files import GroupFiles
from sparkrank.engines.local import ROW_MEMORY_BYTES, evaluate_local
from sparkrank.engines.result import Solved
from sparkrank.engines.spark.failures import task_errors
from sparkrank.engines.spark.files import infers
from sparkrank.errors import FrameLaneNeededError, shortened
from sparkrank.metrics import Plan
from sparkrank.roles import Roles

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

LaneName: TypeAlias = Literal["auto", "frame", "scan", "local"]
LANES: tuple[str, ...] = get_args(LaneName)
_BINARY_AS_TEXT = "spark.sql.parquet.binaryAsString"


class Lane(Protocol):
    """One way from an input to the states of a day; ``roles`` and the truth, where there is one, are part of it."""

    @property
    def name(self) -> str: ...

    @property
    def reason(self) -> str: ...

    def check(self, plan: Plan) -> None:
        """Raise :class:`sparkrank.errors.InputError` for a column that is missing or cannot play its role."""

    def rows(self) -> int:
        """How many rows there are, at most: what the number of buckets is chosen by."""

    def evaluate(self, plan: Plan, buckets: int, files: GroupFiles | None = None) -> Solved:
        """Evaluate everything in one pass; with ``files``, the group table is written there by those who solve it."""


@dataclass(frozen=True)
class FrameLane:
    """Any Spark DataFrame, and that of a truth."""

    frame: DataFrame
    roles: Roles
    truth: DataFrame | None = None
    reason: str = "the input is a Spark DataFrame"
    name: str = "frame"

    @cached_property
    def _sides(self) -> tuple[DataFrame, DataFrame | None]:
        """Both with the columns of roles that lie inside of others."""
        from sparkrank.engines.spark.nested import with_nested

        truth, of_truth = self.truth, self.roles.truth
        beside = None if truth is None or of_truth is None else with_nested(truth, of_truth, "truth")
        return with_nested(self.frame, self.roles, "input"), beside

    def check(self, plan: Plan) -> None:
        from sparkrank.engines.spark.columns import check_schema, check_truth_schema

        frame, truth = self._sides
        check_schema(frame.schema, self.roles, plan)
        if truth is not None and self.roles.truth is not None:
            check_schema(truth.schema, self.roles.truth, plan, "truth")
            check_truth_schema(frame.schema, truth.schema, self.roles)

    def rows(self) -> int:
        with task_errors():
            return self.frame.count() + (0 if self.truth is None else self.truth.count())

    def evaluate(self, plan: Plan, buckets: int, files: GroupFiles | None = None) -> Solved:
        from sparkrank.engines.spark.frame import evaluate_frame

        with task_errors():
            frame, truth = self._sides
            return evaluate_frame(frame, self.roles, plan, buckets, files, truth)


@dataclass(frozen=True)
class ScanLane:
    """Parquet files that Spark's tasks read with Arrow."""

    spark: SparkSession
    sides: Sides
    reason: str = "the input is Parquet named by path"
    name: str = "scan"

    def check(self, plan: Plan) -> None:
        self.sides.check(plan)

    def rows(self) -> int:
        return self.sides.rows

    def evaluate(self, plan: Plan, buckets: int, files: GroupFiles | None = None) -> Solved:
        from sparkrank.engines.spark.scan import evaluate_scan

        with task_errors():
            return evaluate_scan(self.spark, self.sides, plan, buckets, files)


@dataclass(frozen=True)
class LocalLane:
    """Parquet files or tables in memory, in this process, which holds ``row_memory`` bytes of rows; more go to disk."""

    sides: Sides
    reason: str = "there is no Spark session"
    name: str = "local"
    row_memory: int = ROW_MEMORY_BYTES

    def check(self, plan: Plan) -> None:
        self.sides.check(plan)

    def rows(self) -> int:
        return self.sides.rows

    def evaluate(self, plan: Plan, buckets: int, files: GroupFiles | None = None) -> Solved:
        return evaluate_local(self.sides, plan, buckets, files, self.row_memory)


def parquet_source(
    path: str,
    where: str | None,
    roles: Roles,
    plan: Plan,
    what: str = "input",
    spark: SparkSession | None = None,
    partition_types: PartitionTypes = "inferred",
    opened: dict[str, ParquetInput] | None = None,
) -> Source:
    """The Parquet at ``path``, narrowed by the SQL of ``where``; ``what`` names it in sentences: input or truth.

    Columns of folders are texts where ``partition_types`` says so; else they have the types that they have in the
    session ``spark``, or without one those of Spark as it comes. Raises :class:`sparkrank.errors.InputError` when
    nothing is there or files do not fit together, :class:`sparkrank.errors.StoreError` when the store fails, and
    :class:`FrameLaneNeededError` when only Spark itself reads this input as it should be read.
    """
    source = ParquetInput.at(path, what, infers(partition_types, spark))
    if opened is not None:
        opened[what] = source  # for whoever takes what is left to Spark
    refuse_spelled_twice(source.folders, what, [column for _, column in roles.columns()], where)
    try:
        condition = None if where is None else pushed_down(where, source.schema, source.unlike)
    except UntranslatableError as error:
        raise FrameLaneNeededError(f"{what}.where needs Spark's SQL: {error}") from None
    read = Source.of(source, roles, what, condition)
    for role, column in roles.columns():
        if column in source.unlike or (column in read.nested and read.nested[column].column in source.unlike):
            raise FrameLaneNeededError(f"the {role} column {column} is one that Spark and Arrow read differently")
    check_arrow_schema(read.schema, roles, plan, what)
    source.refuse_lacking(roles, what, where)
    for role, column in roles.columns():
        kind = read.schema.field(column).type
        is_text = pa.types.is_binary(kind) and spark is not None and _is_set(spark, _BINARY_AS_TEXT)
        if is_text or not _read_alike(kind):
            raise FrameLaneNeededError(
                f"the {role} column {shortened(column)} is of type {shortened(kind)}, which Spark and Arrow read "
                f"differently"
            )
    return read


def text_source(
    path: str,
    kind: str,
    options: Mapping[str, str],
    fields: Sequence[Field] | None,
    where: str | None,
    roles: Roles,
    plan: Plan,
    what: str = "input",
) -> Source:
    """The CSV or JSON at ``path``, narrowed by the SQL of ``where``; raises as :func:`parquet_source` does."""
    texts = open_texts(path, kind, options, fields, where, roles, what)
    try:
        condition = None if where is None else pushed_down(where, texts.schema)
    except UntranslatableError as error:
        raise FrameLaneNeededError(f"{what}.where needs Spark's SQL: {error}") from None
    check_arrow_schema(texts.schema, roles, plan, what)
    return Source(texts, condition)


def _is_set(spark: SparkSession, setting: str) -> bool:
    return str(spark.conf.get(setting)).lower() == "true"


def _read_alike(kind: pa.DataType) -> bool:
    """Whether Arrow and Spark make the same of a column of ``kind``, so that every lane gives the same bits."""
    if is_array(kind):
        return _read_alike(kind.value_type)
    number = pa.types.is_signed_integer(kind) or pa.types.is_float32(kind) or pa.types.is_float64(kind)
    text = pa.types.is_string(kind) or pa.types.is_binary(kind)
    return bool(number or text or pa.types.is_boolean(kind) or pa.types.is_date32(kind))
