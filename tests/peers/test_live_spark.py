"""Live against Spark's own RankingMetrics and RankingEvaluator, on arrays as these take them, under preset=mllib."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

import sparkrank as sr

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# RankingMetrics makes a context that pyspark itself has deprecated.
pytestmark = [
    pytest.mark.peer,
    pytest.mark.tools,
    pytest.mark.filterwarnings("ignore:Deprecated in 3.0.0:FutureWarning"),
]

CUTOFFS = (1, 2, 5, 100)  # of lists of up to 9 items
Arrays = list[tuple[list[float], ...]]  # predicted, true


@pytest.fixture(scope="module")
def arrays() -> Arrays:
    """Lists with repeated items on either side, empty lists and empty truth.

    Without labels: the RankingMetrics of pyspark takes them and leaves them out of account.
    """
    rng = np.random.default_rng(41)
    return [
        tuple(rng.integers(0, 15, rng.integers(0, most)).astype(float).tolist() for most in (10, 7)) for _ in range(300)
    ]


def _evaluate(arrays: Arrays, metrics: list[str]) -> dict[str, float]:
    predicted, actual = (pa.array([row[index] for row in arrays], pa.list_(pa.float64())) for index in (0, 1))
    table = pa.table({"user": range(len(arrays)), "predicted": predicted, "actual": actual})
    found = sr.evaluate(
        table, metrics, group="user", items="predicted", true_items="actual", preset="mllib"
    ).metrics.to_pylist()
    return dict(zip(metrics, [row["value"] for row in found], strict=True))


def test_ranking_metrics(spark: SparkSession, arrays: Arrays) -> None:
    from pyspark.mllib.evaluation import RankingMetrics

    theirs = RankingMetrics(spark.sparkContext.parallelize(arrays))
    expected = {"ap": theirs.meanAveragePrecision}
    for k in CUTOFFS:
        expected |= {
            f"ap@{k}": theirs.meanAveragePrecisionAt(k),
            f"p@{k}": theirs.precisionAt(k),
            f"r@{k}": theirs.recallAt(k),
            f"ndcg@{k}": theirs.ndcgAt(k),
        }
    assert _evaluate(arrays, list(expected)) == pytest.approx(expected, rel=1e-12)


def test_ranking_evaluator(spark: SparkSession, arrays: Arrays) -> None:
    from pyspark.ml.evaluation import RankingEvaluator

    frame = spark.createDataFrame(arrays, "prediction array<double>, label array<double>")
    names = {
        "meanAveragePrecision": "ap",
        "meanAveragePrecisionAtK": "ap@{k}",
        "precisionAtK": "p@{k}",
        "recallAtK": "r@{k}",
        "ndcgAtK": "ndcg@{k}",
    }
    expected = {
        text.format(k=k): RankingEvaluator(metricName=name, k=k).evaluate(frame)
        for name, text in names.items()
        for k in (2, 5)
    }
    assert _evaluate(arrays, list(expected)) == pytest.approx(expected, rel=1e-12)
