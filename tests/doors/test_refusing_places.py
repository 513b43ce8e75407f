"""A day whose lakes, trackers and lineage refuse it, and repeat the secrets that they got, shows none by any way.

Where their clients are installed (make test-places), these send the secrets by themselves, and read the answer.
"""

from __future__ import annotations

import base64
import importlib.util
import json
import os
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from importlib.machinery import ModuleSpec
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support import mlflow_stub, openlineage_stub
from tests.support.commands import exit_code, local_conf
from tests.support.repeating_server import repeating_server
from tests.support.stored_texts import texts_below

pytest.importorskip("deltalake")

DAY, SECRET = "2026-11-19", "S3CRET"
ENCODED = base64.b64encode(f"ann:{SECRET}".encode()).decode()
# The click of ann stands second: rr is 1/2.
ROWS = pa.table({"user": ["ann", "ann"], "s": [0.9, 0.8], "y": [0, 1]})
COLUMNS = {"group": "user", "label": "y", "score": {"new": "s"}}
TRANSPORT, CATALOG = "OPENLINEAGE__TRANSPORT__", "PYICEBERG_CATALOG__PROD__"


def environment(server: str) -> dict[str, str]:
    """How each client is given its secrets."""
    url = f"http://ann:{SECRET}@{server}"
    return {
        "AWS_ENDPOINT_URL": f"http://{server}",
        "AWS_ALLOW_HTTP": "true",
        "AWS_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": f"AKIA{SECRET}",
        "AWS_SECRET_ACCESS_KEY": f"{SECRET}/k",
        "AWS_SESSION_TOKEN": f"{SECRET}==",
        "MLFLOW_TRACKING_URI": url,
        "MLFLOW_DISABLE_TELEMETRY": "true",
        f"{TRANSPORT}TYPE": "http",
        f"{TRANSPORT}URL": url,
        f"{TRANSPORT}AUTH__TYPE": "api_key",
        f"{TRANSPORT}AUTH__APIKEY": SECRET,
        f"{TRANSPORT}CUSTOM_HEADERS": json.dumps({"x-tenant-token": SECRET}),
        f"{CATALOG}TYPE": "rest",
        f"{CATALOG}URI": url,
        f"{CATALOG}HEADER__X_TENANT_TOKEN": SECRET,
        f"{CATALOG}S3__SECRET_ACCESS_KEY": SECRET,
    }


# Either of the ways to sign in of a client that has several.
SIGN_INS = (
    {"MLFLOW_TRACKING_TOKEN": SECRET, f"{CATALOG}TOKEN": SECRET},
    {"MLFLOW_TRACKING_USERNAME": "ann", "MLFLOW_TRACKING_PASSWORD": SECRET, f"{CATALOG}CREDENTIAL": f"client:{SECRET}"},
)


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    with repeating_server() as (server, requests):
        for name, value in environment(server).items():
            monkeypatch.setenv(name, value)
        stubs = {}
        if importlib.util.find_spec("mlflow") is None:
            stubs |= mlflow_stub.stub_modules(Path())
            stubs["mlflow.tracking"].MlflowClient.get_experiment_by_name = lambda *_: ask(server, signed_in())
        if importlib.util.find_spec("openlineage") is None:
            stubs |= openlineage_stub.stub_modules([])
            sent = {"Authorization": f"Bearer {SECRET}", **json.loads(os.environ[f"{TRANSPORT}CUSTOM_HEADERS"])}
            stubs["openlineage.client"].OpenLineageClient.emit = lambda *_: ask(server, sent)
        for name, module in stubs.items():
            module.__spec__ = ModuleSpec(name, None)
            monkeypatch.setitem(sys.modules, name, module)
        yield requests


def ask(server: str, headers: Mapping[str, str]) -> None:
    """Ask as a client does, and raise what the server answers."""
    try:
        urllib.request.urlopen(urllib.request.Request(f"http://{server}/asked", headers=dict(headers)))
    except urllib.error.HTTPError as error:
        raise RuntimeError(f"PERMISSION_DENIED: {json.load(error)['message']}") from error


def signed_in() -> dict[str, str]:
    token = os.environ.get("MLFLOW_TRACKING_TOKEN")
    return {"Authorization": f"Basic {ENCODED}" if token is None else f"Bearer {token}"}


@pytest.mark.parametrize("sign_in", SIGN_INS, ids=["token", "password"])
def test_what_a_place_repeats_is_not_shown(
    tmp_path: Path,
    requests: list[str],
    sign_in: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    for name, value in sign_in.items():
        monkeypatch.setenv(name, value)
    caplog.set_level("DEBUG")
    pq.write_table(ROWS, tmp_path / "log.parquet")
    delta, iceberg = {"format": "delta", "path": "s3://lake/eval"}, []
    if importlib.util.find_spec("pyiceberg") is not None:
        from pyiceberg.utils.config import Config

        monkeypatch.setattr("pyiceberg.catalog._ENV_CONFIG", Config())  # read when the module was imported
        iceberg = [{"format": "iceberg", "catalog": "prod", "namespace": "eval"}]
    sections = {"track": [{"to": "mlflow", "experiment": "night"}], "notify": ["openlineage"]}
    sections["output"] = {"path": f"{tmp_path}/out", "publish": [delta, *iceberg]}
    conf = local_conf(tmp_path, f"{tmp_path}/log.parquet", COLUMNS, ["rr"], **sections)
    unpublished, required = ["--set", "output.publish=[]"], ["--set", "track=[{to: mlflow, required: true}]"]
    lakes = [["input.format=delta", "input.path=s3://lake/log"]]
    lakes += [["input.format=iceberg", "input.path=null", "input.table=prod.sales.log"]] if iceberg else []
    asked: list[tuple[list[str], int]] = [
        (["validate"], 1),
        (["evaluate", "--date", DAY], 1),
        (["publish", "--date", DAY, "--json"], 1),
        (["evaluate", "--date", DAY, *unpublished, "--prometheus", f"{tmp_path}/day.prom"], 0),
        (["evaluate", "--date", DAY, *unpublished, *required, "--json"], 1),
        *((["evaluate", "--date", DAY, *(f"--set={own}" for own in lake)], 1) for lake in lakes),
    ]
    for words, code in asked:
        for debug in ([], ["--debug"]):
            requests.clear()
            assert exit_code(words[0], "--conf", conf, *words[1:], *debug) == code, (words, capsys.readouterr())
            assert any(SECRET in text or ENCODED in text for text in requests), words
    printed = capsys.readouterr()
    for told in ("s3://lake/eval are behind", "mlflow fails", "START of 2026-11-19 is not sent"):
        assert told in printed.out + printed.err
    (tmp_path / "spec.yaml").unlink()
    texts = [*texts_below(str(tmp_path)), printed.out, printed.err]
    texts += [record.getMessage() for record in caplog.records if record.name.startswith("sparkrank")]
    for text in texts:
        for secret in (SECRET, ENCODED):
            place = text.find(secret)
            assert place < 0, text[max(0, place - 300) : place + 100]
