"""What is missing is no value: an evaluation of nothing, or of one side alone, is refused as an empty input is."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

import sparkrank as sr
from tests.support.commands import exit_code

LISTS = pa.table({"u": ["a", "a", "b"], "i": ["x", "y", "x"], "s": [3.0, 2.0, 1.0], "day": [1, 1, 2]})
TRUTH = pa.table({"u": ["a", "b"], "i": ["y", "x"], "y": [1.0, 1.0], "day": [1, 2]})
LOG = pa.table({"u": ["a", "a", "b"], "i": ["x", "y", "x"], "s": [3.0, 2.0, 1.0], "y": [0.0, 1.0, 1.0]})
METRICS = ["ndcg@10", "r@10", "p@10", "coverage", "auc"]


def with_column(table: pa.Table, name: str, values: list[Any]) -> pa.Table:
    kind = table.schema.field(name).type
    return table.set_column(table.column_names.index(name), name, pa.array(values, kind))


NO_LISTS, NO_TRUTH = "the lists have no rows", "the truth has no rows"
NO_ITEM = "no row of the {} has an item and can be evaluated (rows read: {}{})"
# What is given as lists (or impressions, where there is no truth) and truth, the settings, and the sentence.
NOTHING: Mapping[str, tuple[pa.Table, pa.Table | None, dict[str, Any], str]] = {
    "no rows": (LOG[:0], None, {}, "the input has no rows"),
    "neither side": (LISTS[:0], TRUTH[:0], {}, "the input has no rows"),
    "no lists": (LISTS[:0], TRUTH, {}, NO_LISTS),
    "no truth": (LISTS, TRUTH[:0], {}, NO_TRUTH),
    "rows of lists that only name their group": (
        with_column(with_column(LISTS, "i", [None] * 3), "s", [None] * 3),
        TRUTH,
        {},
        NO_ITEM.format("lists", 3, ""),
    ),
    "rows of truth that only name their group": (
        LISTS,
        with_column(with_column(TRUTH, "i", [None] * 2), "y", [None] * 2),
        {},
        NO_ITEM.format("truth", 2, ""),
    ),
    "all lists rejected": (
        with_column(LISTS, "s", [math.nan] * 3),
        TRUTH,
        {"max_bad_fraction": 1.0},
        NO_ITEM.format("lists", 3, ", rejected of both sides: 3 NaN score"),
    ),
    "all truth rejected": (
        LISTS,
        with_column(TRUTH, "u", [None, None]),
        {"max_bad_fraction": 1.0},
        NO_ITEM.format("truth", 2, ", rejected of both sides: 2 null or NaN group key"),
    ),
    "no user in common": (
        LISTS,
        with_column(TRUTH, "u", ["a ", "B"]),
        {},
        "lists and truth have no group in common: each of the 4 groups (u) is on one side alone",
    ),
    "all rows rejected": (
        with_column(LOG, "s", [math.nan] * 3),
        None,
        {"max_bad_fraction": 1.0},
        "no row is left to evaluate (3 NaN score)",
    ),
    "all rows dropped": (
        with_column(LOG, "y", [None] * 3),
        None,
        {"unjudged": "drop"},
        "no row is left to evaluate (3 without a label, which unjudged=drop drops)",
    ),
    "all rows rejected or dropped": (
        with_column(with_column(LOG, "y", [None] * 3), "u", ["a", "a", None]),
        None,
        {"unjudged": "drop", "max_bad_fraction": 0.5},
        "no row is left to evaluate (1 null or NaN group key, 2 without a label, which unjudged=drop drops)",
    ),
    "no group with truth": (
        with_column(LOG, "y", [None] * 3),
        None,
        {"population": "truth"},
        "no group is left to evaluate: population=truth leaves out all 2",
    ),
    "no group with a list": (
        with_column(LOG, "s", [None] * 3),
        None,
        {"population": "lists"},
        "no group is left to evaluate: population=lists leaves out all 2",
    ),
    "no group retrieved": (
        with_column(LOG, "s", [None] * 3),
        None,
        {"unretrieved": "skip"},
        "no group is left to evaluate: population=all, unretrieved=skip leaves out all 2",
    ),
}


@pytest.mark.parametrize(("rows", "truth", "settings", "told"), NOTHING.values(), ids=NOTHING)
def test_nothing_is_refused(rows: pa.Table, truth: pa.Table | None, settings: dict[str, Any], told: str) -> None:
    for buckets in (1, 3):
        asked = {"group": "u", "item": "i", "score": "s", "label": "y", "buckets": buckets, **settings}
        with pytest.raises(sr.InputError) as refused:
            sr.evaluate(rows, METRICS, truth=truth, **asked)
        assert str(refused.value) == told


@pytest.mark.parametrize(("rows", "truth", "settings", "told"), NOTHING.values(), ids=NOTHING)
def test_the_job_writes_nothing_of_nothing(
    tmp_path: Path, capsys, rows: pa.Table, truth: pa.Table | None, settings: dict[str, Any], told: str
) -> None:
    """Exit code 4, and no table."""
    columns = {"group": "u", "item": "i", "score": "s", **({"label": "y"} if truth is None else {})}
    bad = settings.get("max_bad_fraction", 0.0)
    spec: dict[str, Any] = {
        "input": {"path": f"{tmp_path}/rows.parquet", "columns": columns},
        "metrics": METRICS,
        "output": {"path": f"{tmp_path}/out"},
        "engine": {"lane": "local"},
        "quality": {"max_bad_fraction": bad},
        "definitions": {name: word for name, word in settings.items() if name != "max_bad_fraction"},
    }
    pq.write_table(rows, tmp_path / "rows.parquet")
    if truth is not None:
        pq.write_table(truth, tmp_path / "truth.parquet")
        spec["truth"] = {"path": f"{tmp_path}/truth.parquet", "columns": {"label": "y"}}
    (tmp_path / "spec.yaml").write_text(yaml.safe_dump(spec), encoding="utf-8")
    assert exit_code("evaluate", "--conf", f"{tmp_path}/spec.yaml", "--date", "2026-01-31") == 4
    assert capsys.readouterr().err == f"sparkrank: {told}\n"
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("of_lists", "of_truth", "told"),
    [
        ("day = 3", None, NO_LISTS),
        (None, "day = 3", NO_TRUTH),
        ("day = 3", "day = 3", "the input has no rows"),
        (
            "day = 1",
            "day = 2",
            "lists and truth have no group in common: each of the 2 groups (u) is on one side alone",
        ),
    ],
)
def test_a_condition_that_leaves_nothing_on_a_side_is_refused(
    tmp_path: Path, capsys, of_lists: str | None, of_truth: str | None, told: str
) -> None:
    pq.write_table(LISTS, tmp_path / "lists.parquet")
    pq.write_table(TRUTH, tmp_path / "truth.parquet")
    spec = {
        "input": {
            "path": f"{tmp_path}/lists.parquet",
            "where": of_lists,
            "columns": {"group": "u", "item": "i", "score": "s"},
        },
        "truth": {"path": f"{tmp_path}/truth.parquet", "where": of_truth},
        "metrics": ["r"],
        "output": {"path": f"{tmp_path}/out"},
        "engine": {"lane": "local"},
    }
    (tmp_path / "spec.yaml").write_text(yaml.safe_dump(spec), encoding="utf-8")
    assert exit_code("evaluate", "--conf", f"{tmp_path}/spec.yaml", "--date", "2026-01-31") == 4
    assert capsys.readouterr().err == f"sparkrank: {told}\n"


EMPTY = pa.array([[], None, []], pa.list_(pa.string()))
FULL = pa.array([["x"], ["y"], ["z"]])


@pytest.mark.parametrize(
    ("items", "true_items", "told"),
    [
        ({"m": EMPTY}, FULL, NO_LISTS),
        ({"m": FULL}, EMPTY, NO_TRUTH),
        ({"m": EMPTY}, EMPTY, NO_ITEM.format("lists", 3, "")),
        ({"m": EMPTY, "n": EMPTY}, FULL, NO_LISTS),
        (
            {"m": pa.array([["x"], None, None])},
            pa.array([None, ["x"], None]),
            "lists and truth have no group in common",
        ),
    ],
)
def test_arrays_that_hold_nothing_are_refused(items: dict[str, pa.Array], true_items: pa.Array, told: str) -> None:
    rows = pa.table({"u": [1, 2, 3], **items, "true": true_items})
    with pytest.raises(sr.InputError) as refused:
        sr.evaluate(rows, ["r", "ndcg"], group="u", items={name: name for name in items}, true_items="true")
    assert str(refused.value).startswith(told)


@pytest.mark.parametrize("settings", [{}, {"population": "both"}, {"unjudged": "drop"}, {"duplicates": "first"}])
def test_little_is_evaluated(settings: dict[str, Any]) -> None:
    """One user in common, whose item stands second; with population=all the others count, and they have no 1."""
    lists, truth = LISTS[:2], with_column(TRUTH, "u", ["a", "c"])
    asked = {"group": "u", "item": "i", "score": "s", "label": "y", "ties": "worst", **settings}
    found = sr.evaluate(lists, ["r", "p@2"], truth=truth, **asked).table.to_pylist()
    assert found[0]["value"] == (1.0 if settings.get("population") == "both" else (1.0 + 0.0) / 2)
