"""Lists and truth, joined inside the bucket: what counts where, and what is counted."""

from __future__ import annotations

from math import log2

import numpy as np
import pyarrow as pa
import pytest

import sparkrank as sr
from sparkrank.base import checks
from tests.oracles import Given
from tests.support.joined import COLUMNS, LISTS, TRUTH, counts_of, lists_table, truth_table, values_of


def test_a_column_of_nothing_but_nulls_fits_any_type() -> None:
    """An empty data frame, or one whose items are all missing, has columns of no type: it is refused for what it is."""
    lists, truth = lists_table([("u", "a", 1.0)]), truth_table([("u", "a", 1.0)])
    without = [table.set_column(1, "item", pa.nulls(1)) for table in (lists, truth)]
    for side, one, other in (("lists", without[0], truth), ("truth", lists, without[1])):
        told = rf"^no row of the {side} has an item and can be evaluated \(.*, rejected of both sides: 1 null item\)$"
        with pytest.raises(sr.InputError, match=told):
            sr.evaluate(one, ["r"], truth=other, max_bad_fraction=0.5, **COLUMNS)


def test_truth_that_is_in_no_list_counts_in_r_and_in_the_ideal() -> None:
    """Four adopted, of which a, b and e stand at 1, 2 and 5; x is in no list."""
    ideal = 1 / log2(2) + 1 / log2(3) + 1 / log2(4) + 1 / log2(5)
    expected = {
        "r@5": 3 / 4,
        "r@2": 2 / 4,
        "ap": (1 / 1 + 2 / 2 + 3 / 5) / 4,
        "rprec": 2 / 4,
        "ndcg": (1 / log2(2) + 1 / log2(3) + 1 / log2(6)) / ideal,
        "f@5": 2 * 3 / (4 + 5),
        "rr": 1.0,
        "group_auc": 4 / 6,  # of the pairs of a, b, e with c, d: both of a's and of b's
    }
    found = sr.evaluate(lists_table(LISTS), list(expected), truth=truth_table(TRUTH), **COLUMNS)
    (row,) = found.groups.to_pylist()
    assert {metric: row[metric] for metric in expected} == pytest.approx(expected, rel=1e-15)
    assert (row["n_rows"], row["n_retrieved"], row["n_relevant"]) == (6, 5, 4)
    counted = {checks.ROWS_READ: 9, checks.TRUTH_ROWS: 4, checks.ROWS_EVALUATED: 6}
    counted |= {checks.TRUTH_LISTED: 3, checks.TRUTH_UNLISTED: 1, checks.UNJUDGED_ROWS: 2}
    assert counted.items() <= counts_of(found).items()


OF_TWO = {**COLUMNS, "score": {"first": "first", "second": "second"}}


def two_models(first: list[Given], second: list[Given]) -> pa.Table:
    users, items, scores = zip(*first, *second, strict=True)
    is_second = np.arange(len(scores)) >= len(first)
    columns = {"first": pa.array(scores, mask=is_second), "second": pa.array(scores, mask=~is_second)}
    return pa.table({"user": users, "item": items, **columns})


def test_two_models_whose_rows_stand_apart_share_one_truth() -> None:
    """The first lists a, b, the second b, c, on rows of their own; b and c are true: R = 2 for both."""
    lists = two_models([("u", "a", 2.0), ("u", "b", 1.0)], [("u", "b", 2.0), ("u", "c", 1.0)])
    truth = truth_table([("u", "b", 1.0), ("u", "c", 1.0)])
    groups = sr.evaluate(lists, ["ap", "r"], truth=truth, duplicates="error", **OF_TWO).groups.to_pylist()
    values = {row["model"]: (row["ap"], row["r"], row["n_retrieved"]) for row in groups}
    assert values == {"first": ((1 / 2) / 2, 1 / 2, 2), "second": ((1 / 1 + 2 / 2) / 2, 2 / 2, 2)}


def test_duplicates_may_be_an_error() -> None:
    for lists, truth in (([*LISTS, ("u", "a", 0.5)], TRUTH), (LISTS, [("u", "x", 1.0), ("u", "x", 1.0)])):
        with pytest.raises(sr.InputError, match=r"duplicates=error, and there are duplicates \(.*: 1\)"):
            sr.evaluate(lists_table(lists), ["ap"], truth=truth_table(truth), duplicates="error", **COLUMNS)


def test_an_item_twice_in_an_impression_log_has_its_highest_label() -> None:
    """a was shown at 1 and at 3 and clicked at 3 only; as one item, it stands at 1 and was clicked."""
    log = lists_table([("u", item, 4.0 - place) for place, item in enumerate("abac")])
    log = log.append_column("label", pa.array([0, 0, 1, 1]))
    first = sr.evaluate(log, ["ap", "ndcg"], duplicates="first", **COLUMNS)
    assert values_of(first, "ap") == {"u": (1 / 1 + 2 / 3) / 2}
    assert values_of(first, "ndcg") == pytest.approx({"u": (1 + 1 / log2(4)) / (1 + 1 / log2(3))}, rel=1e-15)


# Group: both = a list and a truth; list = no truth; truth = no list; null = truth without a label, and a list.
SPARSE_LISTS = [("both", "a", 2.0), ("both", "b", 1.0), ("list", "a", 1.0), ("null", "a", 1.0)]
SPARSE_TRUTH = [("both", "b", 1.0), ("truth", "a", 1.0), ("null", "a", None), ("none", None, None)]


@pytest.mark.parametrize(
    ("definitions", "p", "rr"),
    [
        ({}, {"both": 1 / 2, "list": 0, "truth": 0, "null": 0, "none": 0}, (1 / 2 + 0) / 2),
        ({"undefined": "zero"}, {"both": 1 / 2, "list": 0, "truth": 0, "null": 0, "none": 0}, (1 / 2) / 5),
        ({"population": "truth"}, {"both": 1 / 2, "truth": 0}, (1 / 2 + 0) / 2),
        ({"population": "lists", "undefined": "zero"}, {"both": 1 / 2, "list": 0, "null": 0}, (1 / 2) / 3),
        ({"population": "both"}, {"both": 1 / 2}, 1 / 2),
        ({"unretrieved": "skip", "undefined": "one"}, {"both": 1 / 2, "list": 0, "null": 0}, (1 / 2 + 1 + 1) / 3),
        ({"unjudged": "drop"}, {"both": 1, "list": 0, "truth": 0, "null": 0, "none": 0}, (1 + 0) / 2),
        # a dropped list is a list all the same
        ({"unjudged": "drop", "population": "lists", "undefined": "zero"}, {"both": 1, "list": 0, "null": 0}, 1 / 3),
    ],
)
def test_which_groups_and_rows_are_evaluated(definitions: dict[str, str], p: dict, rr: float) -> None:
    asked = {"truth": truth_table(SPARSE_TRUTH), **COLUMNS, **definitions}
    found = sr.evaluate(lists_table(SPARSE_LISTS), ["p", "rr", "auc(exact)"], **asked)
    assert values_of(found, "p") == p
    means = {row["metric"]: row for row in found.metrics.to_pylist()}
    assert means["rr"]["value"] == pytest.approx(rr, rel=1e-15)
    assert means["p"]["n_groups"] == len(p)
    assert all(name in means["p"]["definition"] for name in map("=".join, definitions.items()))
    expected = {checks.GROUPS: 5, checks.GROUPS_WITHOUT_TRUTH: 3, checks.TRUTH_UNLABELLED: 1, checks.GROUP_ONLY: 1}
    assert expected.items() <= counts_of(found).items()
    assert counts_of(found).get(checks.GROUPS_LEFT_OUT, 0) == 5 - len(p)


def test_the_day_is_that_of_the_groups_evaluated() -> None:
    """Without u's truth: (0.9, 0) of u falls out of the day, and v's two rows are in order."""
    lists = lists_table([("u", "a", 0.9), ("v", "a", 0.5), ("v", "b", 0.4)])
    truth = truth_table([("v", "a", 1.0)])
    for population, value in (("all", 1 / 2), ("truth", 1.0)):
        assert sr.evaluate(lists, ["auc(exact)"], truth=truth, population=population, **COLUMNS)["auc(exact)"] == value


def test_a_list_row_without_truth_is_not_judged() -> None:
    """Above a stands b, which nobody judged: no judged row is above a, so bpref is 1 - 0."""
    lists = lists_table([("u", "b", 3.0), ("u", "a", 2.0), ("u", "c", 1.0)])
    truth = truth_table([("u", "a", 1.0), ("u", "c", 0.0)])
    assert values_of(sr.evaluate(lists, ["bpref"], truth=truth, **COLUMNS), "bpref") == {"u": 1.0}


@pytest.mark.parametrize("definitions", [{"population": "lists"}, {"unretrieved": "skip"}])
def test_each_model_is_evaluated_where_it_has_a_list(definitions: dict[str, str]) -> None:
    """The first lists the wrong item of u, the second the right one of v."""
    lists, truth = two_models([("u", "a", 1.0)], [("v", "b", 1.0)]), truth_table([("u", "x", 1.0), ("v", "b", 1.0)])
    ev = sr.evaluate(lists, ["rr", "median(rr)"], truth=truth, **OF_TWO, **definitions)
    for model, value in (("first", 0.0), ("second", 1.0)):
        assert [ev.value(metric, model=model) for metric in ("rr", "median(rr)")] == [value, value]


def test_two_models_are_compared_by_item_though_their_rows_stand_apart() -> None:
    """One order is the other one reversed."""
    lists = two_models([("u", "a", 2.0), ("u", "b", 1.0)], [("u", "b", 2.0), ("u", "a", 1.0)])
    ev = sr.evaluate(lists, ["kendall_tau(ref=second)"], truth=truth_table(TRUTH), **OF_TWO)
    assert ev.value("kendall_tau(ref=second)", model="first") == -1.0


def test_the_catalogue_is_that_of_the_input_and_what_is_shown_that_of_the_groups_evaluated() -> None:
    """u is shown a twice and took it, v is shown b and took nothing. A catalogue of a and b."""
    lists = lists_table([("u", "a", 2.0), ("u", "a", 1.0), ("v", "b", 1.0)])
    truth = truth_table([("u", "a", 1.0)])
    # a is relevant in one of the two groups, as b counts to be, or in one of one
    for population, groups, values in (("all", 2, [2 / 2, log2(2)]), ("truth", 1, [1 / 2, log2(1)])):
        metrics = ["coverage@2", "novelty"]
        ev = sr.evaluate(lists, metrics, truth=truth, population=population, ties="item", **COLUMNS)
        assert [ev[metric] for metric in metrics] == values
        assert ev.metrics["n_groups"].to_pylist() == [groups, groups]
        assert {row["item"]: row["relevant"] for row in ev.partials.items.table.to_pylist()} == {"a": 1, "b": 0}


def test_an_overlap_sees_an_item_once() -> None:
    """b is judged once, though it stands on a row without a score as well."""
    for scores in ((None, 0.0), (0.0, None)):
        lists = lists_table([("u", "b", score) for score in scores])
        found = sr.evaluate(lists, ["rbo"], truth=truth_table([("u", "b", -1.0)]), **COLUMNS)
        assert found["rbo"] == pytest.approx(1.0, rel=1e-15)
