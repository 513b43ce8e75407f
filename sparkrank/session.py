"""The Spark session of a command."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sparkrank.errors import SparkrankError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Buckets come over about a tenth faster in Arrow batches of this many rows than in Spark's own default, which is
# taken as "not set" (docs/performance.md).
BATCH_ROWS, SPARK_BATCH_ROWS = "100000", "10000"
_BATCH_ROWS = "spark.sql.execution.arrow.maxRecordsPerBatch"


def spark_session(name: str) -> SparkSession:
    """The session that is there, or a new one called ``name``; raises :class:`SparkrankError` without pyspark."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise SparkrankError(
            "there is no pyspark: run through spark-submit, install sparkrank's extra spark, or set engine.lane: local"
        ) from None
    quieten_pyspark()
    spark = SparkSession.builder.appName(name).getOrCreate()
    if spark.conf.get(_BATCH_ROWS) == SPARK_BATCH_ROWS:
        spark.conf.set(_BATCH_ROWS, BATCH_ROWS)
    return spark


def quieten_pyspark() -> None:
    """What PySpark raises with a place in a query it also writes to stderr as JSON: here a sentence says it."""
    from pyspark.logger import PySparkLogger

    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(name).disabled = True
