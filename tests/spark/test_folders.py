"""Columns in the names of folders: the same in every lane, or left to Spark where it reads them otherwise."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sparkrank as sr
from sparkrank.base.errors import FrameLaneNeededError
from sparkrank.config.sections import Columns, Input
from sparkrank.engines.reading import parquet_source
from sparkrank.inputs.roles import Roles
from tests.spark.small import PLAN, ROLES, ROWS, frame_of, groups_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def _write_users(path: Path, folders: list[str]) -> None:
    """A file of the rows in each of ``folders``, which names the user: in the file he has another name."""
    for folder in folders:
        (path / f"user={folder}").mkdir()
        pq.write_table(ROWS.rename_columns({"user": "who"}), path / f"user={folder}" / "1.parquet")


@pytest.mark.parametrize(
    "folders",
    [["1", "3000000000"], ["1.50", "2"], ["2026-01", "2026-02"], ["2026-01-01", "2026-01-02"], ["x", "1"], ["x", "7d"]],
    ids=str,
)
def test_a_key_in_the_names_of_folders_is_the_same_in_every_lane(
    spark: SparkSession, tmp_path: Path, folders: list[str]
) -> None:
    _write_users(tmp_path, folders)
    sessions = {"frame": spark, "scan": spark, "local": None}
    found = [
        groups_of(sr.evaluate(str(tmp_path), ["rr"], spark=session, lane=lane, **ROLES))
        for lane, session in sessions.items()
    ]
    assert len(found[0]) == 2
    assert found[1] == found[0]
    assert found[2] == found[0]


@pytest.mark.parametrize("inside", [7, "x", 0.5, None], ids=repr)
@pytest.mark.parametrize("folders", [["1", "02"], ["2026-01-01", "2026-01-02"], ["a", "1"]], ids=str)
def test_a_key_that_files_have_too_is_that_of_the_folders(
    spark: SparkSession, tmp_path: Path, folders: list[str], inside
) -> None:
    """As Spark has it, whatever stands in the files under that name, and in some of them nothing does."""
    alone = ROWS.drop_columns(["user"])
    for place, folder in enumerate(folders):
        (tmp_path / f"user={folder}").mkdir()
        rows = alone if place else alone.append_column("user", pa.array([inside] * len(ROWS)))
        pq.write_table(rows, tmp_path / f"user={folder}" / "1.parquet")
    found = {
        lane: groups_of(
            sr.evaluate(str(tmp_path), ["rr"], spark=None if lane == "local" else spark, lane=lane, **ROLES)
        )
        for lane in ("frame", "scan", "local")
    }
    assert len(found["frame"]) == 2
    assert found["scan"] == found["frame"]
    assert found["local"] == found["frame"]


@pytest.mark.parametrize(
    "folders",
    [
        ["7d", "14d"],
        ["1e-5", "0.1"],
        ["Infinity", "1"],
        ["1.", "2.0"],
        ["+1", "2"],
        ["%31", "2"],
        ["%C3%A4", "a"],  # as pyarrow writes an umlaut
        ["99999999999999999999", "1"],
        ["2026-01-01 10%3A00%3A00", "2026-01-02"],
    ],
    ids=str,
)
def test_folders_that_spark_reads_as_something_else_are_left_to_it(
    spark: SparkSession, tmp_path: Path, folders: list[str]
) -> None:
    _write_users(tmp_path, folders)
    evaluation = sr.evaluate(str(tmp_path), ["rr"], spark=spark, **ROLES)
    assert evaluation.lane == "frame"
    frame = sr.evaluate(spark.read.parquet(str(tmp_path)), ["rr"], **ROLES)
    assert repr(groups_of(evaluation)) == repr(groups_of(frame))
    with pytest.raises(sr.SpecError, match="the group column user is one that Spark and Arrow read differently"):
        sr.evaluate(str(tmp_path), ["rr"], lane="local", **ROLES)
    with pytest.raises(FrameLaneNeededError, match=r"input.where needs Spark's SQL: user is a column that Spark and"):
        parquet_source(str(tmp_path), "user > '2'", Roles.of("u", "label", "score"), PLAN)


@pytest.mark.parametrize("folders", [["01", "2"], ["2026-01-01", "2026-01-02"], ["7d", "1."]], ids=str)
def test_folders_are_texts_where_the_session_infers_no_types(
    spark: SparkSession, tmp_path: Path, folders: list[str]
) -> None:
    inference = "spark.sql.sources.partitionColumnTypeInference.enabled"
    _write_users(tmp_path, folders)
    spark.conf.set(inference, "false")
    try:
        for lane in ("frame", "scan"):
            found = groups_of(sr.evaluate(str(tmp_path), ["rr"], spark=spark, lane=lane, **ROLES))
            assert [user for user, _ in found] == sorted(folders)
        roles = Roles.of("user", "label", "score")
        source = parquet_source(str(tmp_path), f"user = '{folders[0]}'", roles, PLAN, spark=spark)
    finally:
        spark.conf.unset(inference)
    assert source.where is not None


def test_a_folder_column_with_a_mark_in_its_name_is_the_same_in_every_lane(spark: SparkSession, tmp_path: Path) -> None:
    """Spark writes the colon of ``a:b`` as %3A."""
    (tmp_path / "a%3Ab=1").mkdir()
    pq.write_table(ROWS, tmp_path / "a%3Ab=1" / "1.parquet")
    for lane, session in {"frame": spark, "scan": spark, "local": None}.items():
        evaluation = sr.evaluate(str(tmp_path), ["rr"], spark=session, lane=lane, **{**ROLES, "group": ["user", "a:b"]})
        with evaluation:
            groups = evaluation.groups if lane == "local" else evaluation.groups.toArrow()
        assert set(groups["a:b"].to_pylist()) == {1}


@pytest.mark.parametrize(
    "folders", [["007", "07", "7"], ["1", "1.0"], ["2026-01-01", "2026-01-02"], ["7d", "1e3"]], ids=str
)
def test_folders_are_texts_where_the_caller_says_so(spark: SparkSession, tmp_path: Path, folders: list[str]) -> None:
    """In every lane, and the session keeps what it was told."""
    inference = "spark.sql.sources.partitionColumnTypeInference.enabled"
    _write_users(tmp_path, folders)
    for lane in ("frame", "scan", "local"):
        session = None if lane == "local" else spark
        found = groups_of(sr.evaluate(str(tmp_path), ["rr"], spark=session, lane=lane, partition_types="text", **ROLES))
        assert [user for user, _ in found] == sorted(folders), lane
    assert spark.conf.get(inference) == "true"


@pytest.mark.parametrize(
    "folders",
    [
        ["007", "7"], ["1", "1.0"], ["1.5", "1.50"], ["-0", "0"], ["0.1", "0.10000000000000000001"],
        ["7d", "7"], ["1e1", "10"], ["099999999999999999999", "99999999999999999999"],
        ["2026-01-01", "2026-01-01 00%3A00%3A00"],
    ],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("side", ["input", "truth"])
def test_two_folders_of_one_value_are_refused(
    spark: SparkSession, tmp_path: Path, folders: list[str], side: str
) -> None:
    """The sentence names both. Whoever does not read the column is not concerned."""
    _write_users(tmp_path, folders)
    given: dict = {"impressions": str(tmp_path), **ROLES}
    if side == "truth":
        lists = pa.table({"user": pa.array([], pa.int32()), "item": pa.array([], pa.int64()), "score": [1.0][:0]})
        given |= {"impressions": lists, "truth": str(tmp_path), "item": "item", "truth_columns": {"item": "label"}}
        given["label"] = None
    first, second = sorted(folders)
    told = f'the {side} has the folders "user={first}" and "user={second}", which are one value'.replace("%3A", ":")
    for lane in ("frame", "scan", "local") if side == "input" else ("frame", "local"):
        with pytest.raises(sr.InputError, match=re.escape(told)):
            _evaluate(given, spark, lane)
    assert side == "truth" or _evaluate({**given, "group": "who"}, spark, "local").table["n_groups"].to_pylist() == [2]


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


def _evaluate(given: dict, spark: SparkSession, lane: str) -> sr.Evaluation:
    return sr.evaluate(metrics=["rr"], spark=None if lane == "local" else spark, lane=lane, **given)
