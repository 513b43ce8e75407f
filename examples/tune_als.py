"""Tunes ALS by ndcg@10: which regularisation ranks best what users rate, in two folds of the MovieLens sample.

The sample is that of examples/movielens.py, which every Spark has: 1,501 ratings of 100 films by 30 users. A fifth is
held out. Of the rest every rating is in one of two folds, by a rule that looks at the ids alone. ``ndcg@10`` takes the
ratings for grades. Films that are only in the other fold get no rating from ALS, and are left out of that fold.

    python examples/tune_als.py
"""

from __future__ import annotations

import os
import sys

from movielens import read_ratings, sample_file, split_ratings
from pyspark.ml.recommendation import ALS
from pyspark.ml.tuning import CrossValidator, CrossValidatorModel, ParamGridBuilder
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from sparkrank.ml import RankingMetricEvaluator

REGULARISATION = [0.01, 0.1, 1.0]


def evaluator_of_films() -> RankingMetricEvaluator:
    """What ALS is tuned by: the rows of a user are one ranking, by the rating that ALS expects."""
    return RankingMetricEvaluator(metricName="ndcg@10", groupCol="user", predictionCol="prediction", labelCol="rating")


def tune(train: DataFrame) -> CrossValidatorModel:
    """The models that two folds were tried with, and the one that is fitted to all of ``train`` by the best value."""
    als = ALS(
        userCol="user",
        itemCol="item",
        ratingCol="rating",
        rank=8,
        maxIter=5,
        seed=7,
        # One block each: sums over blocks come in no fixed order, and the last bits would differ from run to run.
        numUserBlocks=1,
        numItemBlocks=1,
        coldStartStrategy="drop",  # a NaN is no score, and the evaluator refuses it
    )
    folds = train.withColumn("fold", ((7 * F.col("user") + 3 * F.col("item")) % 2).cast("int"))
    return CrossValidator(
        estimator=als,
        estimatorParamMaps=ParamGridBuilder().addGrid(als.regParam, REGULARISATION).build(),
        evaluator=evaluator_of_films(),
        numFolds=2,
        foldCol="fold",
        parallelism=2,
    ).fit(folds)


def main() -> None:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # else workers run python3 of the PATH
    spark = (
        SparkSession.builder.appName("tune_als")
        .config("spark.sql.shuffle.partitions", 2)  # 1,501 rows: the default of 200 is mostly waiting
        .getOrCreate()
    )
    try:
        train, test = split_ratings(read_ratings(spark, sample_file()).coalesce(1).cache())
        tuned = tune(train)
        held_out = evaluator_of_films().evaluate(tuned.transform(test))
    finally:
        spark.stop()
    for regularisation, value in zip(REGULARISATION, tuned.avgMetrics, strict=True):
        print(f"regParam={regularisation:<5} ndcg@10 {value:.6f}")
    best = REGULARISATION[tuned.avgMetrics.index(max(tuned.avgMetrics))]
    print(f"The best is regParam={best}: ndcg@10 of the held-out ratings is {held_out:.6f}.")


if __name__ == "__main__":
    main()
