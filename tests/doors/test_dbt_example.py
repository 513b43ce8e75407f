"""examples/dbt by dbt itself, with its adapter of DuckDB, in an environment of its own (make test-places)."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support.commands import PROJECT, exit_code, local_conf

DBT = PROJECT / ".venv-dbt" / "bin" / "dbt"
pytestmark = [
    pytest.mark.tools,
    pytest.mark.skipif(not DBT.exists(), reason="there is no .venv-dbt: make test-places makes it"),
]
duckdb = pytest.importorskip("duckdb", reason="the dev extra has it")

DAY = "2026-11-19"
# The click of 1 stands second, that of 2 first: rr is 1/2 and 1.
ROWS = pa.table({"user_id": [1, 1, 2, 2], "score": [0.9, 0.8, 0.9, 0.8], "clicked": [0, 1, 1, 0]})


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("logs")
    for day, rows in ((DAY, ROWS), ("2026-11-18", ROWS.slice(0, 2))):
        (folder / f"dt={day}").mkdir()
        pq.write_table(rows, folder / f"dt={day}" / "0.parquet")
    return folder


def _built(folder: Path, logs: Path, gate: dict[str, Any]) -> dict[str, Any]:
    """Stores the day with ``gate`` by the command, builds the project, and returns what became of each of its nodes."""
    columns = {"group": "user_id", "label": "clicked", "score": {"production": "score"}}
    conf = local_conf(folder, str(logs / "dt={date}"), columns, ["rr"], gates=[{"metric": "rr", **gate}])
    exit_code("evaluate", "--conf", conf, "--date", DAY, "--quiet")
    project = folder / "dbt"
    shutil.copytree(PROJECT / "examples" / "dbt", project)
    words = {"day": DAY, "log": str(logs), "output": str(folder / "out")}
    settings = {
        "PYTHONPATH": str(PROJECT),
        "DUCKDB": str(folder / "built.duckdb"),
        "DBT_SEND_ANONYMOUS_USAGE_STATS": "0",
    }
    done = subprocess.run(
        [str(DBT), "build", "--profiles-dir", ".", "--vars", json.dumps(words)],
        capture_output=True, text=True, check=False, cwd=project, env={**os.environ, **settings},
    )  # fmt: skip
    results = project / "target" / "run_results.json"
    assert results.exists(), done.stdout + done.stderr
    nodes = json.loads(results.read_text())["results"]
    return {node["unique_id"].split(".")[2]: (node["status"], node.get("message")) for node in nodes}


def test_dbt_builds_the_metrics_of_the_day(logs: Path, tmp_path: Path) -> None:
    states = {name: state for name, (state, _) in _built(tmp_path, logs, {"min": 0.0}).items()}
    assert states.pop("impressions") == "success"
    assert states.pop("nightly_metrics") == "success"
    assert states.pop("no_gate_stops") == "pass"
    assert set(states.values()) == {"pass"}
    with duckdb.connect(str(tmp_path / "built.duckdb")) as database:
        found = database.sql(
            "SELECT value, n_groups FROM nightly_metrics WHERE metric = 'rr' AND slice = 'all'"
        ).fetchall()
    assert found == [((1 / 2 + 1) / 2, 2)]


@pytest.mark.parametrize("gate", [{"min": 2}, {"min": 0.74, "undecided": "fail"}], ids=["failed", "undecided"])
def test_a_gate_that_stops_the_day_fails_a_test_of_dbt(logs: Path, tmp_path: Path, gate: dict[str, Any]) -> None:
    state, told = _built(tmp_path, logs, gate)["no_gate_stops"]
    assert (state, "1 result" in told) == ("fail", True)
