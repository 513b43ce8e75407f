"""Runs as MLflow's client reads them back: by a stub of it, and by itself from a database file."""

from __future__ import annotations

import importlib.util
import json
import math
import socket
import sys
import time
from dataclasses import replace
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

import sparkrank as sr
from sparkrank.base.errors import StoreError
from sparkrank.tables.trackers.mlflow_tracker import MlflowTracker
from sparkrank.tables.trackers.tracked_run import TrackedRun
from sparkrank.tables.trackers.tracker import log_to_tracker
from tests.support.commands import PROJECT
from tests.support.mlflow_stub import stub_modules
from tests.support.page_blocks import blocks_of, run_python

# Its store of databases uses what newer versions of SQLAlchemy are about to lose.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
needs_mlflow = pytest.mark.skipif(
    importlib.util.find_spec("mlflow") is None or importlib.util.find_spec("sqlalchemy") is None,
    reason="MLflow has the runs: make test-places installs it",
)


@pytest.fixture(params=["stub", pytest.param("database", marks=needs_mlflow)])
def client(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    if request.param == "stub":
        modules = stub_modules(tmp_path)
        for name, module in modules.items():
            module.__spec__ = ModuleSpec(name, None)
            monkeypatch.setitem(sys.modules, name, module)
        return modules["mlflow.tracking"].MlflowClient()
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/runs.db")
    monkeypatch.chdir(tmp_path)  # where its artifacts go
    from mlflow.tracking import MlflowClient

    return MlflowClient()


def run_of(day: str = "1970-01-11", run_id: str = "1970-01-11-aa", **values: float) -> TrackedRun:
    table = pa.table({"metric": ["rr"], "value": pa.array(["a"]).dictionary_encode()})
    tags = {"gate.few": "undecided", "lane": "local"}
    names = {name.replace("__", "/"): value for name, value in values.items()}
    parameters = {"spec_hash": "5eed"}
    source = "s3://lake/log at version 4 of table 7"
    return TrackedRun("nightly", day, run_id, parameters, tags, names, source, {"metrics": table}, {"a": 1})


def report(file: Path) -> None:
    file.write_text("<html>", encoding="utf-8")


def runs(client: Any, experiment: str = "night") -> list[Any]:
    place = client.get_experiment_by_name(experiment).experiment_id
    return list(client.search_runs([place]))


def test_a_run_is_logged_once_and_replaced_by_another_result(client: Any) -> None:
    tracker = MlflowTracker("night")
    first = run_of(new__rr=0.5, new__p_at_2=0.25)
    assert log_to_tracker(tracker, first, report)
    assert not log_to_tracker(tracker, run_of(new__p_at_2=0.25, new__rr=0.5), report)
    (run,) = runs(client)
    assert (run.info.run_name, run.info.status) == ("nightly 1970-01-11", "FINISHED")
    assert run.data.metrics == {"new/rr": 0.5, "new/p_at_2": 0.25}
    assert run.data.params == {"spec_hash": "5eed"}
    assert run.data.tags.items() >= {"gate.few": "undecided", "lane": "local"}.items()
    assert run.data.tags["sparkrank.run_id"] == "1970-01-11-aa"
    ((dataset, _),) = ((each.dataset, each.tags) for each in run.inputs.dataset_inputs)
    assert json.loads(dataset.source) == {"input": "s3://lake/log at version 4 of table 7"}
    files = [each.path for each in client.list_artifacts(run.info.run_id)]
    assert files == ["metrics.csv", "report.html", "spec.json"]
    content = Path(client.download_artifacts(run.info.run_id, "metrics.csv")).read_text("utf-8")
    assert content == '"metric","value"\n"rr","a"\n'
    # the same question, of rows that have changed: p@2 is undefined now, and must not stay
    assert log_to_tracker(tracker, run_of(new__rr=0.75), report)
    (again,) = runs(client)
    assert again.info.run_id != run.info.run_id
    assert again.data.metrics == {"new/rr": 0.75}
    assert log_to_tracker(tracker, run_of("1970-01-12", "1970-01-12-bb", new__rr=1.0), report)
    assert len(runs(client)) == 2


def test_a_series_has_a_step_for_each_day(client: Any) -> None:
    tracker = MlflowTracker("night", series=True)
    for day, value in (("1970-01-11", 0.5), ("1970-01-12", 0.25)):
        assert log_to_tracker(tracker, run_of(day, f"{day}-aa", new__rr=value), report)
        assert not log_to_tracker(tracker, run_of(day, f"{day}-aa", new__rr=value), report)
    (run,) = runs(client)
    assert run.info.run_name == "nightly"
    points = client.get_metric_history(run.info.run_id, "new/rr")
    assert [(point.step, point.value) for point in points] == [(10, 0.5), (11, 0.25)]
    files = [each.path for each in client.list_artifacts(run.info.run_id, "1970-01-12")]
    assert files == ["1970-01-12/metrics.csv", "1970-01-12/report.html", "1970-01-12/spec.json"]
    assert log_to_tracker(MlflowTracker("night"), run_of(new__rr=0.5), report)  # a run a day is another run
    assert len(runs(client)) == 2


def test_a_run_that_broke_off_is_logged_anew(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    tracker = MlflowTracker("night")

    def broken(*_: Any) -> None:
        raise OSError("no space for s3://key:S3CRET@bucket/x")

    with monkeypatch.context() as patch:
        patch.setattr(type(client), "log_artifact", broken)
        with pytest.raises(StoreError, match=r"^mlflow fails: no space for s3://\*\*\*@bucket/x$"):
            log_to_tracker(tracker, run_of(new__rr=0.5), report)
    (run,) = runs(client)
    assert run.info.status == "FAILED"
    assert log_to_tracker(tracker, run_of(new__rr=0.5), report)
    (again,) = runs(client)
    assert again.info.status == "FINISHED"
    assert again.info.run_id != run.info.run_id


# The click of ann stands second.
LOG = pa.table({"user": ["ann"] * 2, "s": [0.9, 0.8], "score": [0.9, 0.8], "click": [0, 1], "country": ["de"] * 2})
NDCG = pytest.approx(1 / math.log2(3))
IN_PYTHON, _, IN_A_RUN = (block for block in blocks_of(PROJECT / "docs" / "trackers.md") if block.language == "python")


def test_the_page_logs_an_evaluation(client: Any) -> None:
    assert list(run_python([IN_PYTHON], {"sr": sr, "log": LOG})) == []
    (run,) = runs(client, "notebooks")
    assert run.data.metrics["production/ndcg_at_10"] == run.data.metrics["production/country/de/ndcg_at_10"] == NDCG
    assert run.info.run_name.startswith("home feed ")


@pytest.mark.parametrize("client", [pytest.param("database", marks=needs_mlflow)], indirect=True)
def test_the_page_logs_inside_a_run_of_the_reader(client: Any) -> None:
    import mlflow

    names = {"sr": sr, "mlflow": mlflow, "spark": SimpleNamespace(table={"impressions": LOG}.__getitem__)}
    assert list(run_python([IN_A_RUN], names)) == []
    (run,) = runs(client, "Default")
    assert NDCG in run.data.metrics.values()


def test_more_numbers_than_one_request_takes(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    values = {f"m{number}": float(number) for number in range(1001)}
    monkeypatch.setenv("MLFLOW_EXPERIMENT_NAME", "other")  # its own default
    assert log_to_tracker(MlflowTracker(), run_of(**values), report)
    (run,) = runs(client, "other")
    assert run.data.metrics == values


def test_a_run_is_another_by_whatever_is_logged() -> None:
    """The slices that no number names are in the tables."""
    run = run_of(new__rr=0.5)
    changes: dict[str, Any] = {
        "values": {},
        "tags": {},
        "parameters": {},
        "source": "",
        "tables": {"metrics": run.tables["metrics"].slice(1)},
        "spec": {},
    }
    digests = {replace(run, **{name: value}).digest for name, value in changes.items()}
    assert len(digests | {run.digest}) == 1 + len(changes)


@needs_mlflow
def test_a_server_that_hangs_costs_the_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:  # it takes connections and says nothing
        monkeypatch.setenv("MLFLOW_TRACKING_URI", f"http://127.0.0.1:{server.getsockname()[1]}")
        import mlflow.tracking  # noqa: F401 - its import takes seconds

        began = time.monotonic()
        with pytest.raises(StoreError, match=r"^mlflow has not answered within 0\.5 s$"):
            log_to_tracker(MlflowTracker("night"), run_of(), report, timeout=0.5)
        assert time.monotonic() - began < 5
