"""The scan lane evaluates files of whole groups in the tasks that read them, with the bits of the shuffle."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import sparkrank as sr
from benchmarks.memory import peak_of, pyspark_workers
from benchmarks.sets import SETS
from sparkrank.base.errors import InputError, SpecError
from sparkrank.engines.spark import scan
from tests.conftest import SUMMARY
from tests.engines.test_colocation import evaluated, lists, written
from tests.wide_logs import LOGS, differences, written_whole

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize(("name", "grouped"), [("slices", "files"), ("truth", "folders"), ("exact", "sorted")])
def test_tasks_give_the_bits_of_the_shuffle(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, grouped: str
) -> None:
    """Of small files several share a task, and of large ones each has its own."""
    log = LOGS[name]()
    path, truth = written_whole(log, tmp_path, grouped)
    expected = log.bits(*log.in_memory(), buckets=9)
    for rows in (1, 1 << 20):
        monkeypatch.setattr(scan, "LEAST_TASK_ROWS", rows)
        tables = log.bits(path, truth, buckets=9, spark=spark, grouped=grouped)
        assert tables["lane"] == [{"lane": "scan"}]
        assert differences(expected, tables) == []


def test_a_group_in_two_files_is_refused_by_name(spark: SparkSession, tmp_path: Path) -> None:
    path = written(tmp_path, a=lists(7, 1842), b=[*lists(8), (1842, 0.5, 1)])
    with pytest.raises(InputError, match=r"^user_id 1842 is in a.parquet and b.parquet: grouped: files does not hold"):
        evaluated(path, "files", spark=spark)
    with pytest.raises(InputError, match=r"^a group is in a.parquet and b.parquet: grouped: files does not hold"):
        evaluated(path, "files", spark=spark, group_table=False)  # results are sent by RDDs
    unchecked = evaluated(path, "files unchecked", spark=spark, group_table=False)
    assert unchecked["rr"] == (1 / 2 + 1 + 1 + 1) / 4
    assert evaluated(written(tmp_path / "whole", a=lists(7), b=lists(8)), "files", spark=spark)["rr"] == 3 / 4


def test_the_files_of_tables_that_spark_bucketed_by_user_hold_whole_users(spark: SparkSession, tmp_path: Path) -> None:
    """Each task that wrote rows of a bucket has made a file of it. User u has the items 0, 1 and 2; 1 + u % 2 is true.

    The table has no location of its own: its folder is that of Spark's catalog.
    """
    users = spark.range(0, 60, 1, 3)  # three tasks
    lists = users.selectExpr("id % 20 AS u", "id DIV 20 AS i", "1.0D / (1 + id DIV 20) AS s")
    truth = spark.range(0, 20, 1, 2).selectExpr("id AS u", "1 + id % 2 AS i")
    try:
        places = {}
        for name, rows in {"lists": lists, "truth": truth}.items():
            rows.write.bucketBy(4, "u").saveAsTable(f"bucketed_{name}")
            described = {
                row.col_name: row.data_type for row in spark.sql(f"DESCRIBE EXTENDED bucketed_{name}").collect()
            }
            places[name] = str(described["Location"]).removeprefix("file:")
        assert len(list(Path(places["lists"]).glob("*.parquet"))) > 4
        asked: dict[str, Any] = {"group": "u", "item": "i", "score": "s", "spark": spark, "grouped": "files"}
        evaluation = sr.evaluate(places["lists"], ["rr"], truth=places["truth"], **asked)
        assert evaluation["rr"] == pytest.approx((1 / 2 + 1 / 3) / 2)
        of_lists = sr.evaluate(places["lists"], ["rr"], **{**asked, "item": None, "label": "i"})
        assert of_lists["rr"] == 1 / 2  # the first item, 0, is no hit
    finally:
        for name in ("lists", "truth"):
            spark.sql(f"DROP TABLE IF EXISTS bucketed_{name}")


def test_frames_have_no_files_that_hold_groups(spark: SparkSession, tmp_path: Path) -> None:
    path = written(tmp_path, a=lists(7))
    with pytest.raises(SpecError, match=r"^grouped is files, but the input is a Spark DataFrame: files named by path"):
        evaluated(spark.read.parquet(path), "files")  # type: ignore[arg-type]
    with pytest.raises(SpecError, match=r"^grouped is files, but the lane is frame \(lane is frame\), in which Spark"):
        evaluated(path, "files", spark=spark, lane="frame")


USERS, SHOWN, USERS_AT_ONCE = 2_500_000, 20, 50_000  # of a sorted file


def write_sorted(path: Path) -> None:
    """Users in their order. Of the items of user u, in any order, the one with the (u % 20 + 1)th score is relevant."""
    kinds = pa.schema({"user_id": pa.int64(), "score": pa.float64(), "label": pa.int8()})
    rng = np.random.default_rng(59)
    with pq.ParquetWriter(path, kinds) as writer:
        for first in range(0, USERS, USERS_AT_ONCE):
            users = np.arange(first, first + USERS_AT_ONCE)
            scores = rng.random((USERS_AT_ONCE, SHOWN))
            of_label = np.argsort(-scores, axis=1)[np.arange(USERS_AT_ONCE), users % SHOWN]
            labels = of_label[:, np.newaxis] == np.arange(SHOWN)
            rows = [np.repeat(users, SHOWN), scores.ravel(), labels.ravel().astype(np.int8)]
            writer.write_table(pa.table(rows, schema=kinds))


@pytest.mark.long  # the bits are those of smaller files
@pytest.mark.skipif(sys.platform != "linux", reason="peaks of memory are read where Linux has them")
def test_a_worker_evaluates_a_sorted_file_of_any_size_below_a_gigabyte(
    spark: SparkSession, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    write_sorted(tmp_path / "log.parquet")
    columns: dict[str, Any] = {"group": "user_id", "score": "score", "label": "label", "grouped": "sorted"}
    log, groups = str(tmp_path / "log.parquet"), str(tmp_path / "groups")
    with peak_of(pyspark_workers) as peak:
        evaluation = sr.evaluate(log, SETS["nightly"], spark=spark, group_table=groups, **columns)
    assert evaluation.lane == "scan"
    record_property(SUMMARY, f"the largest worker of a sorted file of {USERS * SHOWN:,} rows held {peak[0] >> 20} MiB")
    assert 0 < peak[0] < 1 << 30
    assert ds.dataset(groups).count_rows() == USERS
    places = np.arange(1, SHOWN + 1)  # each is that of the only relevant item of as many users
    first_ten = places[:10]
    expected = {"rr": (1 / places).sum(), "ap": (1 / places).sum(), "ndcg@10": (1 / np.log2(first_ten + 1)).sum()}
    expected |= {"p@10": 10 / 10, "hit@10": 10, "gauc": ((SHOWN - places) / (SHOWN - 1)).sum()}
    assert {name: evaluation[name] for name in expected} == pytest.approx(
        {name: total / SHOWN for name, total in expected.items()}, rel=1e-9
    )
