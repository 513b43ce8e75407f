"""The least that any evaluation on Spark must do: bring the rows of each group together. Nothing is computed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.contenders.contender import GROUP, Values, Work

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Repartition:
    """Read the columns that count, shuffle them by group, drop them."""

    name = "repartition"
    table = None

    def __init__(self, work: Work, spark: SparkSession) -> None:
        self._work, self._spark = work, spark

    def prepare(self) -> None:
        self._log = self._spark.read.parquet(str(self._work.log)).select(GROUP, *self._work.scores, self._work.label)

    def run(self) -> None:
        self._log.repartition(GROUP).write.format("noop").mode("overwrite").save()

    def values(self) -> Values:
        return {}
