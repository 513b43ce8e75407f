"""Delta and Iceberg tables on an S3-compatible server: a day that is read there, and copied there, without a secret.

The same day goes to MLflow, OpenLineage, Dagster and Prometheus. Where the clients of the first two are installed
(make test-places), they write into files.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from collections.abc import Callable, Iterator
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import fs

from tests.doors.test_dagster_example import Context, stub
from tests.support import mlflow_stub, openlineage_stub
from tests.support.commands import PROJECT, exit_code, write_spec
from tests.support.page_blocks import blocks_of, run_python
from tests.support.s3_server import s3_environment, s3_server
from tests.support.stored_texts import texts_below

# MLflow's store of databases uses what newer versions of SQLAlchemy are about to lose.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

DAY, BUCKET, SECRET = "2026-11-19", "lake", "S3CRET"
# The click of ann stands second on DAY: rr is 1/2. With the row of the next day it would be as well, of other rows.
ROWS = pa.table({"user": ["ann"] * 3, "s": [0.9, 0.8, 0.7], "y": [0, 1, 1], "dt": [DAY, DAY, "2026-11-20"]})


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    with s3_server() as found:
        yield found


@pytest.fixture
def store(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> fs.S3FileSystem:
    """The server takes any keys; deltalake, pyiceberg and Arrow find these in the environment."""
    keys = {"AWS_ACCESS_KEY_ID": f"AKIA{SECRET}", "AWS_SECRET_ACCESS_KEY": f"{SECRET}/k", "AWS_ALLOW_HTTP": "true"}
    for name, value in {**s3_environment(endpoint), **keys, "AWS_SESSION_TOKEN": f"{SECRET}=="}.items():
        monkeypatch.setenv(name, value)
    found = fs.S3FileSystem(endpoint_override=endpoint, scheme="http", allow_bucket_creation=True)
    found.create_dir(BUCKET)
    return found


# What is in the environment of a job for each client, used or not.
VARIABLES = {
    "MLFLOW_TRACKING_TOKEN": SECRET,
    "MLFLOW_TRACKING_USERNAME": "ann",
    "MLFLOW_TRACKING_PASSWORD": SECRET,
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "WANDB_API_KEY": SECRET,
    "OPENLINEAGE_API_KEY": SECRET,
    "OPENLINEAGE__TRANSPORT__TYPE": "file",
    "OPENLINEAGE__TRANSPORT__AUTH__APIKEY": SECRET,
    "OPENLINEAGE__TRANSPORT__CUSTOM_HEADERS": f'{{"x-tenant-token": "{SECRET}"}}',
}


@pytest.fixture
def events(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[dict[str, Any]]]:
    """The events that a program of lineage has got so far."""
    for name, value in VARIABLES.items():
        monkeypatch.setenv(name, value)
    folder = tmp_path / "events"
    folder.mkdir()
    monkeypatch.setenv("OPENLINEAGE__TRANSPORT__LOG_FILE_PATH", f"{folder}/event")
    if importlib.util.find_spec("openlineage") is not None:
        return lambda: [json.loads(file.read_text("utf-8")) for file in sorted(folder.iterdir())]
    sent: list[dict[str, Any]] = []
    put(openlineage_stub.stub_modules(sent), monkeypatch)
    return lambda: json.loads(json.dumps(sent))


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[Any]]:
    """The runs that a tracker has got so far."""
    monkeypatch.chdir(tmp_path)  # where its artifacts go
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/runs.db")
    if importlib.util.find_spec("mlflow") is None:
        put(mlflow_stub.stub_modules(tmp_path / "tracked"), monkeypatch)
    from mlflow.tracking import MlflowClient

    def found() -> list[Any]:
        place = MlflowClient().get_experiment_by_name("night").experiment_id
        return list(MlflowClient().search_runs([place]))

    return found


def put(modules: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, module in modules.items():
        module.__spec__ = ModuleSpec(name, None)
        monkeypatch.setitem(sys.modules, name, module)


def delta(settings: str, folder: Path, patch: pytest.MonkeyPatch) -> dict[str, str]:
    deltalake = pytest.importorskip("deltalake")
    deltalake.write_deltalake(f"s3://{BUCKET}/sales/delta", ROWS, partition_by=["dt"])
    return {"format": "delta", "path": f"s3://{BUCKET}/eval/delta{settings}"}


def iceberg(settings: str, folder: Path, patch: pytest.MonkeyPatch) -> dict[str, str]:
    pytest.importorskip("pyiceberg", reason="pyiceberg reads Iceberg tables: the dev extra has it")
    from pyiceberg.catalog import load_catalog
    from pyiceberg.utils.config import Config

    properties = {
        "TYPE": "sql",
        "URI": f"sqlite:///{folder}/catalog.db",
        "WAREHOUSE": f"s3://{BUCKET}",
        "S3__ENDPOINT": os.environ["AWS_ENDPOINT_URL"],
        "S3__REGION": "us-east-1",  # otherwise pyiceberg asks Amazon
        "S3__ACCESS_KEY_ID": f"AKIA{SECRET}",
        "S3__SECRET_ACCESS_KEY": f"{SECRET}/of the catalog",
        "TOKEN": SECRET,
        "CREDENTIAL": f"client:{SECRET}",
        "HEADER__AUTHORIZATION": f"Bearer {SECRET}",
    }
    for name, value in properties.items():
        patch.setenv(f"PYICEBERG_CATALOG__PROD__{name}", value)
    patch.setattr("pyiceberg.catalog._ENV_CONFIG", Config())  # read when the module was imported
    with load_catalog("prod") as catalog:
        catalog.create_namespace("sales")
        catalog.create_table("sales.iceberg", schema=ROWS.schema).append(ROWS)
    return {"format": "iceberg", "catalog": "prod", "namespace": "eval"}


@pytest.mark.parametrize("make", [delta, iceberg])
def test_a_day_is_read_and_copied_on_s3_without_a_secret(
    tmp_path: Path,
    store: fs.S3FileSystem,
    endpoint: str,
    events: Callable[[], list[dict[str, Any]]],
    runs: Callable[[], list[Any]],
    make: Any,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    settings = f"?endpoint_override={endpoint}&scheme=http&region=us-east-1"
    publish, lake = make(settings, tmp_path, monkeypatch), make.__name__
    source = {"path": f"s3://{BUCKET}/sales/{lake}{settings}", "format": lake, "where": "dt = '{date}'"}
    document = {
        "input": {**source, "columns": {"group": "user", "score": "s", "label": "y"}},
        "metrics": ["rr"],
        "output": {"path": f"{tmp_path}/out", "publish": [{**publish, "tables": ["metrics"]}]},
        "engine": {"lane": "local"},
        "notify": ["openlineage"],
        "track": [{"to": "mlflow", "experiment": "night"}],
    }
    conf = write_spec(tmp_path, document)
    stub(monkeypatch, context := Context("eval"))
    caplog.set_level("DEBUG")
    for words, code in (
        (["validate", "--date", DAY], 0),
        (["evaluate", "--date", DAY, "--pipes", "--prometheus", f"{tmp_path}/day.prom"], 0),
        (["evaluate", "--from", DAY, "--to", DAY, "--json"], 0),
        (["publish", "--date", DAY], 0),
        (["report", "--date", DAY, "--format", "md"], 0),
        (["evaluate", "--date", DAY, "--set", f"input.path=s3://{BUCKET}/none{settings}"], 4),
    ):
        assert exit_code(words[0], "--conf", conf, *words[1:]) == code
    (run,) = pq.read_table(f"{tmp_path}/out/runs/day={DAY}").to_pylist()
    assert (run["rows"], run["input"].partition(" at version ")[0]) == (2, f"s3://{BUCKET}/sales/{lake}{settings}")
    sent = events()
    assert [event["eventType"] for event in sent] == ["START", "COMPLETE", "START", "FAIL"]
    assert (sent[1]["inputs"][0]["namespace"], sent[1]["inputs"][0]["name"]) == (f"s3://{BUCKET}", f"sales/{lake}")
    assert len(runs()) == len(context.metadata) == 1
    assert {"report.html", "day.prom"} <= {file.name for file in tmp_path.rglob("*")}
    there = store.get_file_info(fs.FileSelector(BUCKET, recursive=True))
    copied = [info for info in there if "/eval" in info.path and "/runs/" in info.path]
    assert any(info.extension == "parquet" for info in copied)
    printed = capsys.readouterr()
    texts = [*texts_below(str(tmp_path)), *texts_below(BUCKET, store), printed.out, printed.err, caplog.text]
    texts += [json.dumps(sent), repr(runs()), repr(vars(context))]
    assert [text for text in texts if SECRET in text] == []


def test_the_page_reads_a_copy(store: fs.S3FileSystem) -> None:
    pytest.importorskip("deltalake").write_deltalake(f"s3://{BUCKET}/eval/metrics", ROWS)
    names: dict[str, Any] = {}
    (block,) = (block for block in blocks_of(PROJECT / "docs" / "publish.md") if block.language == "python")
    assert list(run_python([block], names)) == []
    assert names["metrics"].to_table().equals(ROWS)
