"""The hand-worked cases again, through Spark: the same rows, the same arithmetic."""

from __future__ import annotations

import math
from itertools import groupby
from typing import TYPE_CHECKING

import pytest

import sparkrank as sr
from tests.cases import CASES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = "group string, item string, score double, label double"


def _settings(case):
    return case.rows, case.ties, case.undefined


# One pass for all metrics that share rows and definitions, as a user would ask for them.
PASSES = [(settings, list(cases)) for settings, cases in groupby(CASES, key=_settings)]


@pytest.mark.parametrize(("settings", "cases"), PASSES, ids=[cases[0].id for _, cases in PASSES])
def test_hand_worked_through_spark(spark: SparkSession, settings, cases) -> None:
    rows, ties, undefined = settings
    frame = spark.createDataFrame(rows, SCHEMA)
    texts = list(dict.fromkeys(case.metric for case in cases))
    with sr.evaluate(
        frame,
        texts,
        group="group",
        item="item",
        score="score",
        label="label",
        ties=ties,
        undefined=undefined,
        buckets=3,
    ) as evaluation:
        means = {row["metric"]: row["value"] for row in evaluation.metrics.collect()}
        groups = {row["group"]: row.asDict() for row in evaluation.groups.collect()}
    for case in cases:
        text = str(sr.Metric.parse(case.metric))
        assert _same(means[text], case.mean), case.id
        for group, value in (case.groups or {}).items():
            assert _same(groups[group][text], value), f"{case.id}, group {group}"


def _same(got: float | None, expected: float | None) -> bool:
    if expected is None:
        return got is None or math.isnan(got)
    return got is not None and math.isclose(got, expected, rel_tol=1e-12, abs_tol=1e-12)
