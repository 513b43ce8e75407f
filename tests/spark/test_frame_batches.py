"""Rows of a DataFrame reach the cutting in Arrow batches: none lost, none twice, whatever Spark makes of them."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import functions as F

import sparkrank as sr
from sparkrank.engines.spark import batches as frame_batches

if TYPE_CHECKING:
    from pyspark import RDD
    from pyspark.sql import DataFrame, SparkSession

SCHEMA = pa.schema({"key_0": pa.string(), "label": pa.int64(), "score_0": pa.float64()})


def _batches(sizes: list[int]) -> list[pa.RecordBatch]:
    """Batches of so many rows, of which each is told by its label; every fifth has no key."""
    ends = np.cumsum([0, *sizes])
    rows = [range(start, end) for start, end in itertools.pairwise(ends.tolist())]
    return [
        pa.record_batch([[f"u{row % 50}" if row % 5 else None for row in each], list(each), [0.5] * len(each)], SCHEMA)
        for each in rows
    ]


def _held(batches: list[pa.RecordBatch]) -> list[list[int]]:
    """The labels of the rows that are cut together, a list for each time that rows are cut."""
    return [rows["label"].to_pylist() for rows in frame_batches.gathered_rows(batches, SCHEMA)]


@given(st.lists(st.integers(0, 40), max_size=8), st.integers(1, 60), st.booleans())
def test_every_row_is_cut_once(sizes: list[int], held: int, by_size: bool) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(frame_batches, "GATHERED_BYTES" if by_size else "GATHERED_ROWS", held)
        cut = _held(_batches(sizes))
    assert sorted(itertools.chain.from_iterable(cut)) == list(range(sum(sizes)))


def test_rows_are_cut_as_soon_as_so_many_rows_or_bytes_are_held(monkeypatch: pytest.MonkeyPatch) -> None:
    batches = _batches([10] * 7)
    with monkeypatch.context() as patch:
        patch.setattr(frame_batches, "GATHERED_ROWS", 25)
        # the third batch makes it 30, and so does the sixth; ten rows are left
        assert _held(batches) == [list(range(30)), list(range(30, 60)), list(range(60, 70))]
    monkeypatch.setattr(frame_batches, "GATHERED_BYTES", batches[0].nbytes + batches[1].nbytes)
    assert list(map(len, _held(batches))) == [20, 20, 20, 10]


def test_partitions_without_rows(spark: SparkSession) -> None:
    rows = spark.range(0, 60, 1, 6).selectExpr("id div 3 as user", "id / 60 as score", "id % 3 = 1 as label")
    settings = {"group": "user", "score": "score", "label": "label", "buckets": 3}
    with sr.evaluate(rows.where("id >= 54"), ["rr"], **settings) as evaluation:  # in the last of six partitions
        # users 18 and 19: the hit stands second of three
        assert evaluation.to_pandas().loc[0, ["value", "n_groups"]].tolist() == [1 / 2, 2]
    with pytest.raises(sr.InputError, match="the input has no rows"):
        sr.evaluate(rows.where("id < 0"), ["rr"], **settings)


def test_the_session_may_say_how_wide_and_where(spark: SparkSession) -> None:
    """Large Arrow types, a time zone and small batches are the session's affair: keys come back as they were."""
    session = spark.newSession()
    session.conf.set("spark.sql.execution.arrow.useLargeVarTypes", "true")
    session.conf.set("spark.sql.session.timeZone", "Europe/Vienna")
    session.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "7")
    texts, instants, raw = "concat('ü', id % 5)", "cast(id % 4 as timestamp)", "unhex(concat('ff0', id % 3))"
    rows = session.range(120).selectExpr(
        f"{texts} text", f"{instants} at", f"{raw} raw", "id item", "id / 120 score", "id % 2 label"
    )
    keys = ["text", "at", "raw"]
    with sr.evaluate(rows, ["p@1"], group=keys, score="score", label="label", item="item", ties="item") as evaluation:
        # 120 rows of 60 keys, two each, 60 apart: even ids have label 0, odd 1, and p@1 is that of the key
        assert evaluation.to_pandas().loc[0, ["value", "n_groups"]].tolist() == [1 / 2, 60]
        groups = evaluation.groups.select(*keys).collect()
        assert sorted(map(repr, groups)) == sorted(map(repr, rows.select(*keys).distinct().collect()))


@pytest.fixture(autouse=True)
def _is_active(spark: SparkSession) -> None:
    """A test before may have left another session active, whose settings may differ: rows then go the public way."""
    spark.createDataFrame([(1,)], "one int")


def _batches_of_spark(rows: DataFrame) -> RDD[bytes] | None:
    with frame_batches.settings_in_tasks(rows.sparkSession):
        return frame_batches.arrow_batches(rows, rows.sparkSession.sparkContext)


def test_a_type_that_arrow_may_hold_in_several_ways_is_mapped(spark: SparkSession) -> None:
    rows = spark.range(60).selectExpr("make_dt_interval(0, 0, 0, id div 2) k", "id / 60 score", "id % 2 label")
    assert _batches_of_spark(rows) is None
    with sr.evaluate(rows, ["p@1"], group="k", score="score", label="label") as evaluation:
        assert evaluation.to_pandas().loc[0, ["value", "n_groups"]].tolist() == [1, 30]  # the odd one stands first


def test_settings_of_the_session_hold_where_rows_are_made(spark: SparkSession, tmp_path: Path) -> None:
    """Of two that Spark looks up: one where it makes code, of the active session, and one in the task, of another.

    Maps become texts as ``[0 -> 1]``, not ``{0 -> 1}``; the strict parser of dates refuses days of one digit.
    """
    date = "from_csv(concat('2026-1-', 1 + id div 2), 'a date', map('dateFormat', 'yyyy-MM-dd')).a"
    maps = ("legacy.castComplexTypesToString.enabled", "true", "map(id div 2, 1)", [f"[{n} -> 1]" for n in range(3)])
    dates = ("legacy.timeParserPolicy", "LEGACY", date, [f"2026-01-0{n}" for n in (1, 2, 3)])
    for session, (setting, value, key, keys) in ((spark, maps), (spark.newSession(), dates)):
        session.conf.set(f"spark.sql.{setting}", value)
        try:
            rows = session.range(6).selectExpr(f"cast({key} as string) user", "id / 6 score", "id % 2 label")
            # Spark would make code by the settings of the active session
            assert (_batches_of_spark(rows) is None) is (session is not spark)
            # written by the tasks, so that Spark SQL runs nothing that would bring its settings along
            folder = str(tmp_path / setting)
            sr.evaluate(rows, ["p@1"], group="user", score="score", label="label", group_table=folder)
            assert sorted(pq.read_table(folder)["user"].to_pylist()) == keys
        finally:
            session.conf.unset(f"spark.sql.{setting}")
        assert spark.sparkContext.getLocalProperty(f"spark.sql.{setting}") is None


def test_a_plan_that_spark_adapts(spark: SparkSession) -> None:
    """Joins and aggregations run in stages, of which the last one gives the batches."""
    clicks = spark.range(0, 600, 1, 3).selectExpr("id % 60 item", "id % 20 user", "id").groupBy("user", "item")
    clicks = clicks.agg(F.count("*").alias("n"))
    scores = spark.range(60).selectExpr("id item", "1 - id / 60 score")
    rows = clicks.join(scores, "item").withColumn("label", F.expr("cast(item < 20 as int)"))
    assert spark.conf.get("spark.sql.adaptive.enabled") == "true"
    assert _batches_of_spark(rows) is not None
    with sr.evaluate(rows, ["p@1", "p@2"], group="user", score="score", label="label") as evaluation:
        # user u has the items u, u + 20 and u + 40, of which the first has the highest score and the label
        assert evaluation.to_pandas()[["value", "n_groups"]].to_numpy().tolist() == [[1, 20], [1 / 2, 20]]


def test_settings_and_a_spark_under_which_batches_are_mapped(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other types than were agreed, batches that only their bytes would end, and a Spark without batches of its own."""
    rows = spark.range(5).selectExpr("concat('u', id) name")
    for setting, value in (("useLargeVarTypes", "true"), ("maxRecordsPerBatch", "0")):
        name = f"spark.sql.execution.arrow.{setting}"
        assert _batches_of_spark(rows) is not None
        before = spark.conf.get(name)
        spark.conf.set(name, value)
        try:
            assert _batches_of_spark(rows) is None
        finally:
            spark.conf.set(name, before)

    class Changed:
        def __getattr__(self, name: str) -> object:
            return getattr(spark.range(1)._jdf, name.replace("toArrowBatchRdd", "toSomethingElse"))

    monkeypatch.setattr(rows, "_jdf", Changed())
    assert _batches_of_spark(rows) is None
