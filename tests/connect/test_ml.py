"""The evaluator of Spark ML over Spark Connect, in both of Spark's kinds of tuning, saved and loaded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.ml import connect, tuning
from pyspark.ml.base import Estimator, Model
from pyspark.ml.connect import tuning as connect_tuning
from pyspark.ml.param import Param, Params
from pyspark.sql import DataFrame, SparkSession

from sparkrank.ml import RankingMetricEvaluator
from sparkrank.ml.connect import RankingMetricEvaluator as OfConnect


class Named(Params):
    name: Param = Param(Params._dummy(), "name", "the column of the predictions")


class Column(Estimator, Named):
    """Learns nothing."""

    def _fit(self, dataset: DataFrame) -> Model:
        return self._copyValues(Predicting())


class Predicting(Model, Named):
    def _transform(self, dataset: DataFrame) -> DataFrame:
        return dataset.withColumn("prediction", dataset[self.getOrDefault("name")])


@pytest.mark.parametrize(
    ("kind", "tuner"), [(RankingMetricEvaluator, tuning), (OfConnect, connect_tuning)], ids=["tuning", "connect"]
)
def test_cross_validation(spark: SparkSession, kind: Any, tuner: Any, tmp_path: Path) -> None:
    """With two evaluations at a time, after which the settings of the session are as they were."""
    before = spark.conf.getAll
    rows = [("a", 0.9, 0.1, 0, 0), ("a", 0.5, 0.2, 1, 0), ("b", 0.7, 0.3, 1, 1)]
    frame = spark.createDataFrame(rows, "user string, worse double, better double, label int, fold int")
    column = Column()
    grid = tuning.ParamGridBuilder().addGrid(column.name, ["worse", "better"]).build()
    evaluator = kind(metricName="rr", groupCol="user", buckets=1)
    tuned = tuner.CrossValidator(
        estimator=column, estimatorParamMaps=grid, evaluator=evaluator, numFolds=2, foldCol="fold", parallelism=2
    ).fit(frame)
    assert tuned.avgMetrics == [(1 / 2 + 1) / 2, 1.0]
    assert tuned.bestModel.getOrDefault("name") == "better"
    assert spark.conf.getAll == before
    # save() of a path on a local disk is refused by the server
    save, load = ("saveToLocal", "loadFromLocal") if kind is OfConnect else ("save", "load")
    getattr(evaluator, save)(str(tmp_path / "evaluator"))
    loaded = getattr(kind, load)(str(tmp_path / "evaluator"))
    assert (type(loaded), loaded.extractParamMap()) == (kind, evaluator.extractParamMap())
    assert isinstance(evaluator, connect.Evaluator) == (kind is OfConnect)
