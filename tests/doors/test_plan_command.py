"""``sparkrank plan`` on small specs: its counts, what stored days took, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support.commands import exit_code, write_spec

DAY, BEFORE = "2026-01-31", "2026-01-30"
WITHOUT_GROUPS = {"path": "log", "columns": {"label": "click", "score": "old"}}
OF_ARRAYS = {"path": "log", "columns": {"group": "user", "items": "shown", "true_items": "liked"}}
ROW = np.arange(ROWS := 600)
LOG = pa.table({"user": ROW // 6, "click": ROW % 6 // 2, "old": ROW / 600, "new": ROW / 700, "country": ROW // 6 % 3})


def _document(folder: Path, **changes: Any) -> dict[str, Any]:
    columns = {"group": "user", "label": "click", "score": {"old": "old", "new": "new"}}
    return {
        "input": {"path": f"{folder}/log/dt={{date}}", "columns": columns},
        "metrics": ["rr", "auc"],
        "slices": ["country"],
        "output": {"path": f"{folder}/out"},
        "engine": {"lane": "local"},
        **changes,
    }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for day in (BEFORE, DAY):
        (tmp_path / f"log/dt={day}").mkdir(parents=True)
        pq.write_table(LOG, tmp_path / f"log/dt={day}/0.parquet")
    return tmp_path


def _conf(folder: Path, **changes: Any) -> str:
    return write_spec(folder, _document(folder, **changes))


def _planned(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    assert exit_code("plan", *words, "--date", DAY, "--json") == 0
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


def test_a_spec_end_to_end(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    conf = _conf(folder)
    assert exit_code("evaluate", "--quiet", "--conf", conf, "--date", BEFORE) == 0
    plan = _planned(capsys, "--conf", conf)
    assert [plan[name] for name in ("rows", "splits", "buckets", "tasks", "pieces")] == [ROWS, 1, 1, 1, 1]
    (stored,) = plan["stored"]
    assert (stored["day"], stored["rows"], stored["groups"], stored["lane"]) == (BEFORE, ROWS, 100, "local")
    assert {"evaluate", "check"} <= set(stored["seconds"])
    assert exit_code("plan", "--conf", conf, "--date", DAY) == 0
    printed = capsys.readouterr().out
    assert f"Plan of {DAY}: 600 rows, counted in the footers\n  1 splits, 1 buckets, 1 tasks, 1 pieces" in printed
    assert f"{BEFORE}  600 rows, 100 groups, 1 buckets, lane local" in printed
    # files that hold whole groups are splits
    pq.write_table(LOG.slice(0, 6), folder / f"log/dt={DAY}/1.parquet")
    assert exit_code("plan", "--conf", conf, "--date", DAY, "--set", "input.grouped=files") == 0
    assert "2 splits, evaluated by the tasks that read them: no rows are shuffled" in capsys.readouterr().out
    # how it runs is no other question, another metric is one
    assert len(_planned(capsys, "--conf", conf, "--set", "engine.buckets=3")["stored"]) == 1
    assert _planned(capsys, "--conf", conf, "--set", "metrics=[rr]")["stored"] == []


def test_partitions_of_whole_groups_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for user in (1, 2):
        (tmp_path / f"log/dt={DAY}/user={user}").mkdir(parents=True)
        pq.write_table(LOG.drop_columns(["user"]), tmp_path / f"log/dt={DAY}/user={user}/0.parquet")
    conf = _conf(tmp_path)
    assert _planned(capsys, "--conf", conf)["partitions"] == ["user"]
    assert exit_code("plan", "--conf", conf, "--date", DAY) == 0
    assert "  partitions by user hold whole groups: if large" in capsys.readouterr().out
    assert _planned(capsys, "--conf", conf, "--set", "input.grouped=shuffle")["partitions"] == []


def test_the_tables_beside_the_lists_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    more = {"truth": {"path": "truth"}, "interactions": {"path": "past"}, "catalog": {"path": "items"}}
    lists = {"path": "log", "columns": {"group": "user", "item": "sku", "score": "old"}}
    conf = _conf(tmp_path, **more, input=lists, slices=[], metrics=["shown(of=catalog.price)@3", "new@3"])
    assert _planned(capsys, "--conf", conf, "--rows", "10")["tables"] == ["lists", "truth", "interactions", "catalog"]
    assert exit_code("plan", "--conf", conf, "--date", DAY, "--rows", "10") == 0
    assert "reads lists, truth, interactions, catalog; the catalog is not among these rows" in capsys.readouterr().out


def test_counts_are_those_of_the_lanes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for rows, more, counts in (
        # 10^8 rows: 50 splits of 2 million, 100 buckets of a million, 34 tasks (100 / 3, below 5 * sqrt(100))
        ("1e8", {}, [50, 100, 34, 50 * 34]),
        # 10,000 buckets: 5 * sqrt(10,000) = 500 tasks, and 5,000 splits
        ("1e10", {}, [5_000, 10_000, 500, 2_500_000]),
        ("1e8", {"engine": {"lane": "scan", "buckets": 9}}, [50, 9, 8, 400]),
        # without groups, and where a row has a whole list, rows are evaluated where they are read
        ("1e8", {"metrics": ["auc"], "slices": [], "input": WITHOUT_GROUPS}, [50, 1, 50, 0]),
        ("1e8", {"metrics": ["rr"], "input": OF_ARRAYS}, [50, 1, 50, 0]),
        ("1e8", {"input": {**_document(tmp_path)["input"], "grouped": "files"}}, [50, 1, 50, 0]),
    ):
        plan = _planned(capsys, "--conf", _conf(tmp_path, **more), "--rows", rows)
        assert [plan[name] for name in ("splits", "buckets", "tasks", "pieces")] == counts
        assert plan["rows_from"] == "given by --rows"


def test_what_spark_alone_can_count_is_to_be_given(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    conf = _conf(tmp_path)
    assert exit_code("plan", "--conf", conf, "--date", DAY) == 4
    assert "sparkrank: " in capsys.readouterr().err.splitlines()[-1]
    table = {"table": "log", "columns": _document(tmp_path)["input"]["columns"]}
    conf = _conf(tmp_path, input=table, engine={"lane": "frame"})
    assert exit_code("plan", "--conf", conf, "--date", DAY) == 2
    assert "give their number with --rows" in capsys.readouterr().err
    assert _planned(capsys, "--conf", conf, "--rows", "1000")["rows"] == 1_000


def test_what_is_no_whole_number_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for value in ("0", "1.5", "nan", "inf", "1e30", "many", "", "\x1b[31m7"):
        assert exit_code("plan", "--conf", _conf(folder), "--date", DAY, "--rows", value) == 2
        printed = capsys.readouterr()
        assert (printed.out, "\x1b" in printed.err, "not a whole number" in printed.err) == ("", False, True), value


def test_options_that_went_say_what_to_use(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words, use in (
        (["plan", "--cores", "8"], "docs/scaling.md"),
        (["plan", "--slice-values", "3"], "docs/scaling.md"),
        (["gate", "--replay", "90d", "--splits"], "examples/aa_halves.py"),
    ):
        assert exit_code(*words, "--conf", _conf(folder)) == 2
        assert use in capsys.readouterr().err.splitlines()[-1], words


def test_hostile_names_reach_no_terminal(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "out/metrics/day=\x1b[31m").mkdir(parents=True)
    (folder / "out/metrics/day=2026-01-29").mkdir()
    (folder / "out/metrics/day=2026-01-29/broken.parquet").write_bytes(b"no Parquet")
    assert exit_code("plan", "--conf", _conf(folder), "--date", DAY) == 0
    printed = capsys.readouterr().out
    assert "\x1b" not in printed
    assert "no stored day of the same spec" in printed
