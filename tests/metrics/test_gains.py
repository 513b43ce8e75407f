"""Gains that are a column or listed: the law that makes labels of them, whose rows are bad, and what is refused."""

from __future__ import annotations

import re
from math import log2
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sparkrank as sr
from sparkrank.base import checks
from sparkrank.metrics import Metric
from tests.cases import Row
from tests.extent import examples
from tests.support.buckets import evaluate, group_values
from tests.support.strategies import PATIENT

ROLES: dict[str, Any] = {"group": "g", "item": "item", "score": "score", "label": "label"}
METRICS = ["cg({})@2", "cg({})", "dcg({})@3", "ndcg({})@2", "ndcg({})", "ndcg({},ideal=retrieved)@3"]
METRICS += ["dcg({},discount=zipf)", "ndcg({},discount=[1,0.5,0.5])"]
LISTED = (0.0, 1.0, 0.0, 2.5)
some_rows = st.lists(
    st.tuples(
        st.sampled_from("ab"),
        st.sampled_from([None, 1.0, 2.0, 3.0]),
        st.sampled_from([None, -1.0, 0.0, 1.0, 2.0, 3.0]),
        st.sampled_from([None, 0.0, 0.1, 0.2, 3.0, 8.0]),
    ),
    min_size=1,
    max_size=9,
)
TIES = ("expected", "item", "worst", "best", "block")


def with_items(rows: list[tuple]) -> list[Row]:
    return [(group, f"i{place}", *rest) for place, (group, *rest) in enumerate(rows)]


@pytest.mark.parametrize("ties", TIES)
@settings(PATIENT, max_examples=examples(60))
@given(some_rows)
def test_gains_are_those_of_rows_labelled_with_them(ties: str, rows: list[tuple]) -> None:
    """The gain of a relevant row is what a label of that amount has, which oracles of labels have checked."""
    priced = with_items(rows)
    relevant = [(label or 0) > 0 for *_, label, _ in priced]
    of_column = [(*row[:3], (row[4] or 0.0) * flag) for row, flag in zip(priced, relevant, strict=True)]
    of_list = [
        (*row[:3], LISTED[int(row[3] or 0)] if flag else 0.0) for row, flag in zip(priced, relevant, strict=True)
    ]
    for gain, labelled in (("gain=reference_rank", of_column), ("gain=[0,1,0,2.5]", of_list)):
        asked, plain = ([metric.format(own) for metric in METRICS] for own in (gain, "gain=linear"))
        found, expected = evaluate(priced, asked, ties), evaluate(labelled, plain, ties)
        for metric, other in zip(asked, plain, strict=True):
            own, law = (
                group_values(result, str(Metric.parse(text))) for result, text in ((found, metric), (expected, other))
            )
            assert own == pytest.approx(law, rel=0, abs=1e-12, nan_ok=True), metric


@pytest.mark.parametrize("ties", TIES)
@settings(PATIENT, max_examples=examples(40))
@given(st.data(), some_rows)
def test_the_order_of_the_input_leaves_no_trace(ties: str, data: st.DataObject, rows: list[tuple]) -> None:
    priced = with_items(rows)
    asked = [metric.format("gain=reference_rank") for metric in METRICS]
    one, other = (evaluate(given_rows, asked, ties) for given_rows in (priced, data.draw(st.permutations(priced))))
    for metric in map(str, map(Metric.parse, asked)):
        values = [{group: repr(value) for group, value in group_values(each, metric).items()} for each in (one, other)]
        assert values[0] == values[1], metric


def test_an_item_twice_has_its_highest_gain() -> None:
    """x is listed for 3, and again for 5: it is one item, so the list [x] is the best there is."""
    rows = pa.table({"g": ["a"] * 2, "item": ["x", "x"], "score": [2.0, 1.0], "label": [1.0, 1.0], "price": [3.0, 5.0]})
    for given_rows in (rows, rows.take([1, 0])):
        found = sr.evaluate(given_rows, ["cg(gain=price)", "ndcg(gain=price)"], **ROLES, duplicates="first")
        assert found.metrics["value"].to_pylist() == [5.0, 1.0]


LISTS = pa.table({"g": ["a"] * 3, "item": ["x", "y", "z"], "score": [3.0, 2.0, 1.0]})
TRUTH = pa.table({"g": ["a"] * 3, "item": ["y", "z", "v"], "label": [1.0, 1.0, 1.0]})
ITEMS = pa.table({"item": ["x", "y", "v", "w"], "price": [9.0, 2.0, 4.0, -1.0]})


@pytest.mark.parametrize("ties", TIES)
def test_an_item_of_the_truth_that_no_list_has_gains_what_the_catalog_says(ties: str) -> None:
    """y gains 2, z nothing, as the catalog lacks it; v would gain 4 but is in no list."""
    metrics = ["cg(gain=catalog.price)", "ndcg(gain=catalog.price,discount=zipf)"]
    found = sr.evaluate(LISTS, metrics, truth=TRUTH, catalog=ITEMS, ties=ties, **ROLES)
    assert found.metrics["value"].to_pylist() == pytest.approx([2.0, (2 / 2) / (4 + 2 / 2)])
    counts = {row["check"]: row["count"] for row in found.quality.to_pylist()}
    assert counts["relevant rows that have no catalog.price"] == 1


def test_arrays_gain_what_the_catalog_says() -> None:
    lists = pa.table({"g": ["a"], "items": [["x", "y", "z"]], "true": [["y", "v"]]})
    roles: dict[str, Any] = {"group": "g", "items": "items", "true_items": "true", "catalog_columns": {"item": "item"}}
    found = sr.evaluate(lists, ["ndcg(gain=catalog.price)@2"], catalog=ITEMS, **roles)
    assert found.metrics["value"].to_pylist() == pytest.approx([(2 / log2(3)) / (4 + 2 / log2(3))])


@pytest.mark.parametrize(
    ("metric", "label", "price", "check"),
    [
        ("cg(gain=price)", 1.0, -1.0, checks.BAD_GAIN),
        ("ndcg(gain=price)", 1.0, -1.0, checks.BAD_GAIN),
        ("ndcg(gain=price)", 0.0, -1.0, None),  # it gains nothing
        ("dcg(gain=price)", 1.0, 1e-7, checks.BAD_GAIN),
        ("ndcg(gain=price)", 1.0, 1e-7, None),
        ("ndcg(gain=price)", 1.0, float("nan"), checks.BAD_VALUE),
        ("ndcg(gain=price)", 1.0, float("inf"), checks.BAD_VALUE),
        ("ndcg(gain=price)", 1.0, None, None),
        ("ndcg(gain=[0,1,3])", 3.0, 1.0, checks.NO_GAIN),
        ("ndcg(gain=[0,1,3])", 0.5, 1.0, checks.NO_GAIN),
        ("ndcg(gain=[0,1,3])", 2.0, 1.0, None),
        ("ndcg(gain=[0,1,3])", -0.5, 1.0, None),
        ("cg(gain=[0,1,3])", -0.5, 1e-9, None),
    ],
)
def test_bad_rows(metric: str, label: float, price: float | None, check: str | None) -> None:
    columns = {"g": ["a", "a"], "item": ["x", "y"], "score": [2.0, 1.0], "label": [label, 1.0], "price": [price, 1.0]}
    found = sr.evaluate(pa.table(columns), [metric], **ROLES, max_bad_fraction=1.0)
    counts = {row["check"]: row["count"] for row in found.quality.to_pylist()}
    rejected = {name: count for name, count in counts.items() if name.startswith("rejected: ") and count}
    assert rejected == ({} if check is None else {check: 1})


@pytest.mark.parametrize(
    ("metric", "sentence"),
    [
        ("ndcg(gain=[1,2])", "gives the label 0 a gain of 1: rows of this label are not relevant, so 0 is needed"),
        ("ndcg(gain=[0,-1])", "gives a label a gain of -1: 0 or a gain from 1e-06 to 2^400 is allowed"),
        ("ndcg(gain=[0,0])", "gives no label a gain above 0"),
        ("ndcg(gain=[0,1],ideal=[2])", "gives an ideal list with the grade 2: gain has whole grades up to 1"),
        ("ndcg(gain=price,ideal=[2,1])", "gives ideal=[2,1] with gain=price: judged or retrieved rows have gains"),
        ("ndcg(gain=price,ideal=k_relevant)@3", "gives ideal=k_relevant with gain=price"),
        ("cg(gain=price,rel=2)", "gives rel with gain=price: only gain=binary asks which labels are relevant"),
        ("cg(gain=[0,1)", "is not allowed (gain takes linear|exp2|binary|<column>|[gain,...]|{<label>:weight,...})"),
    ],
)
def test_what_is_refused(metric: str, sentence: str) -> None:
    with pytest.raises(sr.MetricError, match=re.escape(sentence)):
        Metric.parse(metric)


def test_an_item_gains_what_its_row_of_the_truth_says() -> None:
    """y gains 2, z nothing, v would gain 4. What lists have in the same column is what is shown: (9 + 8 + 7) / 3."""
    lists = LISTS.append_column("price", pa.array([9.0, 8.0, 7.0]))
    truth = TRUTH.append_column("price", pa.array([2.0, None, 4.0]))
    metrics = ["cg(gain=price)", "ndcg(gain=price,discount=zipf)", "ndcg(gain=price,ideal=retrieved)"]
    expected = [2.0, (2 / 2) / (4 + 2 / 2), (2 / log2(3)) / 2]
    for given_lists, asked, values in (
        (LISTS, metrics, expected),
        (lists, [*metrics, "shown(of=price)"], [*expected, 8]),
    ):
        found = sr.evaluate(given_lists, asked, truth=truth, **ROLES)
        assert found.metrics["value"].to_pylist() == pytest.approx(values)
        counts = {row["check"]: row["count"] for row in found.quality.to_pylist()}
        assert counts["relevant rows that have no price"] == 1
        assert counts.get("rows with a score that have no price") == (0 if "shown(of=price)" in asked else None)
    dropped = sr.evaluate(LISTS, metrics, truth=truth, unjudged="drop", **ROLES)  # y is then the first
    assert dropped.metrics["value"].to_pylist() == pytest.approx([2.0, 2 / (4 + 2 / 2), 1.0])


listed = st.lists(
    st.tuples(st.sampled_from("ab"), st.sampled_from("wxyz"), st.sampled_from([1.0, 2.0, 3.0])), min_size=1
)
wanted = st.lists(
    st.tuples(
        st.sampled_from("ab"),
        st.sampled_from("wxyz"),
        st.sampled_from([-1.0, 0.0, 1.0, 2.0]),
        st.sampled_from([None, 0.0, 0.1, 0.2, 8.0]),
    ),
    min_size=1,
    max_size=9,
)


@pytest.mark.parametrize("unjudged", ["nonrelevant", "drop"])
@settings(PATIENT, max_examples=examples(15))
@given(listed, wanted)
def test_gains_of_a_truth_are_those_of_labels_of_that_amount(
    unjudged: str, rows: list[tuple], true: list[tuple]
) -> None:
    """An item that the truth has twice is relevant if one of its rows is, and has the highest gain of them all."""
    rows, true = [("c", "w", 1.0), *rows], [("c", "w", 1.0, 1.0), *true]  # a group that both have
    asked, plain = ([metric.format(own) for metric in METRICS] for own in ("gain=price", "gain=linear"))
    pairs = {row[:2] for row in true}
    label, price = ({pair: max(row[at] or 0.0 for row in true if row[:2] == pair) for pair in pairs} for at in (2, 3))
    labelled = [(*pair, price[pair] if label[pair] > 0 else 0.0, None) for pair in pairs]
    lists = pa.table(dict(zip(("g", "item", "score"), map(list, zip(*rows, strict=True)), strict=True)))
    schema = pa.schema({"g": pa.string(), "item": pa.string(), "label": pa.float64(), "price": pa.float64()})
    found = []
    for metrics, given_rows in ((asked, true), (asked, true[::-1]), (plain, labelled)):
        truth = pa.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in given_rows], schema)
        evaluated = sr.evaluate(
            lists, metrics, truth=truth, unjudged=unjudged, duplicates="first", uncertainty=False, **ROLES
        )
        found.append(evaluated.metrics["value"].to_pylist())
    assert list(map(repr, found[0])) == list(map(repr, found[1]))  # whatever the order of the truth
    assert found[0] == pytest.approx(found[2], rel=0, abs=1e-12, nan_ok=True)


def test_a_gain_that_is_neither_a_column_nor_a_word() -> None:
    rows = LISTS.append_column("label", pa.array([1.0, 0.0, 0.0]))
    with pytest.raises(sr.InputError, match=r'"exp" is not in the input \(.*\); gain takes .*, did you mean "exp2"\?'):
        sr.evaluate(rows, ["ndcg(gain=exp)"], **ROLES)
    with pytest.raises(sr.InputError, match=r'"binari" is not in the truth \(.*\); gain .*, did you mean "binary"\?'):
        sr.evaluate(LISTS, ["ndcg(gain=binari)"], truth=TRUTH, **ROLES)
    with pytest.raises(sr.InputError, match=r'"row" is not in the input .*; weight takes .*, did you mean "rows"\?'):
        sr.evaluate(rows, ["ndcg(weight=row)"], **ROLES)
    with pytest.raises(sr.InputError, match="lines"):
        sr.evaluate(rows, ["ndcg(gain=lines)"], **ROLES)


@pytest.mark.parametrize("gain", [-1.0, 1e-7, float("nan")])
def test_a_bad_gain_of_the_truth_is_a_bad_row(gain: float) -> None:
    truth = TRUTH.append_column("price", pa.array([2.0, gain, 4.0]))
    with pytest.raises(sr.InputError, match="1 gain of a relevant row that is negative" if gain < 1 else "1 value"):
        sr.evaluate(LISTS, ["cg(gain=price)"], truth=truth, **ROLES)
