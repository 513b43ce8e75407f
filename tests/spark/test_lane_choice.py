"""Which lane takes an input, and that its conditions and patterns mean the same there as in Spark."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sparkrank as sr
from sparkrank.config.sections import Columns, Input
from sparkrank.engines.spark import frame_lane
from sparkrank.inputs.roles import Roles
from sparkrank.metrics import plan_of
from sparkrank.sources import stored_files
from tests.spark.logs import ROLES, rows_of, write_log
from tests.spark.small import lane_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_log(tmp_path_factory.mktemp("log"))


def test_conditions_keep_the_same_rows_in_every_lane(spark: SparkSession, log: Path) -> None:
    condition = "label >= 0.1 and name <> 'user-7' and born = '1970-01-02'"
    source = Input(path=str(log / "[23].parquet"), where=condition, columns=COLUMNS)
    results = {}
    for lane in ("frame", "scan", "local"):
        chosen = lane_of(source, lane, USER, AP, None if lane == "local" else spark)
        assert chosen.name == lane
        solved = chosen.evaluate(AP, 4)
        results[lane] = rows_of(solved.groups), sorted(map(repr, solved.partials.means.results().items()))
        solved.release()
    assert 0 < len(results["local"][0]) <= 200
    assert results["scan"] == results["frame"] == results["local"]


AP, COLUMNS = plan_of(["ap"], ["score"], ["user_id"]), Columns(group="user_id", label="label", score="score")
USER = Roles.of("user_id", "label", "score")
ONLY_SPARK = [
    ({"path": "LOG", "where": "label > 0 or label < 0"}, "input.where needs Spark's SQL: OR is not understood"),
    ({"path": "LOG", "options": {"mergeSchema": "true"}}, "the input is not plain Parquet named by path"),
    ({"table": "impressions"}, "the input is not plain Parquet named by path"),
    ({"path": "TYPES"}, "the label column label is of type uint8"),
    ({"path": "nofs://LOG"}, "cannot be read as parquet"),
]


def test_auto_leaves_to_spark_what_only_spark_reads(
    spark: SparkSession, log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And whoever asks for the scan lane is told."""
    monkeypatch.setattr(
        frame_lane, "spark_frame", lambda *_: spark.range(0)
    )  # what Spark makes of it is another matter
    rows = pq.read_table(log / "2.parquet").select(["user_id", "score", "label"])
    rows = rows.set_column(2, "label", pa.nulls(len(rows), pa.uint8()))
    pq.write_table(rows, tmp_path / "types.parquet")
    places = {"LOG": str(log / "2.parquet"), "TYPES": str(tmp_path / "types.parquet")}
    for source, reason in ONLY_SPARK:
        given = Input(columns=COLUMNS, **{key: places.get(str(value), value) for key, value in source.items()})
        lane = lane_of(given, "auto", USER, AP, spark)
        assert (lane.name, reason in lane.reason) == ("frame", True), source
        with pytest.raises(sr.SparkrankError, match=r"lane is scan, but|cannot be read"):
            lane_of(given, "scan", USER, AP, spark)


def test_auto_leaves_to_spark_a_store_that_does_not_answer_arrow(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark may know another address of it."""

    def no_answer(path: str) -> None:
        raise OSError("AWS Error NETWORK_CONNECTION during HeadObject operation: curlCode: 7, Could not connect")

    monkeypatch.setattr(stored_files, "file_system", no_answer)
    monkeypatch.setattr(frame_lane, "spark_frame", lambda *_: spark.range(0))
    given = Input(columns=COLUMNS, path="s3://somebody@bucket/log")
    lane = lane_of(given, "auto", USER, AP, spark)
    assert (lane.name, "NETWORK_CONNECTION" in lane.reason) == ("frame", True)
    with pytest.raises(sr.SparkrankError, match="NETWORK_CONNECTION"):
        lane_of(given, "scan", USER, AP, spark)


def test_only_the_local_lane_takes_memory_for_rows(spark: SparkSession, log: Path) -> None:
    asked = {"metrics": ["ap"], "group": "user_id", **ROLES, "row_memory": 4096}
    for impressions, lane in ((str(log), "scan"), (spark.read.parquet(str(log)).coalesce(1), "frame")):
        with pytest.raises(sr.SpecError, match=f"row_memory is 4096, but the lane is {lane} .*: only the lane local"):
            sr.evaluate(impressions, spark=spark, **asked)
    assert sr.evaluate(str(log), lane="local", spark=spark, **asked).lane == "local"
