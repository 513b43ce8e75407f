"""Two lists of a group, by walking every order of the tied rows of both, and beside another model."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sparkrank as sr
from sparkrank.base.errors import MetricError
from sparkrank.metrics import Metric
from tests.extent import examples
from tests.oracles import ORACLES
from tests.support.buckets import evaluate, group_values, or_nan
from tests.support.strategies import PATIENT

NAMES = ("overlap", "unexpected", "serendipity")
some_place = st.sampled_from([None, 1.0, 1.0, 2.0, 3.0])
some_rows = st.lists(st.tuples(some_place, some_place, st.sampled_from([None, 0.0, 1.0])), min_size=1, max_size=5)


def orders(items: Sequence[tuple[str, float | None]]) -> Iterator[list[str]]:
    """Every order of the items that have a rank, the lowest first."""
    ranks = sorted({rank for _, rank in items if rank is not None})
    blocks = [[item for item, own in items if own == rank] for rank in ranks]
    for permuted in itertools.product(*(itertools.permutations(block) for block in blocks)):
        yield [*itertools.chain(*permuted)]


@settings(PATIENT, max_examples=examples(150))
@given(some_rows, st.none() | st.integers(1, 6))
def test_the_mean_over_the_orders_of_both_lists(drawn: list[tuple], k: int | None) -> None:
    """Under ties=expected; where the orders are those of the items' texts, each list has one."""
    rows = [("u", str(i), None if own is None else -own, label, rank) for i, (own, rank, label) in enumerate(drawn)]
    cut = "" if k is None else f"@{k}"
    listed = [(item, None if score is None else -score) for _, item, score, _, _ in rows]
    other = [(item, rank) for _, item, _, _, rank in rows]
    relevant = [item for _, item, _, label, _ in rows if label]
    texts = {f"{name}{cut}": (name, {}) for name in NAMES}
    texts |= {f"{name}(over=retrieved){cut}": (name, {"over": "retrieved"}) for name in NAMES[:2]}
    by_item = {**texts, **{f"{name}(over=union){cut}": (name, {"over": "union"}) for name in NAMES[:2]}}
    for ties, asked in (("expected", texts), ("item", by_item)):
        if all(rank is None for _, rank in other):
            return
        found = evaluate(rows, [*asked], ties)
        pairs = [*itertools.product(orders(listed), orders(other))]
        if ties == "item":
            down = [sorted(items, reverse=True) for items in (listed, other)]
            pairs = [tuple(next(orders(items)) for items in down)]
        for text, (name, given_) in asked.items():
            values = [or_nan(ORACLES[name](*pair, relevant, k=k, **given_)) for pair in pairs]
            expected = {"u": math.fsum(values) / len(values)}
            assert group_values(found, str(Metric.parse(text))) == pytest.approx(expected, abs=1e-14, nan_ok=True), text


ROWS = pa.table(
    {
        "user": [*"uuuuvv"],
        "item": [*"abcdab"],
        "new": [4.0, 3.0, 2.0, 2.0, 1.0, None],
        "old": [1.0, 4.0, 3.0, None, None, 2.0],
        "click": [1, 0, 1, 1, 1, 1],
    }
)
ROLES = {"group": "user", "item": "item", "score": {"new": "new", "old": "old"}, "label": "click"}


def test_beside_another_model() -> None:
    """u has a b d c by item and b c a; v has a alone and b alone."""
    metrics = ["overlap(ref=old)@2", "overlap(ref=old,over=union)@2", "serendipity(ref=old)@2", "overlap(ref=new)@2"]
    found = sr.evaluate(ROWS, metrics, **ROLES, ties="item")
    values = {(row["model"], row["metric"]): row["value"] for row in found.metrics.to_pylist()}
    assert values["new", "overlap(ref=old)@2"] == values["old", "overlap(ref=new)@2"] == (1 / 2 + 0) / 2
    assert values["new", "overlap(ref=old,over=union)@2"] == pytest.approx((1 / 3 + 0) / 2)
    assert values["new", "serendipity(ref=old)@2"] == (1 / 2 + 1 / 2) / 2
    assert values["new", "overlap(ref=new)@2"] == (1 + 1 / 2) / 2  # of itself a list lacks what it has not


def test_a_list_and_itself_share_tied_rows_by_chance_unless_ties_have_an_order() -> None:
    rows = pa.table({"user": ["u", "u"], "item": ["a", "b"], "new": [1.0, 1.0]})
    asked = {"group": "user", "item": "item", "score": {"new": "new"}}
    assert sr.evaluate(rows, ["overlap(ref=new)@1"], **asked)["overlap(ref=new)@1"] == 1 / 2
    assert sr.evaluate(rows, ["overlap(ref=new)@1"], **asked, ties="item")["overlap(ref=new)@1"] == 1


def test_an_item_of_two_models_on_rows_apart_is_one() -> None:
    """The truth joins them: the lists of both models are rows of their own."""
    rows = pa.table(
        {"user": ["u"] * 4, "item": ["a", "b", "b", "c"], "score": [2.0, 1.0, 2.0, 1.0], "model": ["m", "m", "n", "n"]}
    )
    truth = pa.table({"user": ["u", "u"], "item": ["b", "a"]})
    asked = {"group": "user", "item": "item", "score": "score", "model": "model", "truth": truth}
    found = sr.evaluate(rows, ["overlap(ref=n)@2", "serendipity(ref=n)@2", "overlap(ref=n)@1"], **asked)
    values = {(row["model"], row["metric"]): row["value"] for row in found.metrics.to_pylist()}
    assert values["m", "overlap(ref=n)@2"] == values["m", "serendipity(ref=n)@2"] == 1 / 2
    assert values["m", "overlap(ref=n)@1"] == 0


def test_what_it_needs() -> None:
    with pytest.raises(MetricError, match=r"overlap\(ref=label\)@2 names no order .*allowed: reference_rank"):
        sr.evaluate(ROWS, ["overlap(ref=label)@2"], **ROLES)
    with pytest.raises(sr.SpecError, match="ref=reference_rank compares with a column"):
        sr.evaluate(ROWS, ["overlap@2"], **ROLES)
    with pytest.raises(sr.SpecError, match=r"serendipity.* reads labels"):
        sr.evaluate(ROWS, ["serendipity(ref=old)@2"], **{**ROLES, "label": None})
