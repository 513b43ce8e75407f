"""One side of a request as what a lane reads: a source of Arrow, or a DataFrame of Spark."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from sparkrank.engines.arrow.columns import needed_columns
from sparkrank.engines.arrow.files import ALL_FILES
from sparkrank.engines.arrow.folders import FolderColumns
from sparkrank.engines.arrow.in_memory import validated
from sparkrank.engines.arrow.joined_types import refuse_no_column
from sparkrank.engines.arrow.parquet import ParquetInput
from sparkrank.engines.arrow.sources import Source
from sparkrank.engines.arrow.stored_files import refuse_missing
from sparkrank.engines.arrow.text_schema import TEXT_FORMATS
from sparkrank.engines.arrow.types import signed
from sparkrank.engines.lanes import parquet_source, text_source
from sparkrank.engines.spark.failures import condition_errors, reading_errors
from sparkrank.engines.spark.files import FILE_FORMATS, frame_of_files
from sparkrank.engines.spark.session_settings import INFERENCE, folder_types, settings_read
from sparkrank.errors import FrameLaneNeededError, SpecError, shortened
from sparkrank.metrics import Plan
from sparkrank.roles import Roles

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from sparkrank.run.request import Side


def arrow_source(
    side: Side, roles: Roles, plan: Plan, spark: SparkSession | None, opened: dict[str, ParquetInput], lane: str
) -> Source:
    """The rows of ``side`` as Arrow reads them; Parquet that was looked at is ``opened`` for whoever comes next.

    ``spark`` is the session, whose settings say of which types the columns of folders are. Raises
    :class:`FrameLaneNeededError` where Spark alone reads them as they should be read, and what the readers raise.
    """
    what = side.what
    if side.given is not None:
        return Source.of(validated(side.given, roles, what), roles, what)
    if side.is_text and side.path is not None:
        if spark is not None and lane != "local":
            raise FrameLaneNeededError(f"the {what} is {side.format}, which Spark reads")
        refuse_missing(side.paths, side.format, what)
        return text_source(side.path, side.format, side.options, side.fields, side.where, roles, plan, what)
    if side.path is None or side.format != "parquet" or side.options:
        raise FrameLaneNeededError(f"the {what} is not plain Parquet named by path")
    refuse_missing(side.paths, side.format, what)
    return parquet_source(side.path, side.where, roles, plan, what, spark, side.partition_types, opened)


def spark_frame(
    side: Side,
    spark: SparkSession,
    roles: Roles | None = None,
    plan: Plan | None = None,
    opened: Mapping[str, ParquetInput] = MappingProxyType({}),
    folders: dict[str, FolderColumns] | None = None,
) -> DataFrame:
    """The rows of ``side`` as Spark reads them.

    ``opened`` has the files of each side that somebody has looked at before, and ``folders`` takes the columns of their
    folders. Raises :class:`InputError` when the rows
    are missing or cannot be read as what they are said to be, or where some of its files lack a column of ``roles``.
    Texts become numbers where ``roles`` and ``plan`` ask for these.
    """
    if side.is_frame:
        frame: DataFrame = side.given
        return frame
    if side.given is not None:
        return _frame_in_memory(side, spark, roles)
    kind = side.what if side.path is None else f"{side.format} {side.what}"
    try:
        frame = _stored_frame(side, kind, spark, roles, plan, opened, folders)
        if side.where is None:
            return frame
        named = f"{shortened(side.name)} where {shortened(side.where)}"
        with reading_errors(named, kind, side.what), condition_errors(side.what, side.where):
            return _where(frame, side.where)
    except Exception as error:
        if "DATA_SOURCE_NOT_" in str(error):  # raised by the JVM, and not converted by pyspark
            raise SpecError(
                f"{side.what}.format is {side.format}, which this Spark cannot read{_package(spark, side)}"
            ) from error
        raise


def _where(frame: DataFrame, condition: str) -> DataFrame:
    """The rows of ``frame`` that the whole of ``condition`` holds for.

    Spark takes a word behind an expression for its name: ``s > 1 and`` is s > 1, called "and". In parentheses there is
    none. The condition is read without them, too: ``a) or (b`` and a query are conditions in parentheses only.
    """
    frame.where(condition).schema  # noqa: B018 - over Spark Connect nobody looks at the condition before
    found = frame.where(f"({condition}\n)")  # a comment may end the text
    found.schema  # noqa: B018
    return found


def _frame_in_memory(side: Side, spark: SparkSession, roles: Roles | None) -> DataFrame:
    """A DataFrame of a table in memory: the columns that have a role."""
    assert roles is not None  # noqa: S101 - who hands over rows names their columns
    source = Source.of(validated(side.given, roles, side.what), roles, side.what)
    for role, column in roles.columns():
        refuse_no_column(role, column, source.schema.names, side.what)
    read = source.read(list(dict.fromkeys(column for _, column in roles.columns())))
    with reading_errors(side.name, side.what, side.what):
        return spark.createDataFrame(signed(read))  # of a NaN of pandas Spark makes what its settings say


def _stored_frame(
    side: Side,
    kind: str,
    spark: SparkSession,
    roles: Roles | None,
    plan: Plan | None,
    opened: Mapping[str, ParquetInput],
    folders: dict[str, FolderColumns] | None,
) -> DataFrame:
    """The rows at a path or of a table, before any condition."""
    if side.path is None:
        with reading_errors(side.name, kind, side.what):
            return spark.read.table(str(side.table))
    refuse_missing(side.paths, side.format, side.what)
    if side.format not in FILE_FORMATS:
        with reading_errors(side.name, kind, side.what):
            return spark.read.format(side.format).options(**{**ALL_FILES, **side.options}).load(side.path)
    read = functools.partial(
        frame_of_files,
        spark,
        side.path,
        roles,
        side.what,
        side.partition_types,
        side.where,
        side.format,
        opened=opened.get(side.what),
        found=folders,
    )
    if roles is None or plan is None or not side.is_text:
        return read(options=side.options)
    from sparkrank.engines.spark.text_files import text_frame

    needed = needed_columns(roles, plan)
    return text_frame(read, side.format, side.options, side.fields, roles, needed, side.what)


def _package(spark: SparkSession, side: Side) -> str:
    """The package by which ``spark`` would read the format of ``side``, as the end of a sentence."""
    version, scala = ".".join(spark.version.split(".")[:2]), "2.13"
    packages = {
        "delta": f"io.delta:delta-spark_{scala}",
        "hudi": f"org.apache.hudi:hudi-spark{version}-bundle_{scala}",
        "iceberg": f"org.apache.iceberg:iceberg-spark-runtime-{version}_{scala}",
        "avro": f"org.apache.spark:spark-avro_{scala}",
    }
    package = packages.get(side.format.lower())
    return (
        "" if package is None else f": add {package} to spark.jars.packages, in the version that fits Spark {version}"
    )


def settings_of_frame(side: Side, frame: DataFrame, roles: Roles, own_zone: bool) -> dict[str, str]:
    """The settings of the session that the rows of ``side``, read as ``frame``, depend on.

    With a time zone of the spec's own (``own_zone``) the session's is not read.
    """
    if side.path is None:
        return settings_read(frame, roles, side.where, _is_view(frame, side.table), False, own_zone)
    settings = settings_read(frame, roles, side.where, False, side.format in TEXT_FORMATS, own_zone)
    inferred = side.partition_types == "text" or str(frame.sparkSession.conf.get(INFERENCE)).lower() == "true"
    return settings | ({} if inferred else folder_types(frame.inputFiles(), side.paths))


def settings_of_source(side: Side, source: Source | None, spark: SparkSession) -> dict[str, str]:
    """The same of what Arrow reads: the setting by which the columns of folders are texts, where there are some."""
    infers = str(spark.conf.get(INFERENCE)).lower() == "true" or side.partition_types != "inferred"
    if infers or source is None or not isinstance(source.data, ParquetInput):
        return {}
    return {INFERENCE: "false"} if source.data.folders.schema.names else {}


def _is_view(frame: DataFrame, table: str | None) -> bool:
    """Whether the catalog's ``table`` may be a view, whose SQL asks what nobody sees here."""
    try:
        return frame.sparkSession.catalog.getTable(str(table)).tableType not in ("MANAGED", "EXTERNAL")
    except Exception:  # noqa: BLE001 - a catalog that tells nothing of its tables
        return True
