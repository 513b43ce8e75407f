"""The scan lane, the local lane and stored states against an S3-compatible server on loopback."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import fs

import sparkrank as sr
from sparkrank.config import Spec
from sparkrank.inputs.window import Window
from sparkrank.jobs import evaluate_day
from sparkrank.metrics.merged import Merged
from sparkrank.run.stages import Stages
from sparkrank.schemas.tables import RUNS
from sparkrank.tables.rows.results import metrics_table
from sparkrank.tables.stored.stored_days import find_days, merge_stored
from tests.support.s3_server import s3_environment, s3_server, s3_with
from tests.support.stored_files import one_file

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BUCKET = "impressions"
ROLES = {"group": "user", "score": "score", "label": "label"}


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    """The address of a server that is gone when the module is done."""
    with s3_server() as found:
        yield found


@pytest.fixture
def log(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> tuple[str, pa.Table]:
    """Where a day of impressions lies on the server, and its rows."""
    for name, value in s3_environment(endpoint).items():
        monkeypatch.setenv(name, value)
    store = s3_with(endpoint, BUCKET)
    rng = np.random.default_rng(23)
    rows = pa.table(
        {"user": rng.integers(0, 50, 900), "score": rng.random(900).round(2), "label": rng.integers(0, 2, 900)}
    )
    for part in range(3):
        pq.write_table(
            rows[part * 300 : part * 300 + 300], f"{BUCKET}/log/dt=2026-11-19/{part}.parquet", filesystem=store
        )
    query = f"endpoint_override={endpoint}&scheme=http&region=us-east-1"
    return f"s3://testing:testing@{BUCKET}/log/dt=2026-11-19?{query}", rows


def test_a_day_on_s3(spark: SparkSession, log: tuple[str, pa.Table]) -> None:
    path, rows = log
    expected = sr.evaluate(rows, ["ndcg@10", "ap", "auc"], **ROLES).to_pandas()
    for session, lane in ((spark, "scan"), (None, "local")):
        with sr.evaluate(path, ["ndcg@10", "ap", "auc"], spark=session, **ROLES) as evaluation:
            assert evaluation.lane == lane
            assert evaluation.to_pandas().equals(expected)
            groups = evaluation.groups.num_rows if lane == "local" else evaluation.groups.count()
            assert groups == 50


ODD = ("with space", "ünïcode", "plain#x", "x%20y", "h=10%3A00", "a?b", "a+b&c=d")


def test_a_path_on_s3_is_taken_as_it_is_written(log: tuple[str, pa.Table]) -> None:
    """As Spark takes it: each folder has as many rows as its place says, and what it might be taken for has others."""
    path, rows = log
    store, _ = fs.FileSystem.from_uri(path)
    for count, name in enumerate((*ODD, "plain", "x y", "h=10:00"), start=1):
        pq.write_table(rows[:count], f"{BUCKET}/odd/{name}/0.parquet", filesystem=store)
    for count, folder in enumerate(ODD, start=1):
        for place in (f"odd/{folder}", f"odd/{folder}/*.parquet"):
            found = sr.evaluate(path.replace("log/dt=2026-11-19", place), ["ap"], **ROLES)
            assert found.metrics["n_rows"].to_pylist() == [count], place


def test_a_lake_table_on_s3(spark: SparkSession, log: tuple[str, pa.Table]) -> None:
    path, rows = log
    store, _ = fs.FileSystem.from_uri(path)
    pq.write_table(rows, f"{BUCKET}/delta/data/dt=1/0.parquet", filesystem=store)
    with store.open_output_stream(f"{BUCKET}/delta/_delta_log/0.json") as file:
        file.write(b"{}")
    for inside, session in (("", None), ("/data/dt=*", spark), ("/data/dt=1/0.parquet", None)):
        sentence = rf"in a table of Delta \(s3://{BUCKET}/delta has .*write format: delta with"
        with pytest.raises(sr.InputError, match=sentence) as error:
            sr.evaluate(path.replace("log/dt=2026-11-19", f"delta{inside}"), ["ap"], spark=session, **ROLES)
        assert "testing" not in str(error.value)


def test_a_password_in_a_path_is_told_by_no_sentence(log: tuple[str, pa.Table]) -> None:
    path = log[0].replace("testing:testing", "somebody:secret").replace("dt=2026", "dt=2027")
    for named in ({}, {"group_table": path.replace("impressions/log", "no-such-bucket/log")}):
        with pytest.raises(sr.SparkrankError, match=r"s3://(impressions|no-such-bucket)/log") as told:
            sr.evaluate(log[1] if named else path, ["ap"], **ROLES, **named)
        assert "secret" not in str(told.value)


def test_states_on_s3(log: tuple[str, pa.Table], tmp_path: Path) -> None:
    """Days whose tables lie there, in more files than one, merge as those on a local file system do."""
    window = Window.of("2026-11-18", "2026-11-19")
    pq.write_table(log[1], tmp_path / "log.parquet")
    spec = Spec.model_validate(
        {
            "input": {"path": f"{tmp_path}/log.parquet", "columns": ROLES},
            "metrics": ["ap", "auc"],
            "output": {"path": f"{tmp_path}/tables"},
            "engine": {"lane": "local"},
        }
    )
    store, inside = fs.FileSystem.from_uri(f"s3://{BUCKET}/tables")
    for day in window.days:
        evaluate_day(spec, day, None, Stages())
        for table in ("states", "blocks", "parts", "runs"):
            rows = pq.read_table(one_file(tmp_path / f"tables/{table}/day={day}"), partitioning=None)
            if table == "runs":  # as Spark leaves them
                field = RUNS.schema.field("files")
                rows = rows.drop_columns(["files"]).append_column(field, pa.nulls(1, field.type))
            for part, some in enumerate((rows[:5], rows[5:]) if table != "runs" else (rows,)):
                pq.write_table(some, f"{inside}/{table}/day={day}/part-{part}.parquet", filesystem=store)
    plan = spec.plan()
    here = find_days(str(tmp_path / "tables"), window.days)
    there = find_days(f"s3a://{BUCKET}/tables", ["2026-11-17", *window.days])
    assert [day.day for day in there] == list(window.days)
    by_place = [metrics_table(Merged(merge_stored(days, plan, spec.source())[0]), plan) for days in (here, there)]
    assert by_place[0].equals(by_place[1])
