"""What is missing is no value: an evaluation of nothing, or of one side alone, is refused as an empty input is."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sparkrank as sr
from tests.support.commands import exit_code, write_spec

LISTS = pa.table({"u": ["a", "a", "b"], "i": ["x", "y", "x"], "s": [3.0, 2.0, 1.0], "day": [1, 1, 2]})
TRUTH = pa.table({"u": ["a", "b"], "i": ["y", "x"], "y": [1.0, 1.0], "day": [1, 2]})
LOG = pa.table({"u": ["a", "a", "b"], "i": ["x", "y", "x"], "s": [3.0, 2.0, 1.0], "y": [0.0, 1.0, 1.0]})
METRICS = ["ndcg@10", "r@10", "p@10", "coverage", "auc"]


def with_all(table: pa.Table, **values: Any) -> pa.Table:
    """``table`` whose columns have one value each in all of their rows, or these values."""
    for name, value in values.items():
        column = value if isinstance(value, list) else [value] * table.num_rows
        place = table.column_names.index(name)
        table = table.set_column(place, name, pa.array(column, table.schema.field(name).type))
    return table


NO_LISTS, NO_TRUTH = "the lists have no rows", "the truth has no rows"
NO_ITEM = "no row of the {} has an item and can be evaluated (rows read: {}{})"
NO_ROW, NO_GROUP = "no row is left to evaluate ({})", "no group is left to evaluate: population={} leaves out all 2"
APART = "lists and truth have no group in common"
NO_KEY, NO_LABEL = "null or NaN group key", "2 without a label, which unjudged=drop drops"
BAD: dict[str, Any] = {"max_bad_fraction": 1.0}
# What is given as lists (or impressions, where there is no truth) and truth, the settings, and the sentence.
NOTHING: dict[str, tuple[pa.Table, pa.Table | None, dict[str, Any], str]] = {
    "no rows": (LOG[:0], None, {}, "the input has no rows"),
    "neither side": (LISTS[:0], TRUTH[:0], {}, "the input has no rows"),
    "no lists": (LISTS[:0], TRUTH, {}, NO_LISTS),
    "no truth": (LISTS, TRUTH[:0], {}, NO_TRUTH),
    "lists that only name their group": (with_all(LISTS, i=None, s=None), TRUTH, {}, NO_ITEM.format("lists", 3, "")),
    "truth that only names its group": (LISTS, with_all(TRUTH, i=None, y=None), {}, NO_ITEM.format("truth", 2, "")),
    "all lists rejected": (
        with_all(LISTS, s=math.nan),
        TRUTH,
        BAD,
        NO_ITEM.format("lists", 3, ", rejected of both sides: 3 NaN score"),
    ),
    "all truth rejected": (
        LISTS,
        with_all(TRUTH, u=None),
        BAD,
        NO_ITEM.format("truth", 2, f", rejected of both sides: 2 {NO_KEY}"),
    ),
    "no user in common": (
        LISTS,
        with_all(TRUTH, u=["a ", "B"]),
        {},
        f"{APART}: each of the 4 groups (u) is in only one of them",
    ),
    "all rows rejected": (with_all(LOG, s=math.nan), None, BAD, NO_ROW.format("3 NaN score")),
    "all rows rejected or dropped": (
        with_all(LOG, y=None, u=["a", "a", None]),
        None,
        {"unjudged": "drop", "max_bad_fraction": 0.5},
        NO_ROW.format(f"1 {NO_KEY}, {NO_LABEL}"),
    ),
    "no group with truth": (with_all(LOG, y=None), None, {"population": "truth"}, NO_GROUP.format("truth")),
    "no group with a list": (with_all(LOG, s=None), None, {"population": "lists"}, NO_GROUP.format("lists")),
    "no group retrieved": (
        with_all(LOG, s=None),
        None,
        {"unretrieved": "skip"},
        NO_GROUP.format("all, unretrieved=skip"),
    ),
}


def test_nothing_is_refused() -> None:
    for rows, truth, settings, sentence in NOTHING.values():
        for buckets in (1, 3):
            asked = {"group": "u", "item": "i", "score": "s", "label": "y", "buckets": buckets, **settings}
            with pytest.raises(sr.InputError) as refused:
                sr.evaluate(rows, METRICS, truth=truth, **asked)
            assert str(refused.value) == sentence


def ended(folder: Path, rows: pa.Table, truth: pa.Table | None, /, **changes: Any) -> int:
    pq.write_table(rows, folder / "rows.parquet")
    columns = {"group": "u", "item": "i", "score": "s", **({"label": "y"} if truth is None else {})}
    document: dict[str, Any] = {
        "input": {"path": f"{folder}/rows.parquet", "columns": columns},
        "metrics": METRICS,
        "output": {"path": f"{folder}/out"},
        "engine": {"lane": "local"},
    }
    if truth is not None:
        pq.write_table(truth, folder / "truth.parquet")
        document["truth"] = {"path": f"{folder}/truth.parquet", "columns": {"label": "y"}}
    for section, options in changes.items():
        document[section] = {**document.get(section, {}), **options}
    return exit_code("evaluate", "--conf", write_spec(folder, document), "--date", "2026-01-31")


def test_the_job_writes_nothing_of_nothing(tmp_path: Path, capsys) -> None:
    """Exit code 4, and no table; also where conditions leave nothing on a side."""
    cases: list[tuple[pa.Table, pa.Table | None, dict[str, Any], str]] = []
    for rows, truth, settings, sentence in [*NOTHING.values()][::4]:
        definitions = {name: word for name, word in settings.items() if name != "max_bad_fraction"}
        quality = {"max_bad_fraction": settings.get("max_bad_fraction", 0.0)}
        cases.append((rows, truth, {"definitions": definitions, "quality": quality}, sentence))
    for of_lists, of_truth, sentence in (
        ("day = 3", None, NO_LISTS),
        (None, "day = 3", NO_TRUTH),
        ("day = 3", "day = 3", "the input has no rows"),
        ("day = 1", "day = 2", f"{APART}: each of the 2 groups (u) is in only one of them"),
    ):
        cases.append((LISTS, TRUTH, {"input": {"where": of_lists}, "truth": {"where": of_truth}}, sentence))
    for rows, truth, changes, sentence in cases:
        assert ended(tmp_path, rows, truth, **changes) == 4
        assert capsys.readouterr().err == f"sparkrank: {sentence}\n"
        assert not (tmp_path / "out").exists()


EMPTY = pa.array([[], None, []], pa.list_(pa.string()))
FULL = pa.array([["x"], ["y"], ["z"]])


def test_arrays_that_hold_nothing_are_refused() -> None:
    for items, true_items, beginning in (
        ({"m": EMPTY}, FULL, NO_LISTS),
        ({"m": FULL}, EMPTY, NO_TRUTH),
        ({"m": EMPTY}, EMPTY, NO_ITEM.format("lists", 3, "")),
        ({"m": EMPTY, "n": EMPTY}, FULL, NO_LISTS),
        ({"m": pa.array([["x"], None, None])}, pa.array([None, ["x"], None]), APART),
    ):
        rows = pa.table({"u": [1, 2, 3], **items, "true": true_items})
        with pytest.raises(sr.InputError, match=f"^{re.escape(beginning)}"):
            sr.evaluate(rows, ["r", "ndcg"], group="u", items={name: name for name in items}, true_items="true")


def test_little_is_evaluated() -> None:
    """One user in common, whose item stands second; with population=all the others count, and they have no 1."""
    lists, truth = LISTS[:2], with_all(TRUTH, u=["a", "c"])
    asked = {"group": "u", "item": "i", "score": "s", "label": "y", "ties": "worst"}
    for settings in ({}, {"population": "both"}, {"unjudged": "drop"}, {"duplicates": "first"}):
        recall = sr.evaluate(lists, ["r", "p@2"], truth=truth, **asked, **settings).table["value"][0].as_py()
        assert recall == (1.0 if "population" in settings else (1.0 + 0.0) / 2), settings
