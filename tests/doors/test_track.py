"""Days and evaluations in a tracker: what it gets, what it never gets, and what happens where it fails."""

from __future__ import annotations

import csv
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sparkrank as sr
from sparkrank.doors import track_api
from sparkrank.jobs import track_job
from sparkrank.schemas.tables import METRICS
from sparkrank.tables.trackers.mlflow_tracker import TRACKERS, MlflowTracker
from sparkrank.tables.trackers.tracked_run import TrackedRun, values_of, verdicts_of, without_options
from tests.support.commands import exit_code, local_conf

DAY = "2026-11-19"
STEP = 20_776  # 56 years of 365 days, 14 leap days, and 322 days
# Of user ann the click stands second for old and first for new, of bob first; nothing of cem is clicked.
ROWS = pa.table(
    {
        "user": ["ann", "ann", "bob", "cem"],
        "country": ["d/e", "d/e", None, "fr"],
        "o": [0.9, 0.8, 0.7, 0.6],
        "n": [0.8, 0.9, 0.7, 0.6],
        "y": [0, 1, 1, 0],
    }
)
COLUMNS = {"group": "user", "label": "y", "score": {"old": "o", "new/b": "n"}}


class StubTracker(MlflowTracker):
    """A tracker that remembers the runs and their files, or raises what ``failure`` says."""

    word = "stub"
    calls: ClassVar[list[tuple[TrackedRun, dict[str, str]]]]
    failure: ClassVar[Callable[[], object]]

    def require_library(self) -> None:
        pass

    def has(self, run: TrackedRun) -> bool:
        type(self).failure()
        return any((one.run_id, one.digest) == (run.run_id, run.digest) for one, _ in self.calls)

    def log(self, run: TrackedRun, folder: Path) -> None:
        self.calls.append((run, {file.name: file.read_text("utf-8") for file in folder.iterdir()}))


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> type[StubTracker]:
    """A line in the register is all that a spec needs."""
    kind = type("StubTracker", (StubTracker,), {"calls": [], "failure": staticmethod(lambda: None)})
    monkeypatch.setitem(TRACKERS, "stub", kind)
    return kind


def conf_of(folder: Path, *, rows: pa.Table = ROWS, models: tuple[str, str] = ("old", "new/b"), **sections: Any) -> str:
    pq.write_table(rows, folder / "log.parquet")
    source, columns = f"{folder}/log.parquet", {**COLUMNS, "score": dict(zip(models, "on", strict=True))}
    sections = {"slices": ["country", "user"], "compare": {"baseline": models[0]}, "name": "night", **sections}
    return local_conf(folder, source, columns, ["rr", "hit@1"], **sections)


def evaluate(conf: str, *words: str) -> int:
    return exit_code("evaluate", "--conf", conf, "--date", DAY, "--quiet", *words)


def test_a_day_is_tracked_once_until_its_result_changes(
    tmp_path: Path, stub: type[StubTracker], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    gates = [
        {"metric": "hit@1", "model": "old", "min": 2, "name": "hi/gh"},
        {"metric": "rr", "min": 0, "name": "low"},
    ]
    sections = {"gates": gates, "slices": ["country"], "track": [{"to": "stub", "slices": "country"}]}
    conf = conf_of(tmp_path, **sections)
    assert evaluate(conf) == 3
    ((run, files),) = stub.calls
    assert (run.name, run.day, run.step) == ("night", DAY, STEP)
    assert run.values["old/hit_at_1"] == 1 / 2  # it is undefined of cem
    assert run.values["new_b/hit_at_1"] == 1
    assert run.values["new_b/hit_at_1/n_groups"] == 3
    assert run.values["new_b-old/hit_at_1"] == 1 / 2
    assert run.values["old/country/d_e/rr"] == 1 / 2
    assert run.values["old/country/_null_/rr"] == 1
    assert "old/country/fr/rr" not in run.values  # it is undefined
    assert run.tags["gate.hi_gh"] == "fail"
    assert run.tags["gate.low"] == "undecided"  # two groups have no interval that could decide
    assert run.tags["lane"] == "local"
    assert sorted(files) == ["comparisons.csv", "gates.csv", "metrics.csv", "report.html", "spec.json"]
    texts = {(row["model"], row["metric"]) for row in csv.DictReader(files["metrics.csv"].splitlines())}
    assert texts == {(model, metric) for model in ("old", "new/b") for metric in ("rr", "hit@1")}
    monkeypatch.setattr(track_job, "lacking_extra", lambda: ["altair"])  # then there is no report, which takes time
    assert evaluate(conf) == 3
    assert exit_code("evaluate", "--conf", conf, "--from", DAY, "--to", DAY, "--quiet") == 3  # it is there already
    assert exit_code("merge", "--conf", conf, "--from", DAY, "--to", DAY, "--quiet") == 3  # a window is no day
    assert len(stub.calls) == 1
    assert exit_code("accept", "--conf", conf, "--date", DAY, "--reason", "seen", "--quiet") == 0
    accepted, _ = stub.calls[-1]
    assert accepted.run_id == run.run_id
    assert accepted.tags["gate.hi_gh"] == "accepted"
    conf_of(tmp_path, rows=ROWS.slice(0, 2), **sections)  # the same question, of other rows
    assert evaluate(conf) == 0  # the one group that is left decides nothing
    assert [one.run_id for one, _ in stub.calls] == [run.run_id] * 3
    assert stub.calls[-1][0].values["old/hit_at_1"] == 0
    assert sorted(stub.calls[-1][1]) == ["comparisons.csv", "gates.csv", "metrics.csv", "spec.json"]
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("reason", ["fails", "hangs"])
def test_a_tracker_that_fails_is_a_warning_unless_it_is_required(
    tmp_path: Path, stub: type[StubTracker], capsys: pytest.CaptureFixture[str], reason: str
) -> None:
    ended = threading.Event()

    def fail() -> None:
        ended.wait(60 if reason == "hangs" else 0)
        raise PermissionError("token=S3CRET is wrong for http://u:S3CRET@host/x\nat line 7")

    stub.failure = staticmethod(fail)
    sentence = "stub fails: token=*** is wrong for http://***@host/x"
    sentence = "stub has not answered within 0.1 s" if reason == "hangs" else sentence
    track = {"to": "stub", "timeout": 0.1 if reason == "hangs" else 60}
    conf = conf_of(tmp_path, slices=["country"], track=[track])
    assert exit_code("evaluate", "--conf", conf, "--date", DAY, "--json") == 0
    told = capsys.readouterr()
    warning = {"code": "not_tracked", "sentence": f"{DAY} is stored, but is not logged: {sentence}"}
    assert warning in json.loads(told.out)["warnings"]
    assert exit_code("evaluate", "--conf", conf, "--from", DAY, "--to", DAY) == 0
    assert f"Warnings\n    {DAY} is stored, but is not logged: {sentence}" in capsys.readouterr().out
    conf = conf_of(tmp_path, slices=["country"], track=[{**track, "required": True}])
    assert evaluate(conf) == 1
    assert f"{DAY} is stored, but is not logged: {sentence}" in capsys.readouterr().err
    assert pq.read_table(f"{tmp_path}/out/metrics", filters=[("slice", "=", "all")]).num_rows == 4
    ended.set()
    stub.failure = staticmethod(lambda: None)
    assert exit_code("evaluate", "--conf", conf, "--from", DAY, "--to", DAY, "--quiet") == 0  # which makes up for it
    assert len(stub.calls) == 1


def test_a_spec_that_cannot_be_tracked_is_refused_before_anything_is_read(
    tmp_path: Path, stub: type[StubTracker], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    contry, stubs, plain = {"to": "stub", "slices": ["contry"]}, [{"to": "stub"}], {"slices": []}
    for track, sections, sentence in (
        ([contry], {"slices": ["country"]}, '"contry", which is not a slice, did you mean "country"?'),
        (stubs, {}, "the values of the slice user are the keys of groups, which no tracker gets"),
        (stubs * 2, plain, "track names one experiment twice"),
        ([{"to": "mlfow"}], plain, "'mlfow', did you mean \"mlflow\"? (allowed: mlflow, stub)"),
        ([{"to": "mlflow"}], plain, "pip install 'sparkrank[mlflow]'"),
        (stubs, {"models": ("a b", "a_b"), **plain}, "'a b/rr' and 'a_b/rr' would both be a_b/rr in a tracker"),
    ):
        conf = conf_of(tmp_path, track=track, **sections)
        for command in ("evaluate", "validate"):
            assert exit_code(command, "--conf", conf, "--date", DAY) == 2
            assert sentence in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def metrics_of(*rows: tuple[str, str, str | None, float | None]) -> pa.Table:
    names = ("model", "slice", "slice_value", "value")
    return pa.Table.from_pylist(
        [{**dict(zip(names, row, strict=True)), "metric": "rr"} for row in rows], schema=METRICS.schema
    )


def test_two_numbers_of_one_name_are_refused() -> None:
    rows = [("a", "all", "all", 1.0), ("a", "c", None, 2.0), ("a", "c", "(null)", 3.0), ("a", "d", "x", float("nan"))]
    assert values_of(metrics_of(*rows), None, ["c", "d"]) == {"a/rr": 1, "a/c/_null_/rr": 2, "a/c/__null__/rr": 3}
    assert values_of(metrics_of(*rows), None, []) == {"a/rr": 1}
    for one, other in (("d/e", "d e"), ("d@", "d_at_")):
        with pytest.raises(sr.SpecError, match=r"would both be a/c/d_.*/rr in a tracker: rename one of them"):
            values_of(metrics_of(("a", "c", one, 1.0), ("a", "c", other, 2.0)), None, ["c"])
    assert values_of(metrics_of(("..", "all", "all", 1.0)), None, []) == {"_../rr": 1}  # no path


def test_a_gate_has_its_worst_verdict() -> None:
    cells = [
        ("g", "pass", False),
        ("g", "undecided", False),
        ("g", "fail", True),
        ("h", "fail", True),
        ("h", "pass", False),
    ]
    gates = pa.Table.from_pylist([dict(zip(("gate", "verdict", "accepted"), cell, strict=True)) for cell in cells])
    assert verdicts_of(gates) == {"gate.g": "undecided", "gate.h": "accepted"}


class Recorder:
    """An object of a user with three methods."""

    def __init__(self) -> None:
        self.params: dict[str, Any] = {}
        self.metrics: dict[int, dict[str, float]] = {}
        self.files: dict[str, str] = {}

    def log_params(self, params: dict[str, Any]) -> None:
        self.params |= params

    def log_metrics(self, metrics: dict[str, float], step: int) -> None:
        self.metrics[step] = metrics

    def log_artifact(self, path: str) -> None:
        self.files[Path(path).name] = Path(path).read_text("utf-8")


def test_an_evaluation_is_tracked_by_any_object(stub: type[StubTracker], monkeypatch: pytest.MonkeyPatch) -> None:
    roles: Any = {"group": "user", "label": "y", "score": COLUMNS["score"], "compare": "old"}
    ev = sr.evaluate(ROWS, ["hit@1"], slices=["country"], preset="ranx", **roles)
    recorder = Recorder()
    assert sr.track(ev, recorder, day=DAY, slices=["country"])
    assert recorder.metrics[STEP].items() >= {"old/hit_at_1": 1 / 3, "old/country/d_e/hit_at_1": 0.0}.items()
    assert recorder.metrics[STEP]["new_b-old/hit_at_1"] == pytest.approx(1 / 3, abs=1e-15)
    assert recorder.params.items() >= {"preset": "ranx", "lane": "local"}.items()
    assert sorted(recorder.files) == ["comparisons.csv", "metrics.csv", "report.html", "spec.json"]
    assert "bob" not in recorder.files["report.html"]
    assert json.loads(recorder.files["spec.json"])["metrics"] == ["hit@1"]
    monkeypatch.setattr(track_api, "lacking_extra", lambda: ["altair"])  # then there is no report
    assert sr.track(ev, "stub", day=DAY)
    assert sorted(stub.calls[0][1]) == ["comparisons.csv", "metrics.csv", "spec.json"]
    assert not sr.track(ev, "stub", day=DAY)
    assert sr.track(ev, "stub", day=DAY, name="other")
    assert len({run.run_id for run, _ in stub.calls}) == 2
    for arguments, sentence in (
        (("mlfow",), 'did you mean "mlflow"'),
        ((3,), "an object with log_params, log_metrics, log_artifact is needed"),
    ):
        with pytest.raises(sr.SpecError, match=sentence):
            sr.track(ev, *arguments)
    for named, sentence in (
        ({"slices": "country"}, "a list"),
        ({"slices": ["c"]}, "not a slice"),
        ({"day": "x"}, "YYYY"),
    ):
        with pytest.raises(sr.SpecError, match=sentence):
            sr.track(ev, "stub", **named)


def test_no_option_and_no_key_of_a_group_is_tracked(tmp_path: Path, stub: type[StubTracker]) -> None:
    """Examples of rows that the truth lacks name groups, in a warning and in the checks."""
    options = {"models": {"a": {"options": {"header": "true"}}}, "options": {}, "past": [{"options": {"sep": ";"}}]}
    hidden = {"models": {"a": {"options": {"header": "***"}}}, "options": {}, "past": [{"options": {"sep": "***"}}]}
    assert without_options(options) == hidden
    rows = pa.table({"user": ["ann-key"] * 2, "item": ["x", "y"], "score": [2.0, 1.0]})
    pq.write_table(pa.table({"user": ["ann-key"] * 2, "item": ["v", "w"]}), tmp_path / "truth.parquet")
    pq.write_table(rows, tmp_path / "log.parquet")
    truth = {"path": f"{tmp_path}/truth.parquet", "columns": {"group": "user", "item": "item"}}
    quality = {"limits": {"truth in no list": 1}}
    columns = {"group": "user", "item": "item", "score": "score"}
    source = f"{tmp_path}/log.parquet"
    sections = {"truth": truth, "quality": quality, "track": [{"to": "stub"}]}
    conf = local_conf(tmp_path, source, columns, ["rr"], **sections)
    assert evaluate(conf) == 0
    warning = json.loads(pq.read_table(f"{tmp_path}/out/runs")["warnings"][0].as_py())
    assert any("ann-key" in sentence for sentence in warning)
    ((run, files),) = stub.calls
    assert "No truth is found in any list" in files["report.html"]
    assert not [name for name, content in files.items() if "-key" in content]
    assert "-key" not in repr(run)
