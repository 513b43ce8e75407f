"""The impressions of a day: the lane by which they are read, and reading them through Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sparkrank.engine.lanes import FrameLane, FrameLaneNeededError, Lane, lane_for_sides, parquet_source
from sparkrank.engine.reading.files import ALL_FILES
from sparkrank.engine.reading.sources import Sides, Source
from sparkrank.engine.spark.failures import told_by_reading
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
    if lane == "frame":
        reason = "engine.lane is frame"
    else:
        try:
            sides = Sides(
                _arrow_source(source, day, roles, plan, spark, "input"),
                None
                if truth is None or roles.truth is None
                else _arrow_source(truth, day, roles.truth, plan, spark, "truth"),
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
    beside = None if truth is None else read_impressions(spark, truth, day, "truth")
    return FrameLane(read_impressions(spark, source, day), roles, beside, reason)


def _arrow_source(
    source: Input | Truth, day: str, roles: Roles, plan: Plan, spark: SparkSession | None, what: str
) -> Source:
    if source.path is None or source.format != "parquet" or source.options:
        raise FrameLaneNeededError(f"the {what} is not plain Parquet named by path")
    where = None if source.where is None else source.where.replace("{date}", day)
    return parquet_source(source.path.replace("{date}", day), where, roles, plan, what, spark)


def read_impressions(spark: SparkSession, source: Input | Truth, day: str, what: str = "input") -> DataFrame:
    """The rows of ``source`` for ``day``; ``what`` names it in sentences: input or truth.

    Raises :class:`InputError` when the source is missing or cannot be read as what it is said to be.
    """
    name = (source.path or f"table {source.table}").replace("{date}", day)
    kind = what if source.path is None else f"{source.format} {what}"
    try:
        with told_by_reading(name, kind, what):
            if source.path is not None:
                frame = spark.read.format(source.format).options(**{**ALL_FILES, **source.options}).load(name)
            else:
                frame = spark.read.table(str(source.table).replace("{date}", day))
        if source.where is None:
            return frame
        condition = source.where.replace("{date}", day)
        with told_by_reading(f"{name} where {condition}", kind, what):
            return frame.where(condition)
    except Exception as error:
        if "DATA_SOURCE_NOT_FOUND" in str(error):  # raised by the JVM, and not converted by pyspark
            raise SpecError(f"{what}.format is {source.format}, which this Spark cannot read") from error
        raise
