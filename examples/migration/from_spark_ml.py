"""From Spark ML: its RankingEvaluator on a DataFrame of arrays, the same by sparkrank, and that the numbers are equal.

python examples/migration/from_spark_ml.py
"""

from __future__ import annotations

import math
import os
import sys

from pyspark.sql import DataFrame, SparkSession

import sparkrank as sr

# RankingEvaluator takes items as numbers: a is 1, b is 2 and so on. dan has no list.
ROWS = [
    ("ann", [1.0, 2.0, 3.0], [1.0, 3.0]),
    ("bob", [2.0, 5.0, 1.0], [1.0, 4.0, 5.0]),
    ("cat", [3.0, 4.0], [1.0]),
    ("dan", [], [2.0]),
]


def old_numbers(frame: DataFrame) -> dict[str, float]:
    from pyspark.ml.evaluation import RankingEvaluator

    return {
        "ap": RankingEvaluator(metricName="meanAveragePrecision").evaluate(frame),
        "ap@2": RankingEvaluator(metricName="meanAveragePrecisionAtK", k=2).evaluate(frame),
        "p@2": RankingEvaluator(metricName="precisionAtK", k=2).evaluate(frame),
        "r@2": RankingEvaluator(metricName="recallAtK", k=2).evaluate(frame),
        "ndcg@2": RankingEvaluator(metricName="ndcgAtK", k=2).evaluate(frame),
    }


def new_numbers(frame: DataFrame) -> dict[str, float]:
    metrics = ["ap", "ap@2", "p@2", "r@2", "ndcg@2"]
    found = sr.evaluate(frame, metrics, group="user", items="prediction", true_items="label", preset="mllib")
    return {metric: found[metric] for metric in metrics}


def main(spark: SparkSession) -> None:
    frame = spark.createDataFrame(ROWS, "user string, prediction array<double>, label array<double>")
    old = old_numbers(frame)
    for metric, number in new_numbers(frame).items():
        print(f"{metric:20}{old[metric]:10.6f}{number:10.6f}")
        if not math.isclose(number, old[metric], rel_tol=1e-12):
            raise SystemExit(f"{metric} is not equal")


if __name__ == "__main__":
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # else the workers take the first python3 on the path
    main(SparkSession.builder.getOrCreate())
