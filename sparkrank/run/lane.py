"""The impressions of a day: the lane by which they are read, and reading them through Spark."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from sparkrank.day_marks import as_pattern, on_day, on_days
from sparkrank.engines.arrow.columns import needed_columns
from sparkrank.engines.arrow.files import ALL_FILES
from sparkrank.engines.arrow.folders import FolderColumns
from sparkrank.engines.arrow.parquet import ParquetInput
from sparkrank.engines.arrow.sources import Sides, Source
from sparkrank.engines.arrow.stored_files import refuse_missing, refuse_spelled_otherwise
from sparkrank.engines.arrow.text_schema import NAMES, TEXT_FORMATS, is_set
from sparkrank.engines.lanes import FrameLane, Lane, ScanLane, lane_for_sides, parquet_source, text_source
from sparkrank.engines.spark.failures import told_by_condition, told_by_reading
from sparkrank.engines.spark.files import FILE_FORMATS, frame_of_files
from sparkrank.engines.spark.session_settings import INFERENCE, folder_types, settings_read
from sparkrank.errors import FrameLaneNeededError, InputError, SpecError, StoreError, shortened
from sparkrank.metrics import Plan
from sparkrank.roles import Roles
from sparkrank.tables.days import local_path

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from sparkrank.config.sections import Input, Truth


def open_day(
    source: Input, truth: Truth | None, lane: str, day: str, roles: Roles, plan: Plan, spark: SparkSession | None
) -> Lane:
    """The lane for the rows of ``source`` and ``truth`` for ``day``: ``lane``, or under ``auto`` the fastest.

    Raises :class:`InputError` when there is no input, and :class:`SpecError` when ``lane`` cannot take it.
    """
    opened: dict[str, ParquetInput] = {}
    if lane == "frame":
        reason = "engine.lane is frame"
    else:
        try:
            sides = Sides(
                _arrow_source(source, day, roles, plan, spark, "input", opened),
                None
                if truth is None or roles.truth is None
                else _arrow_source(truth, day, roles.truth, plan, spark, "truth", opened),
                roles,
            )
            chosen = lane_for_sides(sides, None if lane == "local" else spark)
            return (
                replace(chosen, session=_folder_types_of(sides, source, truth, spark))
                if isinstance(chosen, ScanLane)
                else chosen
            )
        except FrameLaneNeededError as error:
            reason = str(error)
        except (InputError, StoreError) as error:
            # Spark may have credentials, or know a file system, that Arrow has not
            paths = [each.path for each in (source, truth) if each is not None and each.path is not None]
            if lane != "auto" or all(local_path(path) is not None for path in paths):
                raise
            reason = str(error)
        if lane != "auto":
            raise SpecError(f"engine.lane is {lane}, but {reason}: auto or frame is allowed")
    if spark is None:
        raise SpecError(f"{reason}, and there is no Spark session to read it")
    if any(rows is not None and is_set(rows.options, "inferSchema") for rows in (source, truth)):
        reason = f"{reason}; inferSchema infers no group, item or slice: they are the texts that stand there"
    folders: dict[str, FolderColumns] = {}
    frame = read_impressions(spark, source, day, "input", roles, opened, plan, folders)
    beside = None
    if truth is not None and roles.truth is not None:
        beside = read_impressions(spark, truth, day, "truth", roles.truth, opened, plan, folders)
        if len(folders) > 1:
            refuse_spelled_otherwise(folders["input"], folders["truth"], roles)
    zoned = source.time_zone is not None
    session = _read_of_session(frame, source, day, roles, zoned)
    if truth is not None and beside is not None and roles.truth is not None:
        session |= _read_of_session(beside, truth, day, roles.truth, zoned)
    return FrameLane(frame, roles, beside, reason, session=session)


def told_of_inference(source: Input, truth: Truth | None, roles: Roles) -> Iterator[str]:
    """A sentence for each side whose options ask for types that are not inferred of groups, items and slices."""
    for what, rows, of in (("input", source, roles), ("truth", truth, roles.truth)):
        if rows is None or of is None or rows.format != "csv" or not is_set(rows.options, "inferSchema"):
            continue
        declared = {field.name for field in rows.fields or ()}
        named = dict.fromkeys(column for role, column in of.columns() if role in NAMES and column not in declared)
        if named:
            yield (
                f"{what}.options.inferSchema infers no type of {shortened(', '.join(named))}: groups, items and slices "
                f"are the texts that stand there, 007 as 007, unless {what}.schema says another type"
            )


def _read_of_session(frame: DataFrame, source: Input | Truth, day: str, roles: Roles, zoned: bool) -> dict[str, str]:
    """The settings of the session that the rows of one side depend on."""
    condition = None if source.where is None else on_day(source.where, day)
    if source.path is None:
        return settings_read(frame, roles, condition, _is_view(frame, on_day(str(source.table), day)), False, zoned)
    settings = settings_read(frame, roles, condition, False, source.format in TEXT_FORMATS, zoned)
    inferred = source.partition_types == "text" or str(frame.sparkSession.conf.get(INFERENCE)).lower() == "true"
    return settings | ({} if inferred else folder_types(frame.inputFiles(), on_days(source.path, day)))


def _folder_types_of(sides: Sides, source: Input, truth: Truth | None, spark: SparkSession | None) -> dict[str, str]:
    if spark is None or str(spark.conf.get(INFERENCE)).lower() == "true":
        return {}
    found: dict[str, str] = {}
    for side, rows in ((sides.impressions, source), (sides.truth, truth)):
        infers = rows is not None and rows.partition_types == "inferred"
        if infers and side is not None and isinstance(side.data, ParquetInput) and side.data.folders.schema.names:
            found[INFERENCE] = "false"
    return found


def _is_view(frame: DataFrame, table: str) -> bool:
    """Whether the catalog's ``table`` may be a view, whose SQL asks what nobody sees here."""
    try:
        return frame.sparkSession.catalog.getTable(table).tableType not in ("MANAGED", "EXTERNAL")
    except Exception:  # noqa: BLE001 - a catalog that tells nothing of its tables
        return True


def _arrow_source(
    source: Input | Truth,
    day: str,
    roles: Roles,
    plan: Plan,
    spark: SparkSession | None,
    what: str,
    opened: dict[str, ParquetInput],
) -> Source:
    where = None if source.where is None else on_day(source.where, day)
    if source.path is not None and source.format in TEXT_FORMATS:
        if spark is not None:
            raise FrameLaneNeededError(f"the {what} is {source.format}, which Spark reads")
        refuse_missing(on_days(source.path, day), source.format, what)
        path = as_pattern(source.path, day)
        return text_source(path, source.format, source.options, source.fields, where, roles, plan, what)
    if source.path is None or source.format != "parquet" or source.options:
        raise FrameLaneNeededError(f"the {what} is not plain Parquet named by path")
    refuse_missing(on_days(source.path, day), source.format, what)
    path, types = as_pattern(source.path, day), source.partition_types
    return parquet_source(path, where, roles, plan, what, spark, types, opened)


def read_impressions(
    spark: SparkSession,
    source: Input | Truth,
    day: str,
    what: str = "input",
    roles: Roles | None = None,
    opened: Mapping[str, ParquetInput] | None = None,
    plan: Plan | None = None,
    folders: dict[str, FolderColumns] | None = None,
) -> DataFrame:
    """The rows of ``source`` for ``day``; ``what`` names it in sentences: input or truth.

    ``opened`` has the files of each side that somebody has looked at before, and ``folders`` takes the columns of their
    folders. Raises :class:`InputError` when the
    source is missing or cannot be read as what it is said to be, or where some of its files lack a column of ``roles``.
    Texts become numbers where ``roles`` and ``plan`` ask for these.
    """
    name = on_day(source.path or f"table {source.table}", day)
    kind = what if source.path is None else f"{source.format} {what}"
    condition = None if source.where is None else on_day(source.where, day)
    try:
        if source.path is not None:
            refuse_missing(on_days(source.path, day), source.format, what)
        if source.path is not None and source.format in FILE_FORMATS:
            read = functools.partial(
                frame_of_files,
                spark,
                as_pattern(source.path, day),
                roles,
                what,
                source.partition_types,
                condition,
                source.format,
                opened=(opened or {}).get(what),
                found=folders,
            )
            if roles is not None and plan is not None and source.format in TEXT_FORMATS:
                from sparkrank.engines.spark.text_files import text_frame

                needed = needed_columns(roles, plan)
                frame = text_frame(read, source.format, source.options, source.fields, roles, needed, what)
            else:
                frame = read(options=source.options)
        else:
            with told_by_reading(name, kind, what):
                if source.path is not None:
                    reader = spark.read.format(source.format).options(**{**ALL_FILES, **source.options})
                    frame = reader.load(as_pattern(source.path, day))
                else:
                    frame = spark.read.table(on_day(str(source.table), day))
        if condition is None:
            return frame
        with told_by_reading(f"{name} where {condition}", kind, what), told_by_condition(what, condition):
            frame = frame.where(condition)
            frame.schema  # noqa: B018 - over Spark Connect nobody looks at the condition before
            return frame
    except Exception as error:
        if "DATA_SOURCE_NOT_" in str(error):  # raised by the JVM, and not converted by pyspark
            raise SpecError(
                f"{what}.format is {source.format}, which this Spark cannot read{_package(spark, source)}"
            ) from error
        raise


def _package(spark: SparkSession, source: Input | Truth) -> str:
    """The package by which ``spark`` would read the format of ``source``, as the end of a sentence."""
    version, scala = ".".join(spark.version.split(".")[:2]), "2.13"
    packages = {
        "delta": f"io.delta:delta-spark_{scala}",
        "hudi": f"org.apache.hudi:hudi-spark{version}-bundle_{scala}",
        "iceberg": f"org.apache.iceberg:iceberg-spark-runtime-{version}_{scala}",
        "avro": f"org.apache.spark:spark-avro_{scala}",
    }
    package = packages.get(source.format.lower())
    return (
        "" if package is None else f": add {package} to spark.jars.packages, in the version that fits Spark {version}"
    )
