"""Geometric means of the values of groups: by hand, their intervals, and what has none."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

import sparkrank as sr
from sparkrank.base.errors import MetricError
from sparkrank.metrics import Metric
from tests.cases import ranking
from tests.extent import IS_LONG
from tests.support.buckets import bucket

ROLES: dict[str, Any] = {"group": "u", "score": "s", "label": "y"}
# Of four users ap is 1, 1/2, 0 (its relevant row is not listed) and undefined.
ROWS = (*ranking("a", 1), *ranking("b", 0, 1), *ranking("c", 0, unlisted=(1,)), *ranking("d", 0))


@pytest.mark.parametrize(
    ("undefined", "product", "groups"), [("skip", 1, 3), ("zero", 1e-5, 4), ("one", 1, 4)], ids=str
)
def test_by_hand(undefined: str, product: float, groups: int) -> None:
    asked = ["gmean(ap)", "GM_MAP", "gmean(ap(over=hits,ties=worst)@1)", "gmean(dcg)"]
    ev = sr.evaluate(bucket(ROWS), asked, group="key_0", score="score_0", label="label", undefined=undefined, buckets=2)
    first, at_one, gain = ev.table.to_pylist()
    assert (first["metric"], at_one["metric"]) == ("gmean(ap)", "gmean(ap(over=hits,ties=worst)@1)")
    assert first["value"] == pytest.approx((1 * 1 / 2 * 1e-5 * product) ** (1 / groups), rel=1e-14)
    assert at_one["value"] == pytest.approx((1 * 1e-5 * 1e-5 * product) ** (1 / groups), rel=1e-14)
    # dcg is 1, 1 / log2(3), 0 and 0, of every group
    assert gain["value"] == pytest.approx((1 / math.log2(3) * 1e-5**2) ** (1 / 4), rel=1e-14)
    assert [(row["n_groups"], row["n_undefined"], row["weight"]) for row in (first, gain)] == [
        (4, 1, groups),
        (4, 0, 4),
    ]
    assert ev.groups.column_names[-3:] == ["ap", "ap(over=hits,ties=worst)@1", "dcg"]  # a group has the value itself


def test_weights_are_exponents() -> None:
    rows = bucket(ROWS).append_column("worth", pa.array([3.0, 2.0, 2.0, 1.0, 1.0, 7.0]))
    ev = sr.evaluate(rows, ["gmean(ap(weight=worth))"], group="key_0", score="score_0", label="label")
    (row,) = ev.table.to_pylist()
    assert row["value"] == pytest.approx((1**3 * (1 / 2) ** 2 * 1e-5**1) ** (1 / 6), rel=1e-14)


def drawn(seed: int, users: int, sessions: int = 1) -> pa.Table:
    """Lists of five with two relevant rows, the first of which is in like places in the sessions of a user."""
    rng = np.random.default_rng(seed)
    lists = np.arange(users * sessions)
    taste = np.repeat(rng.random(users), sessions)
    place = np.floor(5 * np.clip(taste + rng.normal(0, 0.1, len(lists)), 0, 0.999) ** 2).astype(int)
    relevant = np.zeros((len(lists), 5))
    relevant[lists, place] = relevant[lists, (place + rng.integers(1, 5, len(lists))) % 5] = 1.0
    columns = {"u": np.repeat(lists, 5), "who": np.repeat(lists // sessions, 5)}
    return pa.table({**columns, "s": np.tile(-np.arange(5.0), len(lists)), "y": relevant.ravel()})


@pytest.mark.parametrize("level", [0.5, 0.95])
def test_the_interval_is_students_of_the_logarithms(level: float) -> None:
    ev = sr.evaluate(drawn(1, 60), ["gmean(rr)"], **ROLES, uncertainty={"level": level})
    (row,) = ev.table.to_pylist()
    logarithms = np.log(ev.groups["rr"].to_numpy())
    test = stats.ttest_1samp(logarithms, 0).confidence_interval(level)
    assert [row["ci_low"], row["ci_high"]] == pytest.approx(np.exp([test.low, test.high]), rel=1e-9)
    assert row["stderr"] == pytest.approx(row["value"] * stats.sem(logarithms), rel=1e-9)
    assert (row["interval"], row["degrees"]) == ("log", 59)


@pytest.mark.parametrize("sessions", [1, 6])
def test_intervals_hold_the_truth(sessions: int) -> None:
    """In 93 to 97 of 100, within what so many trials may be off; sessions of one user are a cluster."""
    trials, by_cluster = 400 if IS_LONG else 60, {"cluster": "who"} if sessions > 1 else {}
    first, second = np.nonzero(drawn(0, 400_000)["y"].to_numpy().reshape(-1, 5))[1].reshape(-1, 2).T + 1
    values = {"gmean(rr)": 1 / first, "gmean(ap)": (1 / first + 2 / second) / 2}
    truth = {metric: math.exp(np.log(value).mean()) for metric, value in values.items()}
    held = dict.fromkeys(truth, 0)
    for seed in range(1, trials + 1):
        for row in sr.evaluate(drawn(seed, 150, sessions), list(truth), **ROLES, **by_cluster).table.to_pylist():
            held[row["metric"]] += row["ci_low"] <= truth[row["metric"]] <= row["ci_high"]
    low, high = stats.binom.ppf(1e-4, trials, 0.93), stats.binom.ppf(1 - 1e-4, trials, 0.97)
    assert {metric: count for metric, count in held.items() if not low <= count <= high} == {}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("gmean(auc)", "auc has no geometric mean: only the values of a metric of groups have one"),
        ("gmean(spearman)", "spearman has no geometric mean: its values may be below 0"),
        ("gmean(median(ap))", "is a summary of a summary"),
        ("median(gmean(ap))", "is a summary of a summary"),
    ],
)
def test_what_has_none(text: str, why: str) -> None:
    with pytest.raises(MetricError, match=why):
        Metric.parse(text)
