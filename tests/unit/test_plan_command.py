"""``sparkrank plan`` on small specs: what it counts, measures and prints, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from sparkrank.config import Spec
from sparkrank.jobs import plan_job
from sparkrank.jobs.capacity import Costs
from sparkrank.jobs.probe import Asked, made_rows, measured
from tests.unit.commands import exit_code
from tests.unit.test_capacity import COSTS

pytestmark = pytest.mark.same_without_loops

DAY, BEFORE = "2026-01-31", "2026-01-30"
ROWS = 600
USERS = np.arange(ROWS) // 6  # a hundred users with six rows each, by three countries
LOG = pa.table(
    {
        "user": pa.array([f"u{each}" for each in USERS]),
        "item": np.arange(ROWS) % 6,
        "click": (np.arange(ROWS) % 6 == 2).astype(np.int8),
        "old": np.linspace(0.1, 0.9, ROWS),
        "new": np.linspace(0.9, 0.1, ROWS).astype(np.float32),
        "country": pa.array(["de", "fr", "it"]).take(pa.array(USERS % 3)),
    }
)


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
    path = folder / "spec.yaml"
    path.write_text(yaml.safe_dump(_document(folder, **changes)), encoding="utf-8")
    return str(path)


@pytest.fixture
def unprobed(monkeypatch: pytest.MonkeyPatch) -> list[Asked]:
    """The probe says what is written down elsewhere, and keeps what it was asked."""
    asked: list[Asked] = []

    def told(each: Asked) -> Costs:
        asked.append(each)
        return COSTS

    monkeypatch.setattr(plan_job, "probe", told)
    return asked


def _planned(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    assert exit_code("plan", *words, "--date", DAY, "--json") == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_a_spec_end_to_end(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    conf = _conf(folder)
    assert exit_code("evaluate", "--quiet", "--conf", conf, "--date", BEFORE) == 0
    found = _planned(capsys, "--conf", conf, "--cores", "8")
    load = found["workload"]
    assert (load["rows"], load["groups"], load["models"], load["metrics"], load["cores"]) == (600, 100, 2, 2, 8)
    assert (load["slice_values"], load["states"]) == (3, 2 * 2 * 4)
    (stored,) = found["stored"]
    assert (stored["day"], stored["rows"], stored["groups"], stored["slice_values"]) == (
        BEFORE,
        600,
        100,
        {"country": 3},
    )
    assert {"evaluate", "check"} <= set(stored["seconds"])
    costs = found["probe"]
    assert costs["states"] == 16
    assert 1e-9 < costs["read_row_seconds"] < 1e-4
    assert 1e-9 < costs["solve_row_seconds"] < 1e-4
    assert 0 < costs["state_bytes"] < 50e6
    assert found["estimate"]["buckets"] == 1
    assert exit_code("plan", "--conf", conf, "--date", DAY) == 0
    told = capsys.readouterr().out
    assert "600 rows, 100 groups, 2 models, 2 metrics, 3 slice values (16 states)" in told
    assert f"{BEFORE}  600 rows, lane local" in told
    assert "spark.executor.pyspark.memory" in told


def test_options_stand_in_for_what_nobody_has_counted(
    folder: Path, capsys: pytest.CaptureFixture[str], unprobed: list[Asked]
) -> None:
    conf = _conf(folder)
    found = _planned(capsys, "--conf", conf, "--rows", "1e9", "--slice-values", "50", "--cores", "500")
    load = found["workload"]
    assert (load["rows"], load["groups"], load["slice_values"]) == (10**9, 50_000_000, 50)
    assert found["estimate"]["buckets"] == 1_000
    assert unprobed[0].values == 50
    assert unprobed[0].types[0] == {
        "user": pa.string(), "country": pa.string(), "click": pa.int8(), "old": pa.float64(), "new": pa.float32()
    }  # fmt: skip
    assumed = _planned(capsys, "--conf", conf)
    assert assumed["workload"]["slice_values"] == 100
    assert any("100 values each are assumed" in note for note in assumed["notes"])


def test_without_an_input_rows_are_enough(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], unprobed: list[Asked]
) -> None:
    conf = _conf(tmp_path)
    assert exit_code("plan", "--conf", conf, "--date", DAY) == 4
    assert "sparkrank: " in capsys.readouterr().err.splitlines()[-1]
    assert _planned(capsys, "--conf", conf, "--rows", "1000")["workload"]["rows"] == 1_000
    table = {"table": "log", "columns": _document(tmp_path)["input"]["columns"]}
    conf = _conf(tmp_path, input=table, engine={"lane": "frame"})
    assert exit_code("plan", "--conf", conf, "--date", DAY) == 2
    assert "give their number by --rows" in capsys.readouterr().err
    settings = _planned(capsys, "--conf", conf, "--rows", "1000")["settings"]
    assert "spark.sql.shuffle.partitions" in [each["name"] for each in settings]
    assert unprobed[-1].types == ({}, {})


@pytest.mark.parametrize("option", ["--rows", "--slice-values", "--cores"])
@pytest.mark.parametrize("value", ["0", "-1", "1.5", "nan", "inf", "1e30", "many", "", "\x1b[31m7"])
def test_what_is_no_whole_number_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str], unprobed: list[Asked], option: str, value: str
) -> None:
    assert exit_code("plan", "--conf", _conf(folder), "--date", DAY, option, value) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "no whole number from 1" in printed.err
    assert "\x1b" not in printed.err
    assert not unprobed


def test_slice_values_without_slices_are_refused(
    folder: Path, capsys: pytest.CaptureFixture[str], unprobed: list[Asked]
) -> None:
    assert exit_code("plan", "--conf", _conf(folder, slices=[]), "--date", DAY, "--slice-values", "3") == 2
    assert "--slice-values is 3, but the spec has no slices" in capsys.readouterr().err
    assert not unprobed


def test_hostile_names_reach_no_terminal_and_break_no_probe(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hostile = "a\x1b[31m\u202e.b['c']"
    names = {"user": f"{hostile} user", "old": hostile, "country": f"{hostile}\n- fake note"}
    log = LOG.rename_columns([names.get(name, name) for name in LOG.column_names])
    pq.write_table(log, folder / f"log/dt={DAY}/0.parquet")
    columns = {"group": names["user"], "label": "click", "score": {hostile: hostile}}
    spec = {"path": f"{folder}/log/dt={{date}}", "columns": columns}
    conf = _conf(folder, input=spec, slices=[names["country"]])
    (folder / "out/metrics/day=\x1b[31m").mkdir(parents=True)
    (folder / "out/metrics/day=2026-01-29").mkdir()
    (folder / "out/metrics/day=2026-01-29/broken.parquet").write_bytes(b"no Parquet")
    assert exit_code("plan", "--conf", conf, "--date", DAY) == 0
    told = capsys.readouterr().out
    assert "\x1b" not in told
    assert "\u202e" not in told
    assert "fake note" not in told
    assert "600 rows" in told
    assert _planned(capsys, "--conf", conf)["stored"] == []


SHAPES: dict[str, dict[str, Any]] = {
    "one model": {},
    "no slices, no groups": {"slices": [], "metrics": ["auc"], "columns": {"label": "click", "score": "old"}},
    "two columns of a slice": {"slices": [["country", "device"], "country"]},
    "weights": {"columns": {"group": ["user", "session"], "label": "click", "score": "old", "weight": "w"}},
    "ranks": {"columns": {"group": "user", "label": "click", "rank": "old"}},
    "weights of groups": {"metrics": ["ndcg(weight=w)@10"]},
    "exact": {"metrics": ["auc(exact)", "auc_up(exact)"]},
    "compared": {"metrics": ["rr", "auc"], "compare": {"baseline": "old"},
                 "columns": {"group": "user", "label": "click", "score": {"old": "old", "new": "new"}}},
    "a percentile": {"metrics": ["median(rr)"]},
    "a truth": {"truth": {"path": "truth", "columns": {"label": "liked"}}, "metrics": ["ndcg@5", "r@5"],
                "columns": {"group": "user", "item": "item", "score": {"old": "old", "new": "new"}}},
    "arrays": {"metrics": ["ndcg@5", "r@5"],
               "columns": {"group": "user", "items": {"old": "old"}, "true_items": "liked"}},
}  # fmt: skip


@pytest.mark.parametrize("texts", [False, True], ids=["numbers", "texts"])
@pytest.mark.parametrize("name", SHAPES)
def test_every_shape_of_a_spec_can_be_probed(tmp_path: Path, name: str, texts: bool) -> None:
    shape = dict(SHAPES[name])
    columns = shape.pop("columns", {"group": "user", "label": "click", "score": "old"})
    document = _document(tmp_path, input={"path": f"{tmp_path}/log", "columns": columns}, **shape)
    spec = Spec.model_validate(document)
    plan, roles = spec.plan(), spec.roles
    is_list = roles.true_items is not None
    kind = {"user": pa.string(), "item": pa.string(), "country": pa.date32()} if texts else {}
    if is_list and texts:
        kind = {"user": pa.string(), "old": pa.list_(pa.string()), "liked": pa.list_(pa.string())}
    asked = Asked(
        roles, plan, spec.limits(plan), (kind, kind), 3, 10, rows=400 if is_list else 4_000, source=spec.source()
    )
    found = measured(asked)
    groups = 400 if plan.keys else 0
    truth = 4 * groups if roles.truth is not None else 0
    assert found.rows == (400 if is_list else 4_000 + truth)
    assert found.read_row_seconds > 0
    assert found.solve_row_seconds > 0
    assert found.state_bytes > 0
    assert found.table_bytes > 0
    assert (found.piece_row_bytes > 0) == (found.group_bytes > 0) == bool(plan.keys)


def test_made_rows_are_groups_of_one_slice_value_each(tmp_path: Path) -> None:
    spec = Spec.model_validate(_document(tmp_path))
    plan = spec.plan()
    asked = Asked(spec.roles, plan, spec.limits(plan), values=7, group_rows=5)
    rows = made_rows(asked, spec.roles, {"user": pa.string()}, 70)
    sizes = rows.group_by(["user", "country"]).aggregate([("click", "count")])
    assert sizes["click_count"].to_pylist() == [5] * 70
    assert len(set(rows["country"].to_pylist())) == 7
    assert set(rows["click"].to_pylist()) == {0, 1}
