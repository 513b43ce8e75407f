"""The parts of groups in every lane: intervals, p-values and comparisons have the same bits, whatever the key."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sparkrank as sr
from tests.unit.test_parts import BOTH, log

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

START = dt.date(2026, 1, 1)
# Keys that Spark and Arrow read differently have one lane.
KEYS = {
    "whole": lambda user: pa.array(user, pa.int32()),
    "text": lambda user: pa.array([f"user {each}" for each in user]),
    "day": lambda user: pa.array([START + dt.timedelta(days=each) for each in user]),
    "float": lambda user: pa.array([each / 4 for each in user], pa.float32()),
}


@pytest.mark.parametrize("key", KEYS)
def test_the_same_bits_in_every_lane(spark: SparkSession, tmp_path: Path, key: str) -> None:
    rows = log(31, users=200, rows=2500)
    rows = rows.set_column(0, "user", KEYS[key](rows["user"].to_pylist()))
    pq.write_table(rows, path := str(tmp_path / "rows.parquet"), row_group_size=400)
    asked = {"group": "user", "label": "y", "score": BOTH, "compare": "a", "slices": ["country"], "buckets": 3}
    metrics = ["ndcg@5", "gauc", "auc", "logloss", "median(ap)"]
    found = []
    for given, lane in ((path, "local"), (path, "scan"), (spark.read.parquet(path), "frame")):
        session = None if lane == "local" else spark
        with sr.evaluate(given, metrics, spark=session, lane=lane, **asked) as ev:
            found.append((ev.table.to_pandas(), ev.compare("a").to_pandas(), ev.compare("b").to_pandas()))
    assert found[0][0]["interval"].notna().all()
    for other in found[1:]:
        for one, two in zip(found[0], other, strict=True):
            pd.testing.assert_frame_equal(one, two, check_exact=True)
