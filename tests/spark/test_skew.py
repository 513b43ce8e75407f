"""The largest groups are named alike in every lane, by the hash that Spark itself has for their keys."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from sparkrank.numeric.spark_hashes import xxhash64

import sparkrank as sr

ASKED: dict[str, Any] = {"metrics": ["ndcg@5", "auc"], "score": "score", "label": "clicked"}
NAMES = ("rows of the largest group", "rows of the second largest group", "rows of the third largest group")


@pytest.fixture
def log(tmp_path: Path) -> str:
    sizes = [1500, 1500, 1200, 30, 20]
    users = np.repeat([f"user {each} of a long name" for each in range(5)], sizes)
    rows = {"user": users, "query": np.repeat([1, 2, 3, 4, 5], sizes).astype(np.int32)}
    rows |= {"score": np.arange(float(len(users))), "clicked": np.arange(len(users)) % 2}
    pq.write_table(pa.table(rows), tmp_path / "log.parquet")
    return str(tmp_path / "log.parquet")


@pytest.mark.parametrize("group", ["user", "query", ["query", "user"]])
@pytest.mark.parametrize("more", [{}, {"group_table": False, "uncertainty": False}], ids=["keys", "hashes of keys"])
def test_every_lane_names_the_same_groups(spark: SparkSession, log: str, group: Any, more: dict[str, Any]) -> None:
    names = ", ".join([group] if isinstance(group, str) else group)
    frame = spark.read.parquet(log)
    sizes = frame.groupBy(group).count().selectExpr(f"xxhash64({names}) AS h", "count").collect()
    expected = sorted(((row["count"], row["h"]) for row in sizes), reverse=True)[:3]
    for lane in ("frame", "scan", "local"):
        source, session = (frame if lane == "frame" else log), (None if lane == "local" else spark)
        found = sr.evaluate(source, **ASKED, group=group, lane=lane, spark=session, **more).quality
        ours = [(row["count"], row["example"]) for row in found.to_pylist() if row["check"] in NAMES]
        assert ours == [(count, f"xxhash64({names}) = {key_hash}") for count, key_hash in expected], lane


def test_keys_of_any_type_have_the_hash_of_spark(spark: SparkSession) -> None:
    moment = dt.datetime(2024, 2, 29, 23, 59, 59, 123456, tzinfo=dt.timezone.utc)
    columns = {
        "b": pa.array([True, False, None]),
        "i8": pa.array([-1, 7, None], pa.int8()),
        "i32": pa.array([-(2**31), 5, None], pa.int32()),
        "i64": pa.array([-(2**63), 5, None], pa.int64()),
        "f32": pa.array([-0.0, 1.5, None], pa.float32()),
        "f64": pa.array([-0.0, 1e300, None], pa.float64()),
        "s": pa.array(["", "ä" * 50, None]),
        "bytes": pa.array([b"\xff", b"0123456789" * 7, None], pa.binary()),
        "day": pa.array([dt.date(1969, 1, 1), dt.date(2024, 2, 29), None]),
        "at": pa.array([moment, moment, None], pa.timestamp("us", "UTC")),
        "narrow": pa.array([Decimal("-1.25"), Decimal("123.00"), None], pa.decimal128(10, 2)),
        "wide": pa.array([Decimal("-12345678901234567890.5"), Decimal("0.5"), None], pa.decimal128(30, 1)),
    }
    frame = spark.createDataFrame(pa.table(columns))
    found = frame.selectExpr(*(f"xxhash64({name}) AS {name}" for name in columns), "xxhash64(*) AS all").toArrow()
    for name, column in columns.items():
        assert xxhash64([column]) == found[name].to_pylist(), name
    assert xxhash64(list(columns.values())) == found["all"].to_pylist()


@pytest.mark.parametrize("lane", ["frame", "scan"])
def test_a_limit_stops_the_run_with_the_group(spark: SparkSession, log: str, lane: str) -> None:
    source = spark.read.parquet(log) if lane == "frame" else log
    with pytest.raises(sr.SparkrankError, match=r'"rows of the largest group" is 1,500.*xxhash64\(user\)') as caught:
        sr.evaluate(source, **ASKED, group="user", lane=lane, spark=spark, limits={NAMES[0]: 1000})
    assert caught.value.exit_code == 4
