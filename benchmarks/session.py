"""The Spark session of the benchmarks: every setting that any Spark contender runs under, with its reason."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TypeVar("T")

# Enough for 20 million rows.
DRIVER_MEMORY = "6g"
# Shuffle partitions for each core: few enough that tasks cost nothing, many enough that they end together.
PARTITIONS_PER_CORE = 4

# As conf/spark-defaults.conf recommends: Java's own choice bookkeeps every write of a reference.
COLLECTOR = "-XX:+UseParallelGC"
# With -Xms: no run pays for growing the heap, nor for its pages: a new page costs a virtual machine microseconds.
PAGES = "-XX:+AlwaysPreTouch -XX:+UseTransparentHugePages"

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
    # As conf/spark-defaults.conf recommends for the nightly job. Those of the shuffle suit packed pieces, and cost a
    # shuffle of single rows something: docs/performance.md says how much.
    "spark.executorEnv.MIMALLOC_PURGE_DELAY": "600000",
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.shuffle.checksum.algorithm": "CRC32C",
    "spark.shuffle.compress": "false",
    "spark.shuffle.sort.bypassMergeThreshold": "1",
    # What a query has shuffled goes when it ends, as with sparkrank: each run would write to new pages otherwise.
    "spark.sql.classic.shuffleDependency.fileCleanup.enabled": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # One codec for everybody's group table. DuckDB, Polars and Spark all know it.
    "spark.sql.parquet.compression.codec": "zstd",
}

# What the contenders' Python workers import.
IMPORTED = ("numpy", "pandas", "pyarrow.compute", "sparkrank.bucket", "benchmarks.contenders.per_group")


def settings(cores: int, driver_memory: str) -> dict[str, str]:
    """:data:`SETTINGS` and those that depend on the run."""
    return {
        **SETTINGS,
        "spark.master": f"local[{cores}]",
        "spark.sql.shuffle.partitions": str(PARTITIONS_PER_CORE * cores),
        "spark.driver.memory": driver_memory,
        "spark.driver.extraJavaOptions": f"{COLLECTOR} -Xms{driver_memory} {PAGES}",
    }


def start(cores: int, driver_memory: str) -> SparkSession:
    """A session on ``cores`` threads of this machine."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable  # the default is whatever python3 is on the path
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder.appName("sparkrank-benchmarks")
    for key, value in settings(cores, driver_memory).items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def start_workers(spark: SparkSession, cores: int) -> None:
    """Python workers for each core, with :data:`IMPORTED` imported: one for RDDs, one for what Spark SQL runs.

    Spark ends workers that have been idle for a minute, which another contender may well take.
    """

    def import_all(rows: Iterable[T]) -> Iterable[T]:
        for module in IMPORTED:
            importlib.import_module(module)
        yield from rows

    rows = spark.range(0, cores, 1, cores)
    rows.mapInArrow(import_all, rows.schema).write.format("noop").mode("overwrite").save()
    spark.sparkContext.parallelize(range(cores), cores).mapPartitions(import_all).count()
