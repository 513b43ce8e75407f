"""The scan lane and the local lane against a server of Google Cloud Storage on loopback."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import fs

import sparkrank as sr
from tests.support.gcs_server import gcs_server, gcs_with

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BUCKET = "impressions"
ROLES = {"group": "user", "score": "score", "label": "label"}
METRICS = ["ndcg@10", "ap", "auc"]


@pytest.fixture(scope="module")
def store() -> Iterator[str]:
    """The start of a path on a server that is gone when the module is done, and the settings at its end."""
    with gcs_server() as server:
        gcs_with(server, BUCKET)
        # Nobody's credentials, and an answer soon where there is none.
        settings = f"endpoint_override={server.json}&scheme=http&retry_limit_seconds=5"
        yield f"gs://anonymous@{BUCKET}/{{}}?{settings}"


@pytest.fixture(scope="module")
def rows(store: str) -> pa.Table:
    """Impressions, of which the server has a third in each of three files."""
    rng = np.random.default_rng(29)
    rows = pa.table(
        {"user": rng.integers(0, 50, 900), "score": rng.random(900).round(2), "label": rng.integers(0, 2, 900)}
    )
    gcs, folder = fs.FileSystem.from_uri(store.format("log/dt=2026-11-19"))
    for part in range(3):
        pq.write_table(rows[part * 300 : part * 300 + 300], f"{folder}/{part} of 3.parquet", filesystem=gcs)
    return rows


def test_a_day_on_gcs(spark: SparkSession, store: str, rows: pa.Table) -> None:
    """A folder, a pattern, and a table of partitions."""
    expected = sr.evaluate(rows, METRICS, **ROLES).to_pandas()
    cells = [("log/dt=2026-11-19", None), ("log/dt=2026-11-1[89]/*.parquet", None), ("log", None), ("log", spark)]
    for inside, session in cells:
        with sr.evaluate(store.format(inside), METRICS, spark=session, **ROLES) as found:
            assert found.lane == ("scan" if session else "local")
            assert found.to_pandas().equals(expected)


def test_a_group_table_on_gcs(spark: SparkSession, store: str, rows: pa.Table) -> None:
    """Solvers write it there, and where one evaluation has written, no other does."""
    path, table = store.format("log"), store.format("groups")
    sr.evaluate(path, METRICS, spark=spark, group_table=table, **ROLES)
    gcs, folder = fs.FileSystem.from_uri(table)
    files = [info.path for info in gcs.get_file_info(fs.FileSelector(folder)) if info.size]
    written = pa.concat_tables([pq.read_table(file, filesystem=gcs) for file in files])
    here = sr.evaluate(rows, METRICS, **ROLES).groups
    assert written.sort_by("user").equals(here.sort_by("user").cast(written.schema))
    with pytest.raises(sr.InputError, match="the folder is not empty"):
        sr.evaluate(path, METRICS, group_table=table, **ROLES)


def test_nothing_there_on_gcs(store: str, rows: pa.Table) -> None:
    for missing in (f"{BUCKET}/log/dt=2026-11-20", f"{BUCKET}/no-log/*.parquet", "no-bucket/log"):
        path = store.format("").replace(f"{BUCKET}/", missing)
        with pytest.raises(sr.InputError, match=re.escape(f"there is no parquet input at gs://{missing}?")):
            sr.evaluate(path, METRICS, **ROLES)


def test_gcs_that_does_not_answer(store: str) -> None:
    """It is the store that fails, not the input."""
    path = re.sub(r"127.0.0.1:\d+", "127.0.0.1:1", store.format("log")).replace("seconds=5", "seconds=1")
    with pytest.raises(sr.StoreError, match=f"the input gs://{BUCKET}/log.* cannot be read"):
        sr.evaluate(path, METRICS, **ROLES)
