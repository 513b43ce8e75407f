"""Metrics from outside the package in Spark's workers: the same numbers in every lane, also of the script that runs."""

from __future__ import annotations

import importlib
import runpy
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sparkrank as sr
from sparkrank.metrics import CATALOG
from tests.conftest import PROJECT
from tests.sources.test_source_register import GROUPS, evaluated, registered
from tests.spark.logs import bits_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# a: hits at 1 and 3; b: tied at 1 and 2, one of them a hit: 1.5 in expectation; c: no hit
ROWS = pa.table(
    {"user": list("aaabbc"), "score": [3.0, 2.0, 1.0, 1.0, 1.0, 1.0], "label": [1, 0, 2, 1, 0, 0], "item": range(6)}
)
__all__ = ["registered"]
ROLES = {"group": "user", "score": "score", "label": "label", "item": "item"}
METRICS = ["mean_position", "mean_position@2", "median(mean_position)", "ndcg"]
BY_HAND = [(2 + 1.5) / 2, (1 + 1.5) / 2]


@pytest.fixture
def path(tmp_path: Path) -> str:
    pq.write_table(ROWS, tmp_path / "rows.parquet")
    return str(tmp_path / "rows.parquet")


def test_the_example_through_every_lane(spark: SparkSession, path: str) -> None:
    runpy.run_path(str(PROJECT / "examples" / "outside_metric.py"))
    rows, positives = sr.metrics.RowSum("rows"), sr.metrics.RowSum("positives")
    sr.register(
        sr.PooledMetric(
            *("relevant_rate", "share of relevant rows", "relevant / rows", "never", "here"),
            sums=lambda metric: (rows, positives),
            value=lambda totals, metric: sr.metrics.PooledValue(totals.sum(positives) / totals.sum(rows)),
        )
    )
    metrics = [*METRICS, "relevant_rate", "auc(exact)"]  # exact bins take another way through Spark
    local = sr.evaluate(path, metrics, **ROLES)
    values = local.to_pandas()["value"].to_list()
    np.testing.assert_allclose([*values[:2], values[4]], [*BY_HAND, 3 / 6], rtol=1e-12)
    expected = bits_of(local)
    for given, session in ((spark.read.parquet(path).coalesce(1), None), (path, spark)):
        assert bits_of(sr.evaluate(given, metrics, spark=session, buckets=2, **ROLES)) == expected


def test_two_metrics_of_one_name_are_told_apart(spark: SparkSession, path: str) -> None:
    """A worker that Spark uses again has seen the first."""
    for number in (1.0, 2.0):
        sr.register(
            sr.GroupMetric(
                *("constant", "a number", "a number", "never", "here"),
                values=lambda ranking, metric, number=number: np.full(ranking.groups, number),
            )
        )
        assert sr.evaluate(path, ["constant"], spark=spark, **ROLES).value("constant") == number
        CATALOG.remove("constant")


@pytest.mark.parametrize(("lane", "metrics"), [("frame", ["mean_position"]), ("scan", ["mean_position", "auc(exact)"])])
def test_a_module_that_the_workers_lack(
    spark: SparkSession, path: str, lane: str, metrics: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (PROJECT / "examples" / "outside_metric.py").read_text("utf-8")
    (tmp_path / "here_alone.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "here_alone", raising=False)
    importlib.import_module("here_alone")
    with pytest.raises(sr.SparkrankError, match=r"the module here_alone is missing on Spark's workers .*--py-files"):
        sr.evaluate(path, metrics, spark=spark, lane=lane, **ROLES)


def fails(ranking: sr.metrics.Ranking, metric: sr.Metric) -> np.ndarray:
    raise ZeroDivisionError(f"{ranking.groups} groups\nin two lines")


def fails_on_bins(sweep: object) -> object:
    raise TypeError("no sweep of this kind")


@pytest.mark.parametrize("lane", ["frame", "scan", "local"])
def test_an_exception_of_a_function_is_one_sentence(spark: SparkSession, path: str, lane: str) -> None:
    """Of values, and of terms of exact bins, which Spark's tasks sweep in ranges of scores."""
    words, no_value = {"title": "a", "formula": "b", "undefined": "never", "reference": "here"}, lambda *_: None
    sr.register(sr.GroupMetric("failing", **words, values=fails))
    sr.register(sr.HistogramMetric("failing_bins", **words, terms=fails_on_bins, value=no_value))
    for metric, sentence in (
        ("failing@2", "values, a function of the metric failing@2, raised ZeroDivisionError: 3 groups"),
        ("failing_bins", "terms, a function of the metric failing_bins, raised TypeError: no sweep of this kind"),
    ):
        with pytest.raises(sr.MetricError) as raised:
            sr.evaluate(path, [metric, "ndcg"], spark=spark, lane=lane, buckets=1, **ROLES)
        assert str(raised.value) == sentence


@pytest.mark.usefixtures("registered")
def test_a_format_from_outside_is_evaluated_in_the_scan_lane(spark: SparkSession, tmp_path: Path) -> None:
    """Its splits travel to Spark's tasks."""
    assert evaluated(tmp_path, "scan", spark) == GROUPS
