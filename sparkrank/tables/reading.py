"""The impressions of a day: the lane by which they are read, and reading them through Spark."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from sparkrank.engine.lanes import FrameLane, FrameLaneNeededError, Lane, lane_for_sides, parquet_source
from sparkrank.engine.reading.files import ALL_FILES
from sparkrank.engine.reading.parquet import ParquetInput
from sparkrank.engine.reading.sources import Sides, Source
from sparkrank.engine.spark.failures import told_by_reading
from sparkrank.engine.spark.frame_files import FILE_FORMATS, frame_of_files
from sparkrank.errors import InputError, SpecError, StoreError
from sparkrank.metrics import Plan
from sparkrank.roles import Roles
from sparkrank.tables.days import local_path

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from sparkrank.spec.sections import Input, Truth


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
            return lane_for_sides(sides, None if lane == "local" else spark)
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
    beside = None if truth is None else read_impressions(spark, truth, day, "truth", roles.truth, opened)
    return FrameLane(read_impressions(spark, source, day, "input", roles, opened), roles, beside, reason)


def _arrow_source(
    source: Input | Truth,
    day: str,
    roles: Roles,
    plan: Plan,
    spark: SparkSession | None,
    what: str,
    opened: dict[str, ParquetInput],
) -> Source:
    if source.path is None or source.format != "parquet" or source.options:
        raise FrameLaneNeededError(f"the {what} is not plain Parquet named by path")
    where = None if source.where is None else source.where.replace("{date}", day)
    path, types = source.path.replace("{date}", day), source.partition_types
    return parquet_source(path, where, roles, plan, what, spark, types, opened)


def read_impressions(
    spark: SparkSession,
    source: Input | Truth,
    day: str,
    what: str = "input",
    roles: Roles | None = None,
    opened: Mapping[str, ParquetInput] | None = None,
) -> DataFrame:
    """The rows of ``source`` for ``day``; ``what`` names it in sentences: input or truth.

    ``opened`` has the files of each side that somebody has looked at before. Raises :class:`InputError` when the
    source is missing or cannot be read as what it is said to be, or where some of its files lack a column of ``roles``.
    """
    name = (source.path or f"table {source.table}").replace("{date}", day)
    kind = what if source.path is None else f"{source.format} {what}"
    condition = None if source.where is None else source.where.replace("{date}", day)
    try:
        if source.path is not None and source.format.lower() in FILE_FORMATS:
            frame = frame_of_files(
                spark,
                name,
                roles,
                what,
                source.partition_types,
                condition,
                source.format.lower(),
                source.options,
                (opened or {}).get(what),
            )
        else:
            with told_by_reading(name, kind, what):
                if source.path is not None:
                    frame = spark.read.format(source.format).options(**{**ALL_FILES, **source.options}).load(name)
                else:
                    frame = spark.read.table(str(source.table).replace("{date}", day))
        if condition is None:
            return frame
        with told_by_reading(f"{name} where {condition}", kind, what):
            return frame.where(condition)
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
