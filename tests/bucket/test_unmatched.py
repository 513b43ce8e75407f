"""Lists and truth that do not meet: said in a sentence that shows a key of each side as it is written."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sparkrank as sr
from sparkrank.base import checks
from sparkrank.states.distinct_items import SCATTERED
from sparkrank.states.unmatched import LISTS, TRUTH, UnmatchedRow, merged_unmatched
from sparkrank.tables.rows.warnings import as_shown, quoted
from tests.support.commands import exit_code, local_conf
from tests.support.logged import warnings_about_input

COLUMNS = {"group": "u", "item": "i", "score": "s"}


def sides(of_lists: list[tuple[Any, Any]], of_truth: list[tuple[Any, Any]]) -> tuple[pa.Table, pa.Table]:
    lists, truth = (pa.table([*map(list, zip(*rows, strict=True))], ["u", "i"]) for rows in (of_lists, of_truth))
    return lists.append_column("s", pa.array(np.arange(len(of_lists), 0, -1.0))), truth


def of_quality(evaluation: sr.Evaluation, check: str) -> list[dict[str, Any]]:
    return [row for row in evaluation.quality.to_pylist() if row["check"].startswith(check)]


X500 = "x" * 500
SHOWN = {
    "a": '"a"',
    "a ": '"a "',
    "café": '"café"',
    "cafe\u0301": '"cafe\\u0301"',
    "a\u200b": '"a\\u200b"',
    "a\x1b[31m\r\n": '"a\\x1b[31m\\r\\n"',
    'a"': '"a\\""',
    "a\\": '"a\\\\"',
    f"{X500}y": f'"{X500[:40]}…{X500[:15]}y"',
}


def test_a_key_is_shown_as_it_is_written() -> None:
    assert {key: quoted(key.encode()) for key in SHOWN} == SHOWN
    assert quoted(b"K\xf6ln") == '"K\\\\xf6ln"'
    assert as_shown("tab\tof a\u202eb") == "tab\\tof a\\u202eb"
    assert as_shown("क्षि") == "क्षि"  # nothing to be written out in a text that has one spelling


@pytest.mark.parametrize(("of_list", "of_truth"), [(("u1", "a"), ("u1", "a\u200b")), ((1, 7), (1, 8))])
def test_a_key_of_each_side_is_shown(of_list: tuple, of_truth: tuple, caplog: pytest.LogCaptureFixture) -> None:
    lists, truth = sides([of_list], [of_truth])
    (row,) = of_quality(sr.evaluate(lists, ["r"], truth=truth, **COLUMNS), checks.TRUTH_UNLISTED)
    assert (row["count"], row["fraction"], row["limit"], row["ok"]) == (1, 1, 0.5, False)
    (u, i), (v, j) = ([quoted(str(value).encode()) for value in key] for key in (of_list, of_truth))
    of_truth_ = f"the truth has u {v}, i {j}, which no list has"
    assert row["example"] == f"the lists have u {u}, i {i}, which the truth does not have; {of_truth_}"
    assert warnings_about_input(caplog) == [f"No truth is found in any list (none of 1 items): {row['example']}"]


@pytest.mark.parametrize(("matched", "told"), [(0, True), (1, True), (4, True), (5, False), (9, False), (10, False)])
def test_most_of_the_truth_in_no_list_is_told(matched: int, told: bool, caplog: pytest.LogCaptureFixture) -> None:
    """Ten true items, each given twice: 4 of 10 found leave 60 %, and 5 leave 50, which is not most."""
    truth = [("u", f"t{n}") for n in range(10)] * 2
    lists, beside = sides([("u", f"t{n}") for n in range(matched)] + [("u", "other")], truth)
    ev = sr.evaluate(lists, ["r"], truth=beside, **COLUMNS)
    assert (TRUTH in ev.partials.unmatched) == (matched < 10)
    (row,) = of_quality(ev, checks.TRUTH_UNLISTED)
    assert (row["fraction"], row["ok"], row["example"] is not None) == ((10 - matched) / 10, not told, told)
    most = f"Most of the truth is in no list ({10 - matched} of 10 items, {10 - matched}0.00%): "
    start = most if matched else "No truth is found in any list (none of 10 items): "
    assert [text[: len(start)] for text in warnings_about_input(caplog)] == [start] * told


def shown(users: int, rows: int, true: int, items: int, hits: int) -> tuple[pa.Table, pa.Table]:
    """Each user has ``true`` of the ``items``, and ``hits`` of them stand in a list of ``rows``: all items are used."""
    lists, truth = [], []
    for user in range(users):
        first = user * 7
        own = [(first + step) % items for step in range(items)]
        truth += [(user, item) for item in own[:true]]
        lists += [(user, item) for item in (*own[:hits], *own[true : true + rows - hits])]
    return sides(lists, truth)


# Users, rows of a list, true items, items, and hits in each list: chance alone gives rows · true / items of them.
BY_CHANCE = {
    "lists of ten, hundreds of true items": ((40, 10, 300, 1000, 7), False),  # chance 3
    "the same by chance": ((40, 10, 300, 1000, 3), True),
    "ten of ten in a thousand": ((120, 10, 10, 1000, 1), False),  # chance 0.1
    "one of ten in a hundred": ((40, 10, 10, 100, 1), True),  # chance 1
    "two of ten in a hundred": ((40, 10, 10, 100, 3), False),
    "most is listed": ((40, 60, 10, 100, 6), False),
}


@pytest.mark.parametrize("case", BY_CHANCE)
def test_truth_in_no_list_is_judged_by_chance(case: str, caplog: pytest.LogCaptureFixture) -> None:
    numbers, told = BY_CHANCE[case]
    lists, truth = shown(*numbers)
    ev = sr.evaluate(lists, ["r@10"], truth=truth, **COLUMNS)
    (row,) = of_quality(ev, checks.TRUTH_UNLISTED)
    assert (row["ok"], len(warnings_about_input(caplog))) == (not told, int(told))
    other = sr.evaluate(lists, ["r@10"], truth=truth, buckets=5, **COLUMNS)
    assert other.partials.item_hashes == ev.partials.item_hashes


NEGATIVES = dict.fromkeys("vwxyz", 0.0)
# Lists, labels of the truth, metrics, and what is told: judged negatives that are found, or not, say nothing.
RELEVANT: dict[str, tuple[list[str], dict[str, float], list[str], str]] = {
    "none, behind judged negatives": (
        list("vwxyz"),
        {**NEGATIVES, "V ": 1, "W ": 1},
        ["r@2", "ndcg"],
        "No relevant truth is found in any list (none of 2 items with label > 0): the truth has ",
    ),
    "most": (
        list("vwxyza"),
        {**NEGATIVES, "a": 1, "b": 2, "c": 1},
        ["r@2"],
        "Most of the relevant truth is in no list (2 of 3 items with label > 0, 66.67%): the truth has",
    ),
    "negatives in no list": (["a", "b"], {**NEGATIVES, "a": 1, "b": 2}, ["r@2"], ""),
    "none above one of two levels": (
        ["a", "b"],
        {"a": 3, "b": 3, "A": 4},
        ["r(rel=3)@2", "r(rel=4)@2"],
        "No relevant truth is found in any list (none of 1 items with label >= 4): ",
    ),
    "none is relevant": (["a", "b"], {"A": 0, "B": 0}, ["r@2"], "No truth is found in any list (none of 2 items): "),
}


@pytest.mark.parametrize("arrays", [False, True], ids=["rows", "arrays"])
@pytest.mark.parametrize("case", RELEVANT)
def test_truth_that_is_relevant_is_looked_at(case: str, arrays: bool, caplog: pytest.LogCaptureFixture) -> None:
    of_lists, of_truth, metrics, sentence = RELEVANT[case]
    labels = [*map(float, of_truth.values())]
    if arrays:
        log = pa.table({"u": ["u"], "p": [of_lists], "t": [list(of_truth)], "y": [labels]})
        ev = sr.evaluate(log, metrics, group="u", items={"s": "p"}, true_items="t", label="y")
    else:
        lists, truth = sides([("u", item) for item in of_lists], [("u", item) for item in of_truth])
        ev = sr.evaluate(lists, metrics, truth=truth.append_column("y", pa.array(labels)), label="y", **COLUMNS)
    warned = [text for text in warnings_about_input(caplog) if "in any list" in text or "in no list" in text]
    assert [text[: len(sentence)] for text in warned] == [sentence] * bool(sentence)
    rows = of_quality(ev, "relevant truth in no list")
    levels = {"r@2": "label > 0", "ndcg": "label > 0", "r(rel=3)@2": "label >= 3", "r(rel=4)@2": "label >= 4"}
    assert {row["check"] for row in rows} == {f"relevant truth in no list ({levels[metric]})" for metric in metrics}
    if "relevant" in sentence:  # the example is one of those that are counted
        (over,) = [row for row in rows if row["ok"] is False]
        assert not any(f'i "{item}"' in over["example"].split("; ")[-1] for item, y in of_truth.items() if y <= 0)


def two_models(arrays: bool, of_b: int, rows: int) -> dict[str, Any]:
    """Each of as many users has one true item, which model a lists; model b lists it for the first ``of_b`` of them."""
    users, items = [f"u{n}" for n in range(rows)], [f"A{n}" for n in range(rows)]
    other = [item if n < of_b else item.lower() for n, item in enumerate(items)]
    if arrays:
        table = pa.table({"u": users, "a": [[i] for i in items], "b": [[i] for i in other], "t": [[i] for i in items]})
        return {"impressions": table, "group": "u", "items": {"a": "a", "b": "b"}, "true_items": "t"}
    none = [None] * rows
    columns = {"u": users * 2, "i": items + other, "s": pa.array([1.0] * rows + none, pa.float64())}
    table = pa.table({**columns, "z": pa.array(none + [1.0] * rows, pa.float64())})
    truth = pa.table({"u": users, "i": items})
    return {"impressions": table, "truth": truth, "group": "u", "item": "i", "score": {"a": "s", "b": "z"}}


@pytest.mark.parametrize("arrays", [False, True], ids=["rows", "arrays"])
@pytest.mark.parametrize(
    ("of_b", "rows", "told"),
    [(0, 2, "None of the 2"), (1, 50, "1 of the 50"), (2, 50, ""), (2, 2, ""), (2, 150, "2 of the 150")],
)
def test_a_model_of_which_nothing_is_in_the_truth(
    arrays: bool, of_b: int, rows: int, told: str, caplog: pytest.LogCaptureFixture
) -> None:
    """At most 2 % of what of the other model is there."""
    ev = sr.evaluate(metrics=["r@2"], **two_models(arrays, of_b, rows))
    assert [ev.value("r@2", model=model) for model in "ab"] == [1.0, of_b / rows]
    assert [(row["model"], row["count"]) for row in of_quality(ev, checks.ROWS_IN_TRUTH)] == [("a", rows), ("b", of_b)]
    sentence = (
        f"{told} rows with a score of b {'are' if of_b > 1 else 'is'} in the truth, while of a {rows} of {rows} are: "
        "are its items written as those of the truth?"
    )
    assert warnings_about_input(caplog) == [sentence] * bool(told)


def test_any_layout_shows_the_same_row_and_a_row_without_its_half() -> None:
    rng = np.random.default_rng(3)
    of_lists = [(f"u{rng.integers(40)}", f"A{rng.integers(60)}") for _ in range(400)]
    of_truth = [(f"u{rng.integers(40)}", f"{rng.choice(list('aaaA'))}{rng.integers(60)}") for _ in range(300)]
    seen = set()
    for seed, buckets in itertools.product(range(3), (1, 2, 7)):
        order = np.random.default_rng(seed)
        lists, truth = (side.take(order.permutation(len(side))) for side in sides(of_lists, of_truth))
        ev, keyless = (
            sr.evaluate(lists, ["r"], truth=truth, buckets=buckets, group_table=group_table, **COLUMNS)
            for group_table in (True, False)
        )
        rows = ev.partials.unmatched
        seen.add((rows[LISTS], rows[TRUTH], of_quality(ev, checks.TRUTH_UNLISTED)[0]["example"]))
        for side, own, other in ((LISTS, of_lists, of_truth), (TRUTH, of_truth, of_lists)):
            key = (rows[side].group[0].decode(), rows[side].item.decode())
            assert key in set(own) - set(other)
        assert keyless.partials.unmatched == {side: row._replace(group=()) for side, row in rows.items()}
    assert len(seen) == 1


@pytest.mark.parametrize("missing", [0, 300, 999])
def test_the_item_of_the_lowest_hash_is_shown_wherever_it_stands(missing: int) -> None:
    """Of 1,000 items by their hashes all but one are wanted: that is one of the lowest 256, or another one."""
    items = np.arange(1000)
    by_hash = items[np.argsort(items.view(np.uint64) * SCATTERED)].tolist()
    unwanted = by_hash[missing]
    lists, truth = sides([(8, each) for each in by_hash], [(8, each) for each in by_hash if each != unwanted])
    rows = sr.evaluate(lists, ["r"], truth=truth, group_table=True, **COLUMNS).partials.unmatched
    place = (unwanted * int(SCATTERED)) % 2**64
    assert rows == {LISTS: UnmatchedRow(place, str(unwanted).encode(), (b"8",))}


def test_rows_of_sides_merge_in_any_order() -> None:
    rows = [UnmatchedRow(3, b"b", (b"u",)), UnmatchedRow(3, b"a", (b"v",)), UnmatchedRow(3, b"a", (b"u",))]
    parts = [{LISTS: row} for row in rows] + [{TRUTH: UnmatchedRow(9, b"t")}, {}]
    for order in itertools.permutations(parts):
        nested = merged_unmatched([merged_unmatched(order[:2]), merged_unmatched(order[2:])])
        assert nested == merged_unmatched(order) == {LISTS: rows[2], TRUTH: UnmatchedRow(9, b"t")}


EXAMPLE = 'the lists have u "u1", i "A", which the truth does not have; the truth has u "u1", i "A ", which no list has'


ONE_BLANK = sides([("u1", "A")], [("u1", "A ")])


def job(folder: Path, lists: pa.Table, truth: pa.Table, **more: Any) -> int:
    for name, side in {"lists": lists, "truth": truth}.items():
        pq.write_table(side, folder / f"{name}.parquet")
    more["truth"] = {"path": f"{folder}/truth.parquet"}
    spec = local_conf(folder, f"{folder}/lists.parquet", COLUMNS, ["r", "ndcg@3"], **more)
    return exit_code("evaluate", "--conf", spec, "--date", "2026-01-31")


def test_the_terminal_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert job(tmp_path, *ONE_BLANK) == 0
    sentence = "No truth is found in any list (none of 1 items)"
    assert f"\nWarnings\n  {sentence}: {EXAMPLE}\n" in capsys.readouterr().out
    day = "2026-01-31"
    assert exit_code("merge", "--conf", f"{tmp_path}/spec.yaml", "--from", day, "--to", day) == 0
    assert f"\nWarnings\n  {sentence}\n" in capsys.readouterr().out  # its days are counted, and hold no rows


def test_a_limit_in_the_spec_stops_the_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert job(tmp_path, *ONE_BLANK, quality={"limits": {"truth in no list": 0.75}}) == 4
    assert capsys.readouterr().err == (
        'sparkrank: "truth in no list" is 100.0000% (1) of truth with a label, each item of a group once, and limits '
        f"allows 75.0000%: {EXAMPLE}\n"
    )
    assert not (tmp_path / "out").exists()
    assert job(tmp_path, *ONE_BLANK, quality={"limits": {"truth in no list": 1}}) == 0
    printed = capsys.readouterr().out
    assert "Not within its limit" not in printed
    assert "No truth is found in any list" in printed  # what is allowed is said all the same


UNDEFINED = "Undefined in every group, or of the whole day: "


def test_what_is_undefined_everywhere_is_told(caplog: pytest.LogCaptureFixture) -> None:
    log = pa.table({"u": [1, 1], "s": pa.array([2.0, 1.0]), "y": pa.array([1, 0])})
    for name, values, undefined, sentences in (
        ("y", [None, None], "skip", ["No row has a label: all count as not relevant", f"{UNDEFINED}ap, auc of s"]),
        ("s", [None, None], "skip", ["No row has a score of s: each of its lists is empty", f"{UNDEFINED}auc of s"]),
        ("y", [0, 0], "skip", [f"{UNDEFINED}ap, auc of s"]),
        ("y", [0, 0], "zero", [f"{UNDEFINED}ap, auc of s, and counted as 0 by undefined=zero"]),
        ("y", [1, 0], "skip", []),
    ):
        caplog.clear()
        column = pa.array(values, log.schema.field(name).type)
        rows = log.set_column(log.column_names.index(name), name, column)
        sr.evaluate(rows, ["ap", "auc", "p@1"], group="u", score="s", label="y", undefined=undefined)
        assert warnings_about_input(caplog) == sentences


def test_a_model_left_out_everywhere_is_told_and_the_other_evaluated(caplog: pytest.LogCaptureFixture) -> None:
    log = pa.table({"u": [1, 1], "a": [2.0, 1.0], "b": pa.array([None, None], pa.float64()), "y": [1, 0]})
    ev = sr.evaluate(log, ["ap"], group="u", score={"a": "a", "b": "b"}, label="y", population="lists")
    assert [(row["model"], row["n_groups"]) for row in ev.table.to_pylist()] == [("a", 1), ("b", 0)]
    empty = "No row has a score of b: each of its lists is empty"
    assert warnings_about_input(caplog) == [empty, f"{UNDEFINED}ap of b"]
