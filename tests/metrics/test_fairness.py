"""Who is shown: against slow definitions, by what a catalog says of items, and what a metric of it is refused for."""

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
from tests.cases import KINDS
from tests.extent import examples
from tests.oracles.lists import fairness
from tests.support.buckets import evaluate, group_values, or_nan
from tests.support.strategies import PATIENT

ROLES: dict[str, Any] = {"group": "user", "item": "item", "score": "score", "label": "label"}
AS_CATALOG = pa.table({"id": [*KINDS], "kind": [*KINDS.values()]})
# Items of the catalog and one that it lacks, each of one score.
LISTED = st.lists(
    st.tuples(st.sampled_from([*KINDS, "x"]), st.sampled_from([None, 0.0, 1.0, 2.0])),
    max_size=6,
    unique_by=lambda row: row[0],
)


@settings(PATIENT, max_examples=examples(60))
@given(LISTED, st.integers(1, 6), st.sampled_from(["log2", "zipf"]), st.sampled_from(["tv", "js"]))
def test_by_what_the_catalog_says(listed: list[tuple[str, float | None]], k: int, discount: str, distance: str) -> None:
    rows = [("u", item, float(-place), label) for place, (item, label) in enumerate(listed)]
    shown = [(place, KINDS.get(item)) for place, (item, _) in enumerate(listed, start=1)]
    targets = {
        "relevant": [KINDS.get(item) for item, label in listed if label is not None and label > 0],
        "catalog": [*KINDS.values()],
    }
    for against, target in targets.items():
        metric = f"awrf(by=catalog.kind,against={against},discount={discount},distance={distance})@{k}"
        metric = str(sr.Metric.parse(metric))
        expected = or_nan(fairness(shown, target, k, discount, distance))
        found = group_values(evaluate(rows, [metric], "item"), metric) if rows else {"u": math.nan}
        assert found == pytest.approx({"u": expected}, abs=1e-13, nan_ok=True), metric


@pytest.mark.parametrize(
    ("ties", "settings"), [("item", {}), ("item", {"duplicates": "once"}), ("best", {"item": None}), ("worst", {})]
)
def test_rows_that_differ_in_their_values_alone_leave_their_order_no_trace(ties: str, settings: dict[str, Any]) -> None:
    """An item with two values, and tied rows of which no item is read."""
    rows = [("x", 1.0, 1, "a"), ("x", 1.0, 1, "b"), ("y", 0.5, 1, "a"), ("y", 0.5, 1, "c")]
    asked = [f"awrf(by=kind,ties={ties})@{k}" for k in (1, 2, 3)]
    values = set()
    for order in itertools.permutations(rows):
        item, score, label, kind = zip(*order, strict=True)
        table = pa.table({"user": ["u"] * 4, "item": item, "score": score, "label": label, "kind": kind})
        found = sr.evaluate(table, asked, **{**ROLES, **settings}, group_table=False)
        values.add(tuple(found.metrics["value"].to_pylist()))
    assert len(values) == 1


def test_the_items_of_a_catalog_are_a_target_without_labels() -> None:
    lists = pa.table({"user": ["a", "a"], "item": ["i0", "i1"], "score": [2.0, 1.0]})
    roles = {name: ROLES[name] for name in ("group", "item", "score")}
    metric = "awrf(by=catalog.kind,against=catalog)@1"
    found = sr.evaluate(lists, [metric], catalog=AS_CATALOG, catalog_columns={"item": "id"}, **roles)
    assert found.metrics["value"].to_pylist() == [2 / 5]  # a is due two of five
    with pytest.raises(SpecError, match="reads labels"):
        sr.evaluate(lists, ["awrf(by=catalog.kind)@1"], catalog=AS_CATALOG, catalog_columns={"item": "id"}, **roles)


@pytest.mark.parametrize(
    ("metric", "sentence"),
    [
        ("awrf@3", '"awrf@3" names no column: by=<column> says what is shown, as in awrf(by=catalog.provider)@10'),
        ("awrf(by=kind,against=catalog)", "compares kind with the items of a catalog: by=catalog.<column> is needed"),
        ("awrf(by=catalog.kind,against=catalog,rel=2)", "gives rel, but against=catalog reads no labels"),
        ("awrf(by=kind,against=history)", "against takes relevant|catalog"),
        ("awrf(by=kind,discount=[0.5,1])", "gives position 2 a larger discount than position 1"),
    ],
)
def test_what_a_metric_is_refused_for(metric: str, sentence: str) -> None:
    with pytest.raises(MetricError, match=re.escape(sentence)):
        sr.Metric.parse(metric)
