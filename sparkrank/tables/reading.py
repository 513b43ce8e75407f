"""Reading the impressions of a day through Spark: files or a table, narrowed to the day."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sparkrank.errors import InputError, SpecError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from sparkrank.spec.models import Input

# Errors by which Spark says that there is nothing at a place, or nothing of this kind.
_NOTHING_THERE = ("PATH_NOT_FOUND", "TABLE_OR_VIEW_NOT_FOUND", "UNABLE_TO_INFER_SCHEMA")


def read_impressions(spark: SparkSession, source: Input, day: str) -> DataFrame:
    """The rows of ``source`` for ``day``.

    Raises :class:`InputError` when the source is missing or cannot be read as what it is said to be.
    """
    from pyspark.errors import AnalysisException

    name = (source.path or f"table {source.table}").replace("{date}", day)
    try:
        if source.path is not None:
            frame = spark.read.format(source.format).options(**source.options).load(name)
        else:
            frame = spark.read.table(str(source.table).replace("{date}", day))
        return frame if source.where is None else frame.where(source.where.replace("{date}", day))
    except AnalysisException as error:
        condition = error.getCondition() or ""
        if condition.startswith(_NOTHING_THERE):
            raise InputError(f"there is no {source.format} input at {name}") from error
        reason = " ".join(str(error).split("\n")[0].split())
        raise InputError(f"the input {name} cannot be read: {reason}") from error
    except Exception as error:
        if "DATA_SOURCE_NOT_FOUND" in str(error):  # raised by the JVM, and not converted by pyspark
            raise SpecError(f"input.format is {source.format}, which this Spark cannot read") from error
        raise
