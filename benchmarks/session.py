"""The Spark session of the benchmarks: every setting that any Spark contender runs under, with its reason."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

# Enough for 20 million rows.
DRIVER_MEMORY = "6g"
# Shuffle partitions for each core: few enough that tasks cost nothing, many enough that they end together.
PARTITIONS_PER_CORE = 4

SETTINGS = {
    # The UI keeps every plan and metric of every run in the heap, and opens a port.
    "spark.ui.enabled": "false",
    # A progress bar redraws over what the runner prints.
    "spark.ui.showConsoleProgress": "false",
    # Warnings would repeat in every run. What fails, raises.
    "spark.log.level": "ERROR",
    # One machine: no open port, and no need for a host name that resolves.
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    # A worker imports numpy, pandas and pyarrow once, before anything is timed.
    "spark.python.worker.reuse": "true",
    # As conf/spark-defaults.conf recommends for the nightly job.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # One codec for everybody's group table. DuckDB, Polars and Spark all know it.
    "spark.sql.parquet.compression.codec": "zstd",
}

# What the contenders' Python workers import.
IMPORTED = ("numpy", "pandas", "pyarrow.compute", "sparkrank.bucket", "benchmarks.contenders.per_group")


def start(cores: int, driver_memory: str) -> SparkSession:
    """A session on ``cores`` threads of this machine."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable  # the default is whatever python3 is on the path
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder.master(f"local[{cores}]").appName("sparkrank-benchmarks")
    for key, value in SETTINGS.items():
        builder = builder.config(key, value)
    builder = builder.config("spark.sql.shuffle.partitions", str(PARTITIONS_PER_CORE * cores))
    return (
        builder.config("spark.driver.memory", driver_memory)
        .config("spark.driver.extraJavaOptions", f"-Xms{driver_memory}")  # no run pays for growing the heap
        .getOrCreate()
    )


def start_workers(spark: SparkSession, cores: int) -> None:
    """One Python worker for each core, with :data:`IMPORTED` imported.

    Spark ends workers that have been idle for a minute, which another contender may well take.
    """

    def import_all(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for module in IMPORTED:
            importlib.import_module(module)
        yield from batches

    rows = spark.range(0, cores, 1, cores)
    rows.mapInArrow(import_all, rows.schema).write.format("noop").mode("overwrite").save()
