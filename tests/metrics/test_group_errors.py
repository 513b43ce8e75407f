"""Scores of groups beside labels as numbers: laws that tie them to the metrics of all rows."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest

import sparkrank as sr
from sparkrank.base.errors import MetricError
from sparkrank.metrics import Metric

ROLES = {"group": "field", "score": "score", "label": "label", "uncertainty": False}


def log(*, seed: int) -> pa.Table:
    """Rows of twenty fields with probabilities and ratings; a tenth of the rows have no label."""
    draw = np.random.default_rng(seed)
    rows = 400
    rating = pa.array(draw.normal(0, 3, rows), mask=draw.random(rows) < 0.1)
    return pa.table({"field": draw.integers(0, 20, rows), "score": draw.random(rows), "label": rating})


def test_weighed_by_rows_the_errors_are_those_of_all_rows() -> None:
    rows = log(seed=1)
    of = sr.evaluate(rows, ["group_mae(weight=rows)", "mae", "group_rmse", "rmse"], **ROLES)
    assert of["group_mae(weight=rows)"] == pytest.approx(of["mae"], rel=1e-14)
    one = sr.evaluate(rows.set_column(0, "field", pa.array([0] * 400)), ["group_rmse", "group_mae"], **ROLES)
    assert (one["group_rmse"], one["group_mae"]) == pytest.approx((of["rmse"], of["mae"]), rel=1e-14)


def test_the_gap_is_that_of_the_sums_of_each_field() -> None:
    rows = log(seed=2)
    frame = rows.to_pandas()
    by_field = frame.assign(clicked=frame["label"] > 0).groupby("field")
    gap = (by_field["score"].sum() - by_field["clicked"].sum()).abs()
    of = sr.evaluate(rows, ["calibration_gap(weight=rows)", "calibration_gap"], **ROLES)
    assert of["calibration_gap(weight=rows)"] == pytest.approx(gap.sum() / len(frame), rel=1e-13)
    assert of["calibration_gap"] == pytest.approx((gap / by_field.size()).mean(), rel=1e-13)


def test_the_order_of_rows_leaves_no_trace() -> None:
    rows, texts = log(seed=3), ["calibration_gap", "group_rmse", "group_mae(weight=rows)"]
    first = sr.evaluate(rows, texts, **ROLES)
    for seed in range(3):
        again = sr.evaluate(rows.take(np.random.default_rng(seed).permutation(400)), texts, **ROLES)
        assert [again[text] for text in texts] == [first[text] for text in texts]


@pytest.mark.parametrize("far", [5e9, -1e300])
def test_a_number_that_is_too_far_makes_its_field_alone_undefined(far: float) -> None:
    rows = pa.table({"field": ["a", "a", "b"], "score": [0.5, far, 0.5], "label": [0.0, 0.0, 1.0]})
    of = sr.evaluate(rows, texts := ["group_rmse", "group_mae", "calibration_gap"], **ROLES)
    assert [of[text] for text in texts] == [0.5, 0.5, 0.5]
    undefined = of.groups.to_pandas().set_index("field").loc["a", texts]
    assert all(map(math.isnan, undefined))


def test_what_is_weighed_by_which_name_is_said() -> None:
    with pytest.raises(MetricError, match="a mean over groups is group_rmse"):
        Metric.parse("rmse(weight=rows)")
    with pytest.raises(MetricError, match="group_mae takes none: rows without a label are left out"):
        Metric.parse("group_mae(unjudged=drop)")
