"""The largest groups are named alike in every lane, by their keys."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

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


def test_every_lane_names_the_same_groups(spark: SparkSession, log: str) -> None:
    """Of equal groups those of the last keys come first; without a group table no key is shown."""
    keys = [f'query "{query}", user "user {user} of a long name"' for query, user in ((2, 1), (1, 0), (3, 2))]
    frame = spark.read.parquet(log)
    for more, texts in (({}, keys), ({"group_table": False, "uncertainty": False}, [None] * 3)):
        for lane in ("frame", "scan", "local"):
            source, session = (frame if lane == "frame" else log), (None if lane == "local" else spark)
            found = sr.evaluate(source, **ASKED, group=["query", "user"], lane=lane, spark=session, **more)
            largest = [(row["count"], row["example"]) for row in found.quality.to_pylist() if row["check"] in NAMES]
            assert largest == list(zip((1500, 1500, 1200), texts, strict=True)), lane


@pytest.mark.parametrize("lane", ["frame", "scan"])
def test_a_limit_stops_the_run_with_the_group(spark: SparkSession, log: str, lane: str) -> None:
    source = spark.read.parquet(log) if lane == "frame" else log
    with pytest.raises(sr.SparkrankError, match=r'"rows of the largest group" is 1,500.*user "user 1') as caught:
        sr.evaluate(source, **ASKED, group="user", lane=lane, spark=spark, limits={NAMES[0]: 1000})
    assert caught.value.exit_code == 4
