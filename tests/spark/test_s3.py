"""The scan lane and the local lane against an S3-compatible server on loopback."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import fs

import sparkrank as sr

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BUCKET = "impressions"


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    """The address of a server that is gone when the module is done."""
    server = pytest.importorskip("moto.server", reason="the S3-compatible server needs moto[server]")
    threaded = server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    threaded.start()
    host, port = threaded.get_host_and_port()
    yield f"{host}:{port}"
    threaded.stop()


@pytest.fixture
def log(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> tuple[str, pa.Table]:
    """Where a day of impressions lies on the server, and its rows."""
    # What a job has in its environment, and what its workers inherit.
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    store = fs.S3FileSystem(
        access_key="testing",
        secret_key="testing",  # noqa: S106 - the server takes any
        endpoint_override=endpoint,
        scheme="http",
        region="us-east-1",
        allow_bucket_creation=True,
    )
    rng = np.random.default_rng(23)
    rows = pa.table(
        {"user": rng.integers(0, 50, 900), "score": rng.random(900).round(2), "label": rng.integers(0, 2, 900)}
    )
    store.create_dir(BUCKET)
    for part in range(3):
        pq.write_table(
            rows[part * 300 : part * 300 + 300], f"{BUCKET}/log/dt=2026-11-19/{part}.parquet", filesystem=store
        )
    query = f"endpoint_override={endpoint}&scheme=http&region=us-east-1"
    return f"s3://testing:testing@{BUCKET}/log/dt=2026-11-19?{query}", rows


def test_a_day_on_s3(spark: SparkSession, log: tuple[str, pa.Table]) -> None:
    path, rows = log
    settings = {"group": "user", "score": "score", "label": "label"}
    expected = sr.evaluate(rows, ["ndcg@10", "ap", "auc"], **settings).to_pandas()
    for session, lane in ((spark, "scan"), (None, "local")):
        with sr.evaluate(path, ["ndcg@10", "ap", "auc"], spark=session, **settings) as evaluation:
            assert evaluation.lane == lane
            assert evaluation.to_pandas().equals(expected)
            groups = evaluation.groups.num_rows if lane == "local" else evaluation.groups.count()
            assert groups == 50


def test_nothing_there_on_s3(log: tuple[str, pa.Table]) -> None:
    path = log[0].replace("2026-11-19", "2026-11-20")
    with pytest.raises(sr.InputError, match="there is no parquet input at"):
        sr.evaluate(path, ["ap"], group="user", score="score", label="label")
