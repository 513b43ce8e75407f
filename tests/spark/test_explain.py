"""One group explained in Spark's lanes, as in the local one, whichever has read its rows."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import sparkrank as sr
from sparkrank.engines.spark import frame as frames

ROWS = pa.table(
    {
        "user": [f"u{number % 7}" for number in range(120)],
        "day_of": [dt.date(2026, 1, 1 + number % 2) for number in range(120)],
        "item": [f"i{number * 5 % 23}" for number in range(120)],
        "score": [None if number % 11 == 0 else (number * 37 % 8) / 8 for number in range(120)],
        "other": [(number * 29 % 16) / 16 for number in range(120)],
        "title": [f"Item {number * 5 % 23}" for number in range(120)],
        "click": [None if number % 13 == 0 else number * 7 % 3 for number in range(120)],
    }
)
TRUTH = pa.table({"user": ["u1", "u1", "u2"], "item": ["i5", "zz", "i0"]})
COLUMNS: dict[str, Any] = {"score": {"one": "score", "two": "other"}, "item": "item"}
TEXTS = ["ndcg@5", "ap", "gauc", "kendall_tau", "fitness", "rbo", "auc", "gini@3"]


def _written(folder: Path, name: str, rows: pa.Table, spark: SparkSession) -> str:
    path = f"{folder}/{name}"
    spark.createDataFrame(rows).repartition(3).write.parquet(path)
    return path


def test_every_lane_gives_the_same_explanation(spark: SparkSession, tmp_path: Path) -> None:
    asked = {"group": {"user": "u3", "day_of": "2026-01-02"}, "label": "click", "title": "title", **COLUMNS}
    local = sr.explain(ROWS, TEXTS, **asked)
    assert all(map(str.startswith, local.metric.tables[0].columns["title"], ["Item "] * 99))
    assert local.lane == "local"
    frame = spark.createDataFrame(ROWS).repartition(5)
    for rows, lane in ((frame, "frame"), (_written(tmp_path, "log", ROWS, spark), "scan")):
        there = sr.explain(rows, TEXTS, **asked, spark=spark)
        assert there.lane == lane
        assert repr(there.to_dict()["groups"]) == repr(local.to_dict()["groups"])  # NaN is NaN there


def test_groups_of_instants_and_early_days_whatever_the_zone(another_session: SparkSession) -> None:
    """Python's own zone is another one, and Spark has another calendar for its days before 1582."""
    another_session.conf.set("spark.sql.session.timeZone", "America/New_York")
    for kind, key, shown in (
        ("timestamp_ntz", dt.datetime(2026, 5, 1, 12), "2026-05-01 12:00:00"),  # noqa: DTZ001 - that is its type
        ("date", dt.date(900, 1, 1), "0900-01-01"),
    ):
        rows = another_session.createDataFrame([(key, 0.5, 1), (key, 0.25, 0)], f"at {kind}, s double, y int")
        (group,) = sr.explain(rows, ["rr"], group={"at": shown}, score="s", label="y").to_dict()["groups"]
        assert [metric["value"] for metric in group["metrics"]] == [1.0], kind


def test_lists_joined_with_a_truth_and_arrays(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lists = ROWS.select(["user", "item", "score", "other"])
    asked = {"group": {"user": "u1"}, **COLUMNS}
    local = sr.explain(lists, ["r@5", "ndcg"], truth=TRUTH, **asked)
    assert any("zz" in table.columns.get("item", ()) for table in local.metric.tables)
    frames = [spark.createDataFrame(side) for side in (lists, TRUTH)]
    paths = [_written(tmp_path, name, rows, spark) for name, rows in (("lists", lists), ("truth", TRUTH))]
    for (given, truth), lane in ((frames, "frame"), (paths, "scan")):
        there = sr.explain(given, ["r@5", "ndcg"], truth=truth, spark=spark, **asked)
        assert (there.lane, there.to_dict()["groups"]) == (lane, local.to_dict()["groups"])
    arrays = pa.table({"user": ["a", "a"], "found": [["x", "y", "z"], ["y"]], "liked": [["y", "q"], ["y"]]})
    of_arrays = {"group": {"user": "a"}, "items": "found", "true_items": "liked"}
    here = sr.explain(arrays, "r@2", **of_arrays)
    assert [metric.value for metric in here] == [1 / 2, 1.0]
    monkeypatch.setattr("sparkrank.engines.spark.scan.SPLIT_ROWS", 1)  # two tasks have a list of the user each
    pq.write_table(arrays, path := str(tmp_path / "arrays.parquet"), row_group_size=1)
    for rows, lane in ((spark.createDataFrame(arrays), "frame"), (path, "scan")):
        there = sr.explain(rows, "r@2", spark=spark, **of_arrays)
        assert (there.lane, there.to_dict()["groups"]) == (lane, here.to_dict()["groups"])


def test_spark_is_asked_for_one_group(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The filter on the key reaches the reader of Parquet."""
    path, plans = _written(tmp_path, "log", ROWS, spark), []
    streams = frames.tables_of_streams
    monkeypatch.setattr(
        frames,
        "tables_of_streams",
        lambda rows: (plans.append(rows._jdf.queryExecution().executedPlan().toString()), streams(rows))[1],
    )
    sr.explain(spark.read.parquet(path).where("click < 9"), "rr", group={"user": "u3"}, label="click", **COLUMNS)
    assert "EqualTo(user,u3)" in plans[0] or "In(user, [u3])" in plans[0]


def test_a_key_that_is_not_there_is_told_alike(spark: SparkSession, tmp_path: Path) -> None:
    path = _written(tmp_path, "log", ROWS, spark)
    for rows, session in ((ROWS, None), (spark.createDataFrame(ROWS), None), (path, spark)):
        with pytest.raises(sr.InputError) as raised:
            sr.explain(rows, "rr", group={"user": "u33"}, label="click", **COLUMNS, spark=session)
        assert str(raised.value) == 'no row has user=u33, did you mean "u3"? (nearest in user: u3, u4)'
