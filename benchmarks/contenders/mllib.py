"""Spark's own metrics: RankingMetrics and BinaryClassificationMetrics.

Through the evaluators of spark.ml, which run the same code without sending rows through Python. RankingMetrics takes
two lists a group and makes a pass over them for every metric, so they are cached. It has no reciprocal rank, no AUC
inside groups and no values of single groups.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from benchmarks.contenders.contender import GROUP, Value, Values, Work, split

if TYPE_CHECKING:
    from pyspark.ml._typing import RankingEvaluatorMetricType
    from pyspark.sql import SparkSession

# A row's own position stands for its item: it is unique in the list, as RankingMetrics needs it, and short.
LISTS = """
WITH lists AS (
    SELECT sort_array(collect_list(struct(-{score} AS low, rel))) AS list FROM {view} GROUP BY {group}
)
SELECT transform(list, (row, i) -> CAST(i AS DOUBLE)) AS ranked,
    filter(transform(list, (row, i) -> IF(row.rel > 0, CAST(i AS DOUBLE), NULL)), i -> i IS NOT NULL) AS relevant
FROM lists
"""
NAMES: Mapping[str, RankingEvaluatorMetricType] = {
    "ndcg": "ndcgAtK",
    "p": "precisionAtK",
    "r": "recallAtK",
    "ap": "meanAveragePrecision",
    "ap(over=min_k_relevant)": "meanAveragePrecisionAtK",
}


class MLlib:
    """The metrics of the set that Spark ships."""

    name = "mllib"
    table = None

    def __init__(self, work: Work, spark: SparkSession) -> None:
        self._work, self._spark, self._view = work, spark, f"labelled_{work.view}"
        # The gain of RankingMetrics is 2^label - 1, so with more than one grade its NDCG is another metric.
        self._names = {name: mllib for name, mllib in NAMES.items() if not (work.graded and name == "ndcg")}

    def prepare(self) -> None:
        log = self._spark.read.parquet(str(self._work.log))
        log.selectExpr(
            GROUP, *self._work.scores, f"CAST({self._work.label} > 0 AS INT) AS rel"
        ).createOrReplaceTempView(self._view)

    def run(self) -> None:
        self._values = {score: dict(self._evaluate(score)) for score in self._work.scores}

    def _evaluate(self, score: str) -> Iterator[tuple[str, Value]]:
        from pyspark.ml.evaluation import BinaryClassificationEvaluator, RankingEvaluator

        lists = self._spark.sql(LISTS.format(group=GROUP, score=score, view=self._view)).cache()
        # RankingMetrics counts a list without relevant items as 0, and warns of each.
        judged = lists.where("size(relevant) > 0")
        share = judged.count() / lists.count()
        for metric in self._work.metrics:
            name, k = split(metric)
            if name in self._names:
                evaluator = RankingEvaluator(
                    metricName=self._names[name], predictionCol="ranked", labelCol="relevant", k=k or 10
                )
                # Precision is defined for every group, the others are means over groups with relevant rows.
                yield metric, Value(evaluator.evaluate(judged) * (share if name == "p" else 1))
        lists.unpersist()
        if "auc" in self._work.metrics:
            binary = BinaryClassificationEvaluator(rawPredictionCol=score, labelCol="rel", numBins=0)
            yield "auc", Value(binary.evaluate(self._spark.table(self._view)))

    def values(self) -> Values:
        return self._values
