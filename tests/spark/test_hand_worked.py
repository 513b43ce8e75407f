"""The hand-worked cases again, through Spark: the same rows, the same arithmetic."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import TYPE_CHECKING

import sparkrank as sr
from tests.cases import CASES, Case, Row
from tests.extent import IS_LONG

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = "of string, group string, item string, score double, label double, reference_rank double"


# All cases of the usual definitions are evaluated in one pass, and each has its rows in a slice of its own. What other
# ties and undefined groups are is asserted without Spark, and that lanes give the same bits of them by the matrix.
USUAL: dict[tuple[Row, ...], list[Case]] = defaultdict(list)
for _case in CASES if IS_LONG else CASES[::4]:  # all of them are evaluated without Spark in tests/metrics
    if (_case.ties, _case.undefined) == ("expected", "skip") and not _case.has_rows_of_its_own:
        USUAL[_case.rows].append(_case)


def test_hand_worked_through_spark(spark: SparkSession) -> None:
    cases_of = {str(place): cases for place, cases in enumerate(USUAL.values())}
    rows = [(of, *row, *[None] * (5 - len(row))) for of, cases in cases_of.items() for row in cases[0].rows]
    metrics = list(dict.fromkeys(case.metric for cases in cases_of.values() for case in cases))
    roles = {"group": ["of", "group"], "item": "item", "score": "score", "label": "label", "slices": ["of"]}
    roles |= {"reference_rank": "reference_rank"}
    had = [(of, group, item) for of, group, item, _, label, _ in rows if item is not None and (label or 0) > 0]
    past = spark.createDataFrame(had, "of string, group string, item string")  # as tests/cases/earlier.py says
    with sr.evaluate(spark.createDataFrame(rows, SCHEMA), metrics, **roles, interactions=past, buckets=3) as evaluation:
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
