"""One side of a request as what a lane reads: a source of Arrow, or a DataFrame of Spark."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

import pyarrow as pa

from sparkrank.base.errors import FrameLaneNeededError, SpecError, shortened
from sparkrank.engines.spark.failures import condition_errors, reading_errors
from sparkrank.engines.spark.files import FILE_FORMATS, frame_of_files, infers
from sparkrank.engines.spark.session_features import setting
from sparkrank.engines.spark.session_settings import INFERENCE, folder_types, settings_read
from sparkrank.inputs.roles import Roles
from sparkrank.metrics import Plan
from sparkrank.sources.columns import check_arrow_schema
from sparkrank.sources.conditions import UntranslatableError, pushed_down
from sparkrank.sources.files import ALL_FILES
from sparkrank.sources.folders import FolderColumns, PartitionTypes
from sparkrank.sources.in_memory import validated
from sparkrank.sources.joined_types import validate_column
from sparkrank.sources.parquet import ParquetInput
from sparkrank.sources.sources import Sides, Source
from sparkrank.sources.stored_files import validate_present, validate_spelled_once
from sparkrank.sources.text_files import TextInput, condition_of
from sparkrank.sources.text_schema import TEXT_FORMATS
from sparkrank.sources.types import signed
from sparkrank.sources.values import is_array

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from sparkrank.engines.request import Request, Side

_BINARY_AS_TEXT = "spark.sql.parquet.binaryAsString"


def arrow_sides(request: Request, opened: dict[str, ParquetInput]) -> Sides:
    """Both sides of ``request`` as Arrow reads them, each as :func:`arrow_source` does."""
    sources = [arrow_source(side, roles, request.plan, request.spark, opened) for side, roles in request.sides]
    return Sides(sources[0], sources[1] if len(sources) > 1 else None, request.roles)


def arrow_source(
    side: Side,
    roles: Roles,
    plan: Plan,
    spark: SparkSession | None,
    opened: dict[str, ParquetInput],
) -> Source:
    """The rows of ``side`` as Arrow reads them; Parquet that was looked at is ``opened`` for whoever comes next.

    ``spark`` is the session, whose settings say of which types the columns of folders are. Raises
    :class:`FrameLaneNeededError` where Spark alone reads them as they should be read, and what the readers raise.
    """
    what = side.what
    if side.given is not None:
        return Source.of(validated(side.given, roles, what), roles, what)
    if side.is_text and side.path is not None:
        validate_present(side.paths, side.format, what)
        return text_source(side, side.path, roles, plan, spark)
    if side.path is None or side.format != "parquet" or side.options:
        raise FrameLaneNeededError(f"the {what} is not plain Parquet named by path")
    validate_present(side.paths, side.format, what)
    return parquet_source(side.path, side.where, roles, plan, what, spark, side.partition_types, opened)


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
    session ``spark``, or without one those of Spark as it comes. Raises :class:`sparkrank.base.errors.InputError` when
    nothing is there or files do not fit together, :class:`sparkrank.base.errors.StoreError` when the store fails, and
    :class:`FrameLaneNeededError` when only Spark itself reads this input as it should be read.
    """
    source = ParquetInput.at(path, what, infers(partition_types, spark))
    if opened is not None:
        opened[what] = source  # for whoever takes what is left to Spark
    validate_spelled_once(source.folders, what, [column for _, column in roles.columns()], where)
    try:
        condition = None if where is None else pushed_down(where, source.schema, source.unlike)
    except UntranslatableError as error:
        raise FrameLaneNeededError(f"{what}.where needs Spark's SQL: {error}") from None
    read = Source.of(source, roles, what, condition)
    for role, column in roles.columns():
        if column in source.unlike or (column in read.nested and read.nested[column].column in source.unlike):
            raise FrameLaneNeededError(f"the {role} column {column} is one that Spark and Arrow read differently")
    check_arrow_schema(read.schema, roles, plan, what)
    source.validate_has_columns(roles, what, where)
    for role, column in roles.columns():
        kind = read.schema.field(column).type
        is_text = pa.types.is_binary(kind) and spark is not None and _is_set(spark, _BINARY_AS_TEXT)
        if is_text or not _read_alike(kind):
            raise FrameLaneNeededError(
                f"the {role} column {shortened(column)} is of type {shortened(kind)}, which Spark and Arrow read "
                f"differently"
            )
    return read


def text_source(side: Side, path: str, roles: Roles, plan: Plan, spark: SparkSession | None) -> Source:
    """The CSV or JSON at ``path``, narrowed by the SQL of ``side``; raises what :meth:`TextInput.at` does."""
    what, where = side.what, side.where
    inferred = infers(side.partition_types, spark)
    texts = TextInput.at(path, side.format, side.options, side.fields, where, roles, what, inferred)
    read = Source.of(texts, roles, what, condition_of(where, texts.schema, what))
    check_arrow_schema(read.schema, roles, plan, what)
    return read


def _is_set(spark: SparkSession, name: str) -> bool:
    return (setting(spark, name) or "").lower() == "true"


def _read_alike(kind: pa.DataType) -> bool:
    """Whether Arrow and Spark make the same of a column of ``kind``, so that every lane gives the same bits."""
    if is_array(kind):
        return _read_alike(kind.value_type)
    number = pa.types.is_signed_integer(kind) or pa.types.is_float32(kind) or pa.types.is_float64(kind)
    text = pa.types.is_string(kind) or pa.types.is_binary(kind)
    return bool(number or text or pa.types.is_boolean(kind) or pa.types.is_date32(kind))


def spark_frame(
    side: Side,
    spark: SparkSession,
    roles: Roles | None = None,
    opened: Mapping[str, ParquetInput] = MappingProxyType({}),
    folders: dict[str, FolderColumns] | None = None,
) -> DataFrame:
    """The rows of ``side`` as Spark reads them.

    ``opened`` has the files of each side that somebody has looked at before, and ``folders`` takes the columns of their
    folders. Raises :class:`InputError` when the rows
    are missing or cannot be read as what they are said to be, or where some of its files lack a column of ``roles``.
    Columns of CSV have the types that ``roles`` ask for.
    """
    if side.is_frame:
        frame: DataFrame = side.given
        return frame
    if side.given is not None:
        return _frame_in_memory(side, spark, roles)
    kind = side.what if side.path is None else f"{side.format} {side.what}"
    try:
        frame = _stored_frame(side, kind, spark, roles, opened, folders)
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
        validate_column(role, column, source.schema.names, side.what)
    read = source.read(list(dict.fromkeys(column for _, column in roles.columns())))
    with reading_errors(side.name, side.what, side.what):
        return spark.createDataFrame(signed(read))  # of a NaN of pandas Spark makes what its settings say


def _stored_frame(
    side: Side,
    kind: str,
    spark: SparkSession,
    roles: Roles | None,
    opened: Mapping[str, ParquetInput],
    folders: dict[str, FolderColumns] | None,
) -> DataFrame:
    """The rows at a path or of a table, before any condition."""
    if side.path is None:
        with reading_errors(side.name, kind, side.what):
            return spark.read.table(str(side.table))
    validate_present(side.paths, side.format, side.what)
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
    if roles is None or not side.is_text:
        return read(options=side.options)
    from sparkrank.engines.spark.text_files import text_frame

    with reading_errors(side.name, kind, side.what):  # over Spark Connect nobody looks at the files before
        return text_frame(read, side.format, side.options, side.fields, roles, side.what)


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
    asks = side.partition_types == "inferred" and not infers("inferred", frame.sparkSession)
    return settings | ({} if not asks else folder_types(frame.inputFiles(), side.paths))


def settings_of_source(side: Side, source: Source | None, spark: SparkSession) -> dict[str, str]:
    """The same of what Arrow reads: the setting by which the columns of folders are texts, where there are some."""
    asks = side.partition_types == "inferred" and not infers("inferred", spark)
    if not asks or source is None or isinstance(source.data, pa.Table):
        return {}
    return {INFERENCE: "false"} if source.data.folders.schema.names else {}


def _is_view(frame: DataFrame, table: str | None) -> bool:
    """Whether the catalog's ``table`` may be a view, whose SQL asks what nobody sees here."""
    try:
        return frame.sparkSession.catalog.getTable(str(table)).tableType not in ("MANAGED", "EXTERNAL")
    except Exception:  # noqa: BLE001 - a catalog that tells nothing of its tables
        return True
