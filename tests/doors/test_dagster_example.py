"""What ``--pipes`` tells Dagster: by a stub of its context, and examples/dagster_assets.py by Dagster itself."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support.commands import PROJECT, exit_code, local_conf

DAY = "2026-11-19"
# The click of ann stands second, that of bob first: rr is 1/2 and 1, so 3/4.
ROWS = pa.table({"user": ["u-ann", "u-ann", "u-bob", "u-bob"], "s": [0.9, 0.8, 0.9, 0.8], "y": [0, 1, 1, 0]})
COLUMNS = {"group": "user", "label": "y", "score": {"new": "s"}}
FAILING = {"metric": "rr", "min": 2, "name": "high"}
PASSING = {"metric": "rr", "min": 0, "name": "low"}
UNDECIDED = {"metric": "rr", "min": 0.74, "name": "few"}  # of two groups, one cannot say


class Context:
    """What the context of dagster_pipes does as far as ``--pipes`` calls it: it keeps what is reported."""

    is_asset_step = True

    def __init__(self, *keys: str) -> None:
        self.asset_keys, self.closed, self.metadata = keys, 0, list[dict[str, Any]]()
        self.checks: dict[str, tuple[bool, str]] = {}
        self.of_checks: dict[str, dict[str, Any]] = {}

    def report_asset_materialization(self, metadata: dict[str, Any]) -> None:
        self.metadata.append(metadata)

    def report_asset_check(self, check_name: str, passed: bool, severity: str, metadata: dict[str, Any]) -> None:
        assert check_name not in self.checks
        self.checks[check_name], self.of_checks[check_name] = (passed, severity), metadata

    def close(self) -> None:
        self.closed += 1


def stub(monkeypatch: pytest.MonkeyPatch, context: Context | None) -> None:
    """A module dagster_pipes with ``context``, or outside of Dagster with None."""

    class PipesEnvVarParamsLoader:
        def is_dagster_pipes_process(self) -> bool:
            return context is not None

    module = ModuleType("dagster_pipes")
    module.__spec__ = ModuleSpec("dagster_pipes", None)
    vars(module).update(PipesEnvVarParamsLoader=PipesEnvVarParamsLoader, open_dagster_pipes=lambda: context)
    monkeypatch.setitem(sys.modules, "dagster_pipes", module)


def conf_of(folder: Path, *gates: dict[str, Any], **more: Any) -> str:
    pq.write_table(ROWS, folder / "log.parquet")
    return local_conf(folder, str(folder / "log.parquet"), COLUMNS, ["rr"], gates=list(gates), **more)


def test_a_day_is_one_materialization_and_each_gate_one_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stub(monkeypatch, context := Context("eval"))
    strict = {**UNDECIDED, "name": "few, strict@2", "undecided": "fail"}
    by_group = {"metric": "rr", "min": 2, "name": "each", "slice": {"user": "*"}}
    conf = conf_of(tmp_path, FAILING, PASSING, UNDECIDED, strict, by_group, slices=["user"])
    assert exit_code("evaluate", "--conf", conf, "--date", DAY, "--pipes", "--quiet") == 0
    (metadata,) = context.metadata
    assert (metadata["new/rr"], metadata["new/rr/n_groups"]) == (0.75, 2)
    assert metadata["new/rr/ci_low"] < 0.75 < metadata["new/rr/ci_high"]
    page = tmp_path / f"out/report/day={DAY}/report.html"  # not there without the extra for reports
    assert metadata.get("report") == ({"type": "path", "raw_value": str(page)} if page.exists() else None)
    assert context.checks == {
        "each": (False, "WARN"),  # a slice of one group is undecided
        "high": (False, "ERROR"),
        "low": (True, "WARN"),
        "few": (False, "WARN"),
        "few__strict_at_2": (False, "ERROR"),
    }
    assert "reason" in context.of_checks["high"]
    assert "u-" not in f"{context.of_checks}{metadata}"  # keys of groups stay here
    assert context.closed == 1


def test_what_dagster_cannot_get_is_refused_before_anything_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    conf = conf_of(tmp_path, {**FAILING, "name": "a b"}, {**PASSING, "name": "a-b"})
    day = ("--date", DAY)
    for context, words, sentence in (
        (None, day, "--pipes reports to Dagster, but Dagster did not start this command: leave the option out"),
        (Context("eval"), day, "the gates 'a b' and 'a-b' would both be the check a_b in Dagster"),
        (Context("eval", "b"), (*day, "--set", "gates=[]"), "--pipes reports one asset, and the step of Dagster has 2"),
        (Context("eval"), ("--from", DAY, "--to", DAY), "--pipes reports one day, and --from and --to name many"),
    ):
        stub(monkeypatch, context)
        assert exit_code("evaluate", "--conf", conf, *words, "--pipes") == 2
        assert sentence in capsys.readouterr().err
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert exit_code("evaluate", "--conf", conf, *day, "--pipes") == 2
    assert "pip install 'sparkrank[dagster]'" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_day_that_fails_closes_the_connection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stub(monkeypatch, context := Context("eval"))
    conf = conf_of(tmp_path)
    (tmp_path / "log.parquet").unlink()
    assert exit_code("evaluate", "--conf", conf, "--date", DAY, "--pipes", "--quiet") == 4
    assert (context.closed, context.metadata, context.checks) == (1, [], {})


@pytest.mark.filterwarnings("ignore")  # Dagster's own
def test_dagster_materializes_the_example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dagster = pytest.importorskip("dagster", reason="Dagster runs the example: make test-places installs it")
    monkeypatch.setenv("SPARKRANK_CONF", conf_of(tmp_path, FAILING, UNDECIDED))
    monkeypatch.setenv("PYTHONPATH", str(PROJECT))
    monkeypatch.setenv("DAGSTER_DISABLE_TELEMETRY", "1")
    spec = importlib.util.spec_from_file_location("dagster_assets", PROJECT / "examples" / "dagster_assets.py")
    assert spec is not None
    assert spec.loader is not None
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    monkeypatch.setattr(example, "EVALUATE", [sys.executable, "-m", *example.EVALUATE])
    with dagster.DagsterInstance.ephemeral() as instance:
        done = dagster.materialize(
            [example.nightly_eval],
            instance=instance,
            partition_key=DAY,
            resources={"client": dagster.PipesSubprocessClient()},
            raise_on_error=False,
        )
    (materialization,) = done.asset_materializations_for_node("nightly_eval")
    assert materialization.partition == DAY
    assert materialization.metadata["new/rr"].value == 0.75
    checks = {each.check_name: (each.passed, each.severity.value) for each in done.get_asset_check_evaluations()}
    assert checks == {"high": (False, "ERROR"), "few": (False, "WARN")}
