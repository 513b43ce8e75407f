"""sparkrank itself, one contender for each lane."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks.contenders.contender import GROUP, Value, Values, Work

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Lane:
    """What the lanes share: one call of :func:`sparkrank.evaluate`, and the metrics it gave."""

    name: str

    def __init__(self, work: Work, spark: SparkSession | None = None) -> None:
        self.table = work.output / self.name
        self._work, self._spark = work, spark

    def prepare(self) -> None:
        self._input: Any = str(self._work.log)

    def run(self) -> None:
        import sparkrank as sr

        work = self._work
        scores = {score: score for score in work.scores}
        roles: dict[str, Any] = {"group": GROUP, "score": scores, "label": work.label}
        evaluation = sr.evaluate(self._input, work.metrics, **roles, spark=self._spark, group_table=str(self.table))
        self._metrics = evaluation.to_pandas()

    def values(self) -> Values:
        """Read by the text that was asked for: the table holds the canonical one."""
        from sparkrank.metrics import Metric

        canonical = {metric: str(Metric.parse(metric)) for metric in self._work.metrics}
        rows = self._metrics.fillna({"error_bound": 0.0}).set_index(["model", "metric"])
        found = {place: Value(float(row["value"]), float(row["error_bound"])) for place, row in rows.iterrows()}
        return {
            score: {metric: found[score, text] for metric, text in canonical.items()} for score in self._work.scores
        }


class FrameLane(Lane):
    """A Spark DataFrame in, Spark DataFrames out."""

    name = "sparkrank-frame"

    def prepare(self) -> None:
        self._input = self._spark.read.parquet(str(self._work.log)) if self._spark else None


class ScanLane(Lane):
    """A path in, read by Arrow in Spark's tasks; Spark DataFrames out."""

    name = "sparkrank-scan"


class LocalLane(Lane):
    """A path in, without Spark."""

    name = "sparkrank-local"


class NumpyLane(LocalLane):
    """The same without compiled loops, as where sparkrank was installed without a C++ compiler."""

    name = "sparkrank-numpy"

    def prepare(self) -> None:
        from sparkrank import native

        super().prepare()
        native.COMPILED = False  # of this process, which nobody else uses
