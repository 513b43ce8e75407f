"""Models with labels of their own: a model's metrics are those that name its label, and other models lack them."""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa
import pytest

import sparkrank as sr
from sparkrank.config.gate_sections import Gate, rules_of
from sparkrank.metrics import plan_of
from sparkrank.metrics.labels import Judging
from sparkrank.metrics.position_sums import needed_positions
from tests.bucket.test_labels import LABELS, METRICS, SETTINGS, WORKED, WORKED_VALUES, evaluated, log, of

PAID = {"column": "b", "label": "pay", "among": "click"}
OF_LABEL = "label=pay,among=click"


def rows_of(table: Any, model: str) -> list[dict[str, Any]]:
    rows = [row for row in table.to_pylist() if model in (row.get("model"), row.get("candidate"))]
    return [{name: repr(value) for name, value in row.items() if name != "spec_hash"} for row in rows]


def test_worked_by_hand() -> None:
    """The values of the text that names the label, under that text, and under the plain one for who asks by model."""
    scores = {"ctr": "score", "cvr": {**PAID, "column": "score"}}
    found = evaluated(WORKED, ["rr", "auc", "copc", "coverage(items=4)@1"], score=scores, ties="worst")
    texts = [(row["model"], row["metric"]) for row in found.metrics.to_pylist()]
    assert texts == [
        *[("ctr", text) for text in ("rr", "auc", "copc", "coverage(items=4)@1")],
        *[("cvr", of(text, OF_LABEL)) for text in ("rr", "auc", "copc")],
        ("cvr", "coverage(items=4)@1"),
    ]
    for metric in ("rr", "auc", "copc"):
        value = found.value(metric, model="cvr")
        assert value == found.value(of(metric, OF_LABEL), model="cvr")
        assert value == pytest.approx(WORKED_VALUES[of(metric, OF_LABEL)], abs=1e-15)
    assert found.value("rr", model="ctr") == WORKED_VALUES["rr"]
    with pytest.raises(sr.UnknownResultError, match=re.escape(f'no metric "rr({OF_LABEL})" was evaluated')):
        found.value(f"rr({OF_LABEL})", model="ctr")
    of_groups = {(row["model"], row["user"]): row for row in found.groups.to_pylist()}
    assert of_groups["cvr", "u"][f"rr({OF_LABEL})"] == 1 / 2
    assert str(of_groups["cvr", "u"]["rr"]) == str(of_groups["ctr", "u"][f"rr({OF_LABEL})"]) == "nan"


def test_positions_are_those_of_the_label_of_the_model() -> None:
    """Of cvr, u has a and c, of which c is paid, v has b, and w, who clicked nothing, has no list."""
    last = pa.table({"user": ["w"], "item": ["a"], "score": [0.5], "clicked": [0], "paid": pa.array([1])})
    scores = {"ctr": "score", "cvr": {**PAID, "column": "score"}}
    found = evaluated(pa.concat_tables([WORKED, last]), ["rr", "auc"], score=scores, position_depth=4, slices=["user"])
    assert found.positions is not None
    rows = [(row["model"], row["slice_value"], *[*row.values()][3:]) for row in found.positions.to_pylist()]
    assert [row[2:] for row in rows if row[:2] == ("ctr", "all")] == [
        (1, 3, 1 + 0 + 0, pytest.approx(0.9 + 0.9 + 0.5), 3, 3, 3),
        (2, 2, 0 + 1, pytest.approx(0.8 + 0.8), 2, 3, 3),
        (3, 1, 1, 0.7, 1, 3, 3),
        (4, 1, 0, 0.6, 1, 3, 3),
    ]
    assert [row[2:] for row in rows if row[:2] == ("cvr", "all")] == [
        (1, 2, 0 + 0, pytest.approx(0.9 + 0.8), 2, 2, 1),
        (2, 1, 1, 0.7, 1, 2, 1),
    ]
    assert [row[1:5] for row in rows if row[0] == "cvr" and row[1] != "all"] == [
        *(("u", 1, 1, 0), ("u", 2, 1, 1)),
        ("v", 1, 1, 0),
    ]


def test_stored_positions_name_the_labels_of_the_models() -> None:
    """So that days of another label are not merged with them."""
    labels = {"labels": ["click", "pay"], "position_depth": 1}
    plans = [
        plan_of(["rr"], ["ctr", "cvr"], ["user"], own_labels={"cvr": own}, **labels)
        for own in (Judging("pay"), Judging("pay", "click"), Judging("click"))
    ]
    stored = [{need.name: need.definition for need in needed_positions(plan)} for plan in plans]
    assert {*stored[0]} == {*stored[1]} == {*stored[2]}
    for name in stored[0]:
        assert len({own[name] for own in stored}) == 3, name


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda own: next(iter(own)))
def test_each_model_has_the_bits_that_it_has_alone(settings: dict[str, Any]) -> None:
    """Of each table, with slices, intervals, weights and clusters."""
    more = {name: value for name, value in settings.items() if name != "compare"} | {"ties": "worst"}
    metrics = [metric for metric in METRICS if "weight" in more or metric != "f1"]
    both = evaluated(log(5), metrics, score={"a": "a", "b": PAID}, **more)
    plain = evaluated(log(5), metrics, score={"a": "a"}, **more)
    named = evaluated(log(5), [of(metric, OF_LABEL) for metric in metrics], score={"b": "b"}, **more)
    for table in ("metrics", "blocks"):
        tables = [getattr(found, table) for found in (both, plain, named)]
        assert rows_of(tables[0], "a") == rows_of(tables[1], "a"), table
        assert rows_of(tables[0], "b") == rows_of(tables[2], "b"), table


def test_models_are_compared_in_metrics_of_one_label() -> None:
    """Two models of one label are, and of the third the metric that names that label for all."""
    metrics, shared = ["ndcg@3", "auc", "gauc"], [f"ndcg({OF_LABEL})@3", f"auc({OF_LABEL})"]
    own = {"a": "a", "b": PAID, "c": {**PAID, "column": "weight"}}
    found = evaluated(log(6), [*metrics, *shared], score=own, compare="b", slices=["kind"]).compare("b")
    plain = {"a": "a", "b": "b", "c": "weight"}
    texts = [of(metric, OF_LABEL) for metric in metrics]
    every = evaluated(log(6), texts, score=plain, compare="b", slices=["kind"]).compare("b")
    ignored = ("p_adjusted", "family")  # of all rows together
    named = [
        [{key: value for key, value in row.items() if key not in ignored} for row in rows_of(table, model)]
        for model in ("a", "c")
        for table in (found, every)
    ]
    assert named[0] == [row for row in named[1] if row["metric"] in map(repr, shared)]
    assert len(named[0]) == 2 * (1 + 3)  # the whole day, and three kinds
    assert named[2] == named[3]


def test_models_without_a_metric_of_one_label_are_not_compared() -> None:
    sentence = "compare.baseline is a, but all other models read other labels: name the label in a metric, as in"
    with pytest.raises(sr.SpecError, match=re.escape(f"{sentence} auc(label=pay), to compare models by one")):
        evaluated("no/such/place", ["auc"], score={"a": "a", "b": PAID}, compare="a")


def test_a_label_that_is_the_first_is_no_own_label() -> None:
    found = evaluated(WORKED, ["rr"], score={"x": {"column": "score", "label": "click"}})
    assert [str(metric) for metric in found.plan.metrics] == ["rr"]


def test_explained_by_the_label_of_the_model() -> None:
    scores = {"ctr": "score", "cvr": {**PAID, "column": "score"}}
    found = sr.explain(WORKED, "rr", group={"user": "u"}, item="item", score=scores, label=LABELS)
    values = {(own.model, own.metric): own.value for own in found.keys[0].groups[0].metrics}
    assert values == {("ctr", "rr"): 1.0, ("cvr", f"rr({OF_LABEL})"): 1 / 2}


REFUSED: list[tuple[list[str], dict[str, Any], str]] = [
    (["rr"], {"column": "b", "label": "pya"}, 'the score of b names "pya", which is not a label, did you mean "pay"?'),
    (["rr"], {"column": "b", "among": "pya"}, 'the score of b names "pya", which is not a label, did you mean "pay"?'),
    (["rr"], {"column": "b", "labl": "pay"}, 'score of b names "labl", did you mean "label"? (allowed: column, label'),
    (["rr"], {"label": "pay"}, "the b score column is None: a name, which is a text, is needed"),
    (["rr"], {"column": "b", "label": 1}, "score of b has label 1: a text is needed"),
    (["rr(label=pay)", "coverage@3"], PAID, "the score of b has a label of its own, but no metric reads it"),
    (["ap(checked_by=pay)"], {"column": "b", "label": "pay"}, "is checked by the label that it reads, pay"),
]


@pytest.mark.parametrize(("metrics", "given", "sentence"), REFUSED, ids=lambda own: str(own)[:40])
def test_refused_before_anything_is_read(metrics: list[str], given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(sr.SpecError, match=re.escape(sentence)):
        evaluated("no/such/place", metrics, score={"b": given})


def cells_of(**gate: Any) -> list[tuple[str, str]]:
    own = {"cvr": Judging("pay", "click")}
    asked = (["auc", "auc(label=pay)"], ["ctr", "old", "cvr"], ["user"])
    plan = plan_of(*asked, labels=["click", "pay"], own_labels=own)
    baseline = "ctr" if "not_worse_than" in gate else None
    return [cell[:2] for rule in rules_of([Gate(**gate)], plan, None, None, baseline) for cell in rule.cells([])]


def test_a_gate_is_about_the_metric_of_each_model() -> None:
    of_cvr = (f"auc({OF_LABEL})", "cvr")
    assert cells_of(metric="auc", min=0) == [("auc", "ctr"), ("auc", "old"), of_cvr]
    assert cells_of(metric="auc", min=0, model="cvr") == cells_of(metric=of_cvr[0], min=0) == [of_cvr]
    assert len(cells_of(metric="auc*", min=0)) == 3 + 3
    assert cells_of(metric="auc*", not_worse_than="baseline", by=0.1) == [
        ("auc", "old"),
        ("auc(label=pay)", "old"),
        ("auc(label=pay)", "cvr"),
    ]
    with pytest.raises(sr.SpecError, match="compares cvr with ctr, and there auc reads another label"):
        cells_of(metric="auc", model="cvr", not_worse_than="baseline", by=0.1)
    with pytest.raises(sr.SpecError, match=re.escape(f'"{of_cvr[0]}" is no metric of this spec')):
        cells_of(metric=of_cvr[0], model="ctr", min=0)
