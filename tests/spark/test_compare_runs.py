"""Group tables that Spark holds or reads: compared with the bits of tables in memory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

import sparkrank as sr
from sparkrank.comparison.group_tables import GroupTable
from sparkrank.engines.spark.local_copies import local_copy
from tests.comparison.tables import groups, write_run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LEFT, RIGHT = groups(1, range(60)), groups(2, range(10, 75))
DAY = "2026-01-01"


def test_frames_and_what_spark_reads_are_copied_and_compared(spark: SparkSession, tmp_path: Path) -> None:
    here = sr.compare_runs(LEFT, RIGHT)
    movers = sr.movers(LEFT, RIGHT, "rr", top=7)
    frames = [spark.createDataFrame(side).repartition(3) for side in (LEFT, RIGHT)]
    path = str(write_run(tmp_path, DAY, LEFT, files=3))
    by_spark = GroupTable._by_spark("left", path, path, spark)
    for left, right in (frames, (LEFT, frames[1]), (by_spark.rows, frames[1])):
        there = sr.compare_runs(left, right)
        assert there.table.equals(here.table)
        assert (there.n_common, there.n_left_only, there.n_right_only) == (50, 10, 15)
        assert sr.movers(left, right, "rr", top=7).equals(movers)


def test_a_copy_goes_with_its_dataset(spark: SparkSession) -> None:
    copy = local_copy(spark.createDataFrame(LEFT).repartition(2))
    (file,) = copy.files
    keys = ["model", "user", "n_rows"]
    assert copy.to_table(keys).sort_by("user").equals(LEFT.select(keys))
    assert Path(file).exists()
    del copy
    assert not Path(file).exists()


def test_evaluations_of_spark(spark: SparkSession) -> None:
    log = pa.table({"user": [1, 1, 2, 2], "a": [0.9, 0.5, 0.7, 0.1], "b": [0.1, 0.5, 0.7, 0.1], "label": [0, 1, 1, 0]})
    asked = {"group": "user", "label": "label", "score": {"a": "a", "b": "b"}, "buckets": 2}
    with sr.evaluate(spark.createDataFrame(log), ["rr"], **asked, spark=spark) as ev:
        common, whole = (
            sr.compare_runs(ev, ev, left_model="a", right_model="b", groups=groups) for groups in ("common", None)
        )
    (only,) = common.table.to_pylist()
    assert (only["difference"], only["wins"], only["ties"], only["losses"]) == (0.25, 1, 1, 0)
    assert (whole.groups, whole.table["difference"].to_pylist()) == ("all", [0.25])
