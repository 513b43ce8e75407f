"""Rows of models that come apart: what meets, which values count, and what is counted."""

from __future__ import annotations

import logging
from math import log2
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import sparkrank as sr
from sparkrank.base import checks
from tests.support.apart import joined, lists_of_models, long, truth_of
from tests.support.joined import COLUMNS, counts_of, lists_table, truth_table
from tests.wide_logs import shuffled

ALS = [("u", "x", 3.0), ("u", "y", 2.0), ("v", "x", 1.0)]
POPULAR = [("u", "y", 9.0), ("u", "z", 8.0), ("w", "x", 1.0)]
TRUE = [("u", "y", 1.0), ("u", "q", 1.0), ("v", "x", 1.0), ("w", "x", 1.0)]
OF_ROWS: dict[str, Any] = {"group": "user", "item": "item", "score": "score", "label": "label"}


def of_model(found: sr.Evaluation, metric: str, model: str) -> dict[str, float]:
    rows = [row for row in found.groups.to_pylist() if row["model"] == model]
    return {row["user"]: row[metric] for row in rows}


def test_models_of_other_users_and_items_meet_by_group_and_item(caplog: pytest.LogCaptureFixture) -> None:
    """Of u als has x, y and popular y, z; y and q are true. Only als lists v, and only popular lists w."""
    models = {"als": lists_table(ALS), "popular": lists_table(POPULAR)}
    with caplog.at_level(logging.WARNING):
        found = sr.evaluate(models, ["rr", "r@2", "ndcg@2"], truth=truth_table(TRUE), uncertainty=False, **COLUMNS)
    ideal = 1 + 1 / log2(3)
    assert of_model(found, "rr", "als") == {"u": 1 / 2, "v": 1.0, "w": 0.0}
    assert of_model(found, "rr", "popular") == {"u": 1.0, "v": 0.0, "w": 1.0}
    assert of_model(found, "r@2", "als") == {"u": 1 / 2, "v": 1.0, "w": 0.0}
    assert of_model(found, "ndcg@2", "popular") == pytest.approx({"u": 1 / ideal, "v": 0.0, "w": 1.0})
    rows = {row["user"]: row for row in found.groups.to_pylist() if row["model"] == "popular"}
    assert (rows["u"]["n_rows"], rows["u"]["n_retrieved"], rows["v"]["n_retrieved"]) == (4, 2, 0)
    assert not caplog.records  # an item that one model does not list is nothing to warn of
    counts = counts_of(found)
    assert counts[checks.ROWS_JOINED] == 1  # y of u
    gone = counts[checks.ROWS_JOINED] + counts[checks.TRUTH_LISTED]
    assert counts[checks.ROWS_READ] == 10 == counts[checks.ROWS_EVALUATED] + gone


def test_the_first_model_with_a_value_says_what_a_row_is() -> None:
    """Label, weight and slice of (u, x) come from the first model, those of (u, y) from the only one that has them."""
    first = {"user": ["u", "u"], "item": ["x", "y"], "score": [0.9, 0.1], "label": pa.array([1, None], pa.int64())}
    other = {"user": ["u", "u"], "item": ["y", "x"], "score": [0.8, 0.3], "label": [1, 0]}
    weights, places = ([2.0, 3.0], [5.0, 7.0]), (["de", None], ["fr", "it"])
    tables = [
        pa.table({**columns, "weight": weight, "country": place})
        for columns, weight, place in zip((first, other), weights, places, strict=True)
    ]
    models = dict(zip("ab", tables, strict=True))
    found = sr.evaluate(models, ["rr", "logloss"], weight="weight", slices=["country"], uncertainty=False, **OF_ROWS)
    assert of_model(found, "rr", "a") == of_model(found, "rr", "b") == {"u": 1.0}  # both rows are relevant
    assert {row["slice_value"] for row in found.table.to_pylist()} == {"all", "de", "fr"}
    assert counts_of(found)[checks.LABELS_DIFFER] == 1  # x is not relevant by b
    logloss = -(2 * np.log(0.9) + 3 * np.log(0.1)) / 5
    of_a = [row["value"] for row in found.table.to_pylist() if (row["metric"], row["model"]) == ("logloss", "a")]
    assert of_a[0] == pytest.approx(logloss)


@pytest.mark.parametrize("item", [pa.int64(), pa.string()], ids=str)
@pytest.mark.parametrize("population", ["all", "lists", "truth"])
def test_forms_have_the_bits_of_the_outer_join(item: pa.DataType, population: str) -> None:
    models = lists_of_models(item)
    asked: dict[str, Any] = {"group": ["user", "shop"], "item": "item", "slices": ["country"], "population": population}
    asked |= {"truth": truth_of(models), "unretrieved": "skip" if population == "lists" else "zero"}
    metrics = ["ndcg@5", "p90(ap)", "auc(exact)", "pair_auc", "gini@3", "kendall_tau(ref=other)"]
    found = [
        sr.evaluate(joined(models), metrics, score={name: name for name in models}, buckets=1, **asked),
        sr.evaluate(models, metrics, score="score", buckets=3, **asked),
        sr.evaluate(shuffled([long(models)]), metrics, score="score", model="model", buckets=2, **asked),
    ]
    tables = [[one.metrics, one.compare("best")] for one in found]
    texts = [repr([table.drop_columns(["spec_hash"]).to_pylist() for table in of_form]) for of_form in tables]
    assert texts[1] == texts[0]
    assert texts[2] == texts[0]


def test_items_and_groups_beyond_the_bits_of_a_key_meet_too() -> None:
    """Items of 63 bits are numbered before they are sorted by."""
    items = [-(2**62), 2**62, 5]
    tables = {
        name: pa.table({"user": ["u"] * 3, "item": items, "score": scores, "label": [0, 1, 0]})
        for name, scores in (("a", [1.0, 2.0, 3.0]), ("b", [1.0, 3.0, 2.0]))
    }
    found = sr.evaluate(tables, ["rr"], uncertainty=False, **OF_ROWS)
    assert [of_model(found, "rr", model) for model in "ab"] == [{"u": 1 / 2}, {"u": 1.0}]
    assert counts_of(found)[checks.ROWS_JOINED] == 3


def test_many_groups_and_wide_items_do_not_fit_a_key_and_meet_all_the_same() -> None:
    """16 bits of groups, 32 of items, 1 of models and 17 of rows are 66. Only the upper half of the users is in b.

    Scores of a fall with the user, so that groups which shared a key would pair b with the wrong users of a.
    """
    user = np.arange(2**16)
    of_a = pa.table({"user": user, "item": np.full(len(user), 5), "score": -1.0 * user, "label": user % 2})
    wide = pa.table({"user": [0], "item": [2**32 - 1], "score": [-1e6], "label": [0]})
    tables = {"a": pa.concat_tables([of_a, wide]), "b": of_a.slice(2**15)}
    found = sr.evaluate(tables, ["rr"], buckets=1, uncertainty=False, **OF_ROWS)
    rows = found.groups.filter(pc.equal(found.groups["model"], "b")).sort_by("user")
    assert rows["n_retrieved"].to_pylist() == [0] * 2**15 + [1] * 2**15
    assert counts_of(found)[checks.ROWS_JOINED] == 2**15


def test_an_explanation_is_that_of_the_outer_join() -> None:
    models = {"als": lists_table(ALS), "popular": lists_table(POPULAR)}
    wide = {"user": ["u"] * 3 + ["v"], "item": ["x", "y", "z", "x"], "als": [3.0, 2.0, None, 1.0]}
    outer = pa.table({**wide, "popular": pa.array([None, 9.0, 8.0, None])})
    asked: dict[str, Any] = {"truth": truth_table(TRUE), "group": {"user": "u"}, "item": "item", "label": "label"}
    apart = sr.explain(models, "ndcg@2", score="score", **asked)
    expected = sr.explain(outer, "ndcg@2", score={"als": "als", "popular": "popular"}, **asked)
    assert str(apart).splitlines()[1:] == str(expected).splitlines()[1:]  # the first line has the rows read
