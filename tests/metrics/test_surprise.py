"""Novelty and serendipity by what items had before: slow definitions, RecTools' numbers, and what is refused."""

from __future__ import annotations

import functools
import math
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import sparkrank as sr
from sparkrank.base.errors import MetricError, SpecError
from sparkrank.metrics import PRESETS, Metric
from tests.cases import Row
from tests.extent import examples
from tests.oracles import ORACLES, expected_over_orders
from tests.oracles.values import is_relevant
from tests.support.buckets import evaluate, group_values, or_nan
from tests.support.strategies import PATIENT, impressions

ROLES: dict[str, Any] = {"group": "user", "item": "item", "score": "score"}
FORMS = (
    ("past_novelty", {"of": "users", "over": "lists"}),
    ("past_novelty", {"of": "rows", "over": "lists"}),
    ("past_novelty", {"of": "users", "over": "rows", "scale": "unit"}),
    ("past_novelty", {"of": "rows", "over": "k"}),
    ("past_serendipity", {"over": "k"}),
    ("past_serendipity", {"over": "retrieved"}),
)


@pytest.mark.parametrize("ties", ["expected", "item", "block"])
@settings(PATIENT, max_examples=examples(100))
@given(impressions(most_rows=6), st.none() | st.integers(1, 5), st.sampled_from(FORMS))
def test_values_of_slow_definitions(
    ties: str, rows: list[Row], k: int | None, form: tuple[str, dict[str, str]]
) -> None:
    """A group had the items of its rows with a label above 0."""
    name, settings_ = form
    assume(k is not None or form != ("past_novelty", {"of": "rows", "over": "k"}))
    had = [(group, item) for group, item, _, label in rows if is_relevant(label)]
    oracle = functools.partial(ORACLES[name], had=had, k=k, **settings_)
    expected = {}
    for group in {row[0] for row in rows}:
        listed = [
            (score, (item, is_relevant(label)) if name == "past_serendipity" else item)
            for owner, item, score, label in rows
            if owner == group and score is not None
        ]
        if ties == "expected":
            expected[group] = or_nan(expected_over_orders(listed, [oracle])[0])
            continue
        listed.sort(key=lambda row: (row[0], row[1][0].encode() if name == "past_serendipity" else row[1].encode()))
        ranked = [(place, shown) for place, (_, shown) in enumerate(reversed(listed), start=1)]
        if ties == "block":
            ranked = [(sum(other >= score for other, _ in listed), shown) for score, shown in listed]
        expected[group] = or_nan(oracle(ranked))
    written = ",".join(f"{key}={value}" for key, value in {"of": "rows", **settings_}.items())
    metric = str(Metric.parse(f"{name}({written}){'' if k is None else f'@{k}'}"))
    assert group_values(evaluate(rows, [metric], ties), metric) == pytest.approx(expected, abs=1e-12, nan_ok=True)


def lists(rows: list[tuple[str, str]]) -> pa.Table:
    """Lists, of which each row stands below those before it."""
    users, items = zip(*rows, strict=True)
    return pa.table({"user": users, "item": items, "score": [-float(place) for place in range(len(rows))]})


def pairs(rows: list[tuple[str, str]]) -> pa.Table:
    users, items = zip(*rows, strict=True)
    return pa.table({"user": users, "item": items})


# The example of RecTools' Serendipity (0.19): the groups' values for k of 1 and 2, in a catalog of four items.
RECO = [("u1", "i1"), ("u1", "i2"), ("u2", "i2"), ("u2", "i3"), ("u3", "i3"), ("u4", "i2"), ("u4", "i3")]
WANTED = [("u1", "i1"), ("u1", "i2"), ("u2", "i2"), ("u2", "i3"), ("u3", "i2"), ("u4", "i2")]
HAD = [("u1", "i1"), ("u1", "i2"), ("u2", "i1"), ("u2", "i2"), ("u3", "i1")]
RECTOOLS = {1: {"u1": 0.0, "u2": 0.25, "u3": 0.0, "u4": 0.25}, 2: {"u1": 0.0, "u2": 0.5, "u3": 0.0, "u4": 0.125}}


@pytest.mark.parametrize("k", RECTOOLS)
def test_the_example_of_rectools(k: int) -> None:
    catalog = pa.table({"item": ["i1", "i2", "i3", "i4"]})
    asked: dict[str, Any] = {"truth": pairs(WANTED), "interactions": pairs(HAD), "group": "user", "item": "item"}
    asked |= {"rank": "rank", "preset": "rectools", "population": "lists"}
    place = [1, 2, 1, 2, 1, 1, 2]
    ranked = lists(RECO).drop_columns("score").append_column("rank", pa.array(place))
    found = sr.evaluate(ranked, [f"serendipity@{k}"], catalog=catalog, **asked)
    metric = f"serendipity(of=rows,over=retrieved)@{k}"
    assert {row["user"]: row[metric] for row in found.groups.to_pylist()} == RECTOOLS[k]


def test_the_novelty_of_three_libraries() -> None:
    """RecTools' example of MeanInvUserFreq: of three users all had 1, and one had 2; nobody had 3.

    Recommenders counts the rows: 1 has three of four.
    """
    reco = lists([("1", "3"), ("2", "2"), ("2", "3"), ("3", "1"), ("3", "2")])
    had = pairs([("1", "1"), ("1", "2"), ("2", "1"), ("3", "1")])
    names = ["MeanInvUserFreq@1", "MeanInvUserFreq@3", "Surprisal@3"]
    found = sr.evaluate(reco, names, interactions=had, **ROLES)
    bits = math.log2(3)
    assert found["MeanInvUserFreq@1"] == pytest.approx((1.5849625007 + 1.5849625007 + 0.0) / 3, abs=1e-10)
    assert found["MeanInvUserFreq@3"] == pytest.approx((1.5849625007 + 1.5849625007 + 0.79248125036) / 3, abs=1e-10)
    assert found["Surprisal@3"] == pytest.approx((1 / 3 + 2 / 3 + 1 / 3) / 3)  # over k, not over the rows shown
    asked = {"interactions": had, "preset": "recommenders", "population": "lists", **ROLES}
    rows = sr.evaluate(reco, ["novelty"], **asked)
    assert rows["novelty(of=rows)"] == pytest.approx((3 * 0 + 4 * math.log2(4 / 1) + math.log2(4 / 3)) / 5)
    users = sr.evaluate(reco, ["novelty(of=users)"], interactions=had, **ROLES)
    row = users.metrics.to_pylist()[0]
    assert (row["value"], row["weight"]) == (pytest.approx(4 * bits / 5), 5)
    assert row["ci_low"] < row["value"] < row["ci_high"]


def test_what_a_parameter_names_is_said() -> None:
    for text, said in {
        "novelty(of=user)@3": r'of=user in .* is not allowed, did you mean "users"\? \(of takes rel.*\|users\|rows\)',
        "novelty(over=lists)@3": "gives over, but novelty takes none: with of=users or of=rows it does",
        "median(novelty(of=rows)@3)": "over=rows does not: write over=lists",
        "novelty(of=users,weight=relevant)": "gives weight, but under over=rows a list weighs",
        "past_serendipity@2": "names no popularity of the interactions: of=rows does",
    }.items():
        with pytest.raises(MetricError, match=said):
            Metric.parse(text)
    assert str(Metric.parse("novelty@3", PRESETS["replay"])) == "new(over=retrieved)@3"
    with pytest.raises(SpecError, match=r"novelty\(of=users\)@1 reads interactions.users of an item, but there are no"):
        sr.evaluate(lists(RECO), ["novelty(of=users)@1"], **ROLES)
    with pytest.raises(SpecError, match=r"serendipity\(of=rows\)@1 reads interactions.rank of an item, but there are"):
        sr.evaluate(lists(RECO), ["serendipity(of=rows)@1"], truth=pairs(WANTED), **ROLES)
