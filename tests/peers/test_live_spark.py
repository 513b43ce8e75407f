"""Live against Spark's own RankingMetrics and RankingEvaluator, on arrays as these take them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

import sparkrank as sr

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.peer

CUTOFFS = (1, 2, 5, 100)  # of lists of up to 9 items
Arrays = list[tuple[list[float], ...]]  # predicted, true, distinct true, labels of the distinct ones


@pytest.fixture(scope="module")
def arrays() -> Arrays:
    """Lists with repeated items on either side, empty lists and empty truth; labels in descending order.

    In another order the ideal list of RankingMetrics is not the best one: it takes the labels as they stand.
    """
    rng = np.random.default_rng(41)
    rows = []
    for _ in range(300):
        true = rng.integers(0, 15, rng.integers(0, 7)).tolist()
        distinct = list(dict.fromkeys(true))
        labels = sorted(rng.integers(1, 4, len(distinct)).tolist(), reverse=True)
        rows.append((rng.integers(0, 15, rng.integers(0, 10)).tolist(), true, distinct, labels))
    return [tuple([float(value) for value in each] for each in row) for row in rows]


def _evaluate(arrays: Arrays, metrics: list[str], **settings: str) -> dict[str, float]:
    names = ("predicted", "actual", "distinct", "labels")
    columns = {
        name: pa.array([row[index] for row in arrays], pa.list_(pa.float64())) for index, name in enumerate(names)
    }
    table = pa.table({"user": range(len(arrays)), **columns})
    roles = {"group": "user", "items": "predicted", "true_items": "actual", "undefined": "zero", **settings}
    found = sr.evaluate(table, metrics, **roles).metrics.to_pylist()
    return dict(zip(metrics, [row["value"] for row in found], strict=True))


def test_ranking_metrics(spark: SparkSession, arrays: Arrays) -> None:
    from pyspark.mllib.evaluation import RankingMetrics

    theirs = RankingMetrics(spark.sparkContext.parallelize([(row[0], row[1]) for row in arrays]))
    expected = {"ap": theirs.meanAveragePrecision}
    for k in CUTOFFS:
        expected |= {
            f"ap(over=min_k_relevant)@{k}": theirs.meanAveragePrecisionAt(k),
            f"p@{k}": theirs.precisionAt(k),
            f"r@{k}": theirs.recallAt(k),
            f"ndcg(gain=binary)@{k}": theirs.ndcgAt(k),
        }
    assert _evaluate(arrays, list(expected)) == pytest.approx(expected, rel=1e-12)


def test_ranking_metrics_with_labels(spark: SparkSession, arrays: Arrays) -> None:
    from pyspark.mllib.evaluation import RankingMetrics

    theirs = RankingMetrics(spark.sparkContext.parallelize([(row[0], row[2], row[3]) for row in arrays]))
    expected = {f"ndcg(gain=exp2)@{k}": theirs.ndcgAt(k) for k in CUTOFFS}
    found = _evaluate(arrays, list(expected), true_items="distinct", label="labels")
    assert found == pytest.approx(expected, rel=1e-12)


def test_ranking_evaluator(spark: SparkSession, arrays: Arrays) -> None:
    from pyspark.ml.evaluation import RankingEvaluator

    frame = spark.createDataFrame([row[:2] for row in arrays], "prediction array<double>, label array<double>")
    names = {
        "meanAveragePrecision": "ap",
        "meanAveragePrecisionAtK": "ap(over=min_k_relevant)@{k}",
        "precisionAtK": "p@{k}",
        "recallAtK": "r@{k}",
        "ndcgAtK": "ndcg(gain=binary)@{k}",
    }
    expected = {
        text.format(k=k): RankingEvaluator(metricName=name, k=k).evaluate(frame)
        for name, text in names.items()
        for k in (2, 5)
    }
    assert _evaluate(arrays, list(expected)) == pytest.approx(expected, rel=1e-12)
