"""Relevance by subtopic: against slow definitions, the order of equal rows, and lists above their greedy list."""

from __future__ import annotations

import itertools
import math
import re
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sparkrank as sr
from sparkrank.base.errors import MetricError, SpecError
from tests.extent import examples
from tests.oracles import settled
from tests.oracles.lists import alpha_ndcg_of, subtopic_recall_of
from tests.support.buckets import evaluate, group_values, or_nan
from tests.support.strategies import PATIENT

ROLES: dict[str, Any] = {"group": "user", "item": "item", "score": "score", "label": "label"}
# The item of a row is its subtopics, so that equal items are equal rows.
SUBTOPICS = ["+".join(some) for size in (1, 2, 3) for some in itertools.permutations("abcd", size)]
LISTED = st.lists(
    st.tuples(st.sampled_from(SUBTOPICS), st.sampled_from([None, 0.0, 1.0, 2.0]), st.sampled_from([None, 0.0, 1.0])),
    max_size=8,
    unique_by=lambda row: row[0],
)


@pytest.mark.parametrize("ties", ["item", "block"])
@settings(PATIENT, max_examples=examples(60))
@given(LISTED, LISTED, st.integers(1, 9), st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]))
def test_a_list_is_over_its_greedy_list(
    ties: str, one: list[tuple[Any, ...]], other: list[tuple[Any, ...]], k: int, alpha: float
) -> None:
    """Powers of these numbers are exact, so that equal gains are equal in the slow definition too."""
    rows = [(user, *row) for user, own in (("u", one), ("v", other)) for row in own]
    metrics = [f"alpha_ndcg(by=item,alpha={alpha}){at}" for at in ("", f"@{k}")] + [f"strecall(by=item)@{k}"]
    metrics = [str(sr.Metric.parse(metric)) for metric in metrics]
    result = evaluate(rows, metrics, ties) if rows else None
    for user in {row[0] for row in rows}:
        topics = {item: frozenset(item.split("+")) for own, item, _, label in rows if own == user and label}
        listed = [(item, score, topics.get(item)) for own, item, score, _ in rows if own == user and score is not None]
        ranked = [(position, own) for position, own in settled(listed, ties) if own]
        judged = [*topics.items()]
        expected = [alpha_ndcg_of(ranked, judged, at, alpha) for at in (None, k)]
        expected.append(subtopic_recall_of(ranked, judged, k))
        found = [group_values(result, metric)[user] for metric in metrics]
        assert found == pytest.approx([*map(or_nan, expected)], abs=1e-13, nan_ok=True)


def table(*rows: tuple[str, float | None, int, list[str | None] | None]) -> pa.Table:
    item, score, label, topics = zip(*rows, strict=True)
    columns = {"user": ["u"] * len(rows), "item": item, "score": score, "label": label}
    return pa.table({**columns, "topics": pa.array(topics, pa.list_(pa.string()))})


# All have two subtopics. Of y, x and z that with the greatest item is the first of the greedy list: z, and then x.
EQUAL = (("y", 3.0, 1, ["a", "b"]), ("z", 2.0, 1, ["b", "c"]), ("x", 1.0, 1, ["a", "d"]))
SECOND = 1 / math.log2(3)


@pytest.mark.parametrize("given_", [{"ties": "item"}, {"ties": "worst"}, {"score": None, "rank": "rank"}])
def test_equal_rows_of_the_greedy_list_stand_by_their_items(given_: dict[str, Any]) -> None:
    rows = table(*EQUAL).append_column("rank", pa.array([1, 2, 3]))
    found = sr.evaluate(rows, ["alpha_ndcg(by=topics)@2"], **{**ROLES, **given_})
    assert found.metrics["value"].to_pylist() == [pytest.approx((2 + 1.5 * SECOND) / (2 + 2 * SECOND))]


def test_without_items_equal_rows_stand_by_their_texts() -> None:
    """The greatest are those of z, then x is new: as by items, so that y is renamed to be the greatest of these."""
    found = sr.evaluate(table(*EQUAL), ["alpha_ndcg(by=topics)@2"], **{**ROLES, "item": None})
    assert found.metrics["value"].to_pylist() == [pytest.approx((2 + 1.5 * SECOND) / (2 + 2 * SECOND))]
    others = table(("a", 3.0, 1, ["y", "b"]), ("b", 2.0, 1, ["b", "c"]), ("c", 1.0, 1, ["y", "d"]))
    # y+d is the first of the greedy list, and b+c the second
    found = sr.evaluate(others, ["alpha_ndcg(by=topics)@2"], **{**ROLES, "item": None})
    assert found.metrics["value"].to_pylist() == [pytest.approx((2 + 1.5 * SECOND) / (2 + 2 * SECOND))]


def test_a_list_above_its_greedy_list_is_counted() -> None:
    """The greedy list takes the row of four first, and then one of the two that have three new subtopics together."""
    rows = table(("x", 3.0, 1, ["a", "b", "e"]), ("y", 2.0, 1, ["c", "d", "f"]), ("z", 1.0, 1, [*"abcd"]))
    found = sr.evaluate(rows, ["alpha_ndcg(by=topics,alpha=1)@2"], **ROLES)
    assert found.metrics["value"].to_pylist() == [pytest.approx((3 + 3 * SECOND) / (4 + SECOND))]
    counted = {row["code"]: row["count"] for row in found.quality.to_pylist()}
    assert counted["values_above_ideal"] == 1


def test_a_null_or_empty_array_is_no_subtopic_and_counted() -> None:
    rows = table(("x", 4.0, 1, None), ("y", 3.0, 1, []), ("z", 2.0, 1, [None]), ("w", 1.0, 1, ["a", None, "a"]))
    found = sr.evaluate(rows, ["alpha_ndcg(by=topics)", "strecall(by=topics)@3", "strecall(by=topics)"], **ROLES)
    assert found.metrics["value"].to_pylist() == [pytest.approx(1 / math.log2(5)), 0.0, 1.0]
    counted = {row["check"]: row["count"] for row in found.quality.to_pylist()}
    assert counted["rows with a score that have no topics"] == 3


@pytest.mark.parametrize("given_", [{}, {"duplicates": "once"}, {"item": None}, {"ties": "worst"}])
def test_the_order_of_rows_leaves_no_trace(given_: dict[str, Any]) -> None:
    """An item with two arrays, and tied rows that differ in these alone."""
    rows = [("x", 1.0, 1, ["a"]), ("x", 1.0, 1, ["b", "c"]), ("y", 0.5, 1, ["b", "a"]), ("y", 0.5, 1, ["c"])]
    asked = [f"{name}(by=topics)@{k}" for name in ("alpha_ndcg", "strecall") for k in (1, 2, 3)]
    found = [sr.evaluate(table(*own), asked, **{**ROLES, **given_}) for own in itertools.permutations(rows)]
    assert len({tuple(own.metrics["value"].to_pylist()) for own in found}) == 1


def test_a_truth_has_no_subtopics_but_a_catalog_has() -> None:
    lists, truth = table(*EQUAL).select(["user", "item", "score", "topics"]), table(*EQUAL).select(["user", "item"])
    roles = {"group": "user", "item": "item", "score": "score"}
    sentence = "takes subtopics from the column topics of the lists, but an item of the truth that no list has"
    with pytest.raises(SpecError, match=sentence):
        sr.evaluate(lists, ["strecall(by=topics)"], truth=truth, **roles)
    catalog = table(*EQUAL, ("w", None, 1, ["e"])).select(["item", "topics"])
    more = pa.concat_tables([truth, pa.table({"user": ["u"], "item": ["w"]})])
    found = sr.evaluate(
        lists.drop_columns(["topics"]), ["strecall(by=catalog.topics)"], truth=more, catalog=catalog, **roles
    )
    assert found.metrics["value"].to_pylist() == [4 / 5]


@pytest.mark.parametrize(
    ("metric", "sentence"),
    [
        ("alpha_ndcg@3", "names no column: by=<column> has the subtopics of a row, as in alpha_ndcg(by=subtopics)@10"),
        ("alpha_ndcg(by=topics,alpha=2)", "alpha takes a number from 0 to 1"),
        ("strecall(by=topics,alpha=1)", 'unknown parameter "alpha"'),
    ],
)
def test_what_a_metric_is_refused_for(metric: str, sentence: str) -> None:
    with pytest.raises(MetricError, match=re.escape(sentence)):
        sr.Metric.parse(metric)
