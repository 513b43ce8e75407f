"""Who is shown: against slow definitions, by what a catalog says of items, and what a metric of it is refused for."""

from __future__ import annotations

import itertools
import math
import re
from collections import defaultdict
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sparkrank as sr
from sparkrank.base.errors import InputError, MetricError, SpecError
from sparkrank.metrics.merged import Merged
from sparkrank.numeric.key_hashes import hash_keys, parts_of
from sparkrank.states import Partials
from sparkrank.states.keys import Subject
from tests.cases import KINDS, Row
from tests.extent import examples
from tests.oracles.lists import distance_of, fairness, shares_of
from tests.support.buckets import day, evaluate, group_values, or_nan
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


@pytest.mark.parametrize("against", ["relevant", "catalog"])
def test_numbers_are_values_as_their_texts_are(against: str) -> None:
    rng = np.random.default_rng(11)
    lists = pa.table({"user": np.arange(600) // 5, "item": rng.integers(0, 40, 600), "score": rng.random(600)})
    lists = lists.append_column("label", pa.array(rng.integers(0, 2, 600)))
    numbers = np.arange(40) % 7
    catalog = pa.table({"id": np.arange(40), "whole": numbers, "half": numbers / 2, "text": numbers.astype(str)})
    values = []
    for column in ("whole", "half", "text"):
        asked = [f"{name}(by=catalog.{column},against={against})@3" for name in ("awrf", "exposure_gap")]
        found = sr.evaluate(lists, asked, catalog=catalog, catalog_columns={"item": "id"}, **ROLES)
        values.append((found.metrics["value"].to_pylist(), found.exposures["ratio"].to_pylist()))
    assert values[0] == values[1] == values[2]


@pytest.mark.parametrize(
    ("metric", "sentence"),
    [
        ("awrf@3", '"awrf@3" names no column: by=<column> says what is shown, as in awrf(by=catalog.provider)@10'),
        ("awrf(by=kind,against=catalog)", "compares kind with the items of a catalog: by=catalog.<column> is needed"),
        ("awrf(by=catalog.kind,against=catalog,rel=2)", "gives rel, but against=catalog reads no labels"),
        ("awrf(by=kind,against=interactions)", "with the items of the interactions: by=catalog.<column> or by=tier is"),
        ("exposure_gap(by=tier,against=interactions,rel=2)", "gives rel, but against=interactions reads no labels"),
        ("awrf(by=kind,against=history)", "against takes relevant|catalog|interactions"),
        ("awrf(by=kind,discount=[0.5,1])", "gives position 2 a larger discount than position 1"),
    ],
)
def test_what_a_metric_is_refused_for(metric: str, sentence: str) -> None:
    with pytest.raises(MetricError, match=re.escape(sentence)):
        sr.Metric.parse(metric)


ROWS = st.lists(
    st.tuples(
        st.sampled_from("abcdef"),
        st.sampled_from([*KINDS, "x"]),
        st.sampled_from([None, 1.0, 2.0]),
        st.sampled_from([None, 0.0, 1.0, 2.0]),
    ),
    min_size=1,
    max_size=14,
    unique_by=lambda row: row[:2],
)


def attention_of(rows: list[Row], k: int) -> dict[str | None, float]:
    """The attention to each kind, as the mean over the orders of tied rows: positions of a block are shared evenly."""
    attention: dict[str | None, float] = defaultdict(float)
    for group, item, score, _ in rows:
        if score is not None:
            above = sum(1 for own, _, other, _ in rows if own == group and other is not None and other > score)
            tied = sum(1 for own, _, other, _ in rows if own == group and other == score)
            places = range(above + 1, above + tied + 1)
            attention[KINDS.get(str(item))] += sum(1 / math.log2(at + 1) for at in places if at <= k) / tied
    return attention


@settings(PATIENT, max_examples=examples(60))
@given(ROWS, st.integers(1, 4), st.sampled_from(["tv", "js"]))
def test_a_gap_is_that_of_all_lists(rows: list[Row], k: int, distance: str) -> None:
    """By a plain sum over lists, and from the merged states of each list alone."""
    shown = shares_of([(kind, amount) for kind, amount in attention_of(rows, k).items() if kind is not None])
    targets = {
        "relevant": [KINDS.get(str(item)) for _, item, _, label in rows if label is not None and label > 0],
        "catalog": [*KINDS.values()],
    }
    for against, kinds in targets.items():
        metric = sr.Metric.parse(f"exposure_gap(by=catalog.kind,against={against},distance={distance})@{k}")
        target = shares_of([(kind, 1.0) for kind in kinds if kind is not None])
        expected = math.nan if shown is None or target is None else distance_of(shown, target, distance)
        whole = evaluate(rows, [metric]).partials
        assert day(whole, metric)[0] == pytest.approx(expected, abs=1e-8, nan_ok=True)  # a discount is kept to 2^-33
        lists = [[row for row in rows if row[0] == group] for group in {row[0] for row in rows}]
        merged = Partials.merged(evaluate(own, [metric]).partials for own in lists)
        assert repr(day(merged, metric)) == repr(day(whole, metric))


def test_a_gap_without_a_part_is_that_of_the_other_groups() -> None:
    """Each part is left out by hand, of the day and of a slice, for both targets; and days merge with their parts."""
    draw = np.random.default_rng(3)
    users, items, score = np.repeat(np.arange(90), 6), draw.integers(0, 4, 540), draw.random(540)
    kinds = [f"kind {number}" for number in (3 * score).astype(int)]  # the lists show one kind more than others
    table = pa.table(
        {
            "user": users,
            "item": pa.array([None if item == 3 else f"i{item}" for item in items]).fill_null("x"),
            "score": score,
            "label": draw.integers(0, 2, 540),
            "kind": pa.array(kinds, mask=draw.random(540) < 0.2),
            "country": np.repeat(draw.choice(["no", "de"], 90), 6),
        }
    )
    metrics = ["exposure_gap(by=kind)@2", "exposure_gap(by=catalog.kind,against=catalog)@3"]
    asked = {**ROLES, "catalog": AS_CATALOG, "catalog_columns": {"item": "id"}, "slices": ["country"]}
    whole = sr.evaluate(table, metrics, **asked)
    part = parts_of(hash_keys([pa.array(users)]))
    for subject, parts in ((Subject("score", "all", "all"), 64), (Subject("score", "country", "no"), 16)):
        own = part // (64 // parts)
        for name in metrics:
            metric = sr.Metric.parse(name)
            without = Merged(whole.partials).without_parts(subject, metric)
            assert without is not None
            for left_out in np.flatnonzero(without.sizes)[:3].tolist():
                others = sr.evaluate(table.filter(pa.array(own != left_out)), metrics, **asked)
                assert without.without[left_out] == Merged(others.partials).row(subject, metric).value
    halves = [sr.evaluate(table.filter(pa.array(users % 2 == half)), metrics, **asked).partials for half in (0, 1)]
    merged, once = Merged(Partials.merged(halves)), Merged(whole.partials)
    for name in metrics:
        subject, metric = Subject("score", "all", "all"), sr.Metric.parse(name)
        pairs = zip(merged.without_parts(subject, metric), once.without_parts(subject, metric), strict=True)
        assert all(np.array_equal(one, other, equal_nan=True) for one, other in pairs)
    row = whole.metrics.to_pylist()[0]
    assert row["ci_low"] < row["value"] < row["ci_high"]
    assert row["interval"] == "jackknife"


def test_the_rows_of_interactions_are_a_target() -> None:
    """Each of two items of a has one row and one of b has three, of which two are twice the same; none is of c."""
    had = pa.table({"user": ["a", "b", "b", "b", "c", "d"], "item": ["i0", "i2", "i1", "i1", "i1", "elsewhere"]})
    lists = pa.table({"user": ["a", "a", "b"], "item": ["i0", "i1", "i0"], "score": [2.0, 1.0, 1.0]})
    roles = {name: ROLES[name] for name in ("group", "item", "score")}
    asked = {**roles, "catalog": AS_CATALOG, "catalog_columns": {"item": "id"}, "interactions": had}
    metrics = [f"{name}(by=catalog.kind,against=interactions)@1" for name in ("awrf", "exposure_gap")]
    found = sr.evaluate(lists, metrics, **asked)
    assert found.metrics["value"].to_pylist() == [2 / 5, 3 / 5]  # a alone is shown
    assert {row["value"]: row["due"] for row in found.exposures.to_pylist()} == {"a": 2 / 5, "b": 3 / 5, "c": 0}
    # i2 begins where the others have five of six rows, so that it is no head
    tiers = sr.evaluate(lists, ["exposure_gap(by=tier,against=interactions,discount=[1])@1"], **roles, interactions=had)
    due = {row["value"]: row["due"] for row in tiers.exposures.to_pylist()}
    assert (tiers.metrics["value"].to_pylist(), due) == ([pytest.approx(1 / 6)], {"head": 5 / 6, "torso": 1 / 6})
    with pytest.raises(SpecError, match="compares with the interactions, but no interactions are given"):
        sr.evaluate(lists, metrics, **{**asked, "interactions": None})
    nobody = had.slice(0, 0)
    with pytest.raises(InputError, match="interactions"):
        sr.evaluate(lists, metrics, **{**asked, "interactions": nobody})


def test_rows_without_a_value_are_counted() -> None:
    lists = pa.table({"user": ["a"] * 3, "item": ["i0", "i3", "x"], "score": [3.0, 2.0, 1.0], "label": [1, 1, 1]})
    for name in ("awrf", "exposure_gap"):
        found = sr.evaluate(
            lists, [f"{name}(by=catalog.kind)"], catalog=AS_CATALOG, catalog_columns={"item": "id"}, **ROLES
        )
        counted = {row["check"]: row["count"] for row in found.quality.to_pylist()}
        assert counted["rows with a score that have no catalog.kind"] == 2
        assert counted["items that the catalog lacks"] == 1
