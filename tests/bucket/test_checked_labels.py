"""A label that all groups have, corrected by a surer one of some groups: ``checked_by``."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sparkrank as sr
from sparkrank.base import checks
from sparkrank.base.errors import SparkrankError
from sparkrank.metrics import Metric
from tests.support.joined import counts_of
from tests.support.logged import warnings_about_input

LABELS = {"machine": "machine", "human": "human"}
ROLES: dict[str, Any] = {"group": "user", "item": "item", "score": "a", "label": LABELS}


def log(seed: int, users: int = 120, checked: float = 0.6) -> pa.Table:
    """Lists of one to six rows, some without anything relevant; of some users one row alone lacks the human label."""
    rng = np.random.default_rng(seed)
    user = np.repeat(np.arange(users), rng.integers(1, 7, users))
    rows = len(user)
    human, whole = rng.integers(0, 3, rows), (rng.random(users) < checked)[user]
    whole &= rng.random(rows) > 0.02
    columns = {"user": user, "item": np.arange(rows) % 5, "kind": rng.integers(0, 2, rows), "home": user % 2}
    columns |= {"a": rng.integers(0, 9, rows) / 9, "b": pa.array(rng.random(rows), mask=rng.random(rows) < 0.1)}
    machine = np.where(rng.random(rows) < 0.3, rng.integers(0, 3, rows), human)
    return pa.table({**columns, "machine": machine, "human": pa.array(human, mask=~whole)})


def by_groups(rows: pa.Table, metric: str, counted_as: float, group: list[str], **more: Any) -> dict[str, float]:
    """The estimate for each model, from the values of groups that two evaluations of one label each have."""
    own, other = (
        sr.evaluate(rows, [metric], **{**ROLES, **more, "group": group, "label": column}, uncertainty=False)
        .groups.to_pandas()
        .set_index(["model", *group])[metric]
        .sort_index()
        .fillna(counted_as)
        for column in ("machine", "human")
    )
    labelled = rows.to_pandas().assign(known=lambda frame: frame["human"].notna())
    if "duplicates" in more:  # an item has the label that one of its rows has
        labelled["known"] = labelled.groupby([*group, "item"])["known"].transform("any")
    lacking = ~labelled.groupby(group)["known"].all()
    found = {}
    for model in own.index.get_level_values("model").unique():
        whole = ~lacking.loc[own[model].index]
        found[model] = own[model].mean() + (other[model] - own[model])[whole].mean()
    return found


HUMAN_FIRST = {"human": "human", "machine": "machine"}
ESTIMATES: list[tuple[str, str, dict[str, str], dict[str, str]]] = [
    ("ndcg@3", "ndcg(checked_by=human)@3", LABELS, {}),
    ("ap", "ap(label=machine,checked_by=human)", HUMAN_FIRST, {"undefined": "zero", "duplicates": "once"}),
    ("dcg", "dcg(label=machine,checked_by=human)", HUMAN_FIRST, {}),
    ("p(ties=worst)@2", "p(ties=worst,checked_by=human)@2", LABELS, {"undefined": "one", "duplicates": "first"}),
    ("group_auc", "group_auc(checked_by=human)", LABELS, {"undefined": "one"}),
]


@pytest.mark.parametrize(("metric", "asked", "label", "settings"), ESTIMATES)
def test_the_mean_by_one_label_is_corrected_by_the_groups_of_the_other(
    metric: str, asked: str, label: dict[str, str], settings: dict[str, str]
) -> None:
    """Of all groups, of a slice that divides them, and of one that does not."""
    rows, more = log(1), {"score": {"a": "a", "b": "b"}, **settings}
    of = sr.evaluate(rows, [asked], **{**ROLES, "label": label, "slices": ["kind", "home"], **more})
    values = {(row["model"], row["slice"], row["slice_value"]): row["value"] for row in of.metrics.to_pylist()}
    assert settings.get("duplicates") or counts_of(of)[checks.checked_groups("human")] == count_of_whole(rows)
    counted_as = 1.0 if settings.get("undefined") == "one" else 0.0
    for name, value in (("all", "all"), ("kind", "0"), ("kind", "1"), ("home", "0")):
        own = rows if name == "all" else rows.filter(pa.array(rows[name].to_numpy() == int(value)))
        expected = by_groups(own, metric, counted_as, ["user"], **more)
        assert {model: values[model, name, value] for model in "ab"} == pytest.approx(expected, abs=1e-12)


def count_of_whole(rows: pa.Table) -> int:
    return int(rows.to_pandas().groupby("user")["human"].apply(lambda labels: labels.notna().all()).sum())


def worked(checked: int) -> pa.Table:
    """Forty users with one row that the machine calls relevant; the human has seen some, and denies every third."""
    human = [None if user >= checked else float(user % 3 > 0) for user in range(40)]
    return pa.table({"user": range(40), "item": [0] * 40, "a": [1.0] * 40, "machine": [1] * 40, "human": human})


def test_worked_by_hand(caplog: pytest.LogCaptureFixture) -> None:
    of = sr.evaluate(worked(30), ["p(checked_by=human)@1", "p@1"], **ROLES)
    assert of["p(checked_by=human)@1"] == pytest.approx(1 + 20 / 30 - 1, abs=1e-15)
    row = of.metrics.to_pylist()[0]
    assert (row["n_groups"], row["n_undefined"], row["n_effective"], row["interval"]) == (40, 0, 30, "jackknife")
    assert of.groups.column_names[-1] == "p@1"
    assert not [each for each in warnings_about_input(caplog) if "all rows" in each]


def test_fewer_than_thirty_are_undefined_with_their_number(caplog: pytest.LogCaptureFixture) -> None:
    of = sr.evaluate(worked(29), ["p(checked_by=human)@1", "rr(checked_by=human)", "p@1"], **ROLES)
    rows = of.metrics.to_pylist()[:2]
    assert all(math.isnan(row["value"]) for row in rows)
    assert [(row["n_groups"], row["n_undefined"], row["ci_low"]) for row in rows] == [(40, 40, None)] * 2
    assert of["p@1"] == 1.0
    assert counts_of(of)[checks.checked_groups("human")] == 29
    (sentence,) = (each for each in warnings_about_input(caplog) if "all rows" in each)
    assert sentence == (
        "29 groups have the label human in all rows, and 30 are needed: undefined: p(checked_by=human)@1, "
        "rr(checked_by=human)"
    )


def test_any_division_into_buckets_has_the_same_bits() -> None:
    rows, asked = log(5), ["ndcg(checked_by=human)@3", "dcg(label=human,checked_by=machine)"]
    settings = {**ROLES, "score": {"a": "a", "b": "b"}, "compare": "a", "slices": ["kind"], "duplicates": "once"}
    first = sr.evaluate(rows, asked, buckets=1, **settings)
    order = np.random.default_rng(0).permutation(len(rows))
    again = sr.evaluate(rows.take(order), asked, buckets=5, **settings)
    tables = [[of.metrics, of.compare("a")] for of in (first, again)]
    for one, other in zip(*tables, strict=True):
        assert repr(one.drop_columns(["spec_hash"]).to_pylist()) == repr(other.drop_columns(["spec_hash"]).to_pylist())
    value = {(row["model"], row["metric"]): row["value"] for row in first.table.to_pylist() if row["slice"] == "all"}
    compared = [row for row in first.compare("a").to_pylist() if row["slice"] == "all"]
    assert [row["difference"] for row in compared] == [value["b", text] - value["a", text] for text in asked]
    assert all(row["ci_low"] < row["difference"] < row["ci_high"] for row in compared)


REFUSED = {
    "ndcg(checked_by=machine)": "is checked by the label that it reads, machine",
    "ndcg(label=machine,checked_by=machine)": "is checked by the label that it reads, machine",
    "ndcg(checked_by=humn)": 'names "humn", which is not a label, did you mean "human"?',
    "ndcg(checked_by=human,among=human)@3": "gives among with checked_by",
    "ndcg(checked_by=human,weight=rows)@3": "gives weight with checked_by",
    "gauc(checked_by=human)": "gives weight with checked_by",
    "p(checked_by=human,unjudged=best)": "gives unjudged with checked_by",
    "r(propensity=ips,checked_by=human)": "gives propensity with checked_by",
    "ndcg(gain={human:1,machine:2},checked_by=human)": "gives checked_by with a gain of several labels",
    "first_rank(sampled=5,checked_by=human)": "gives sampled with checked_by",
    "judged(checked_by=human)@3": "counts rows by whether they have a label",
    "median(ndcg(checked_by=human))": "has no percentiles",
    "gmean(ndcg(checked_by=human))": "has no geometric mean",
    "auc(checked_by=human)": 'unknown parameter "checked_by"',
    "ndcg(checked_by=human,sampled=5,items=100)@3": 'unknown parameter "checked_by"',
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_cannot_be_checked_is_refused_by_its_name(text: str) -> None:
    with pytest.raises(SparkrankError) as refused:
        sr.evaluate(worked(30), [text], **ROLES)
    assert REFUSED[text] in str(refused.value)


def test_settings_under_which_no_list_is_whole_are_refused() -> None:
    asked = ["ndcg(checked_by=human)@3"]
    with pytest.raises(SparkrankError, match="needs whole lists, but unjudged=drop leaves rows out"):
        sr.evaluate(log(1), asked, **ROLES, unjudged="drop")
    with pytest.raises(SparkrankError, match="needs whole lists, but exclude leaves rows out"):
        sr.evaluate(log(1), asked, **ROLES, exclude=log(2).select(["user", "item"]))
    with pytest.raises(SparkrankError, match="for the slice kind of relevant: its two labels make different rows"):
        sr.evaluate(log(1), asked, **ROLES, slices=[{"column": "kind", "of": "relevant"}])
    rows = log(1)
    truth = rows.select(["user", "item", "machine", "human"])
    with pytest.raises(SparkrankError, match="needs both labels in the rows of the lists, and here a truth has"):
        sr.evaluate(rows.drop_columns(["machine", "human"]), asked, truth=truth, **ROLES)


def test_it_is_explained_as_the_value_that_it_corrects() -> None:
    of = sr.explain(worked(30), ["p(checked_by=human)@1"], **{**ROLES, "group": {"user": 0}})
    said = str(of)
    assert "corrects the mean of p@1 by groups in which all rows have the label human" in said
    assert "its value by the label human is 0" in said
    assert "this group is one" not in str(
        sr.explain(worked(30), ["p(checked_by=human)@1"], **{**ROLES, "group": {"user": 39}})
    )


def test_a_metric_keeps_its_declaration_on_the_way_to_a_worker() -> None:
    metric = Metric.parse("ndcg(checked_by=human)@3")
    assert metric.declaration.range_of(metric) == (-1.0, 2.0)
    there = pickle.loads(pickle.dumps(metric))  # noqa: S301 - of this line
    assert (str(there), there.declaration.of) == (str(metric), metric.declaration.of)
