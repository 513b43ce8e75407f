"""sparkrank itself, one contender for each lane."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks.contenders.contender import ITEM, Value, Values, Work, subject

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import SparkSession


class Lane:
    """What the lanes share: one call of :func:`sparkrank.evaluate`, and the metrics it gave."""

    name: str
    lane = "auto"

    def __init__(self, work: Work, spark: SparkSession | None = None) -> None:
        self.table = work.table_of(self.name)
        self._work, self._spark = work, spark

    def prepare(self) -> None:
        self._input: Any = str(self._work.log)
        self._truth: Any = None if self._work.truth is None else str(self._work.truth)
        self._catalog: Any = None if self._work.catalog is None else str(self._work.catalog)
        self._past: Any = str(self._work.past) if self._work.excludes else None

    def run(self) -> None:
        import sparkrank as sr

        evaluation = sr.evaluate(
            self._input,
            self._work.metrics,
            **roles_of(self._work),
            **self._work.asked,
            truth=self._truth,
            catalog=self._catalog,
            exclude=self._past,
            spark=self._spark,
            lane=self.lane,
            group_table=False if self.table is None else str(self.table),
        )
        self._metrics = evaluation.to_pandas()

    def values(self) -> Values:
        return values_of(self._metrics, self._work)


def roles_of(work: Work) -> dict[str, Any]:
    """What the columns of the log are, as :func:`sparkrank.evaluate` is told."""
    roles: dict[str, Any] = {"group": list(work.keys), "score": {score: score for score in work.scores}}
    if work.arrays:
        (score,) = work.scores
        return {"group": list(work.keys), "items": {score: "items"}, "true_items": "true_items"}
    if work.truth is not None or work.needs_item:
        roles["item"] = ITEM
    if work.truth is None:
        roles["label"] = work.label
    if work.weight is not None:
        roles["weight"] = work.weight
    if work.by_item:
        roles["ties"] = "item"
    if work.slices:
        roles["slices"] = [list(columns) for columns in work.slices]
    return roles


def values_of(metrics: pd.DataFrame, work: Work) -> dict[str, dict[str, Value]]:
    """The ``metrics`` by the text that was asked for: the table holds the canonical one."""
    from sparkrank.metrics import Metric

    asked = {str(Metric.parse(metric)): metric for metric in work.metrics}
    names = {",".join(columns): columns for columns in work.slices}
    found: dict[str, dict[str, Value]] = {}
    for row in metrics.fillna({"error_bound": 0.0}).to_dict("records"):
        of = row["model"]
        if row["slice"] in names:
            of = subject(of, names[row["slice"]], row["slice_value"].split(","))
        found.setdefault(of, {})[asked[row["metric"]]] = Value(float(row["value"]), float(row["error_bound"]))
    return found


class FrameLane(Lane):
    """A Spark DataFrame in, Spark DataFrames out."""

    name = "sparkrank-frame"
    lane = "frame"  # auto reads the files of such a DataFrame by Arrow

    def prepare(self) -> None:
        super().prepare()
        if self._spark is not None:
            self._input = self._spark.read.parquet(self._input)
            beside = (self._truth, self._past)
            self._truth, self._past = (path and self._spark.read.parquet(path) for path in beside)


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
