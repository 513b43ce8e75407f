"""The rows of one input, the impressions or the truth, as a Spark DataFrame."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from sparkrank.base.errors import SpecError, shorten
from sparkrank.engines.spark.failures import condition_errors, reading_errors
from sparkrank.engines.spark.files import FILE_FORMATS, frame_of_files, infers
from sparkrank.engines.spark.session_settings import INFERENCE, settings_read
from sparkrank.engines.spark.spark_tables import frame_of_table
from sparkrank.inputs.roles import Roles
from sparkrank.sources.formats import opener_of
from sparkrank.sources.joined_types import validate_column
from sparkrank.sources.lake_formats import LAKES
from sparkrank.sources.lakes import ICEBERG
from sparkrank.sources.parquet import ParquetInput
from sparkrank.sources.protocol import Source
from sparkrank.sources.reader_options import VERSION_OPTIONS, spark_package, strict_options
from sparkrank.sources.selection import Selection
from sparkrank.sources.side_rows import SideRows
from sparkrank.sources.stored_files import validate_present
from sparkrank.sources.text_schema import TEXT_FORMATS
from sparkrank.sources.types import signed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def spark_frame(
    side: SideRows,
    spark: SparkSession,
    roles: Roles | None = None,
    opened: Mapping[str, Source] = MappingProxyType({}),
) -> DataFrame:
    """Read one input (``side``) with Spark. In CSV, column types follow from ``roles``.

    ``opened`` maps names of inputs to sources that another lane has already opened. Raise :class:`InputError` if rows
    cannot be read.
    """
    if side.is_frame:
        frame: DataFrame = side.given
        return frame
    if side.given is not None:
        return _frame_in_memory(side, spark, roles)
    kind = side.what if side.path is None else f"{side.format} {side.what}"
    try:
        frame = _stored_frame(side, kind, spark, roles, opened)
        if side.where is None:
            return frame
        named = f"{shorten(side.name)} where {shorten(side.where)}"
        with reading_errors(named, kind, side.what), condition_errors(side.what, side.where):
            return _where(frame, side.where)
    except Exception as error:
        if lacks_format(error):
            raise SpecError(
                f"{side.what}.format is {side.format}, which this Spark cannot read{_package(spark, side)}"
            ) from error
        raise


def lacks_format(error: BaseException | None) -> bool:
    """Return whether Spark raised ``error`` because Spark lacks the format. pyspark does not convert this error."""
    return "DATA_SOURCE_NOT_" in str(error)


def _where(frame: DataFrame, condition: str) -> DataFrame:
    """Return the rows of ``frame`` that meet ``condition``, which must be valid SQL with and without parentheses."""
    # Without parentheses, ``s > 1 and`` would be s > 1, named "and"; with them, ``a) or (b`` or a query would pass.
    frame.where(condition).schema  # noqa: B018 - Spark Connect checks the condition only here
    narrowed = frame.where(f"({condition}\n)")  # a comment may end the text
    narrowed.schema  # noqa: B018
    return narrowed


def _frame_in_memory(side: SideRows, spark: SparkSession, roles: Roles | None) -> DataFrame:
    """Return the table in memory of ``side`` as a Spark DataFrame of the columns that have a role."""
    open_source = opener_of(side)
    assert roles is not None and open_source is not None  # noqa: S101, PT018 - callers that pass rows name the columns
    selection = Selection.of(open_source(side, roles), roles, side.what)
    for role, column in roles.columns():
        validate_column(role, column, selection.schema.names, side.what)
    read = selection.read(list(dict.fromkeys(column for _, column in roles.columns())))
    with reading_errors(side.name, side.what, side.what):
        return spark.createDataFrame(signed(read))  # what Spark makes of a NaN of pandas depends on its settings


def _stored_frame(
    side: SideRows,
    kind: str,
    spark: SparkSession,
    roles: Roles | None,
    opened: Mapping[str, Source],
) -> DataFrame:
    """Read the rows at a path or in a catalog table, without applying any condition."""
    if side.path is None:
        if side.format != ICEBERG:
            return frame_of_table(side, spark)
        with reading_errors(side.name, kind, side.what):  # only the reader of the format takes a version of a table
            return spark.read.format(ICEBERG).options(**version_options(side)).load(str(side.table))
    validate_present(side.paths, side.format, side.what)
    if side.format not in FILE_FORMATS:
        with reading_errors(side.name, kind, side.what):
            options = {**strict_options(side.format), **version_options(side), **side.options}
            return spark.read.format(side.format).options(**options).load(side.path)
    source = opened.get(side.what)
    read = functools.partial(
        frame_of_files,
        spark,
        side.path,
        roles,
        side.what,
        side.partition_types,
        side.where,
        side.format,
        opened=source if isinstance(source, ParquetInput) else None,
    )
    if roles is None or not side.is_text:
        return read(options=side.options)
    from sparkrank.engines.spark.text_files import text_frame

    with reading_errors(side.name, kind, side.what):  # Spark Connect first looks at the files here
        return text_frame(read, side.format, side.options, side.fields, roles, side.what)


def version_options(side: SideRows) -> dict[str, str]:
    """Return the options with which Spark's reader of the input's format reads the requested version of the input."""
    by_version, by_time = VERSION_OPTIONS.get(side.format, ("", ""))
    if side.version is not None:
        return {by_version: str(side.version)}
    if side.as_of is None:
        return {}
    milliseconds = str(int(side.as_of.timestamp() * 1000))
    return {by_time: milliseconds if side.format == ICEBERG else side.as_of.isoformat()}


def _package(spark: SparkSession, side: SideRows) -> str:
    """Return the end of an error message, with the package that ``spark`` needs for the format, or a library.

    It is empty if no package is known.
    """
    version = ".".join(spark.version.split(".")[:2])
    package = spark_package(side.format, version)
    lacks = side.format in LAKES and not LAKES[side.format].is_installed()
    library = f"; or pip install 'sparkrank[{side.format}]' for the lanes scan and local" if lacks else ""
    return package and f": add {package} to spark.jars.packages, in the version that fits Spark {version}{library}"


def settings_of_frame(side: SideRows, frame: DataFrame, roles: Roles, own_zone: bool) -> dict[str, str]:
    """Return the session settings on which the rows of an input (``frame``) may depend (:func:`settings_read`)."""
    if side.path is None:
        return settings_read(frame, roles, side.where, _is_view(frame, side.table), False, own_zone)
    settings = settings_read(frame, roles, side.where, False, side.format in TEXT_FORMATS, own_zone)
    are_texts = side.partition_types == "inferred" and not infers("inferred", frame.sparkSession)
    return settings | ({INFERENCE: "false"} if are_texts else {})


def _is_view(frame: DataFrame, table: str | None) -> bool:
    """Return whether the catalog table ``table`` may be a view. The SQL of a view is not visible here."""
    try:
        return frame.sparkSession.catalog.getTable(str(table)).tableType not in ("MANAGED", "EXTERNAL")
    except Exception:  # noqa: BLE001 - a catalog that does not describe its tables
        return True
