"""One group explained in Spark's lanes, as in the local one, whichever has read its rows."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import sparkrank as sr
from sparkrank.comparison.group_tables import GroupTable
from sparkrank.comparison.worst_groups import worst_groups

ROWS = pa.table(
    {
        "user": [f"u{number % 7}" for number in range(120)],
        "day_of": [dt.date(2026, 1, 1 + number % 2) for number in range(120)],
        "item": [f"i{number * 5 % 23}" for number in range(120)],
        "score": [None if number % 11 == 0 else (number * 37 % 8) / 8 for number in range(120)],
        "other": [(number * 29 % 16) / 16 for number in range(120)],
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
    path = _written(tmp_path, "log", ROWS, spark)
    asked = {"group": {"user": "u3", "day_of": "2026-01-02"}, "label": "click", **COLUMNS}
    local = sr.explain(ROWS, TEXTS, **asked)
    assert local.lane == "local"
    frame = sr.explain(spark.createDataFrame(ROWS).repartition(5), TEXTS, **asked)
    scan = sr.explain(path, TEXTS, **asked, spark=spark)
    assert [each.lane for each in (frame, scan)] == ["frame", "scan"]
    for each in (frame, scan):
        assert repr(each.to_dict()["groups"]) == repr(local.to_dict()["groups"])  # NaN is NaN there


def test_lists_joined_with_a_truth_and_arrays(spark: SparkSession, tmp_path: Path) -> None:
    lists, truth = ROWS.select(["user", "item", "score", "other"]), TRUTH
    asked = {"group": {"user": "u1"}, **COLUMNS}
    local = sr.explain(lists, ["r@5", "ndcg"], truth=truth, **asked)
    assert any("zz" in table.columns.get("item", ()) for table in local.metric.tables)
    frame = sr.explain(spark.createDataFrame(lists), ["r@5", "ndcg"], truth=spark.createDataFrame(truth), **asked)
    paths = [_written(tmp_path, name, rows, spark) for name, rows in (("lists", lists), ("truth", truth))]
    scan = sr.explain(paths[0], ["r@5", "ndcg"], truth=paths[1], spark=spark, **asked)
    assert (frame.lane, scan.lane) == ("frame", "scan")
    assert frame.to_dict()["groups"] == scan.to_dict()["groups"] == local.to_dict()["groups"]
    arrays = pa.table({"user": ["a", "a"], "found": [["x", "y", "z"], ["y"]], "liked": [["y", "q"], ["y"]]})
    of_arrays = {"group": {"user": "a"}, "items": "found", "true_items": "liked"}
    here = sr.explain(arrays, "r@2", **of_arrays).to_dict()["groups"]
    assert sr.explain(spark.createDataFrame(arrays), "r@2", **of_arrays).to_dict()["groups"] == here


def test_spark_is_asked_for_one_group(spark: SparkSession, tmp_path: Path) -> None:
    """The filter on the key reaches the reader of Parquet."""
    from sparkrank.engines.one_group import GroupKeys
    from sparkrank.engines.spark import frame as frames
    from sparkrank.inputs.roles import Roles
    from sparkrank.metrics import Plan

    path = _written(tmp_path, "log", ROWS, spark)
    roles = Roles.of("user", "click", "score", "item")
    plan, plans = Plan.of(["rr"], ["score"], ["user"]), []

    class _Seen(Exception):  # noqa: N818 - it ends what nobody needs
        pass

    def seen(rows: Any) -> Any:
        plans.append(rows._jdf.queryExecution().executedPlan().toString())
        raise _Seen

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(frames, "tables_of_streams", seen)
        with pytest.raises(_Seen):
            frames.pick_framed(spark.read.parquet(path), None, roles, plan, GroupKeys(("user",), (("u3",),)), _same)
    assert "EqualTo(user,u3)" in plans[0] or "In(user, [u3])" in plans[0]


def _same(rows: pa.Table) -> pa.Table:
    return rows


def test_a_key_that_is_not_there_is_told_alike(spark: SparkSession, tmp_path: Path) -> None:
    path = _written(tmp_path, "log", ROWS, spark)
    told = []
    for rows, more in ((ROWS, {}), (spark.createDataFrame(ROWS), {}), (path, {"spark": spark})):
        with pytest.raises(sr.InputError) as raised:
            sr.explain(rows, "rr", group={"user": "u33"}, label="click", **COLUMNS, **more)
        told.append(str(raised.value))
    assert told == ['no row has user=u33, did you mean "u3"? (nearest in user: u3, u4)'] * 3


def test_the_worst_groups_of_a_frame(spark: SparkSession) -> None:
    ev = sr.evaluate(ROWS, ["ndcg@5"], group="user", label="click", **COLUMNS)
    frame = GroupTable.of("left", spark.createDataFrame(ev.groups))
    rows = [row for row in ev.groups.to_pylist() if row["model"] == "two"]
    expected = [(row["user"],) for row in sorted(rows, key=lambda row: (row["ndcg@5"], row["user"]))[:3]]
    assert worst_groups(frame, "two", "ndcg@5", 3) == expected
