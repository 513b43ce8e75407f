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


def _groups(path: Path, spark: SparkSession, lane: str, **settings: Any) -> list[list]:
    session = None if lane == "local" else spark
    return groups_of(sr.evaluate(str(path), ["rr"], spark=session, lane=lane, **ROLES, **settings))


KINDS = [["1", "3000000000"], ["1.50", "2"], ["2026-01", "2026-02"], ["2026-01-01", "2026-01-02"], ["x", "7d"]]
BESIDE = [(["1", "02"], "x"), (["2026-01-01", "2026-01-02"], 7), (["a", "1"], None)]


def test_a_key_in_the_names_of_folders_is_the_same_in_spark(spark: SparkSession, tmp_path: Path) -> None:
    """Whatever stands in the files under that name, and in some of them nothing does."""
    for number, (folders, inside) in enumerate([*((kind, ...) for kind in KINDS), *BESIDE]):
        (path := tmp_path / str(number)).mkdir()
        _write_users(path, folders)
        if inside is not ...:
            rows = ROWS.set_column(0, "user", pa.array([inside] * len(ROWS)))
            pq.write_table(rows, path / f"user={folders[0]}" / "1.parquet")
        groups = _groups(path, spark, "local")
        assert len(groups) == 2
        for lane in ("frame",) if number else ("frame", "scan"):
            assert _groups(path, spark, lane) == groups, (folders, lane)


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
        asked = {**ROLES, "group": ["user", "a:b"], "spark": session, "lane": lane}
        with sr.evaluate(str(tmp_path), ["rr"], **asked) as evaluation:
            groups = evaluation.groups if lane == "local" else evaluation.groups.toArrow()
        assert set(groups["a:b"].to_pylist()) == {1}


def test_folders_are_texts_where_the_caller_says_so(spark: SparkSession, tmp_path: Path) -> None:
    folders = ["007", "07", "1.0", "2026-01-01", "7", "7d"]
    _write_users(tmp_path, folders)
    for lane in ("frame", "scan", "local"):
        assert [user for user, _ in _groups(tmp_path, spark, lane, partition_types="text")] == folders, lane


def test_two_folders_of_one_value_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    cases = [["007", "7"], ["1", "1.0"], ["1.5", "1.50"], ["-0", "0"], ["0.1", "0.10000000000000000001"]]
    for number, folders in enumerate(cases):
        (path := tmp_path / str(number)).mkdir()
        _write_users(path, folders)
        told = 'the input has the folders "user={}" and "user={}", which are one value'.format(*sorted(folders))
        for lane in ("local",) if number else ("frame", "local"):
            with pytest.raises(sr.InputError, match=re.escape(told)):
                _groups(path, spark, lane)


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
    with pytest.raises(sr.SpecError, match=r"input.partition_types is text, but only Spark finds the folders of"):
        frame_of(listed, spark)
