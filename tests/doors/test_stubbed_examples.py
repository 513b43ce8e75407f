"""Examples for schedulers and trackers, with stubs of the few names that they use.

By the programs themselves they run in make test-places and make test-airflow: tests/doors/test_*_example.py.
"""

from __future__ import annotations

import datetime as dt
import json
import sys
from contextlib import nullcontext
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import click
import pyarrow as pa
import pytest

import sparkrank as sr
from sparkrank.cli.command_line import commands, full_command
from sparkrank.doors import track_api
from tests.support.commands import PROJECT
from tests.support.examples import blocks

DAY = "2026-11-19"
# The click of ann stands second, that of bob first: rr is 1/2 and 1.
ROWS = pa.table({"user_id": ["ann", "ann", "bob"], "score": [0.9, 0.8, 0.7], "clicked": [0, 1, 1]})


def names_in(example: str, patch: pytest.MonkeyPatch, **of_modules: dict[str, Any]) -> dict[str, Any]:
    """What the example of this path defines where each module has the names of ``of_modules`` alone."""
    put(of_modules, patch)
    space: dict[str, Any] = {"__name__": "example"}
    exec((PROJECT / "examples" / example).read_text(encoding="utf-8"), space)  # noqa: S102 - our own example
    return space


def put(of_modules: dict[str, dict[str, Any]], patch: pytest.MonkeyPatch) -> None:
    for name, names in of_modules.items():
        module = ModuleType(name)
        vars(module).update(names)
        patch.setitem(sys.modules, name, module)


def assert_is_command(words: list[str], **values: str) -> None:
    program, command, *others = [word.format(**values) for word in words]
    assert program == "sparkrank"
    full_command(command).make_context(command, others, parent=click.Context(commands))


def ends_with(code: int, document: dict[str, Any] | None = None) -> list[str]:
    """A command that prints ``document``, and ends with ``code``. Examples put words between its single braces."""
    text = json.dumps(document or {}).replace("{", "{{").replace("}", "}}")
    return ["sh", "-c", f"printf '%s' '{text}'; echo told >&2; exit {code}"]


class Task:
    """A task of Airflow: its function, the settings, and what starts after it."""

    made: dict[str, Task]

    def __init__(self, function: Any, **settings: Any) -> None:
        self.function, self.settings, self.later = function, settings, list[str]()
        self.made[function.__name__] = self

    def __call__(self, *_: Any) -> Task:
        return self

    def __rshift__(self, other: Task) -> Task:
        self.later.append(other.function.__name__)
        return other


def stub_airflow(tasks: dict[str, Task]) -> dict[str, dict[str, Any]]:
    kind = type("Task", (Task,), {"made": tasks})

    def task(function: Any = None, **settings: Any) -> Any:
        return (lambda own: kind(own, **settings)) if function is None else kind(function)

    def spark(task_id: str, **settings: Any) -> Task:
        return kind(SimpleNamespace(__name__=task_id), **settings)

    task.short_circuit = task  # type: ignore[attr-defined] # as Airflow's
    names = {"Asset": str, "Param": lambda value, **_: value, "dag": lambda **_: lambda own: own, "task": task}
    errors = {name: type(name, (Exception,), {}) for name in ("AirflowException", "AirflowFailException")}
    operators = "airflow.providers.apache.spark.operators.spark_submit"
    return {"airflow.sdk": names, "airflow.sdk.exceptions": errors, operators: {"SparkSubmitOperator": spark}}


def test_airflow_tries_a_day_again_only_where_it_may_end_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    tasks: dict[str, Task] = {}
    example = names_in("airflow_dag.py", monkeypatch, **stub_airflow(tasks))
    assert {name: task.later for name, task in tasks.items()} == {
        "evaluate": ["is_monday"], "is_monday": ["merge"], "merge": [],
    }  # fmt: skip
    monkeypatch.setitem(example, "EVALUATE", ends_with(0, {"day": DAY, "run_id": "r", "metrics": []}))
    events = {"sparkrank_day": SimpleNamespace(extra=None)}
    date = dt.datetime(2026, 11, 20, 4, tzinfo=dt.timezone.utc)
    assert tasks["evaluate"].function(date, {"conf": "x"}, events) == {"day": DAY, "run_id": "r"}
    assert events["sparkrank_day"].extra == {"day": DAY, "run_id": "r"}
    for code, kind in enumerate("AFFAF", 1):
        error = example[{"A": "AirflowException", "F": "AirflowFailException"}[kind]]
        with pytest.raises(Exception, match=f"^exit code {code}: told$") as raised:
            example["run"](ends_with(code))
        assert type(raised.value) is error, code


def test_airflow_gates_a_day_that_spark_submit_has_evaluated(monkeypatch: pytest.MonkeyPatch) -> None:
    tasks: dict[str, Task] = {}
    example = names_in("airflow_spark_dag.py", monkeypatch, **stub_airflow(tasks))
    assert {name: task.later for name, task in tasks.items()} == {
        "evaluate": ["gate", "passed"], "gate": [], "passed": [],
    }  # fmt: skip
    words = tasks["evaluate"].settings["application_args"]
    assert_is_command(["sparkrank", "evaluate", *words[:-1], DAY])
    assert tasks["gate"].settings["trigger_rule"] == "all_done"
    monkeypatch.setitem(example, "GATE", ends_with(0, {"name": DAY, "run_id": "r"}))
    events = {"sparkrank_day": SimpleNamespace(extra=None)}
    tasks["passed"].function(tasks["gate"].function(DAY, {"conf": "x"}), events)
    assert events["sparkrank_day"].extra == {"day": DAY, "run_id": "r"}
    monkeypatch.setitem(example, "GATE", ends_with(3))
    with pytest.raises(example["AirflowFailException"], match=r"^exit code 3: told$"):
        tasks["gate"].function(DAY, {"conf": "x"})


def test_prefect_tries_a_day_again_only_where_it_may_end_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    settings: dict[str, Any] = {}
    names = {"flow": lambda own: own, "task": lambda **how: settings.update(how) or (lambda own: own)}
    example = names_in("prefect_flow.py", monkeypatch, prefect=names)
    assert_is_command(example["EVALUATE"], conf="x.yaml", day=DAY)
    monkeypatch.setitem(example, "EVALUATE", ends_with(0, {"metrics": [1]}))
    assert example["nightly"]("x.yaml", DAY) == {"metrics": [1]}
    for code in range(1, 6):
        monkeypatch.setitem(example, "EVALUATE", ends_with(code))
        with pytest.raises(example["StoppedError"], match=f"^exit code {code}: told$") as raised:
            example["nightly"]("x.yaml", DAY)
        state = SimpleNamespace(result=lambda raise_on_failure, error=raised.value: error)
        assert settings["retry_condition_fn"](None, None, state) == (code in (1, 4))


def test_dagster_gets_a_command_for_each_day(monkeypatch: pytest.MonkeyPatch) -> None:
    made: dict[str, Any] = {}
    kinds = ("AssetExecutionContext", "PipesSubprocessClient", "MaterializeResult", "RetryPolicy", "define_asset_job")
    kinds += ("DailyPartitionsDefinition", "build_schedule_from_partitioned_job")
    names: dict[str, Any] = {name: lambda *_, **named: named for name in kinds}
    names["AssetCheckSpec"] = lambda name, asset, blocking: (name, asset, blocking)
    names["asset"] = lambda **how: made.update(how) or (lambda own: own)
    names["Definitions"] = lambda **how: made.update(how)
    example = names_in("dagster_assets.py", monkeypatch, dagster=names)
    assert made["check_specs"] == [(gate, "nightly_eval", True) for gate in example["GATES"]]
    assert made["assets"] == [example["nightly_eval"]]
    ran: list[list[str]] = []

    class Client:
        def run(self, context: Any, command: list[str]) -> Any:
            ran.append(command)
            return SimpleNamespace(get_materialize_result=lambda: context.partition_key)

    monkeypatch.setenv("SPARKRANK_CONF", "x.yaml")
    assert example["nightly_eval"](SimpleNamespace(partition_key=DAY), Client()) == DAY
    (command,) = ran
    assert {"--pipes", "x.yaml", DAY} <= {*command}
    assert_is_command(command)


def test_dbt_gets_the_metrics_of_its_model(monkeypatch: pytest.MonkeyPatch) -> None:
    settings: dict[str, Any] = {}
    dbt = SimpleNamespace(config=lambda **how: settings.update(how), ref={"impressions": ROWS}.__getitem__)
    metrics = names_in("dbt/models/nightly_metrics.py", monkeypatch)["model"](dbt, None)
    assert settings == {"materialized": "table"}
    rows = {row["metric"]: row for row in pa.table(metrics).to_pylist()}
    assert (rows["rr"]["value"], rows["rr"]["model"], rows["rr"]["n_groups"]) == ((1 / 2 + 1) / 2, "production", 2)


def test_wandb_has_its_files_when_they_are_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """As W&B does of an artifact, the stub copies a file when it is logged."""
    config, values, files = dict[str, Any](), dict[int, dict[str, float]](), dict[str, str]()
    run = SimpleNamespace(
        config=config,
        log=lambda metrics, step: values.update({step: metrics}),
        log_artifact=lambda path, name, type: files.update({name: Path(path).read_text("utf-8")}),  # noqa: A006
    )
    ev = sr.evaluate(ROWS, ["rr"], group="user_id", score={"new": "score"}, label="clicked")
    (example,) = [own for own in blocks(PROJECT / "docs" / "trackers.md", "python") if "import wandb" in own]
    put({"wandb": {"init": lambda project: nullcontext(run)}}, monkeypatch)
    monkeypatch.setattr(track_api, "lacking_extra", lambda: ["altair"])  # then there is no report, which takes time
    exec(example, {"ev": ev, "sr": sr})  # noqa: S102 - the page's own code
    assert {"spec_hash", "lane"} <= config.keys()
    assert [found["new/rr"] for found in values.values()] == [(1 / 2 + 1) / 2]
    assert ",rr," in files["metrics.csv"].replace('"', "")
