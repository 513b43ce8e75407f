"""What a session of Spark holds after evaluations that nobody holds any more."""

from __future__ import annotations

import gc
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

import sparkrank as sr
from tests.support.rotten import log

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def cached(spark: SparkSession) -> int:
    gc.collect()
    for thread in threading.enumerate():
        if thread.name == "sparkrank-release":
            thread.join(30)
    return int(spark._jsc.getPersistentRDDs().size())  # type: ignore[union-attr]


def test_dropped_evaluations_leave_no_cached_rows(spark: SparkSession, tmp_path: Path) -> None:
    pq.write_table(log(), tmp_path / "log.parquet")
    before = cached(spark)

    def evaluate() -> sr.Evaluation:
        path, roles = str(tmp_path / "log.parquet"), {"group": "user", "score": "score", "label": "label"}
        return sr.evaluate(path, ["ndcg@10", "auc"], spark=spark, lane="frame", buckets=2, **roles)

    held = [evaluate() for _ in range(3)]
    count = held[0].groups.count()
    assert cached(spark) == before + 3
    groups = held[0].groups
    held.clear()
    assert cached(spark) == before + 1
    assert groups.count() == count
    del groups
    assert cached(spark) == before
    with evaluate() as ev:
        assert cached(spark) == before + 1
    assert cached(spark) == before
    assert ev.groups.count() == count  # it is computed anew


def test_items_of_evaluations_leave_no_file(spark: SparkSession, tmp_path: Path) -> None:
    """A table of groups that is a DataFrame keeps what it is computed anew from."""
    pq.write_table(log(), tmp_path / "log.parquet")
    path, roles = str(tmp_path / "log.parquet"), {"group": "user", "item": "item", "score": "score", "label": "label"}
    items = pa.table({"item": log()["item"].unique(), "price": pa.array(range(len(log()["item"].unique())))})
    files = Path(spark.sparkContext._temp_dir)  # where Spark writes values of broadcast variables
    before, rows = {*files.iterdir()}, cached(spark)
    metrics = ["shown(of=catalog.price)@5", "auc(exact)"]
    values = set()
    for lane, buckets in (("frame", 2), ("scan", 3)):
        more: dict[str, Any] = {"catalog": items, "spark": spark, "lane": lane, "buckets": buckets, **roles}
        values |= {
            sr.evaluate(path, metrics, group_table=table, **more)[metrics[0]] for table in (False, tmp_path / lane)
        }
    assert cached(spark) == rows
    assert {*files.iterdir()} == before
    assert values == {sr.evaluate(path, metrics, catalog=items, **roles)[metrics[0]]}
    with sr.evaluate(path, metrics, **more) as ev:
        count = ev.groups.count()
    assert ev.groups.count() == count
