"""What came too early: rows of the truth, items and interactions beside the times of lists, by hand."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sparkrank as sr
from tests.extent import examples
from tests.support.joined import COLUMNS, counts_of, values_of
from tests.support.logged import warnings_about_input
from tests.support.strategies import PATIENT

Timed = tuple[str, str, int | None]
EARLY_TRUTH, EARLY_ITEMS = "rows of the truth before the list", "items listed before they were there"
HAD, LATE = "rows of the truth that the history has", "rows of the history after the list"
KEYS = {name: column for name, column in COLUMNS.items() if name != "label"}
AT = {"time": "at", **KEYS}
OF_TRUTH, OF_PAST = {"truth_columns": {"time": "at"}}, {"interactions_columns": {"time": "at"}}


def timed(rows: Sequence[Timed], kind: pa.DataType | None = None) -> pa.Table:
    """Rows of users, items and times, with scores that fall by one from row to row."""
    users, items, times = zip(*rows, strict=True) if rows else ((), (), ())
    kind = kind or pa.int64()
    at = pa.array(times, pa.int32() if pa.types.is_date32(kind) else pa.int64()).cast(kind)
    names = ["user", "item", "at", "score"]
    return pa.table([pa.array(users, pa.string()), pa.array(items, pa.string()), at, -np.arange(len(rows))], names)


def shares(evaluation: sr.Evaluation, *names: str) -> list[tuple[float, float | None]]:
    rows = {row["check"]: row for row in evaluation.quality.to_pylist()}
    return [(rows[name]["count"], rows[name]["fraction"]) for name in names]


LISTS = [("a", "x", 5), ("a", "y", 7), ("a", "n", None), ("b", "x", 3)]
LISTED = timed([("a", "x", 5)])


def test_rows_of_the_truth_before_the_list_are_counted() -> None:
    """x and y are compared with their own rows; n and z, which have none, with the first row of a's list."""
    early = [("a", "x", 4), ("a", "y", 6), ("a", "n", 4), ("a", "z", 4)]
    edges = [("a", "x", 5), ("a", "y", 7), ("a", "n", 5), ("a", "z", 5), ("b", "x", None), ("c", "x", 0)]
    for truth, count in ((early, 4), (edges, 0), ([*early, *edges], 4)):
        found = sr.evaluate(timed(LISTS), ["rr"], truth=timed(truth), **AT, **OF_TRUTH)
        assert shares(found, EARLY_TRUTH) == [(count, count / len(truth))]
        assert shares(found, "rows of the lists with a time")[0][0] == 3
        plain = sr.evaluate(timed(LISTS), ["rr"], truth=timed(truth), **KEYS)
        assert values_of(found, "rr") == pytest.approx(
            values_of(plain, "rr"), nan_ok=True
        )  # the count changes no number


def test_the_history_counts_up_to_the_time_of_the_list() -> None:
    """Of x what a had at 5, the time of its row; of y what it had at 8 came after its row at 7."""
    past = [("a", "x", 5), ("a", "y", 8), ("b", "x", 9), ("b", "x", 4), ("a", "q", 6), ("z", "x", 99)]
    asked: dict[str, Any] = {"truth": timed([("a", "x", 9), ("a", "y", 9)]), "interactions": timed(past), **AT}
    found = sr.evaluate(timed(LISTS), ["new@3"], **asked, **OF_PAST)
    assert values_of(found, "new@3") == {"a": 2 / 3, "b": 1 / 3}  # x of a is not new
    assert shares(found, LATE, HAD) == [(4, 4 / 6), (1, 1 / 2)]  # q is later than the first row of a's list
    without = sr.evaluate(timed(LISTS), ["new@3"], **{**asked, "time": None}, **OF_PAST)
    assert values_of(without, "new@3") == {"a": 1 / 3, "b": 0.0}
    assert shares(without, HAD) == [(2, 1.0)]
    assert LATE not in counts_of(without)


def test_only_what_was_before_is_excluded() -> None:
    lists, truth = timed([("a", "old", 5), ("a", "new", 5), ("a", "z", 5)]), timed([("a", "new", 6)])
    past = timed([("a", "old", 5), ("a", "new", 6)])  # what the truth says too
    asked: dict[str, Any] = {"truth": truth, "interactions": past, "exclude": "interactions", **KEYS}
    found = sr.evaluate(lists, ["rr"], **asked, time="at", **OF_PAST)
    assert found["rr"] == 1.0
    assert counts_of(found)["rows of the truth that the group had before"] == 0
    assert HAD not in counts_of(found)  # which would count the same
    assert found.table["definition"][0].as_py().endswith("exclude=interactions up to the list")
    assert counts_of(sr.evaluate(lists, ["list_length"], **asked))["rows of the truth that the group had before"] == 1


def test_a_pair_without_a_time_was_always_there() -> None:
    past = timed([("a", "x", None), ("a", "x", 9), ("a", "y", 9)])
    found = sr.evaluate(timed(LISTS), ["new@3"], truth=LISTED, interactions=past, **AT, **OF_PAST)
    assert values_of(found, "new@3") == {"a": 2 / 3, "b": 1 / 3}
    assert shares(found, LATE) == [(2, 2 / 3)]


def test_a_list_that_repeats_an_item_has_the_first_time_of_it() -> None:
    lists = timed([("a", "x", 7), ("a", "x", 5), ("a", "y", 7)])
    past = timed([("a", "x", 6), ("a", "y", 6)])
    found = sr.evaluate(lists, ["new@3"], truth=LISTED, interactions=past, **AT, **OF_PAST)
    assert values_of(found, "new@3") == {"a": 2 / 3}


def test_items_that_are_listed_before_they_were_there_are_counted() -> None:
    """x, which somebody had at 4 first, was there at 5 but not at 3; y was there at 7, and nobody had n."""
    past = [("z", "x", 4), ("z", "x", 2**40), ("z", "y", 7), ("q", "x", None)]
    found = sr.evaluate(timed(LISTS), ["list_length"], interactions=timed(past), **AT, **OF_PAST)
    assert shares(found, EARLY_ITEMS) == [(1, 1 / 3)]
    since = pa.table({"sku": ["x", "y", "n", "w"], "from": [6, 7, 6, 9]})
    of_catalog = {"catalog": since, "catalog_columns": {"item": "sku", "since": "from"}}
    found = sr.evaluate(timed(LISTS), ["list_length"], **of_catalog, **AT)
    assert shares(found, EARLY_ITEMS) == [(3, 1.0)]  # x twice, and n, whose row has the time 5 of its list
    both = sr.evaluate(timed(LISTS), ["list_length"], interactions=timed(past), **of_catalog, **AT, **OF_PAST)
    assert shares(both, EARLY_ITEMS) == [(3, 1.0)]  # the catalog knows better


def test_items_of_a_log_without_groups_are_counted_too() -> None:
    log = timed([("a", "x", 5), ("b", "y", 5)]).append_column("label", pa.array([0, 1]))
    asked = {"score": "score", "label": "label", "item": "item", "time": "at"}
    found = sr.evaluate(log, ["auc"], catalog=log, catalog_columns={"since": "at"}, **asked)
    assert shares(found, EARLY_ITEMS) == [(0, 0.0)]
    later = pa.table({"item": ["x", "y"], "from": [6, 5]})
    found = sr.evaluate(log, ["auc"], catalog=later, catalog_columns={"since": "from"}, **asked)
    assert shares(found, EARLY_ITEMS) == [(1, 1 / 2)]


def test_models_in_tables_of_their_own_have_the_times_of_one_long_table() -> None:
    """Both list x, at the time of the first model; z, which the second alone lists, was wanted before."""
    own = {"first": timed([("a", "x", 3), ("a", "y", 4)]), "second": timed([("a", "x", 5), ("a", "z", 4)])}
    long = pa.concat_tables([rows.append_column("by", pa.array([name] * len(rows))) for name, rows in own.items()])
    truth, past = timed([("a", "x", 4), ("a", "z", 3), ("a", "w", 2)]), timed([("a", "x", 4), ("a", "q", 3)])
    for given_as, more in ((own, {}), (long, {"model": "by"})):
        asked = {"truth": truth, "interactions": past, **AT, **OF_TRUTH, **OF_PAST, **more}
        found = sr.evaluate(given_as, ["new@2"], **asked)
        assert shares(found, EARLY_TRUTH, LATE, EARLY_ITEMS) == [(2, 2 / 3), (1, 1 / 2), (1, 1 / 3)]
        assert [found.value("new@2", model=model) for model in own] == [1.0, 1.0]


def test_lists_in_arrays_have_times_of_their_own() -> None:
    """Two lists of a, by the second of which it had x, and one of b."""
    rows = pa.table({"user": ["a", "a", "b"], "at": [3, 5, 3], "got": [["x", "y"], ["y", "x"], ["x"]]})
    rows = rows.append_column("true", rows["got"])
    past = pa.table({"user": ["a", "a", "b"], "item": ["x", "y", "x"], "at": [4, 4, 3]})
    asked: dict[str, Any] = {"group": "user", "items": "got", "true_items": "true", "time": "at"}
    asked |= {"interactions": past, "interactions_columns": {"item": "item", "time": "at"}}
    edges = {"column": "interactions.items", "edges": [1, 2]}
    found = sr.evaluate(rows, ["new(over=retrieved)@2", "rr"], slices=[edges], **asked)
    values = found.groups.select(["user", "new(over=retrieved)@2"]).to_pylist()
    assert sorted(tuple(row.values()) for row in values) == [("a", 0.0), ("a", 1.0), ("b", 0.0)]
    of_slice = [row for row in found.table.to_pylist() if row["slice"] != "all" and row["metric"] == "rr"]
    assert {row["slice_value"]: row["n_groups"] for row in of_slice} == {"(-inf, 1)": 1, "[1, 2)": 1, "[2, inf)": 1}
    assert shares(found, LATE, EARLY_ITEMS) == [(2, 2 / 3), (1, 1 / 5)]


USER, ITEM, HOUR = st.sampled_from("ab"), st.sampled_from("xyz"), st.none() | st.integers(0, 5)
ROWS = st.lists(st.tuples(USER, ITEM, HOUR), max_size=8)


@settings(PATIENT, max_examples=examples(100))
@given(ROWS.filter(len), ROWS, ROWS.filter(len))
def test_counts_are_those_of_a_loop_over_rows(lists: list[Timed], truth: list[Timed], past: list[Timed]) -> None:
    def made(user: str, item: str) -> float:
        own = [at for who, what, at in lists if (who, what) == (user, item) and at is not None]
        of_user = [at for who, _, at in lists if who == user and at is not None]
        return min(own or of_user, default=np.inf)

    found = sr.evaluate(
        timed(lists),
        ["new(over=retrieved)"],
        truth=timed([*truth, (lists[0][0], "w", None)]),
        interactions=timed(past),
        slices=[{"column": "interactions.items", "edges": [1, 2, 3]}],
        **AT,
        **OF_TRUTH,
        **OF_PAST,
    )
    had = {row[:2] for row in past if row[2] is None or row[2] <= made(*row[:2])}
    first = {item: min((at for _, other, at in past if other == item and at is not None), default=-1) for item in "xyz"}
    users = {user for user, *_ in [*lists, *truth]}
    counts = counts_of(found)
    assert counts[EARLY_TRUTH] == sum(at is not None and at < made(*own) < np.inf for *own, at in truth)
    assert counts[LATE] == sum(at is not None and at > made(*own) for *own, at in past if own[0] in users)
    assert counts[EARLY_ITEMS] == sum(first[own[1]] > made(*own) for *own, _ in lists)
    assert counts["rows of the lists that the interactions have"] == sum(row[:2] in had for row in lists)
    assert counts[HAD] == sum(row[:2] in had for row in truth)
    items = {
        user: {item for who, item, at in past if who == user and (at is None or at <= made(user, "none"))}
        for user in users
    }
    values = ["(-inf, 1)", "[1, 2)", "[2, 3)", "[3, inf)"]
    of_slice = [row for row in found.table.to_pylist() if row["slice"] != "all"]
    groups = Counter(values[len(own)] for own in items.values())
    assert {row["slice_value"]: row["n_groups"] for row in of_slice} == groups


KINDS = {
    "whole": pa.int16(),
    "date": pa.date32(),
    "instant": pa.timestamp("ms", "Europe/Berlin"),
    "other instant": pa.timestamp("us", "UTC"),
    "no zone": pa.timestamp("s"),
}


@pytest.mark.parametrize("first", KINDS)
@pytest.mark.parametrize("second", KINDS)
def test_times_are_of_one_kind(first: str, second: str) -> None:
    at = dt.datetime(2026, 1, 5, tzinfo=dt.timezone.utc)

    def rows(name: str, days: int) -> pa.Table:
        kind = KINDS[name]
        time = at + dt.timedelta(days=days)
        value: Any = time.day if name == "whole" else time.date() if name == "date" else time
        value = value.replace(tzinfo=None) if name == "no zone" else value
        return pa.table({"user": ["a"], "item": ["x"], "score": [1.0], "at": pa.array([value], kind)})

    def counted() -> list[float]:
        return [
            counts_of(sr.evaluate(rows(first, 0), ["rr"], truth=rows(second, days), **AT, **OF_TRUTH))[EARLY_TRUTH]
            for days in (-1, 0)
        ]

    if first == second or {first, second} == {"instant", "other instant"}:
        assert counted() == [1, 0]
        return
    with pytest.raises(sr.InputError) as refused:
        counted()
    assert str(refused.value) == (
        f'the time column is of type {rows(first, 0)["at"].type} in the lists ("at") and of type '
        f'{rows(second, 0)["at"].type} in the truth ("at"): one type is needed'
    )


TEXT = pa.table({"user": ["a"], "item": ["x"], "score": [1.0], "at": ["today"]})
SINCE = {"catalog": pa.table({"item": ["x"], "from": [5]}), "catalog_columns": {"since": "from"}}
REFUSED = [
    (AT, 'time="at" says when a list was made, but nothing has a time to compare with it: name that of the truth, of'),
    ({**KEYS, **SINCE}, "the catalog has times (since), but the lists name no time to compare with"),
    ({**KEYS, **OF_TRUTH}, 'the truth has a time column, "at", but the lists name none'),
    (
        {**AT, "exclude": LISTED, "exclude_columns": {"time": "at"}},
        'exclude_columns names "time", did you mean "item"?',
    ),
    (
        {**AT, **SINCE, "catalog_columns": {"sinse": "from"}},
        "catalog_columns is {'sinse': 'from'}: a mapping of item",
    ),
    ({**AT, **SINCE, "catalog_columns": {"since": "form"}}, 'the time column "form" is not in the catalog, did you'),
]
UNUSABLE = [
    ({**AT, **OF_TRUTH, "truth": TEXT}, 'the time column "at" is of type string: an instant, a date or a whole number'),
    ({**AT, "catalog": TEXT, "catalog_columns": {"since": "score"}}, 'the time column "score" is of type double: an'),
    (
        {**AT, "catalog": pa.table({"item": ["x"], "at": [dt.date(2026, 1, 1)]}), "catalog_columns": {"since": "at"}},
        'the time column is of type int64 in the lists and of type date32[day] in the catalog ("at"): one type is',
    ),
]


@pytest.mark.parametrize(("asked", "sentence"), [*REFUSED, *UNUSABLE])
def test_what_cannot_be_compared_is_refused(asked: dict, sentence: str) -> None:
    error = sr.SpecError if (asked, sentence) in REFUSED else sr.InputError
    with pytest.raises(error) as refused:
        sr.evaluate(LISTED, ["rr"], **{"truth": LISTED, **asked})
    assert str(refused.value).startswith(sentence)


def test_a_history_after_all_lists_is_not_one_of_other_keys(caplog: pytest.LogCaptureFixture) -> None:
    sr.evaluate(LISTED, ["new@1"], truth=LISTED, interactions=timed([("a", "x", 6)]), **AT, **OF_PAST)
    assert "is in a list" not in warnings_about_input(caplog)


def test_explanations_mark_what_came_too_early() -> None:
    """y is listed at 7 and was wanted at 6; z was wanted at 4, before the list began, and a had it before."""
    truth = timed([("a", "x", 5), ("a", "y", 6), ("a", "z", 4)])
    past = timed([("a", "z", 3), ("b", "y", 8)])
    explained = sr.explain(
        timed(LISTS), "new@3", truth=truth, interactions=past, **{**AT, "group": {"user": "a"}}, **OF_TRUTH, **OF_PAST
    )
    (metric,) = explained.keys[0].groups[0].metrics
    listed, unlisted = metric.tables
    assert listed.columns["truth before list"] == (False, True, False)
    assert listed.columns["listed too early"] == (False, True, False)
    assert unlisted.columns["item"] == ("z",)
    assert (unlisted.columns["truth before list"], unlisted.columns["truth had before"]) == ((True,), (True,))
    assert "truth had before" in str(explained)


def test_rows_without_a_truth_are_not_marked_as_rows_of_one() -> None:
    """Ann had x, which is in her list with the label 0."""
    lists = pa.table({"user": ["ann"] * 2, "item": ["x", "y"], "score": [2.0, 1.0], "label": [0, 1]})
    asked = {"group": {"user": "ann"}, "item": "item", "score": "score", "label": "label"}
    explained = sr.explain(lists, "new@2", interactions=lists.select(["user", "item"]).slice(0, 1), **asked)
    (metric,) = explained.keys[0].groups[0].metrics
    assert metric.value == 1 / 2
    assert "truth had before" not in metric.tables[0].columns
