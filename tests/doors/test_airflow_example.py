"""The DAGs of examples: their commands are commands, and Airflow itself imports and runs them (make test-airflow)."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sparkrank.cli.command_line import commands, full_command
from tests.support.commands import PROJECT, local_conf
from tests.support.page_blocks import blocks_of

EXAMPLE = PROJECT / "examples" / "airflow_dag.py"
PAGE = PROJECT / "docs" / "schedulers.md"
ON_SPARK = PROJECT / "examples" / "airflow_spark_dag.py"
AIRFLOW = PROJECT / ".venv-airflow" / "bin" / "python"
WORDS = {"conf": "x.yaml", "day": "2026-11-19", "first": "2026-11-13"}
DAYS = ["2026-11-18", "2026-11-19"]  # a Wednesday, and a day of its own, for Airflow runs a DAG once for each
# These run in Airflow's own environment, in which sparkrank is not.
IMPORTED = """
import json, os
from airflow.models import DagBag
bag = DagBag(os.environ["AIRFLOW__CORE__DAGS_FOLDER"])
tasks = {name: {each.task_id: sorted(each.downstream_task_ids) for each in dag.tasks} for name, dag in bag.dags.items()}
print("\\n" + json.dumps({"errors": bag.import_errors, "tasks": tasks}))
"""
# The task of the DAG that waits for a day, with the event that one of the others makes.
PROMOTED = """
import os
from types import SimpleNamespace
from airflow.models import DagBag
from airflow.sdk import Asset
task = DagBag(os.environ["AIRFLOW__CORE__DAGS_FOLDER"]).dags["after_the_evaluation"].task_dict["promote"]
event = SimpleNamespace(extra={"day": "2026-11-19", "run_id": "5f0c"})
print()
task.python_callable({Asset("sparkrank_day"): [event]})
"""
RUN = """
import datetime, json, os, sys
from airflow.models import DagBag
from airflow.models.asset import AssetEvent
from airflow.utils.session import create_session
bag, found = DagBag(os.environ["AIRFLOW__CORE__DAGS_FOLDER"]), []
for name, conf, day in json.loads(sys.argv[1]):
    date = datetime.datetime.fromisoformat(f"{day}T04:00:00+00:00") + datetime.timedelta(days=1)
    with create_session() as session:
        session.query(AssetEvent).delete()
    run = bag.dags[name].test(logical_date=date, run_conf={"conf": conf})
    states = {each.task_id: str(each.state) for each in run.get_task_instances()}
    with create_session() as session:
        found.append([str(run.state), states, [event.extra for event in session.query(AssetEvent)]])
print("\\n" + json.dumps(found))
"""
# What a command that ends with each code makes of a task: the example's own function, with commands of Python.
CODES = """
import importlib.util, json, sys
spec = importlib.util.spec_from_file_location("example", sys.argv[1])
example = importlib.util.module_from_spec(spec)
spec.loader.exec_module(example)
found = {}
for code in range(6):
    script = f"import sys; print('{{{{}}}}'); print('sparkrank: told', file=sys.stderr); sys.exit({code})"
    try:
        example.run([sys.executable, "-c", script])
        found[code] = "done"
    except example.AirflowFailException as error:
        found[code] = f"fail: {error}"
    except example.AirflowException as error:
        found[code] = f"again: {error}"
print("\\n" + json.dumps(found))
"""


def _constant(example: Path, name: str) -> Any:
    """What an example, which is not imported here, gives ``name``."""
    for node in ast.parse(example.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
            return ast.literal_eval(node.value)
    raise AssertionError(f"{example.name} has no {name}")


def test_their_commands_are_commands() -> None:
    for example, name in ((EXAMPLE, "EVALUATE"), (EXAMPLE, "MERGE"), (ON_SPARK, "GATE")):
        program, command, *words = [word.format(**WORDS) for word in _constant(example, name)]
        assert program == "sparkrank"
        context = full_command(command).make_context(command, words, parent=click.Context(commands))
        assert (context.params["conf"], context.meta["sparkrank.form"]) == (WORDS["conf"], "json")
        assert _constant(example, "NOT_AGAIN") == (2, 3, 5)


def _by_airflow(words: list[str], folder: Path) -> str:
    """The output of Airflow's Python, whose home is ``folder``, with the DAGs of the examples and the page."""
    if not AIRFLOW.exists():
        pytest.skip("there is no .venv-airflow: make test-airflow makes it")
    dags, programs = folder / "dags", folder / "bin"
    if not dags.exists():
        for made in (dags, programs):
            made.mkdir()
        for example in (EXAMPLE, ON_SPARK):
            (dags / example.name).write_bytes(example.read_bytes())
        (block,) = (block for block in blocks_of(PAGE) if block.language == "python")
        (dags / "waiting.py").write_text(block.text, encoding="utf-8")
        command = programs / "sparkrank"  # of this checkout, in this environment
        command.write_text(f'#!/bin/sh\nPYTHONPATH="{PROJECT}" exec "{sys.executable}" -m sparkrank "$@"\n')
        command.chmod(0o755)
    settings = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("AIRFLOW", "PYTHON"))},
        "AIRFLOW_HOME": str(folder / "home"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__DAGS_FOLDER": str(dags),
        "AIRFLOW_CONN_SPARK_DEFAULT": json.dumps({"conn_type": "spark", "host": "local[1]"}),
        "PATH": f"{programs}:{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(PROJECT),
    }
    done = subprocess.run(
        [str(AIRFLOW), *words], capture_output=True, text=True, check=False, env=settings, cwd=PROJECT
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    return done.stdout


def _document(printed: str) -> Any:
    return json.loads(printed.strip().splitlines()[-1])


def test_airflow_imports_them(tmp_path: Path) -> None:
    found = _document(_by_airflow(["-c", IMPORTED], tmp_path))
    assert found == {
        "errors": {},
        "tasks": {
            "sparkrank_nightly": {"evaluate": ["is_monday"], "is_monday": ["merge"], "merge": []},
            "sparkrank_on_spark": {"evaluate": ["gate", "passed"], "gate": ["passed"], "passed": []},
            "after_the_evaluation": {"promote": []},
        },
    }


def test_a_dag_of_the_page_gets_the_day_and_the_run(tmp_path: Path) -> None:
    assert _by_airflow(["-c", PROMOTED], tmp_path).splitlines()[-1] == "2026-11-19 5f0c"


def test_airflow_tries_again_what_may_end_otherwise(tmp_path: Path) -> None:
    found = _document(_by_airflow(["-c", CODES, str(EXAMPLE)], tmp_path))
    assert {code: told.partition(":")[0] for code, told in found.items()} == {
        "0": "done", "1": "again", "2": "fail", "3": "fail", "4": "again", "5": "fail",
    }  # fmt: skip
    assert found["4"] == "again: exit code 4: sparkrank: told"


@pytest.mark.tools
@pytest.mark.timeout(900)
def test_airflow_runs_them(tmp_path: Path) -> None:
    """One day by each: it passes, or a gate stops it; then nobody who waits for the asset hears of it."""
    rows = pa.table({"user": ["a", "a", "b", "b"], "s": [0.9, 0.8, 0.9, 0.8], "y": [0, 1, 1, 0]})
    pq.write_table(rows, tmp_path / "log.parquet")
    columns = {"group": "user", "label": "y", "score": {"new": "s"}}
    asked = []
    for name in ("sparkrank_nightly", "sparkrank_on_spark"):
        for day, least in zip(DAYS, (0, 2), strict=True):  # rr is 3/4
            (folder := tmp_path / f"{name}{least}").mkdir()
            gates = [{"metric": "rr", "min": least}]
            asked.append((name, local_conf(folder, str(tmp_path / "log.parquet"), columns, ["rr"], gates=gates), day))
    _by_airflow(["-m", "airflow", "db", "migrate"], tmp_path)
    found = _document(_by_airflow(["-c", RUN, json.dumps(asked)], tmp_path))
    events = []
    for _, conf, day in asked:
        runs = pq.read_table(Path(conf).parent / "out" / "runs" / f"day={day}")
        events.append([{"day": day, "run_id": runs["run_id"][0].as_py()}])
    assert found == [
        ["success", {"evaluate": "success", "is_monday": "success", "merge": "skipped"}, events[0]],
        ["failed", {"evaluate": "failed", "is_monday": "upstream_failed", "merge": "upstream_failed"}, []],
        ["success", {"evaluate": "success", "gate": "success", "passed": "success"}, events[2]],
        ["failed", {"evaluate": "failed", "gate": "failed", "passed": "upstream_failed"}, []],
    ]
