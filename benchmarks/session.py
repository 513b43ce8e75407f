"""The Spark session of the benchmarks: every setting that any Spark contender runs under, with its reason."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

SETTINGS = {
    # The UI keeps every plan and metric of every run in the heap, and opens a port.
    "spark.ui.enabled": "false",
    # A progress bar redraws over what the runner prints.
    "spark.ui.showConsoleProgress": "false",
    # Warnings repeat in every run. What fails, raises.
    "spark.log.level": "ERROR",
    # One machine: no open port, and no need for a host name that resolves.
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    # A worker imports numpy, pandas and pyarrow once, before anything is timed.
    "spark.python.worker.reuse": "true",
    # Idle workers stay for the whole run, however long another contender takes in between.
    "spark.python.worker.idleTimeoutSeconds": "0",
    # As conf/spark-defaults.conf recommends it, for every contender that crosses to Python.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # The day's score blocks are put in order in one partition, on purpose; and a group table has one codec everywhere.
    "spark.sql.parquet.compression.codec": "zstd",
}

# Enough for 20 million rows; the heap is fixed so that no run pays for growing it.
DRIVER_MEMORY = "6g"
# Partitions of a shuffle for each core: tasks end together, and a partition of 20 million rows still sorts in memory.
PARTITIONS_PER_CORE = 4


def start(cores: int, driver_memory: str = DRIVER_MEMORY) -> SparkSession:
    """A session on ``cores`` threads of this machine."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable  # the default is whatever python3 is on the path
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder.master(f"local[{cores}]").appName("sparkrank-benchmarks")
    for key, value in SETTINGS.items():
        builder = builder.config(key, value)
    builder = builder.config("spark.sql.shuffle.partitions", str(PARTITIONS_PER_CORE * cores))
    builder = builder.config("spark.driver.memory", driver_memory)
    return builder.config("spark.driver.extraJavaOptions", f"-Xms{driver_memory}").getOrCreate()


def start_workers(spark: SparkSession, cores: int) -> None:
    """One Python worker for each core, with everything imported that the contenders import."""

    def import_all(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import numpy  # noqa: F401
        import pandas  # noqa: F401
        import pyarrow.compute  # noqa: F401

        import sparkrank.bucket  # noqa: F401

        yield from batches

    rows = spark.range(0, cores, 1, cores)
    rows.mapInArrow(import_all, rows.schema).write.format("noop").mode("overwrite").save()
