"""sparkrank's functions of columns: one aggregation over all groups, and one over all rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.contenders import sql
from benchmarks.contenders.contender import GROUP, Value, Values, Work

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Columns:
    """``groupBy(group).agg(srf.metrics(...))``, a struct for each model, and one ``agg`` for the day of each model."""

    name = "sparkrank-columns"

    def __init__(self, work: Work, spark: SparkSession) -> None:
        self.table = work.output / self.name
        self._work, self._spark = work, spark

    def prepare(self) -> None:
        from pyspark.sql import functions as F

        from sparkrank import functions as srf
        from sparkrank.metrics import Metric

        work = self._work
        of_groups = sql.of_groups(work.metrics)
        self._day = [metric for metric in work.metrics if metric not in of_groups]
        fields = {sql.column(metric): str(Metric.parse(metric)) for metric in of_groups}
        log = self._spark.read.parquet(str(work.log))
        relevant = F.count(F.when(F.col(work.label) > 0, 1)).alias("n_relevant")
        structs = [srf.metrics(of_groups, score, work.label, of="rows").alias(score) for score in work.scores]
        grouped = log.groupBy(GROUP).agg(F.count("*").alias("n_rows"), relevant, *structs)
        of_models = [F.struct(F.lit(score).alias("model"), F.col(score).alias("values")) for score in work.scores]
        rows = grouped.withColumn("of_model", F.explode(F.array(*of_models)))
        self._groups = rows.select(
            "of_model.model",
            GROUP,
            "n_rows",
            F.col("n_rows").alias("n_retrieved"),
            "n_relevant",
            *(F.col("of_model.values").getField(text).alias(name) for name, text in fields.items()),
        )
        self._rows = log

    def run(self) -> None:
        from pyspark.sql import functions as F

        from sparkrank import functions as srf

        self._groups.write.mode("overwrite").parquet(str(self.table))
        means = [F.expr(mean) for mean in sql.means(self._work.metrics)]
        table = self._spark.read.parquet(str(self.table))
        self._means = {row["model"]: row for row in table.groupBy("model").agg(*means).collect()}
        if self._day:
            days = {score: srf.metrics(self._day, score, self._work.label, of="batches") for score in self._work.scores}
            self._of_day = {score: self._rows.agg(day.alias("day")).first()["day"] for score, day in days.items()}

    def values(self) -> Values:
        return {
            score: {
                **{
                    metric: Value(self._means[score][sql.column(metric)])
                    for metric in sql.of_groups(self._work.metrics)
                },
                **{metric: Value(self._of_day[score][index], 1e-3) for index, metric in enumerate(self._day)},
            }
            for score in self._work.scores
        }
