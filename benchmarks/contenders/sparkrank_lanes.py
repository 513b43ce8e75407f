"""sparkrank itself, one contender for each lane."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from benchmarks.contenders.contender import GROUP, SCORE, Value, Work

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class FrameLane:
    """A Spark DataFrame in, Spark DataFrames out."""

    name = "sparkrank-frame"

    def __init__(self, work: Work, spark: SparkSession) -> None:
        self.table = work.output / self.name
        self._work, self._spark = work, spark

    def prepare(self) -> None:
        self._log = self._spark.read.parquet(str(self._work.log))

    def run(self) -> None:
        import sparkrank as sr

        work = self._work
        with sr.evaluate(
            self._log, work.metrics, group=GROUP, score=SCORE, label=work.label, group_table=True
        ) as evaluation:
            if evaluation.groups is not None:
                evaluation.groups.write.mode("overwrite").parquet(str(self.table))
            self._metrics = evaluation.to_pandas()

    def values(self) -> Mapping[str, Value]:
        """Read by the text that was asked for: the table holds the canonical one."""
        from sparkrank.metrics import Metric

        rows = self._metrics.set_index("metric")
        asked = {metric: rows.loc[str(Metric.parse(metric))] for metric in self._work.metrics}
        return {
            metric: Value(float(row["value"]), 0.0 if row.isna()["error_bound"] else float(row["error_bound"]))
            for metric, row in asked.items()
        }
