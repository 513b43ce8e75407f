"""A DataFrame that only reads local Parquet files is read by Arrow, with the same bits. Every other one is Spark's."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as F

import sparkrank as sr
from sparkrank.base.checks import NO_LIMITS
from sparkrank.engines.lanes import Lane
from sparkrank.engines.request import Request
from sparkrank.inputs.roles import Roles
from sparkrank.metrics import plan_of
from sparkrank.run.lane import open_lane
from sparkrank.sources.side_rows import SideRows
from tests.spark.logs import bits_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    Make = Callable[[SparkSession, str], DataFrame]

PLAN = plan_of(["ap"], ["score"], ["user"])
ASKED = {
    "metrics": ["ap", "ndcg@2", "auc"],
    "group": ["user", "week"],
    "score": "score",
    "label": "label",
    "buckets": 3,
}
BIRTHS = pa.array([dt.date(2026, 11, 19)] * 4)


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A log in files, and others that differ in one way each. The first is in folders that give a column."""
    folder = tmp_path_factory.mktemp("logs")
    for number in range(3):
        rows = pa.table(
            {
                "user": [1, 1, 2, 3],
                "score": [0.5, 0.25 * number, 0.1, 0.3],
                "label": [number % 2, 1, 1, 0],
                "born": BIRTHS,
            }
        )
        kinds = {
            "log": rows,
            "narrow": rows.cast(rows.schema.set(2, pa.field("label", pa.int32()))) if number else rows,
            "lacking": rows.drop_columns(["label"]) if number else rows,
            "decimals": rows.set_column(2, "label", rows["label"].cast(pa.decimal128(20, 1))),
            "unsigned": rows.set_column(2, "label", rows["label"].cast(pa.uint8())),
            "cases": rows.append_column("Label", rows["label"]),
        }
        for name, table in kinds.items():
            place = folder / name / (f"week={number}" if name == "log" else "")
            place.mkdir(parents=True, exist_ok=True)
            pq.write_table(table, place / f"{number}.parquet")
    return str(folder)


def _log(spark: SparkSession, logs: str) -> DataFrame:
    return spark.read.parquet(f"{logs}/log")


TAKEN: dict[str, Make] = {
    "a folder": _log,
    "a folder by another name": lambda spark, logs: spark.read.format("parquet").load(f"file://{logs}/narrow/../log/"),
    "one file": lambda spark, logs: spark.read.parquet(f"{logs}/narrow/1.parquet"),
    "columns": lambda spark, logs: _log(spark, logs).select("label", "score", "user", "week"),
    "without columns": lambda spark, logs: _log(spark, logs).drop("born").alias("log"),
    "its own schema": lambda spark, logs: spark.read.schema(_log(spark, logs).schema).parquet(f"{logs}/log"),
    "decimals": lambda spark, logs: spark.read.parquet(f"{logs}/decimals"),
}


def _cached(spark: SparkSession, logs: str) -> DataFrame:
    return spark.read.parquet(f"{logs}/log").where("true").drop("born").cache()


def _with_option(name: str, value: str) -> Make:
    return lambda spark, logs: spark.read.option(name, value).parquet(f"{logs}/log")


def _in(kind: str, schema: str | None = None) -> Make:
    def make(spark: SparkSession, logs: str) -> DataFrame:
        reader = spark.read if schema is None else spark.read.schema(schema)
        return reader.parquet(f"{logs}/{kind}")

    return make


LEFT: dict[str, Make] = {
    "a filter": lambda spark, logs: _log(spark, logs).where("score > 0.2"),
    "a filter of folders": lambda spark, logs: _log(spark, logs).where("week = 1"),
    "a join": lambda spark, logs: _log(spark, logs).join(spark.range(2).withColumnRenamed("id", "user"), "user"),
    "distinct rows": lambda spark, logs: _log(spark, logs).distinct(),
    "a sample": lambda spark, logs: _log(spark, logs).sample(0.5, seed=1),
    "a limit": lambda spark, logs: _log(spark, logs).limit(5),
    "a union": lambda spark, logs: _log(spark, logs).union(_log(spark, logs)),
    "another value": lambda spark, logs: _log(spark, logs).withColumn("score", 1 - F.col("score")),
    "two columns swapped": lambda spark, logs: _log(spark, logs).toDF("label", "score", "user", "born", "week"),
    "another name": lambda spark, logs: _log(spark, logs).withColumnRenamed("user", "who").withColumn("user", F.lit(1)),
    "elements": lambda spark, logs: _log(spark, logs).withColumn("user", F.explode(F.array("user", "label"))),
    "a path twice": lambda spark, logs: spark.read.parquet(f"{logs}/log", f"{logs}/log"),
    "two paths": lambda spark, logs: spark.read.parquet(f"{logs}/narrow/1.parquet", f"{logs}/narrow/2.parquet"),
    "a view": lambda spark, logs: (_log(spark, logs).createOrReplaceTempView("log"), spark.table("log"))[1],
    "rows in memory": lambda spark, logs: spark.createDataFrame(_log(spark, logs).toArrow()),
    "rows of Python": lambda spark, logs: _log(spark, logs).mapInArrow(
        lambda batches: batches, _log(spark, logs).schema
    ),
    "cached rows": _cached,
    "a pattern of files": _with_option("pathGlobFilter", "[01].parquet"),
    "files of a time": _with_option("modifiedAfter", "2020-01-01T00:00:00"),
    "folders without columns": _with_option("recursiveFileLookup", "true"),
    "corrupt files left out": _with_option("ignoreCorruptFiles", "true"),
    "schemas merged": _with_option("mergeSchema", "true"),
    "old calendars": _with_option("datetimeRebaseMode", "LEGACY"),
    "another type": _in("log", "user long, score double, label double, week int"),
    "a column that files lack": _in("lacking", "user long, score double, label long"),
    "unsigned numbers": _in("unsigned"),
    "other formats": lambda spark, logs: (
        spark.read.format("binaryFile")
        .load(f"{logs}/log")
        .select(F.col("length").alias("user"), F.lit(0.5).alias("score"), F.lit(1).alias("label"))
    ),
}
SETTINGS = {
    "spark.sql.files.ignoreCorruptFiles": "true",
    "spark.sql.files.ignoreMissingFiles": "true",
    "spark.sql.parquet.fieldId.read.enabled": "true",
    "parquet.crypto.factory.class": "org.example.Keys",
}


def _lane(frame: DataFrame, *groups: str, lane: str = "auto") -> Lane:
    roles = Roles.of(list(groups or ("user",)), "label", "score")
    plan = replace(PLAN, keys=groups) if groups else PLAN
    return open_lane(Request((SideRows.of("input", frame),), None, roles, plan, NO_LIMITS, lane))


@contextmanager
def _setting(spark: SparkSession, name: str, value: str) -> Iterator[None]:
    before = spark.conf.get(name, None)
    spark.conf.set(name, value)
    try:
        yield
    finally:
        spark.conf.unset(name) if before is None else spark.conf.set(name, before)


@pytest.mark.parametrize("name", TAKEN)
def test_arrow_reads_a_dataframe_that_only_reads_files(spark: SparkSession, logs: str, name: str) -> None:
    frame = TAKEN[name](spark, logs)
    chosen = _lane(frame)
    assert (chosen.name, chosen.reason) == ("scan", "the input is a DataFrame that only reads Parquet files")
    assert _lane(frame, lane="frame").name == "frame"
    assert chosen.rows() == frame.count()


def test_spark_reads_every_other_dataframe(
    spark: SparkSession, logs: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lanes = {name: _lane(make(spark, logs)).name for name, make in LEFT.items()}
    of_texts = _in("log", "user long, score double, label long, week string")(spark, logs)
    lanes["another type of folders"] = _lane(of_texts, "user", "week").name
    lanes["a date"] = _lane(_log(spark, logs), "user", "born").name
    frame = _log(spark, logs)
    for name, value in SETTINGS.items():
        with _setting(spark, name, value):
            lanes[name] = _lane(frame).name
    with _setting(spark, "spark.sql.sources.useV1SourceList", ""):
        lanes["the second interface of sources"] = _lane(_log(spark, logs)).name
    with _setting(spark, "spark.sql.caseSensitive", "true"):
        lanes["names that differ by case"] = _lane(spark.read.parquet(f"{logs}/cases")).name
    with _setting(spark, "spark.sql.sources.partitionColumnTypeInference.enabled", "false"):
        lanes["folders of texts"] = _lane(_log(spark, logs), "user", "week").name
    rows = pq.read_table(f"{logs}/log/week=0/0.parquet")
    pq.write_table(rows, tmp_path / "a.parquet")
    frame = spark.read.parquet(str(tmp_path))
    pq.write_table(pa.concat_tables([rows] * 50), tmp_path / "a.parquet")
    lanes["a larger file"] = _lane(frame).name
    table = spark.read.parquet(f"{logs}/log").drop("born")
    table.write.mode("overwrite").saveAsTable("scanned")
    lanes["a table"] = _lane(spark.table("scanned")).name
    spark.sql("drop table scanned")
    monkeypatch.setenv("SPARKRANK_PRIVATE_SPARK", "0")
    lanes["public interfaces alone"] = _lane(_log(spark, logs)).name
    spark.catalog.clearCache()
    assert [name for name, lane in lanes.items() if lane != "frame"] == []


def test_a_file_that_came_after_the_dataframe_is_read_by_nobody(spark: SparkSession, tmp_path: Path) -> None:
    rows = pa.table({"user": [1], "score": [0.5], "label": [1]})
    pq.write_table(rows, tmp_path / "a.parquet")
    frame = spark.read.parquet(str(tmp_path))
    pq.write_table(rows, tmp_path / "b.parquet")
    chosen = _lane(frame)
    assert (chosen.name, chosen.rows(), frame.count()) == ("scan", 1, 1)


def test_arrow_and_spark_give_the_same_bits_of_a_dataframe(spark: SparkSession, logs: str) -> None:
    """Also where one side alone is a DataFrame that only reads files."""
    frame = _log(spark, logs)
    with sr.evaluate(frame, **ASKED) as read, sr.evaluate(frame, lane="frame", **ASKED) as sent:
        assert (read.lane, sent.lane) == ("scan", "frame")
        assert bits_of(read) == bits_of(sent)
    joined = {**ASKED, "metrics": ["ap", "r@2"], "item": "score"}
    evaluations = [
        sr.evaluate(frame.drop("label"), truth=truth, spark=spark, lane=lane, **joined)
        for truth, lane in ((frame.drop("born"), "scan"), (f"{logs}/log", "auto"), (frame, "frame"))
    ]
    assert [each.lane for each in evaluations] == ["scan", "scan", "frame"]
    one, *others = map(bits_of, evaluations)
    assert others == [one, one]
