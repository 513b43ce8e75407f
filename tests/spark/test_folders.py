"""Columns in the names of folders: the same in every lane, by whatever reader."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sparkrank as sr
from sparkrank.config.sections import Columns, Input
from sparkrank.inputs.roles import Roles
from tests.spark.small import ROLES, ROWS, frame_of, groups_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def _write_users(path: Path, folders: list[str]) -> None:
    """A file of the rows in each of ``folders``, which names the user: in the file he has another name."""
    for folder in folders:
        (path / f"user={folder}").mkdir()
        pq.write_table(ROWS.rename_columns({"user": "who"}), path / f"user={folder}" / "1.parquet")


def _in_every_lane(path: Path, spark: SparkSession, **settings: Any) -> dict[str, list[list]]:
    """The groups that each lane finds."""
    sessions = {"frame": spark, "scan": spark, "local": None}
    return {
        lane: groups_of(sr.evaluate(str(path), ["rr"], spark=session, lane=lane, **ROLES, **settings))
        for lane, session in sessions.items()
    }


def test_a_key_in_the_names_of_folders_is_the_same_in_every_lane(spark: SparkSession, tmp_path: Path) -> None:
    kinds = [["1", "3000000000"], ["1.50", "2"], ["2026-01", "2026-02"], ["2026-01-01", "2026-01-02"], ["x", "7d"]]
    for number, folders in enumerate(kinds):
        (tmp_path / str(number)).mkdir()
        _write_users(tmp_path / str(number), folders)
        groups = _in_every_lane(tmp_path / str(number), spark)
        assert len(groups["local"]) == 2
        assert groups["local"] == groups["scan"] == groups["frame"], folders


def test_a_key_that_files_have_too_is_that_of_the_folders(spark: SparkSession, tmp_path: Path) -> None:
    """Whatever stands in the files under that name, and in some of them nothing does."""
    alone = ROWS.drop_columns(["user"])
    for number, (folders, inside) in enumerate(
        [(["1", "02"], "x"), (["2026-01-01", "2026-01-02"], 7), (["a", "1"], None)]
    ):
        for place, folder in enumerate(folders):
            (tmp_path / f"{number}/user={folder}").mkdir(parents=True)
            rows = alone if place else alone.append_column("user", pa.array([inside] * len(ROWS)))
            pq.write_table(rows, tmp_path / f"{number}/user={folder}" / "1.parquet")
        groups = _in_every_lane(tmp_path / str(number), spark)
        assert len(groups["frame"]) == 2
        assert groups["local"] == groups["scan"] == groups["frame"], folders


def test_no_setting_of_a_session_changes_what_arrow_reads(spark: SparkSession, tmp_path: Path) -> None:
    inference = "spark.sql.sources.partitionColumnTypeInference.enabled"
    _write_users(tmp_path, ["01", "2"])
    spark.conf.set(inference, "false")
    try:
        groups = groups_of(sr.evaluate(str(tmp_path), ["rr"], spark=spark, lane="scan", **ROLES))
    finally:
        spark.conf.unset(inference)
    assert [user for user, _ in groups] == [1, 2]


def test_a_folder_column_with_a_mark_in_its_name_is_the_same_in_every_lane(spark: SparkSession, tmp_path: Path) -> None:
    """Spark writes the colon of ``a:b`` as %3A."""
    (tmp_path / "a%3Ab=1").mkdir()
    pq.write_table(ROWS, tmp_path / "a%3Ab=1" / "1.parquet")
    for lane, session in {"frame": spark, "scan": spark, "local": None}.items():
        evaluation = sr.evaluate(str(tmp_path), ["rr"], spark=session, lane=lane, **{**ROLES, "group": ["user", "a:b"]})
        with evaluation:
            groups = evaluation.groups if lane == "local" else evaluation.groups.toArrow()
        assert set(groups["a:b"].to_pylist()) == {1}


def test_folders_are_texts_where_the_caller_says_so(spark: SparkSession, tmp_path: Path) -> None:
    folders = ["007", "07", "1.0", "2026-01-01", "7", "7d"]
    _write_users(tmp_path, folders)
    for lane, groups in _in_every_lane(tmp_path, spark, partition_types="text").items():
        assert [user for user, _ in groups] == folders, lane


def test_two_folders_of_one_value_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    """The sentence names both."""
    cases = [["007", "7"], ["1", "1.0"], ["1.5", "1.50"], ["-0", "0"], ["0.1", "0.10000000000000000001"]]
    for number, folders in enumerate(cases):
        (tmp_path / str(number)).mkdir()
        _write_users(tmp_path / str(number), folders)
        first, second = sorted(folders)
        told = f'the input has the folders "user={first}" and "user={second}", which are one value'
        for lane in ("local", "frame") if number == 0 else ("local",):
            session = None if lane == "local" else spark
            with pytest.raises(sr.InputError, match=re.escape(told)):
                sr.evaluate(str(tmp_path / str(number)), ["rr"], spark=session, lane=lane, **ROLES)


@pytest.mark.parametrize("kind", ["csv", "json", "orc"])
def test_folders_are_texts_in_other_formats_too(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    rows = spark.createDataFrame([("7", "a", 0.5), ("07", "b", 0.25)], "k string, user string, score double")
    rows.write.partitionBy("k").format(kind).option("header", "true").save(str(tmp_path / "log"))
    columns = Columns(group="user", score="score", label="k")
    asked = {"path": str(tmp_path / "log"), "format": kind, "options": {"header": "true"}, "columns": columns}
    frame = frame_of(Input(**asked, partition_types="text"), spark)
    assert sorted(row.k for row in frame.select("k").collect()) == ["07", "7"]
    roles = Roles.of("user", "k", "score")
    with pytest.raises(sr.InputError, match='"k=07" and "k=7", which are one value of the column k'):
        frame_of(Input(**asked), spark, roles)
    listed = Input(**{**asked, "options": {"recursiveFileLookup": "true"}}, partition_types="text")
    with pytest.raises(sr.SpecError, match=r"input.partition_types is text, but the folders of .* are found by Spark"):
        frame_of(listed, spark)
