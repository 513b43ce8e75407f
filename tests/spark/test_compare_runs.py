"""Two runs compared by Spark: the bits of the local lane, from DataFrames and files, and the same refusals."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import sparkrank as sr
from tests.unit.comparison.tables import groups, write_run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LEFT, RIGHT = groups(1, range(60)), groups(2, range(10, 75))
DAY = "2026-01-01"


@pytest.fixture
def places(tmp_path: Path) -> list[str]:
    return [
        str(write_run(tmp_path / f"out [{place}] {{a}}", DAY, side, files=3))
        for place, side in enumerate((LEFT, RIGHT))
    ]


def test_both_lanes_give_the_same_bits(spark: SparkSession, places: list[str]) -> None:
    here = sr.compare_runs(LEFT, RIGHT)
    frames = [spark.createDataFrame(side).repartition(3) for side in (LEFT, RIGHT)]
    for left, right in (places, frames, (LEFT, frames[1])):
        lane = "frame" if isinstance(left, str) else "auto"
        there = sr.compare_runs(left, right, spark=spark, lane=lane)
        assert there.lane == "frame"
        assert there.table.equals(here.table)
        assert (there.n_common, there.n_left_only, there.n_right_only) == (50, 10, 15)
        assert there.told == here.told or isinstance(left, str)


def test_few_groups_are_left_to_this_process(spark: SparkSession, places: list[str]) -> None:
    assert sr.compare_runs(*places, spark=spark).lane == "local"


def test_movers_of_both_lanes_are_the_same(spark: SparkSession, places: list[str]) -> None:
    for metric in ("rr", "kendall_distance"):
        here = sr.movers(LEFT, RIGHT, metric, top=7)
        assert here.num_rows == 14
        assert sr.movers(*places, metric, top=7, spark=spark, lane="frame").equals(here)


def test_a_repeated_key_is_refused(spark: SparkSession) -> None:
    """On either side."""
    twice = pa.concat_tables([LEFT, LEFT[-1:]])
    for left, right in ((twice, RIGHT), (RIGHT, twice)):
        with pytest.raises(sr.InputError, match="several groups of m with one key"):
            sr.compare_runs(spark.createDataFrame(left), right)


def test_a_key_of_another_type_is_refused(spark: SparkSession) -> None:
    texts = LEFT.set_column(1, "user", LEFT["user"].cast(pa.string()))
    with pytest.raises(sr.InputError, match='the key "user" is of type string'):
        sr.compare_runs(spark.createDataFrame(texts), RIGHT)
    with pytest.raises(sr.SpecError, match="is read by Spark: auto or frame is allowed"):
        sr.compare_runs(spark.createDataFrame(LEFT), RIGHT, lane="local")


def test_evaluations_of_spark(spark: SparkSession) -> None:
    log = pa.table({"user": [1, 1, 2, 2], "a": [0.9, 0.5, 0.7, 0.1], "b": [0.1, 0.5, 0.7, 0.1], "label": [0, 1, 1, 0]})
    asked = {"group": "user", "label": "label", "score": {"a": "a", "b": "b"}, "buckets": 2}
    with sr.evaluate(spark.createDataFrame(log), ["rr"], **asked, spark=spark) as ev:
        found = sr.compare_runs(ev, ev, left_model="a", right_model="b", groups="common")
        whole = sr.compare_runs(ev, ev, left_model="a", right_model="b")
    (only,) = found.table.to_pylist()
    assert (only["difference"], only["wins"], only["ties"], only["losses"]) == (0.25, 1, 1, 0)
    assert (whole.groups, whole.table["difference"].to_pylist()) == ("all", [0.25])
