"""examples/airflow_dag.py: its commands are commands, and Airflow's own DagBag imports it (make test-airflow)."""

from __future__ import annotations

import ast
import json
import os
import subprocess
from pathlib import Path

import click
import pytest

from sparkrank.cli.command_line import commands, full_command
from tests.support.commands import PROJECT

EXAMPLE = PROJECT / "examples" / "airflow_dag.py"
AIRFLOW = PROJECT / ".venv-airflow" / "bin" / "python"
WORDS = {"conf": "x.yaml", "day": "2026-11-19", "first": "2026-11-13"}
# Runs in Airflow's own environment, in which sparkrank is not.
SCRIPT = """
import json, sys
from airflow.models import DagBag
bag = DagBag(sys.argv[1])
dag = bag.dags.get("sparkrank_nightly")
tasks = {} if dag is None else {each.task_id: sorted(each.downstream_task_ids) for each in dag.tasks}
print("\\n" + json.dumps({"errors": bag.import_errors, "tasks": tasks}))
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


def _constant(name: str) -> list[str]:
    """What the example, which is not imported here, gives ``name``."""
    for node in ast.parse(EXAMPLE.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
            return ast.literal_eval(node.value)
    raise AssertionError(f"{EXAMPLE.name} has no {name}")


def test_its_commands_are_commands() -> None:
    for name in ("EVALUATE", "MERGE"):
        program, command, *words = [word.format(**WORDS) for word in _constant(name)]
        assert program == "sparkrank"
        context = full_command(command).make_context(command, words, parent=click.Context(commands))
        assert (context.params["conf"], context.meta["sparkrank.form"]) == (WORDS["conf"], "json")
    assert _constant("NOT_AGAIN") == (2, 3, 5)


def _by_airflow(script: str, tmp_path: Path, argument: Path) -> dict:
    if not AIRFLOW.exists():
        pytest.skip("there is no .venv-airflow: make test-airflow makes it")
    settings = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("AIRFLOW", "PYTHON"))},
        "AIRFLOW_HOME": str(tmp_path / "airflow"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
    }
    done = subprocess.run(
        [str(AIRFLOW), "-c", script, str(argument)], capture_output=True, text=True, check=False, env=settings
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.strip().splitlines()[-1])


def test_airflow_imports_it(tmp_path: Path) -> None:
    folder = tmp_path / "dags"
    folder.mkdir()
    (folder / EXAMPLE.name).write_bytes(EXAMPLE.read_bytes())
    found = _by_airflow(SCRIPT, tmp_path, folder)
    assert found == {"errors": {}, "tasks": {"evaluate": ["is_monday"], "is_monday": ["merge"], "merge": []}}


def test_airflow_tries_again_what_may_end_otherwise(tmp_path: Path) -> None:
    found = _by_airflow(CODES, tmp_path, EXAMPLE)
    assert {code: told.partition(":")[0] for code, told in found.items()} == {
        "0": "done", "1": "again", "2": "fail", "3": "fail", "4": "again", "5": "fail",
    }  # fmt: skip
    assert found["4"] == "again: exit code 4: sparkrank: told"
