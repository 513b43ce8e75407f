"""The hand-worked cases again, through Spark: the same rows, the same arithmetic."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import TYPE_CHECKING

import pytest

import sparkrank as sr
from tests.cases import CASES, Case, Row

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = "of string, group string, item string, score double, label double"


# All cases of one pair of definitions are evaluated in one pass, of which each has its rows in a slice of its own.
PASSES: dict[tuple[str, str], dict[tuple[Row, ...], list[Case]]] = defaultdict(lambda: defaultdict(list))
for _case in CASES:
    PASSES[_case.ties, _case.undefined][_case.rows].append(_case)


@pytest.mark.parametrize(("ties", "undefined"), PASSES, ids=",".join)
def test_hand_worked_through_spark(spark: SparkSession, ties: str, undefined: str) -> None:
    cases_of = {str(place): cases for place, cases in enumerate(PASSES[ties, undefined].values())}
    rows = [(of, *row) for of, cases in cases_of.items() for row in cases[0].rows]
    with sr.evaluate(
        spark.createDataFrame(rows, SCHEMA),
        list(dict.fromkeys(case.metric for cases in cases_of.values() for case in cases)),
        group=["of", "group"],
        item="item",
        score="score",
        label="label",
        slices=["of"],
        ties=ties,
        undefined=undefined,
        buckets=3,
    ) as evaluation:
        means = {(row["slice_value"], row["metric"]): row["value"] for row in evaluation.metrics.collect()}
        groups = {(row["of"], row["group"]): row.asDict() for row in evaluation.groups.collect()}
    for of, cases in cases_of.items():
        for case in cases:
            text = str(sr.Metric.parse(case.metric))
            assert _same(means[of, text], case.mean), case.id
            for group, value in (case.groups or {}).items():
                assert _same(groups[of, group][text], value), f"{case.id}, group {group}"


def _same(got: float | None, expected: float | None) -> bool:
    if expected is None:
        return got is None or math.isnan(got)
    return got is not None and math.isclose(got, expected, rel_tol=1e-12, abs_tol=1e-12)
