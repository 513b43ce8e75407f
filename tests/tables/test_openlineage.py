"""The events of a day, as a stub of OpenLineage's client has them, and as its own writes them into files."""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
import types
import typing
import uuid
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

import jsonschema
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sparkrank.jobs import evaluate_job, notify_job
from sparkrank.tables.lineage import openlineage, run_events
from sparkrank.tables.lineage.lineage_datasets import LineageDataset, dataset_name
from tests.support.commands import exit_code, local_conf, local_spec
from tests.support.openlineage_stub import stub_modules

DAY = "2026-11-19"
# Of user ann the click stands second for old and first for new, of cem first; bob has one row, whose label is null.
ROWS = pa.table(
    {
        "user": ["ann", "ann", "bob", "cem", None],
        "country": ["de", "de", "fr", "fr", "fr"],
        "o": [0.9, 0.8, 0.7, 0.6, 0.5],
        "n": [0.8, 0.9, 0.7, 0.6, 0.5],
        "y": [0, 1, None, 1, 0],
    }
)
COLUMNS = {"group": "user", "label": "y", "score": {"old": "o", "new": "n"}}
Events = Callable[[], list[dict[str, Any]]]


@pytest.fixture(
    params=[
        "stub",
        pytest.param(
            "client",
            marks=pytest.mark.skipif(
                importlib.util.find_spec("openlineage") is None,
                reason="OpenLineage's client writes the events: make test-places installs it",
            ),
        ),
    ]
)
def events(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Events:
    """What was sent so far, in order, and valid if the client is the real one."""
    monkeypatch.setenv("OPENLINEAGE_NAMESPACE", "night")
    if request.param == "stub":
        sent: list[dict[str, Any]] = []
        for name, module in stub_modules(sent).items():
            module.__spec__ = ModuleSpec(name, None)
            monkeypatch.setitem(sys.modules, name, module)
        return lambda: json.loads(json.dumps(sent))
    (tmp_path / "events").mkdir()
    monkeypatch.setenv("OPENLINEAGE__TRANSPORT__TYPE", "file")
    monkeypatch.setenv("OPENLINEAGE__TRANSPORT__LOG_FILE_PATH", f"{tmp_path}/events/event")

    def written() -> list[dict[str, Any]]:
        documents = [json.loads(file.read_text("utf-8")) for file in sorted((tmp_path / "events").iterdir())]
        for document in documents:
            assert_valid(document)
        return documents

    return written


FACETS = {  # the class of the client for each facet
    "schema": "schema_dataset.SchemaDatasetFacet",
    "version": "dataset_version_dataset.DatasetVersionDatasetFacet",
    "storage": "storage_dataset.StorageDatasetFacet",
    "dataQualityAssertions": "data_quality_assertions_dataset.DataQualityAssertionsDatasetFacet",
    "dataQualityMetrics": "data_quality_metrics_input_dataset.DataQualityMetricsInputDatasetFacet",
    "errorMessage": "error_message_run.ErrorMessageRunFacet",
}


def assert_valid(event: dict[str, Any]) -> None:
    """The event is one of the client's own classes, which are made of the published schemas."""
    base = importlib.import_module("openlineage.client.generated.base")
    facets = dict(event["run"]["facets"])
    facets.pop("tags")  # the client's own
    assert facets.pop(run_events.EVALUATION)["day"] == DAY
    parts = [base.Run, base.Job, *[base.InputDataset] * len(event["inputs"]), *[base.OutputDataset] * 99]
    values = [event["run"], event["job"], *event["inputs"], *event["outputs"]]
    for kind, value in zip(parts, values, strict=False):
        assert_conforms({name: {} if "acets" in name else own for name, own in value.items()}, kind)
    whole = {**event, "run": {"runId": event["run"]["runId"]}, "job": {"namespace": "a", "name": "b"}}
    assert_conforms({**whole, "inputs": [], "outputs": []}, base.RunEvent)
    for each in [*event["inputs"], *event["outputs"]]:
        facets |= {**each["facets"], **each.get("inputFacets", {})}
        for name, facet in facets.items():
            module, _, kind = FACETS[name].partition(".")
            own = getattr(importlib.import_module(f"openlineage.client.generated.{module}"), kind)
            assert facet["_schemaURL"].rpartition("/")[2] == kind
            assert_conforms({name: own for name, own in facet.items() if not name.startswith("_")}, own)


def assert_conforms(value: Any, hint: Any) -> None:
    """``value``, which comes from JSON, is of the type ``hint``: no unknown name, none missing, each of its type."""
    import attr

    if attr.has(hint):
        known = {field.name: field for field in attr.fields(attr.resolve_types(hint))}
        assert value.keys() <= known.keys(), value.keys() - known.keys()
        assert {name for name, field in known.items() if field.default is attr.NOTHING} <= value.keys()
        for name, own in value.items():
            assert_conforms(own, known[name].type)
    elif typing.get_origin(hint) in (typing.Union, types.UnionType):
        (hint,) = [own for own in typing.get_args(hint) if own is not type(None)]
        assert_conforms(value, hint)
    elif typing.get_origin(hint) is list:
        assert isinstance(value, list)
        for own in value:
            assert_conforms(own, typing.get_args(hint)[0])
    elif typing.get_origin(hint) is dict:
        for own in value.values():
            assert_conforms(own, typing.get_args(hint)[1])
    elif hint is float:
        assert type(value) in (int, float)
    elif hint is not Any:
        assert type(hint(value)) is hint
        assert isinstance(value, hint if hint in (str, int, bool) else str)


def conf_of(folder: Path, **sections: Any) -> str:
    pq.write_table(ROWS, folder / "log.parquet")
    sections = {"compare": {"baseline": "old"}, "slices": ["country"], "notify": ["openlineage"], **sections}
    sections = {"quality": {"limits": {"rows rejected": 0.5}}, "name": "home feed", **sections}
    return local_conf(folder, f"{folder}/log.parquet", COLUMNS, ["rr", "hit@1"], **sections)


def evaluate(conf: str) -> int:
    return exit_code("evaluate", "--conf", conf, "--date", DAY, "--quiet")


def assertions_of(event: dict[str, Any]) -> dict[str, tuple[bool, str]]:
    made = event["inputs"][0]["inputFacets"]["dataQualityAssertions"]["assertions"]
    return {each["name"]: (each["success"], each["severity"]) for each in made}


def test_a_day_that_passes(tmp_path: Path, events: Events) -> None:
    gates = [{"metric": "rr", "model": "new", "min": 0.5, "name": "low", "undecided": "pass"}]
    assert evaluate(conf_of(tmp_path, gates=gates)) == 0
    start, complete = events()
    (row,) = pq.read_table(f"{tmp_path}/out/runs").to_pylist()
    attempt = uuid.uuid5(uuid.NAMESPACE_URL, f"https://github.com/sparkrank/sparkrank#{row['attempt_id']}")
    for event, kind in ((start, "START"), (complete, "COMPLETE")):
        assert event["eventType"] == kind
        assert event["run"]["runId"] == str(attempt)
        assert (event["job"]["namespace"], event["job"]["name"]) == ("night", "home feed")
        ((place, name),) = ((each["namespace"], each["name"]) for each in event["inputs"])
        assert (place, name) == ("file", f"{tmp_path}/log.parquet")
    assert start["outputs"] == []
    (source,) = complete["inputs"]
    fields = {own["name"]: (own["type"], own["description"]) for own in source["facets"]["schema"]["fields"]}
    assert fields["user"] == ("string", "group")
    assert fields["o"] == ("double", "old score")
    storage = source["facets"]["storage"]
    assert (storage["storageLayer"], storage["fileFormat"]) == ("file", "parquet")
    counts = source["inputFacets"]["dataQualityMetrics"]
    assert counts["rowCount"] == 5
    assert counts["columnMetrics"] == {"user": {"nullCount": 1}, "y": {"nullCount": 1}}
    assert assertions_of(complete).items() >= {"low": (False, "warn"), "rows rejected": (True, "warn")}.items()
    outputs = {each["name"]: each for each in complete["outputs"]}
    assert {f"{tmp_path}/out/{name}" for name in ("metrics", "comparisons", "gates", "runs")} <= outputs.keys()
    assert {"name": "value", "type": "double"} in outputs[f"{tmp_path}/out/metrics"]["facets"]["schema"]["fields"]
    facet = complete["run"]["facets"][run_events.EVALUATION]
    schema = json.loads((Path(run_events.__file__).parent / "evaluation_facet.schema.json").read_text("utf-8"))
    jsonschema.validate(facet, {**schema, "$ref": "#/$defs/Evaluation"})
    assert (facet["runId"], facet["specHash"], facet["exitCode"]) == (row["run_id"], row["spec_hash"], 0)
    values = {(own["model"], own["metric"]): own.get("value") for own in facet["metrics"]}
    assert values == {("old", "rr"): 0.75, ("new", "rr"): 1, ("old", "hit@1"): 0.5, ("new", "hit@1"): 1}
    compared = [(own["candidate"], own["baseline"], own["metric"], own["difference"]) for own in facet["comparisons"]]
    assert compared == [("new", "old", "rr", 0.25), ("new", "old", "hit@1", 0.5)]
    assert not {"ann", "bob", "de", "fr"} & {*json.dumps(events()).split('"')}


def test_a_day_that_a_gate_stops_is_complete(tmp_path: Path, events: Events) -> None:
    """The gate on each value of the slice is one assertion, without these values."""
    gates = [
        {"metric": "hit@1", "model": "old", "min": 2, "name": "high"},
        {"metric": "rr", "model": "old", "slice": {"country": "*"}, "min": 0, "undecided": "fail", "name": "few"},
        {"metric": "rr", "model": "old", "slice": {"country": "de"}, "min": 0, "undecided": "pass"},
    ]
    assert evaluate(conf_of(tmp_path, gates=gates)) == 3
    _, complete = events()
    assert complete["eventType"] == "COMPLETE"
    verdicts = {"high": (False, "error"), "few": (False, "error"), "rr of old by country": (False, "warn")}
    assert assertions_of(complete).items() >= verdicts.items()
    assert complete["run"]["facets"][run_events.EVALUATION]["exitCode"] == 3
    assert {"de", "fr"} & {*json.dumps(complete).split('"')} == set()


def test_a_day_without_input_fails(tmp_path: Path, events: Events) -> None:
    conf = conf_of(tmp_path)
    (tmp_path / "log.parquet").unlink()
    assert evaluate(conf) == 4
    start, fail = events()
    assert (start["eventType"], fail["eventType"]) == ("START", "FAIL")
    assert fail["run"]["runId"] == start["run"]["runId"]
    assert fail["outputs"] == []
    assert fail["run"]["facets"]["errorMessage"]["message"] == f"there is no parquet input at {tmp_path}/log.parquet"


@pytest.mark.parametrize("raised", [KeyboardInterrupt(), RuntimeError("job cancelled")])
def test_an_interrupted_day_is_aborted(
    tmp_path: Path, events: Events, monkeypatch: pytest.MonkeyPatch, raised: BaseException
) -> None:
    def interrupt(*_: Any) -> None:
        raise raised from KeyboardInterrupt()

    monkeypatch.setattr(evaluate_job, "judge_run", interrupt)
    assert evaluate(conf_of(tmp_path)) == 1
    assert [event["eventType"] for event in events()] == ["START", "ABORT"]
    assert not (tmp_path / "out/metrics").exists()


def test_what_cannot_be_sent_is_a_warning(
    tmp_path: Path, events: Events, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: Any) -> None:
        raise PermissionError("api_key=S3CRET is wrong for http://u:S3CRET@host/x")

    monkeypatch.setattr(openlineage, "send", refuse)
    conf = conf_of(tmp_path)
    assert exit_code("evaluate", "--conf", conf, "--date", DAY, "--json") == 0
    warned = [each for each in json.loads(capsys.readouterr().out)["warnings"] if each["code"] == "not_notified"]
    sentence = f"of {DAY} is not sent: openlineage fails: api_key=*** is wrong for http://***@host/x"
    assert [each["sentence"] for each in warned] == [f"the event {kind} {sentence}" for kind in ("START", "COMPLETE")]
    monkeypatch.setattr(notify_job, "_inputs", refuse)  # a fault of ours is none of the day
    assert evaluate(conf) == 0
    assert events() == []


def test_places_are_named_without_secrets(tmp_path: Path) -> None:
    names = {
        "s3a://key:S3CRET@lake/a/dt=1/?region=eu&session=S3CRET": ("s3://lake", "a/dt=1"),
        "gcs://lake/a": ("gs://lake", "a"),
        "hdfs://name:8020/log/a": ("hdfs://name:8020", "/log/a"),
        "abfs://box@own.dfs.core.windows.net/a": ("abfss://box@own.dfs.core.windows.net", "/a"),
        "s3://lake": ("s3://lake", "/"),
        "file:///log/a": ("file", "/log/a"),
        "/log/password=S3CRET": ("file", "/log/password=***"),
    }
    assert {path: dataset_name(path) for path in names} == names
    source = {"table": "sales.token=S3CRET", "columns": {"group": "user", "label": "y", "score": "s"}}
    spec = local_spec(tmp_path, {**source, "where": "key = 'S3CRET'"}, engine={"lane": "frame"})
    (dataset,) = notify_job._inputs(spec, DAY, {}, {})
    assert (dataset.namespace, dataset.name) == ("spark_catalog", "sales.token=***")
    assert "S3CRET" not in json.dumps(dataset.document("us"))
    assert (dataset.format, dataset.version) == (None, None)
    of_iceberg = {**source, "table": "prod.sales", "format": "iceberg", "version": 7}
    (dataset,) = notify_job._inputs(local_spec(tmp_path, of_iceberg), DAY, {"input": "7"}, {})
    assert (dataset.name, dataset.format, dataset.version) == ("prod.sales", "iceberg", "7")


def test_the_version_of_a_lake_table_is_that_of_the_run(tmp_path: Path, events: Events) -> None:
    deltalake = pytest.importorskip("deltalake")
    for _ in range(2):
        deltalake.write_deltalake(f"{tmp_path}/lake", ROWS, mode="overwrite")
    conf = conf_of(tmp_path, input={"path": f"{tmp_path}/lake", "format": "delta", "columns": COLUMNS})
    assert evaluate(conf) == 0
    _, complete = events()
    (source,) = complete["inputs"]
    assert source["name"] == f"{tmp_path}/lake"
    assert source["facets"]["version"]["datasetVersion"] == "1"
    assert source["facets"]["storage"]["storageLayer"] == "delta"


def test_a_spec_that_no_program_can_get_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code("validate", "--conf", conf_of(tmp_path, notify=["openlinage"])) == 2
    assert "notify.0 is 'openlinage', did you mean \"openlineage\"?" in capsys.readouterr().err
    assert exit_code("validate", "--conf", conf_of(tmp_path, notify=["openlineage"] * 2)) == 2
    assert "notify names one program twice" in capsys.readouterr().err


def test_without_the_client_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    assert evaluate(conf_of(tmp_path)) == 2
    assert "pip install 'sparkrank[openlineage]'" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_dataset_without_facts_has_no_facets() -> None:
    assert LineageDataset("file", "/a").document("us") == {"namespace": "file", "name": "/a", "facets": {}}
