"""Every way that is measured, by the name it has on the command line.

A module here imports the tool it shows only when it prepares to run, so one that is not installed does not hinder the
others.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.contenders import spark_sql
from benchmarks.contenders.contender import Contender, Value, Values, Work
from benchmarks.contenders.duckdb_shapes import ArraysDuckDB, ExactDuckDB, JoinedDuckDB, NovelDuckDB, SlicedDuckDB
from benchmarks.contenders.duckdb_sql import DaysDuckDB, DuckDB
from benchmarks.contenders.floor import Floor
from benchmarks.contenders.list_libraries import JoinedRanx, JoinedRePlay, Recommenders, RecTools, SparkRecommenders
from benchmarks.contenders.mllib import MLlib
from benchmarks.contenders.per_group import PerGroup
from benchmarks.contenders.polars_frames import Polars
from benchmarks.contenders.polars_shapes import JoinedPolars, SlicedPolars
from benchmarks.contenders.ranx_arrays import Ranx
from benchmarks.contenders.repartition import Repartition
from benchmarks.contenders.replay_offline import RePlay
from benchmarks.contenders.sparkrank_columns import Columns
from benchmarks.contenders.sparkrank_jobs import of_work, plain, without
from benchmarks.contenders.sparkrank_lanes import FrameLane, LocalLane, NumpyLane, ScanLane

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FLOOR = "floor"
ROOT = Path(__file__).parents[2]


def python_of(environment: str) -> Path:
    """The Python of an environment beside that of sparkrank, which ``make`` makes of its name."""
    return ROOT / environment / "bin" / "python"


# In the benchmark's own Spark session.
ON_SPARK: Mapping[str, Callable[[Work, SparkSession], Contender]] = {
    "repartition": Repartition,
    FLOOR: Floor,
    "sparkrank-scan": of_work(ScanLane),
    "sparkrank-frame": of_work(FrameLane),
    "sparkrank-columns": Columns,
    "spark-windows": spark_sql.windows,
    "spark-arrays": spark_sql.arrays,
    "mllib": MLlib,
    "per-group": PerGroup,
}

# Of these, the ones whose rows never leave the JVM.
IN_JVM = frozenset({"repartition", "spark-windows", "spark-arrays", "mllib"})


@dataclass(frozen=True)
class Alone:
    """A contender in a process of its own: how it is made there, the tools it needs, and the Python that has them."""

    make: Callable[[Work], Contender]
    tools: tuple[str, ...]
    python: Path = Path(sys.executable)

    @property
    def installed(self) -> bool:
        if self.python == Path(sys.executable):
            return all(importlib.util.find_spec(tool) is not None for tool in self.tools)
        return self.python.exists()


def duckdb(work: Work) -> Contender:
    """The queries for what the work asks."""
    if work.truth is not None:
        return JoinedDuckDB(work)
    if work.slices:
        return SlicedDuckDB(work)
    if work.arrays:
        return ArraysDuckDB(work)
    if work.job == "backfill":
        return DaysDuckDB(work)
    if any("(exact)" in metric for metric in work.metrics):
        return ExactDuckDB(work)
    return (NovelDuckDB if work.needs_item and not work.by_item else DuckDB)(work)


def polars(work: Work) -> Contender:
    """The frames for what the work asks."""
    return (JoinedPolars if work.truth is not None else SlicedPolars if work.slices else Polars)(work)


ALONE: Mapping[str, Alone] = {
    "sparkrank-local": Alone(of_work(LocalLane), ("sparkrank",)),
    "sparkrank-numpy": Alone(NumpyLane, ("sparkrank",)),
    "duckdb": Alone(duckdb, ("duckdb",)),
    "polars": Alone(polars, ("polars",)),
    "ranx": Alone(lambda work: (Ranx if work.truth is None else JoinedRanx)(work), ("ranx", "polars")),
    "replay": Alone(
        lambda work: (RePlay if work.truth is None else JoinedRePlay)(work),
        ("replay", "polars"),
        python_of(".venv-replay"),
    ),
}

# Libraries that know lists with a truth alone, each by the environment of the packages that it wants.
LIST_LIBRARIES: Mapping[str, Alone] = {
    "rectools": Alone(RecTools, ("rectools",), python_of(".venv-rectools")),
    "recommenders": Alone(Recommenders, ("recommenders",), python_of(".venv-recommenders")),
    "recommenders-spark": Alone(SparkRecommenders, ("recommenders",), python_of(".venv-recommenders")),
}

# The lanes without what a shape is about, by name: asked for where a shape has something to do without.
PLAIN_ON_SPARK: Mapping[str, Callable[[Work, SparkSession], Contender]] = {
    plain(lane.name): without(lane) for lane in (ScanLane, FrameLane)
}
PLAIN_ALONE: Mapping[str, Alone] = {plain(LocalLane.name): Alone(without(LocalLane), ("sparkrank",))}

# The most rows that a way is run on, with the reason. What is not here runs on any number.
LARGEST: Mapping[str, tuple[int, str]] = {
    "per-group": (200_000, "a call of Python for every group: two minutes for a million rows"),
    "mllib": (1_000_000, "a pass over all lists for every metric"),
    "replay": (1_000_000, "a call of Python for every user and metric"),
    "ranx": (20_000_000, "holds the whole log in memory several times"),
    "spark-arrays": (20_000_000, "much like spark-windows"),
}

__all__ = [
    "ALONE",
    "FLOOR",
    "IN_JVM",
    "LARGEST",
    "LIST_LIBRARIES",
    "ON_SPARK",
    "PLAIN_ALONE",
    "PLAIN_ON_SPARK",
    "Alone",
    "Contender",
    "Value",
    "Values",
    "Work",
]
