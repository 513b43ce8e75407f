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


# tests/unit/test_parquet.py has the types of such values.
def test_a_key_in_the_names_of_folders_is_the_same_in_every_lane(spark: SparkSession, tmp_path: Path) -> None:
    """Whatever stands in files under that name, and in some of them nothing does."""
    for place, (folders, inside) in enumerate(
        ((["1", "3000000000"], 7), (["1.50", "2"], "x"), (["2026-01-01", "2026-01-02"], None), (["x", "7d"], 0.5))
    ):
        path = tmp_path / str(place)
        path.mkdir()
        _write_users(path, folders[:1])
        rows = ROWS.drop_columns(["user"]).append_column("user", pa.array([inside] * len(ROWS)))
        (path / f"user={folders[1]}").mkdir()
        pq.write_table(rows, path / f"user={folders[1]}" / "1.parquet")
        groups = [
            groups_of(sr.evaluate(str(path), ["rr"], spark=session, lane=lane, **ROLES))
            for lane, session in {"frame": spark, "scan": spark, "local": None}.items()
        ]
        assert len(groups[0]) == 2
        assert groups == [groups[0]] * 3, folders


def test_folders_that_spark_reads_as_something_else_are_left_to_it(spark: SparkSession, tmp_path: Path) -> None:
    roles = Roles.of("user", "label", "score")
    for place, folders in enumerate(
        (
            *(["7d", "14d"], ["1e-5", "0.1"], ["Infinity", "1"], ["1.", "2.0"], ["+1", "2"], ["%31", "2"]),
            *(["%C3%A4", "a"], ["99999999999999999999", "1"], ["2026-01-01 10%3A00%3A00", "2026-01-02"]),
        )
    ):
        path = tmp_path / str(place)
        path.mkdir()
        _write_users(path, folders)
        with pytest.raises(FrameLaneNeededError, match="the group column user is one that Spark"):
            parquet_source(str(path), None, roles, PLAN)
        with pytest.raises(FrameLaneNeededError, match=r"input.where needs Spark's SQL: user is a column that Spark"):
            parquet_source(str(path), "user > '2'", Roles.of("u", "label", "score"), PLAN)
    evaluation = sr.evaluate(str(path), ["rr"], spark=spark, **ROLES)
    assert evaluation.lane == "frame"
    frame = sr.evaluate(spark.read.parquet(str(path)), ["rr"], **ROLES)
    assert repr(groups_of(evaluation)) == repr(groups_of(frame))


def test_folders_are_texts_where_the_session_infers_no_types(spark: SparkSession, tmp_path: Path) -> None:
    inference = "spark.sql.sources.partitionColumnTypeInference.enabled"
    folders = ["01", "2", "2026-01-01", "7d"]
    _write_users(tmp_path, folders)
    spark.conf.set(inference, "false")
    try:
        for lane in ("frame", "scan"):
            groups = groups_of(sr.evaluate(str(tmp_path), ["rr"], spark=spark, lane=lane, **ROLES))
            assert [user for user, _ in groups] == sorted(folders)
        source = parquet_source(str(tmp_path), "user = '01'", Roles.of("user", "label", "score"), PLAN, spark=spark)
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


def test_folders_are_texts_where_the_caller_says_so(spark: SparkSession, tmp_path: Path) -> None:
    """In every lane, and the session keeps what it was told."""
    inference = "spark.sql.sources.partitionColumnTypeInference.enabled"
    folders = ["007", "07", "7", "1.0", "2026-01-01", "7d"]
    _write_users(tmp_path, folders)
    for lane in ("frame", "scan", "local"):
        session = None if lane == "local" else spark
        groups = groups_of(
            sr.evaluate(str(tmp_path), ["rr"], spark=session, lane=lane, partition_types="text", **ROLES)
        )
        assert [user for user, _ in groups] == sorted(folders), lane
    assert spark.conf.get(inference) == "true"


def test_two_folders_of_one_value_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    """The sentence names both, of the input and of the truth. Whoever does not read the column is not concerned."""
    for place, folders in enumerate(
        (
            *(["007", "7"], ["1", "1.0"], ["1.5", "1.50"], ["-0", "0"], ["0.1", "0.10000000000000000001"], ["7d", "7"]),
            *(["1e1", "10"], ["099999999999999999999", "99999999999999999999"]),
            ["2026-01-01", "2026-01-01 00%3A00%3A00"],
        )
    ):
        path = tmp_path / str(place)
        path.mkdir()
        _write_users(path, folders)
        first, second = sorted(folders)
        told = f'has the folders "user={first}" and "user={second}", which are one value'.replace("%3A", ":")
        for lane in ("frame", "local") if place % 2 else ("scan", "local"):
            with pytest.raises(sr.InputError, match=re.escape(f"the input {told}")):
                _evaluate({"impressions": str(path), **ROLES}, spark, lane)
        lists = pa.table({"user": pa.array([], pa.int32()), "item": pa.array([], pa.int64()), "score": [1.0][:0]})
        beside = {**ROLES, "label": None, "truth": str(path), "item": "item", "truth_columns": {"item": "label"}}
        with pytest.raises(sr.InputError, match=re.escape(f"the truth {told}")):
            _evaluate({"impressions": lists, **beside}, spark, "frame")
        others = _evaluate({"impressions": str(path), **ROLES, "group": "who"}, spark, "local")
        assert others.table["n_groups"].to_pylist() == [2]


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
