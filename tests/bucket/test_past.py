"""What groups had before: pairs that are left out against a join by hand, and rows that are new against oracles."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence

import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import sparkrank as sr
from sparkrank.base import checks
from sparkrank.metrics.definitions import ALLOWED
from tests.cases import Row
from tests.extent import examples
from tests.oracles import ORACLES, expected_over_orders
from tests.support.buckets import bits_of_groups, evaluate, group_values, or_nan
from tests.support.joined import COLUMNS, counts_of, lists_table, truth_table, values_of
from tests.support.logged import warnings_about_input
from tests.support.strategies import PATIENT, Asked, arguments, group_metrics, has_unjudged, impressions, text

GROUP, ITEM = st.sampled_from("uvw"), st.sampled_from("abcd")
PAIRS = st.lists(st.tuples(st.sampled_from("uvwz"), st.sampled_from("abcz")), min_size=1, max_size=8)
WORDS = ("duplicates", "unjudged", "population", "unretrieved", "ties")
DEFINITIONS = st.fixed_dictionaries(
    {name: st.sampled_from([word for word in ALLOWED[name] if word != "error"]) for name in WORDS}
)
OLD = ("a", "old", 2.0)


def pairs_table(rows: Sequence[tuple[str | None, ...]]) -> pa.Table:
    users, items = zip(*rows, strict=True)
    return pa.table({"user": pa.array(users, pa.string()), "item": pa.array(items, pa.string())})


def bits(evaluation: sr.Evaluation) -> list[dict[str, str]]:
    values = evaluation.table.drop_columns(["definition", "spec_hash"]).to_pylist()
    return [{name: repr(value) for name, value in row.items()} for row in values] + bits_of_groups(evaluation.groups)


@settings(PATIENT, max_examples=examples(150))
@given(
    st.lists(st.tuples(GROUP, ITEM, st.none() | st.integers(0, 3).map(float)), max_size=10),
    st.lists(st.tuples(GROUP, ITEM, st.sampled_from([None, 0.0, 1.0, 2.0])), max_size=8),
    PAIRS,
    DEFINITIONS,
    st.lists(group_metrics(tied=True), min_size=1, max_size=3, unique_by=text),
)
def test_leaving_out_is_evaluating_what_a_join_by_hand_leaves(
    lists: list, truth: list, pairs: list, definitions: dict[str, str], metrics: list[Asked]
) -> None:
    """Each group keeps a row that only names it, for a group stays of which everything is left out."""
    assume(all(has_unjudged(parts, definitions) for parts in metrics))
    asked = {"metrics": [*map(text, metrics), "auc(exact)", "gini(ties=item)"], **COLUMNS, **definitions}
    by_hand = [*(row for row in lists if row[:2] not in pairs)]
    names = [(group, None, None) for group in sorted({group for group, *_ in [*lists, *truth]})]
    left = truth_table([row for row in truth if row[:2] not in pairs])
    try:
        expected = sr.evaluate(lists_table([*by_hand, *names]), truth=left, **asked)
    except sr.InputError:  # nothing is left, or no group is on both sides
        return
    found = sr.evaluate(lists_table(lists), truth=truth_table(truth), exclude=pairs_table(pairs), **asked)
    assert bits(found) == bits(expected)
    counts = found.partials.counts
    assert counts[checks.EXCLUDED_ROWS, ""] == len(lists) - len(by_hand)
    assert counts[checks.EXCLUDED_TRUTH, ""] == len(truth) - len(left)
    gone = sum(counts.get((name, ""), 0) for name in (*checks.REJECTIONS, *checks.GONE))
    assert gone + counts[checks.ROWS_EVALUATED, ""] == counts[checks.ROWS_READ, ""] == len(lists) + len(truth)


@settings(PATIENT, max_examples=examples(100))
@given(impressions(most_rows=6), st.none() | st.integers(1, 5), st.sampled_from(["k", "retrieved"]))
def test_new_rows_are_the_mean_over_all_orders(rows: list[Row], k: int | None, over: str) -> None:
    parts = ("new", {"over": over}, k)
    expected = {}
    for group in {row[0] for row in rows}:
        scored = [(score, label) for name, _, score, label in rows if name == group and score is not None]
        oracle = functools.partial(ORACLES["new"], judged=[], **arguments(parts))
        expected[group] = or_nan(expected_over_orders(scored, [oracle])[0])
    found = evaluate(rows, [text(parts)])
    assert group_values(found, found.groups.column_names[-1]) == pytest.approx(expected, abs=1e-13, nan_ok=True)


def test_rows_move_up_where_the_group_had_what_stood_above() -> None:
    """The list old, new, of which new is wanted; the truth names old, too, which then counts in no R."""
    lists = lists_table([OLD, ("a", "new", 1.0)])
    truth = truth_table([("a", "new", 1.0), ("a", "old", 1.0)])
    past = pairs_table([("a", "old"), ("a", "old"), ("b", "new")])
    with_it = sr.evaluate(lists, ["rr", "p@1", "r@1", "ndcg@2"], truth=truth, exclude=past, **COLUMNS)
    assert values_of(with_it, "rr") == {"a": 1.0}
    assert [with_it[metric] for metric in ("p@1", "r@1", "ndcg@2")] == [1.0, 1.0, 1.0]
    counted = counts_of(with_it)
    assert (counted[checks.EXCLUDED_ROWS], counted[checks.EXCLUDED_TRUTH], counted[checks.GROUPS]) == (1, 1, 1)
    assert with_it.table["definition"][0].as_py().endswith("duplicates=once, exclude=pairs")
    wanted = truth_table([("a", "new", 1.0)])
    assert sr.evaluate(lists, ["rr"], truth=wanted, **COLUMNS)["rr"] == 1 / 2


def test_a_user_of_whom_everything_is_left_out_stays_a_group() -> None:
    """Of b, whose list vanishes, z is wanted: ``unretrieved`` says what an empty list counts."""
    lists = lists_table([OLD, ("a", "new", 1.0), ("b", "x", 1.0)])
    truth = truth_table([("a", "new", 1.0), ("b", "z", 1.0)])
    asked = {"truth": truth, "exclude": pairs_table([("b", "x"), ("a", "old")]), **COLUMNS}
    assert sr.evaluate(lists, ["rr"], **asked)["rr"] == (1 + 0) / 2
    assert sr.evaluate(lists, ["rr"], **asked, unretrieved="skip")["rr"] == 1.0


def test_a_log_with_labels_keeps_the_groups_that_vanish() -> None:
    log = pa.table({"user": ["a", "a", "b"], "item": ["old", "new", "x"], "score": [2.0, 1.0, 1.0], "label": [1, 1, 1]})
    found = sr.evaluate(log, ["rr", "p@1", "auc(exact)"], exclude=pairs_table([("a", "old"), ("b", "x")]), **COLUMNS)
    rows = {row["user"]: row for row in found.groups.to_pylist()}
    assert {user: (row["n_rows"], row["n_relevant"], row["p@1"]) for user, row in rows.items()} == {
        "a": (1, 1, 1.0),
        "b": (0, 0, 0.0),
    }
    with pytest.raises(
        sr.InputError, match=r"^no row is left to evaluate \(3 that the group had before, which exclude"
    ):
        sr.evaluate(log, ["rr"], exclude=log.select(["user", "item"]), **COLUMNS)


# Both lists are a, b; a is of kind x and b of y. Ann wants both, bob a. Ann had a.
KINDS = {"group": "user", "item": "item", "score": "score", "slices": [{"column": "kind", "of": "relevant"}]}
BOTH = lists_table([(user, item, score) for user in ("ann", "bob") for item, score in (("a", 2.0), ("b", 1.0))])
BOTH = BOTH.append_column("kind", pa.array(["x", "y"] * 2))
WANTED = truth_table([("ann", "a", 1.0), ("ann", "b", 1.0), ("bob", "a", 1.0)])


@pytest.mark.parametrize("population", ["all", "truth", "both"])
@pytest.mark.parametrize("joins", [False, True])
def test_a_slice_of_relevant_rows_has_the_groups_with_one_that_counts(population: str, joins: bool) -> None:
    """Of x that is bob alone, whose a is first; of y ann alone, whose b has moved up."""
    lists, beside = BOTH.append_column("label", pa.array([1.0, 1, 1, 0])), {"label": "label"}
    if joins:
        lists, beside = BOTH, {"truth": WANTED.append_column("kind", pa.array(["x", "y", "x"])), "label": "label"}
    asked = {"exclude": pairs_table([("ann", "a")]), "population": population, **KINDS}
    rows = sr.evaluate(lists, ["p@1", "n_rel"], **beside, **asked).table.to_pylist()
    found = {(row["slice_value"], row["metric"]): (row["value"], row["n_groups"]) for row in rows}
    del found["all", "p@1"], found["all", "n_rel"]
    assert found == {(kind, metric): (1.0, 1) for kind in "xy" for metric in ("p@1", "n_rel")}


def test_a_row_that_is_left_out_is_not_among_those_of_a_label() -> None:
    """Of ann's clicks, a is left out and nothing stays; of bob's a and b the first is paid."""
    log = BOTH.append_column("clicked", pa.array([1, 0, 1, 1])).append_column("paid", pa.array([1, 0, 1, 0]))
    asked = {"label": {"click": "clicked", "pay": "paid"}, "exclude": pairs_table([("ann", "a")])}
    (row,) = sr.evaluate(log, ["p(label=pay,among=click)@1"], **asked, **{**KINDS, "slices": []}).table.to_pylist()
    assert (row["value"], row["n_groups"]) == (1.0, 1)


def test_a_past_of_ten_times_the_rows_changes_no_group() -> None:
    lists = lists_table([(f"u{n}", f"i{place}", float(place)) for n in range(20) for place in range(5)])
    truth = truth_table([(f"u{n}", f"i{n % 5}", 1.0) for n in range(20)])
    had = [(f"u{n}", "i4") for n in range(0, 20, 2)]
    others = [(f"other{n}", f"i{n % 7}") for n in range(1_000)]
    asked = {"metrics": ["rr", "new@3"], "truth": truth, "exclude": "interactions", "buckets": 7, **COLUMNS}
    few, many = (sr.evaluate(lists, interactions=pairs_table(rows), **asked) for rows in (had, [*had, *others]))
    assert bits(few) == bits(many)
    counts, more = counts_of(few), counts_of(many)
    assert more.pop("rows of the interactions") == counts.pop("rows of the interactions") + 1_000
    assert more == counts
    assert (counts[checks.ROWS_READ], counts[checks.GROUPS]) == (120, 20)


def test_several_models_by_any_table_leave_out_the_same() -> None:
    rows = {"first": [("u", "a", 3.0), ("u", "b", 2.0), ("v", "a", 1.0)], "second": [("u", "c", 3.0), ("u", "a", 2.0)]}
    apart = {name: lists_table(own) for name, own in rows.items()}
    long = pa.concat_tables([own.append_column("by", pa.array([name] * len(own))) for name, own in apart.items()])
    asked = {"truth": truth_table([("u", "a", 1.0), ("u", "c", 1.0), ("v", "a", 1.0)]), "compare": "first", **COLUMNS}
    asked |= {"metrics": ["rr", "ndcg@2", "new@2"], "interactions": pairs_table([("u", "a"), ("v", "b")])}
    of_tables, of_column = (
        sr.evaluate(given, exclude="interactions", **asked, **more)
        for given, more in ((apart, {}), (long, {"model": "by"}))
    )
    assert bits(of_tables) == bits(of_column)
    assert (of_tables.value("rr", model="first"), of_tables.value("rr", model="second")) == ((0 + 1) / 2, (1 + 0) / 2)
    assert of_tables.compare("first").num_rows == 3


ARRAYS = pa.table({"user": ["a", "a", "b"], "got": [["x", "y"], ["y", "x"], ["x"]], "true": [["y"], ["y"], ["x"]]})
OF_ARRAYS = {"group": "user", "items": "got", "true_items": "true"}


def test_lists_in_arrays_meet_what_their_group_had() -> None:
    had = pa.table({"user": ["a", "c"], "sku": ["x", "x"]})
    asked = {"exclude": had, "exclude_columns": {"item": "sku"}, **OF_ARRAYS}
    found = sr.evaluate(ARRAYS, ["rr"], **asked)
    assert found["rr"] == 1.0
    assert sr.evaluate(ARRAYS, ["rr"], **OF_ARRAYS)["rr"] == (1 / 2 + 1 + 1) / 3
    assert counts_of(found)[checks.SEVERAL_LISTS] == 1
    key = sr.explain(ARRAYS, "rr", **{**asked, "group": {"user": "a"}}).keys[0]
    assert [(group.rows, group.metrics[0].value) for group in key.groups] == [(3, 1.0), (3, 1.0)]


LISTS, TRUTH = lists_table([OLD]), truth_table([("a", "old", 1.0)])
HAD = pairs_table([("a", "x")])
WITHOUT_ITEM = {name: column for name, column in COLUMNS.items() if name != "item"}
REFUSED = [
    ({"exclude": HAD, **WITHOUT_ITEM}, "exclude needs the item of each row and its group, but no item column is named"),
    (
        {"exclude": HAD, **COLUMNS, "group": None},
        "exclude needs the item of each row and its group, but no group column",
    ),
    ({"exclude": HAD, **OF_ARRAYS, "group": None}, "exclude needs the item of each row and its group, but no group"),
    ({"exclude": HAD, **OF_ARRAYS}, "exclude names no item column, and the lists are arrays, which have none"),
    ({"exclude": "interactions", **COLUMNS}, "exclude is interactions, but there are none"),
    (
        {"exclude": "interaction", **COLUMNS},
        "exclude is 'interaction', which is no path, did you mean \"interactions\"?",
    ),
    ({"interactions": HAD, **COLUMNS}, "interactions are given, but no metric reads them, and exclude does not name"),
    ({"metrics": ["new@10"], **COLUMNS}, "new@10 reads interactions, but no interactions are given"),
    ({"exclude_columns": {}, **COLUMNS}, "exclude_columns is given, but exclude is not"),
    ({"exclude": HAD, "exclude_columns": "item", **COLUMNS}, "exclude_columns is 'item': a mapping of roles to"),
    (
        {"exclude": HAD, "exclude_columns": {"itme": "i"}, **COLUMNS},
        'exclude_columns names "itme", did you mean "item"?',
    ),
    ({"exclude": HAD, "exclude_columns": {"group": ["user", "day"]}, **COLUMNS}, "the group key has 1 columns in the"),
    (
        {"exclude": HAD, "exclude_columns": {"group": "user"}, **COLUMNS, "group": ["user", "shop"]},
        "the group key has 2 columns in the lists and 1 in exclude",
    ),
]
UNUSABLE = [
    (
        pa.table({"user": ["a"], "item": [7]}),
        'the item column is of type string in the lists ("item") and of type int64',
    ),
    (
        pa.table({"user": [7], "item": ["x"]}),
        'the group column is of type string in the lists ("user") and of type int',
    ),
    (HAD.slice(1), "the table exclude has no rows"),
    (pairs_table([("a", None), (None, "x")]), "the table exclude has no rows: none of 2 has a group and an item"),
]


@pytest.mark.parametrize(("given", "sentence"), REFUSED)
def test_what_cannot_be_asked_is_refused_before_reading(given: dict, sentence: str) -> None:
    rows, truth = (ARRAYS, None) if "items" in given else (LISTS, TRUTH)
    with pytest.raises(sr.SpecError) as refused:
        sr.evaluate(rows, **{"metrics": ["rr"], "truth": truth, **given})
    assert str(refused.value).startswith(sentence)


@pytest.mark.parametrize(("past", "sentence"), UNUSABLE)
def test_a_table_that_cannot_be_used_is_refused(past: pa.Table, sentence: str) -> None:
    with pytest.raises(sr.InputError) as refused:
        sr.evaluate(LISTS, ["rr"], truth=TRUTH, exclude=past, **COLUMNS)
    assert str(refused.value).startswith(sentence)


def test_a_column_that_is_not_there_is_a_wrong_request() -> None:
    told = 'the item column "item" is not in the interactions, did you mean "itm"?'
    with pytest.raises(sr.SpecError, match=re.escape(told)):
        sr.evaluate(LISTS, ["new@1"], truth=TRUTH, interactions=HAD.rename_columns(["user", "itm"]), **COLUMNS)


def test_pairs_of_which_none_is_in_a_list_are_told(caplog: pytest.LogCaptureFixture) -> None:
    sr.evaluate(LISTS, ["rr"], truth=TRUTH, exclude=HAD, **COLUMNS)
    told = "None of the 1 pairs of exclude is in a list: are its groups and items written as those of the lists?"
    assert told in warnings_about_input(caplog)
    caplog.clear()
    lists = lists_table([OLD, ("a", "new", 1.0)])
    sr.evaluate(lists, ["rr"], truth=truth_table([("a", "new", 1.0)]), exclude=pairs_table([OLD[:2]]), **COLUMNS)
    assert told not in warnings_about_input(caplog)
