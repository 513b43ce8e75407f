"""Every way that is measured, by the name it has on the command line.

A module here imports the tool it shows only when it prepares to run, so one that is not installed hinders nobody else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from benchmarks.contenders import spark_sql
from benchmarks.contenders.contender import Contender, Value, Work
from benchmarks.contenders.duckdb_sql import DuckDB
from benchmarks.contenders.mllib import MLlib
from benchmarks.contenders.per_group import PerGroup
from benchmarks.contenders.polars_frames import Polars
from benchmarks.contenders.repartition import Repartition
from benchmarks.contenders.sparkrank_lanes import FrameLane, LocalLane, ScanLane

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BASELINE = "repartition"

# In the benchmark's own Spark session.
ON_SPARK: Mapping[str, Callable[[Work, SparkSession], Contender]] = {
    BASELINE: Repartition,
    "sparkrank-frame": FrameLane,
    "sparkrank-scan": ScanLane,
    "spark-windows": spark_sql.windows,
    "spark-arrays": spark_sql.arrays,
    "mllib": MLlib,
    "per-group": PerGroup,
}

# Of these, the ones whose rows never leave the JVM.
IN_JVM = frozenset({BASELINE, "spark-windows", "spark-arrays", "mllib"})

# Each in a process of its own.
ALONE: Mapping[str, Callable[[Work], Contender]] = {
    "sparkrank-local": LocalLane,
    "duckdb": DuckDB,
    "polars": Polars,
}

__all__ = ["ALONE", "BASELINE", "IN_JVM", "ON_SPARK", "Contender", "Value", "Work"]
