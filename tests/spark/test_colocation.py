"""The scan lane evaluates files of whole groups in the tasks that read them, with the bits of the shuffle."""

from __future__ import annotations

import logging
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as F

import sparkrank as sr
from benchmarks.memory import peak_of, pyspark_workers
from benchmarks.sets import SETS
from sparkrank.base.errors import InputError, SpecError
from sparkrank.config import Spec
from sparkrank.config.sections import Columns, Input
from sparkrank.engines.lanes import Lane
from sparkrank.engines.spark import scan
from sparkrank.inputs.roles import Roles
from sparkrank.jobs import evaluate_day
from sparkrank.metrics import plan_of
from sparkrank.run.stages import Stages
from sparkrank.sources import colocation
from tests.conftest import SUMMARY
from tests.engines.test_colocation import evaluated, lists, written
from tests.spark.logs import bits_of
from tests.spark.small import lane_of
from tests.wide_logs import LOGS, differences, written_whole

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    class Bucketed(Protocol):
        def __call__(self, rows: DataFrame, buckets: int, *columns: str, parts: Sequence[str] = ()) -> str: ...


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


@pytest.fixture
def bucketed(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bucketed]:
    """A function that makes a bucketed table of Spark's catalog, which lives as long as the test, and returns its name.

    Each task that wrote rows of a bucket has made a file of it. Few rows and one core are enough for ``auto``.
    """
    monkeypatch.setattr(colocation, "LEAST_PARTITION_ROWS", 1)
    monkeypatch.setattr("sparkrank.engines.spark.scan_lane.core_count", lambda spark: 1)
    names: list[str] = []

    def write(rows: DataFrame, buckets: int, *columns: str, parts: Sequence[str] = ()) -> str:
        names.append(f"bucketed_{len(names)}")
        writer = rows.write.bucketBy(buckets, *columns)
        (writer.partitionBy(*parts) if parts else writer).saveAsTable(names[-1])
        return names[-1]

    yield write
    for name in names:
        spark.sql(f"DROP TABLE {name}")


def folder_of(spark: SparkSession, table: str) -> Path:
    described = {row.col_name: row.data_type for row in spark.sql(f"DESCRIBE EXTENDED {table}").collect()}
    return Path(str(described["Location"]).removeprefix("file:"))


def shop(spark: SparkSession) -> tuple[DataFrame, DataFrame]:
    """Lists and truth, from three tasks and two. User u has the items 0, 1 and 2 in this order; 1 + u % 2 is true."""
    rows = spark.range(0, 60, 1, 3).selectExpr("id % 20 AS u", "id DIV 20 AS i", "1.0D / (1 + id DIV 20) AS s")
    return rows, spark.range(0, 20, 1, 2).selectExpr("id AS u", "1 + id % 2 AS i")


ASKED: dict[str, Any] = {"metrics": ["rr", "ndcg@2"], "group": "u", "item": "i", "score": "s"}
RR = (1 / 2 + 1 / 3) / 2


def test_the_files_of_tables_that_spark_bucketed_by_user_hold_whole_users(
    spark: SparkSession, bucketed: Bucketed
) -> None:
    places = [folder_of(spark, bucketed(rows, 4, "u")) for rows in shop(spark)]
    lists, truth = map(str, places)
    assert len(list(places[0].glob("*.parquet"))) > 4
    asked = {**ASKED, "spark": spark, "grouped": "files"}
    assert sr.evaluate(lists, truth=truth, **asked)["rr"] == pytest.approx(RR)
    of_lists = sr.evaluate(lists, **{**asked, "item": None, "label": "i", "metrics": ["rr"]})
    assert of_lists["rr"] == 1 / 2  # the first item, 0, is no hit


def test_a_table_that_spark_bucketed_by_user_says_so_itself(
    spark: SparkSession, bucketed: Bucketed, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """With the bits of the shuffle, and of the rows that Spark reads."""
    caplog.set_level(logging.INFO, "sparkrank")
    lists, truth = (spark.table(bucketed(rows, 4, "u")) for rows in shop(spark))
    assert len(lists.inputFiles()) > 4
    shuffled = sr.evaluate(lists, truth=truth, grouped="shuffle", **ASKED)
    sent = sr.evaluate(lists, truth=truth, lane="frame", **ASKED)
    with monkeypatch.context() as patch:
        patch.setattr(scan, "pairs_of", None)  # which sends rows to their buckets
        whole = sr.evaluate(lists, truth=truth, **ASKED)
        with pytest.raises(TypeError):
            sr.evaluate(lists, truth=truth, grouped="shuffle", **ASKED)
    assert whole["rr"] == pytest.approx(RR)
    bits = bits_of(whole)
    assert [bits_of(shuffled), bits_of(sent)] == [bits, bits]
    reasons = [message for message in caplog.messages if message.startswith("lane scan")]
    assert reasons[1] == (
        "lane scan: the input is a DataFrame that only reads Parquet files; partitions by 4 buckets of u int64 hold "
        "whole groups, so that no rows are shuffled"
    )


def test_buckets_that_do_not_fit_are_shuffled(
    spark: SparkSession, bucketed: Bucketed, caplog: pytest.LogCaptureFixture
) -> None:
    """Spark's hash of a number depends on its type, and that of two columns is another than that of one."""
    caplog.set_level(logging.INFO, "sparkrank")
    lists, truth = (rows.withColumn("w", rows.u % 2) for rows in shop(spark))
    by_user, true, unnumbered = bucketed(lists, 4, "u"), bucketed(truth, 4, "u"), bucketed(truth, 4, "u")
    by_both = bucketed(lists, 4, "w", "u"), bucketed(truth, 4, "w", "u")
    of_floats = [bucketed(rows.withColumn("u", rows.u.cast("double")), 4, "u") for rows in (lists, truth)]
    file = next(folder_of(spark, unnumbered).glob("*_00000.*.parquet"))
    cases: dict[str, tuple[str, str, str | list[str]]] = {
        "another number": (by_user, bucketed(truth, 8, "u"), "u"),
        "another type": (bucketed(lists.withColumn("u", lists.u.cast("int")), 4, "u"), true, "u"),
        "a part of the group": (by_user, true, ["u", "w"]),
        "all of the group": (*by_both, ["u", "w"]),
        "more than the group": (*by_both, "u"),
        "another column": (bucketed(lists, 4, "i"), true, "u"),
        "floats": (of_floats[0], of_floats[1], "u"),
        "a file without a number": (by_user, unnumbered, "u"),
    }
    file.rename(file.with_name("part-00000-other.parquet"))
    spark.catalog.refreshTable(unnumbered)
    for one, other, group in cases.values():
        found = sr.evaluate(spark.table(one), truth=spark.table(other), **{**ASKED, "group": group})
        assert found["rr"] == pytest.approx(RR)
    whole = "partitions by {} hold whole groups, {}"
    shuffled, not_all = "so that no rows are shuffled", "but not all files are in such partitions"
    said = [message.rpartition("; ")[2] for message in caplog.messages if message.startswith("lane")]
    assert dict(zip(cases, said, strict=True)) == {
        "another number": whole.format("4 buckets of u int64, 8 buckets of u int64", not_all),
        "another type": whole.format("4 buckets of u int32, 4 buckets of u int64", not_all),
        "a part of the group": whole.format("4 buckets of u int64", shuffled),
        "all of the group": whole.format("4 buckets of w int64, u int64", shuffled),
        "more than the group": "lane scan: the input is a DataFrame that only reads Parquet files",
        "another column": whole.format("4 buckets of u int64", not_all),
        "floats": "lane scan: the input is a DataFrame that only reads Parquet files",
        "a file without a number": whole.format("4 buckets of u int64", not_all),
    }


def test_a_user_whose_rows_stand_in_a_bucket_of_others_is_refused_by_name(
    spark: SparkSession, bucketed: Bucketed
) -> None:
    lists, truth = (bucketed(rows, 4, "u") for rows in shop(spark))
    folder = folder_of(spark, lists)
    right = next(file for file in folder.glob("*_00000.*.parquet"))
    right.with_name(right.name.replace("_00000.", "_00001.")).write_bytes(right.read_bytes())
    spark.catalog.refreshTable(lists)
    asked = {"truth": spark.table(truth), **ASKED}
    refused = "the partitions by 4 buckets of u int64 do not hold whole groups; write grouped: shuffle"
    with pytest.raises(InputError, match=rf"^u \d+ is in .*: {refused}$"):
        sr.evaluate(spark.table(lists), **asked)
    assert sr.evaluate(spark.table(lists), grouped="shuffle", **asked)["rr"] > 0


DAY, OTHER = "2026-11-19", "2026-11-18"


def test_a_bucket_of_a_table_is_read_from_all_partitions_that_the_condition_leaves(
    spark: SparkSession, bucketed: Bucketed, tmp_path: Path
) -> None:
    """Of each list two items are in the partition of the day, and the last one in another. Nobody opens a third."""
    lists, truth = shop(spark)
    days = lists.withColumn("dt", F.when(lists.i < 2, DAY).otherwise(OTHER))
    torn = days.union(spark.range(1).selectExpr("id AS u", "id AS i", "0.5D AS s", "'2026-11-01' AS dt"))
    table = bucketed(torn.withColumn("town", F.lit("Köln: a/b")), 4, "u", parts=["dt", "town"])
    for file in (folder_of(spark, table) / "dt=2026-11-01").rglob("*.parquet"):
        file.write_text("no Parquet")
    document: dict[str, Any] = {
        "truth": {"table": bucketed(truth, 4, "u")},
        "metrics": ["rr"],
        "output": {"path": f"{tmp_path}/out"},
    }
    found = {}
    for where in ("dt = '{date}'", f"dt IN ('{DAY}', '{OTHER}') AND s > 0.0"):
        rows = {"table": table, "where": where, "columns": {"group": "u", "item": "i", "score": "s"}}
        found[where] = evaluate_day(Spec.model_validate({"input": rows, **document}), DAY, spark, Stages())
    whole = "partitions by 4 buckets of u int64 hold whole groups, so that no rows are shuffled"
    reasons = {result.lane_reason for result in found.values()}
    assert reasons == {f"the input is a bucketed table of Parquet files; {whole}"}
    assert [result.metrics["value"].to_pylist() for result in found.values()] == [
        [(1 / 2 + 0) / 2],
        [pytest.approx(RR)],
    ]


def test_spark_reads_a_bucketed_table_that_is_more_than_its_files(
    spark: SparkSession, bucketed: Bucketed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And says that it is bucketed. Each table differs in one way from the first, which Arrow reads."""
    rows = spark.range(40).selectExpr("string(id % 9) AS u", "0.5D AS s", "id % 2 AS y")
    rows = rows.withColumn("dt", F.when(rows.y == 0, DAY).otherwise(OTHER))
    table = bucketed(rows, 2, "u", parts=["dt"])
    of_dates = bucketed(rows.withColumn("dt", F.to_date("dt")), 2, "u", parts=["dt"])
    folder = folder_of(spark, table)
    lanes = {}

    def lane(name: str = table, **more: str) -> Lane:
        given = Input(table=name, columns=Columns(group=["u"], score="s", label="y"), **more)
        return lane_of(given, "auto", Roles.of(["u"], "y", "s"), plan_of(["ap"], ["s"], ["u"]), spark)

    def moved(day: str, where: Path) -> None:
        spark.sql(f"ALTER TABLE {table} PARTITION (dt = '{day}') SET LOCATION '{where}'")

    first = lane(where=f"dt = '{DAY}'")
    assert (first.name, first.rows()) == ("scan", 20)
    lanes["a path"] = lane(f"parquet.`{folder}`")
    lanes["another condition"] = lane(where="y = 0 OR y = 1")
    for name, kind, options in (("padded texts", "CHAR(3)", ""), ("an option", "STRING", "OPTIONS (mergeSchema true)")):
        columns, how = f"(u {kind}, s DOUBLE, y BIGINT)", f"{options} CLUSTERED BY (u) INTO 2 BUCKETS"
        spark.sql(f"CREATE TABLE bucketed_by_sql {columns} USING parquet {how}")
        spark.sql("INSERT INTO bucketed_by_sql VALUES ('a', 0.5D, 1)")
        lanes[name] = lane("bucketed_by_sql")
        spark.sql("DROP TABLE bucketed_by_sql")
    mixed = bucketed(rows.withColumn("hour", F.lit(7)), 2, "u", parts=["dt", "hour"])
    assert lane(mixed, where="hour = 7").name == "scan"
    lanes["days beside numbers"] = lane(mixed, where=f"dt = '{DAY}'")  # which folders alone say are dates
    lanes["days that are dates"] = lane(of_dates, where=f"dt = '{DAY}'")
    lanes["no rows"] = lane(where="dt = '2026-11-20'")
    moved(OTHER, folder / f"dt={DAY}")
    lanes["a folder twice"] = lane()
    moved(DAY, folder / f"dt={OTHER}")
    lanes["folders of each other"] = lane()
    shutil.copytree(folder / f"dt={DAY}", tmp_path / f"dt={DAY}")
    moved(OTHER, folder / f"dt={OTHER}")
    moved(DAY, tmp_path / f"dt={DAY}")
    lanes["a folder elsewhere"] = lane()
    moved(DAY, folder / f"dt={DAY}")
    assert lane().name == "scan"
    spark.catalog.cacheTable(table)
    lanes["a cached table"] = lane()
    spark.catalog.uncacheTable(table)
    spark.table(table).createOrReplaceTempView("bucketed_rows")
    lanes["a view"] = lane("bucketed_rows")
    spark.catalog.dropTempView("bucketed_rows")
    monkeypatch.setenv("SPARKRANK_PRIVATE_SPARK", "0")
    lanes["public interfaces alone"] = lane()
    assert [name for name, each in lanes.items() if each.name != "frame"] == []
    said = "; buckets of input hold whole groups: path with grouped: files may save the shuffle"
    assert [name for name, each in lanes.items() if not each.reason.endswith(said)] == ["a path", "a view"]


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
