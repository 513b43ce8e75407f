"""The table of hand-worked cases, through the kernels."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from math import log2

import pytest

from sparkrank.metrics import Definitions, Metric, plan_of
from tests.cases import CASES, Case, ranking
from tests.cases.grades import DCG_32101, IDEAL_33332
from tests.extent import IS_LONG
from tests.support.buckets import (
    KEY,
    MODEL,
    bits_of_groups,
    bits_of_partials,
    bucket,
    day,
    evaluate,
    evaluate_rows,
    group_values,
    mean,
    or_nan,
)

CLOSE = 1e-14  # the last places of a float64


def close(expected: Mapping[str, float | None]) -> object:
    """What compares equal to ``expected``, NaN standing for an undefined value."""
    return pytest.approx({key: or_nan(value) for key, value in expected.items()}, rel=CLOSE, abs=CLOSE, nan_ok=True)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_case(case: Case) -> None:
    result = evaluate(case.rows, [case.metric], case.ties, case.undefined)
    metric = Metric.parse(case.metric)
    if case.groups is None:
        value, bound = day(result.partials, metric)
        assert bound == pytest.approx(case.error_bound, abs=CLOSE)
    else:
        assert group_values(result, str(metric)) == close(case.groups)
        value = mean(result.partials, str(metric))
    assert {"": value} == close({"": case.mean})


def test_every_case_has_a_name_of_its_own() -> None:
    assert len({case.id for case in CASES}) == len(CASES)


def test_the_arithmetic_of_the_published_ndcg() -> None:
    assert (round(DCG_32101, 3), round(IDEAL_33332, 3), round(DCG_32101 / IDEAL_33332, 3)) == (5.149, 8.459, 0.609)


@pytest.mark.parametrize("grades", ["3,2,1", "1,2,3", "2,3,1"])
def test_the_ideal_list_is_the_best_order_of_its_grades(grades: str) -> None:
    """At a cut-off too: the best two of these grades are 3 and 2."""
    metric = f"ndcg(ideal=[{grades}])@2"
    expected = (0 / log2(2) + 3 / log2(3)) / (3 / log2(2) + 2 / log2(3))
    assert group_values(evaluate(ranking("u", 0, 3), [metric]), metric) == close({"u": expected})


def setting(case: Case) -> tuple[str, ...]:
    return (repr(case.rows), case.ties, case.undefined)


SAME_ROWS = [[*cases] for _, cases in itertools.groupby(sorted(CASES, key=setting), setting)]


@pytest.mark.parametrize("cases", [cases for cases in SAME_ROWS if len(cases) > 1], ids=lambda cases: cases[0].id)
def test_metrics_of_one_pass_do_not_touch_each_other(cases: list[Case]) -> None:
    """All metrics and cut-offs at once, and in the other order, give the bits that each gives alone."""

    def bits(metrics: list[str]) -> dict:
        return bits_of_partials(evaluate(cases[0].rows, metrics, cases[0].ties, cases[0].undefined).partials)

    metrics = [str(Metric.parse(case.metric)) for case in cases]
    together = bits(metrics)
    assert together == bits(metrics[::-1])
    for metric in metrics if IS_LONG else metrics[::3]:
        alone = bits([metric])
        assert all(alone[part].items() <= together[part].items() for part in ("means", "blocks")), metric


def test_several_groups_in_a_bucket_do_not_touch_each_other() -> None:
    """The rows of every case of one setting in one bucket, each case's groups renamed."""
    usual = [case for case in CASES if case.groups is not None and case.ties == "expected"]
    cases = [case for case in usual if not case.has_rows_of_its_own]
    rows = [(f"{place} {group}", *rest) for place, case in enumerate(cases) for group, *rest in case.rows]
    result = evaluate(rows, sorted({case.metric for case in cases}))
    by_metric = {case.metric: group_values(result, str(Metric.parse(case.metric))) for case in cases}
    for place, case in enumerate(cases):
        values = by_metric[case.metric]
        assert {group: values[f"{place} {group}"] for group in case.groups} == close(case.groups), case.id


def test_without_a_group_table_the_means_are_the_same() -> None:
    for case in CASES if IS_LONG else CASES[::10]:
        definitions = Definitions(case.ties, case.undefined)
        plan = plan_of([case.metric], [MODEL], [KEY], definitions, group_table=False, score_sums=True)
        lean = evaluate_rows(bucket(case.rows), plan)
        full = evaluate(case.rows, [case.metric], case.ties, case.undefined)
        assert lean.groups is None
        assert len(bits_of_groups(full.groups)) == len({row[0] for row in case.rows})
        assert bits_of_partials(lean.partials) == bits_of_partials(full.partials)
