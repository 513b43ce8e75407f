"""The evaluator of Spark ML in Spark's own tuning, saved and loaded by Spark."""

from __future__ import annotations

import doctest
import json
import logging
import math
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.ml.base import Estimator, Model
from pyspark.ml.classification import LogisticRegression
from pyspark.ml.linalg import Vectors
from pyspark.ml.recommendation import ALS
from pyspark.ml.tuning import CrossValidator, ParamGridBuilder

from sparkrank.engines.spark import frame
from sparkrank.engines.spark.batches import arrow_batches
from sparkrank.ml import RankingMetricEvaluator
from tests.support.examples import EXAMPLES, PROJECT, printed

if TYPE_CHECKING:
    from pyspark import RDD, SparkContext
    from pyspark.sql import DataFrame, SparkSession

QUALITIES = (5.0, 4.0, 2.0, 1.0)  # of four items: each user rates them so


@pytest.fixture(scope="module")
def ratings(spark: SparkSession) -> DataFrame:
    """Eight users rate four items alike. A user's two folds have every other item. ``wrong`` is the other way round."""
    rows = [
        (user, item, quality, 6 - quality, (user + item) % 2)
        for user in range(8)
        for item, quality in enumerate(QUALITIES)
    ]
    return spark.createDataFrame(rows, "user int, item int, rating double, wrong double, fold int").coalesce(1)


@pytest.fixture(scope="module")
def clicks(spark: SparkSession) -> DataFrame:
    """Twenty users were shown two items and clicked one. ``signal`` is the click."""
    rows = [(user, float(click), Vectors.dense([click])) for user in range(20) for click in (0, 1)]
    return spark.createDataFrame(rows, ["user", "label", "signal"]).coalesce(1)


def als() -> ALS:
    columns = {"userCol": "user", "itemCol": "item", "ratingCol": "rating"}
    return ALS(**columns, rank=1, maxIter=1, regParam=0.01, seed=7, numUserBlocks=1, numItemBlocks=1)


class Known(Estimator):
    """Predicts the rating: nothing has to be fitted."""

    def _fit(self, dataset: DataFrame) -> Model:
        return Predicting()


class Predicting(Model):
    def _transform(self, dataset: DataFrame) -> DataFrame:
        return dataset.withColumn("prediction", dataset.rating)


def test_cross_validation_chooses_the_als_that_ranks_best(ratings: DataFrame) -> None:
    """Trained on what users rated, it ranks as they do; on the reverse, the lower of two grades stands first."""
    estimator = als()
    evaluator = RankingMetricEvaluator(metricName="ndcg@10", groupCol=["user"], labelCol="rating")
    grid = ParamGridBuilder().addGrid(estimator.ratingCol, ["wrong", "rating"]).build()
    model = CrossValidator(
        estimator=estimator, estimatorParamMaps=grid, evaluator=evaluator, numFolds=2, foldCol="fold", parallelism=2
    ).fit(ratings)
    second = 1 / math.log2(3)  # the discount of the second place; users have the grades 5 and 2, or 4 and 1
    reverse = ((2 + 5 * second) / (5 + 2 * second) + (1 + 4 * second) / (4 + 1 * second)) / 2
    assert model.avgMetrics == pytest.approx([reverse, 1.0], abs=1e-12)
    assert evaluator.evaluate(model.transform(ratings)) == pytest.approx(1.0)


def test_probabilities_of_a_classifier(clicks: DataFrame, caplog: pytest.LogCaptureFixture) -> None:
    """The click itself as a feature separates the rows: the first is the click, whichever column tells it."""
    fitted = LogisticRegression(maxIter=5, featuresCol="signal").fit(clicks)
    evaluator = RankingMetricEvaluator(metricName="logloss", predictionCol="probability")
    scored = fitted.transform(clicks)
    assert evaluator.evaluate(scored) < 0.1
    for column in ("probability", "rawPrediction", "probability[1]"):
        assert evaluator.evaluate(scored, {evaluator.metricName: "auc", evaluator.predictionCol: column}) == 1
    assert evaluator.evaluate(scored, {evaluator.metricName: "rr", evaluator.groupCol: "user"}) == 1
    assert [record for record in caplog.records if record.name.startswith("sparkrank.ml")] == []
    with caplog.at_level(logging.WARNING, "sparkrank.ml"):  # a class in place of a score
        RankingMetricEvaluator(metricName="auc").evaluate(scored)
    assert 'predictionCol="probability" evaluates its scores' in caplog.records[-1].getMessage()


def test_threads_of_the_tuning_take_the_fast_way(ratings: DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark starts them without an active session, and the batches of a DataFrame are those of the active one."""
    found: list[bool] = []

    def spy(rows: DataFrame, context: SparkContext) -> RDD[bytes] | None:
        batches = arrow_batches(rows, context)
        found.append(batches is not None)
        return batches

    monkeypatch.setattr(frame, "arrow_batches", spy)
    evaluator = RankingMetricEvaluator(metricName="ndcg@10", groupCol="user", labelCol="rating", buckets=1)
    tuned = CrossValidator(
        estimator=Known(), estimatorParamMaps=[{}], evaluator=evaluator, numFolds=2, foldCol="fold", parallelism=2
    ).fit(ratings)
    assert tuned.avgMetrics == [1.0]
    assert found == [True, True]


def test_saved_and_loaded(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "evaluator")
    evaluator = RankingMetricEvaluator(metricName="hits@5", groupCol=["user", "week"], preset="ranx", buckets=3)
    evaluator.save(path)
    loaded = RankingMetricEvaluator.load(path)
    assert (loaded.uid, loaded.extractParamMap()) == (evaluator.uid, evaluator.extractParamMap())
    (metadata,) = (json.loads(row.value) for row in spark.read.text(f"{path}/metadata").collect())
    assert metadata["class"] == "sparkrank.ml.RankingMetricEvaluator"  # the public name, which stays


@pytest.mark.tools
def test_the_examples_of_the_page(spark: SparkSession) -> None:
    page = (PROJECT / "docs" / "spark_ml.md").read_text(encoding="utf-8")
    blocks = "".join(re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL))
    examples = doctest.DocTestParser().get_doctest(blocks, {"spark": spark}, "spark_ml.md", None, None)
    assert len(examples.examples) > 15
    told: list[str] = []
    assert doctest.DocTestRunner().run(examples, out=told.append).failed == 0, "".join(told)


@pytest.mark.tools
def test_the_example_tunes_als(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It says the value of each try, chooses the best of them, and stops its session."""
    stopped, partitions = [], spark.conf.get("spark.sql.shuffle.partitions")
    monkeypatch.setattr(type(spark), "stop", lambda session: stopped.append("once"))
    monkeypatch.syspath_prepend(EXAMPLES)
    try:
        text = printed(EXAMPLES / "tune_als.py", capsys)
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", partitions)  # the example has its own
    assert stopped == ["once"]
    values = {float(value): by for by, value in re.findall(r"^(regParam=\S+) +ndcg@10 (\S+)$", text, re.MULTILINE)}
    assert len(values) == 3
    chosen = re.search(r"^The best is (regParam=\S+): ndcg@10 of the held-out ratings is (\S+)\.$", text, re.MULTILINE)
    assert chosen is not None
    assert chosen[1] == values[max(values)]
    assert all(0.5 < value < 1 for value in (*values, float(chosen[2])))
