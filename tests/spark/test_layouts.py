"""Which rows a path stands for does not depend on the lane: all read the files of one listing, or all refuse.

``tests/unit/test_layouts.py`` has that listing, of some sixty layouts.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

import pytest
from pyarrow import fs

import sparkrank as sr
from sparkrank.config.sections import Columns, Input
from sparkrank.inputs.roles import Roles
from sparkrank.metrics import Plan
from sparkrank.sources import stored_files
from sparkrank.sources.files import files_at
from tests.spark.small import lane_of
from tests.unit.test_layouts import EMPTY, LAYOUTS, write_all

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LANES = ("local", "scan", "frame")
ROLES = {"group": "user", "score": "score", "label": "label", "buckets": 1}
COLUMNS = Columns(group="user", score="score", label="label")
PLAN, OF_ROWS = Plan.of(["rr"], ["score"], ["user"]), Roles.of("user", "label", "score")
READ = ["a[1]", "b*", "c{d", "e?", "f\\", "g h", "i%20j", "k#l", "m+n", "o&p", "水"]
HIDDEN = ["_b", ".c", "_temporary/d", ".e/f", f"_SUCCESS{EMPTY}", f".g.crc{EMPTY}"]


def users(path: str, spark: SparkSession, lane: str) -> list[str]:
    session = None if lane == "local" else spark
    with sr.evaluate(path, ["rr"], spark=session, lane=lane, **ROLES) as evaluation:
        assert evaluation.lane == lane
        groups = evaluation.groups if lane == "local" else evaluation.groups.toArrow()
        return sorted(groups["user"].to_pylist())


def test_every_lane_reads_the_same_files(spark: SparkSession, tmp_path: Path) -> None:
    """Marks of patterns and URLs in names of files and folders, beside hidden ones and links, and by a pattern."""
    folders = ["in/k=a b", "in/k=c%2Fd", "in/k=ä"]
    files = [f"{folders[place // 4]}/{name}" for place, name in enumerate(READ)]
    write_all(tmp_path, [*files, *(f"in/k=ä/{name}" for name in HIDDEN), "elsewhere/z"])
    (tmp_path / "in/k=ä/link").symlink_to(tmp_path / "elsewhere/z")
    (tmp_path / "in/k=link").symlink_to(tmp_path / "elsewhere")
    for lane in LANES:
        assert users(f"{tmp_path}/in/", spark, lane) == sorted({*files, "elsewhere/z"}), lane
        assert users(f"{tmp_path}/in/{{k=a b/[ab]*,k=?/m?n}}", spark, lane) == [files[0], files[1], files[8]], lane


def test_every_lane_refuses_the_same_files(spark: SparkSession, tmp_path: Path) -> None:
    write_all(tmp_path, ["in/a", f"in/b{EMPTY}", "on/a"])
    (tmp_path / "on/b").symlink_to(tmp_path / "elsewhere")
    for lane in LANES:
        for folder, sentence in (("in", "in/b is a file of 0 bytes"), ("on", "on/b is a link to nothing")):
            with pytest.raises(sr.InputError, match=sentence):
                users(f"{tmp_path}/{folder}", spark, lane)


def test_a_name_that_spark_cannot_read_is_refused_by_the_lane_that_cannot(spark: SparkSession, tmp_path: Path) -> None:
    """Hadoop takes the colon in the name of its checksum for the end of a scheme, on this machine only."""
    write_all(tmp_path, ["in/a:b", "in/c"])
    assert users(f"{tmp_path}/in", spark, "local") == ["in/a:b", "in/c"]
    with pytest.raises(sr.InputError, match=r"cannot be read: .*Relative path in absolute URI"):
        users(f"{tmp_path}/in", spark, "frame")


def test_a_condition_that_moves_the_day_to_another_lane_moves_no_row(spark: SparkSession, tmp_path: Path) -> None:
    write_all(tmp_path, ["in/x/a", "in/y/z/b"])
    for where, name in (("score > 0", "scan"), ("score > 0 or score > 0", "frame")):
        lane = lane_of(Input(path=f"{tmp_path}/in/*/*", where=where, columns=COLUMNS), "auto", OF_ROWS, PLAN, spark)
        assert (lane.name, lane.rows()) == (name, 4)
        with pytest.raises(sr.InputError, match=r"z/b in a folder that is not named key=value"):
            lane_of(Input(path=f"{tmp_path}/in/*", where=where, columns=COLUMNS), "auto", OF_ROWS, PLAN, spark)


def _no_file_system(path: str) -> None:
    raise OSError(f"{path}: nobody may open it")


def test_where_arrow_opens_no_file_system_spark_lists(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored_files, "file_system", _no_file_system)
    for name in ("partitions", "hidden folders", "braces with slashes", "blanks and marks of URLs"):
        files, path, wanted = LAYOUTS[name]
        write_all(tmp_path / name, files)
        assert users(f"{tmp_path}/{name}/{path}", spark, "frame") == sorted(wanted), name
    for name in ("a nested folder", "a file of 0 bytes", "files beside partitions", "nothing that matches"):
        files, path, sentence = LAYOUTS[name]
        write_all(tmp_path / name, files)
        with pytest.raises(sr.InputError, match=re.escape(str(sentence))):
            users(f"{tmp_path}/{name}/{path}", spark, "frame")


def test_patterns_are_those_of_hadoop(spark: SparkSession, tmp_path: Path) -> None:
    names = ["ab", "a.b", "a*b", "bb", "cb", "[a]", "a(b", "a+b", "aab", "ac.x", "b.y", "}", "a}", "d/s", "d/t", "e/t"]
    write_all(tmp_path, names)
    patterns = ["*", "a*", "?b", "[a-c]?", "[^a]*", "[!a]*", "{a,b}*", "{a{b,c},x}*", "*.{x,y}", "a\\*b", "\\[a\\]"]
    patterns += ["[a.]b", "*(*", "a+b*", "{ab,a.b}", "*}", "a.b*", "*/s", "{d/s,e/*}", "{d,e}/{s,t}", "[d-e]/t"]
    wrong = []
    for pattern in patterns:
        by_spark = spark.read.format("binaryFile").load(f"{tmp_path}/{pattern}").inputFiles()
        files = files_at(fs.LocalFileSystem(), f"{tmp_path}/{pattern}")
        if files != sorted(unquote(uri).removeprefix("file://") for uri in by_spark):
            wrong.append((pattern, files))
    assert wrong == []


def _hudi(folder: Path) -> None:
    (folder / ".hoodie").mkdir()
    (folder / ".hoodie/hoodie.properties").write_text("hoodie.table.name=t")


def _delta(folder: Path) -> None:
    (folder / "_delta_log").mkdir()
    (folder / "_delta_log/00000000000000000000.json").write_text("{}")


def _iceberg(folder: Path) -> None:
    (folder / "metadata").mkdir()
    (folder / "metadata/v1.metadata.json").write_text("{}")


TABLES: dict[str, Callable[[Path], None]] = {"delta": _delta, "hudi": _hudi, "iceberg": _iceberg}


@pytest.mark.parametrize("lists", ["arrow", "spark"])
def test_a_lake_table_is_no_folder_of_files_in_any_lane(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lists: str
) -> None:
    """Whoever lists the files; ``tests/unit/test_lakes.py`` has the truth, and the local lane."""
    if lists == "spark":
        monkeypatch.setattr(stored_files, "file_system", _no_file_system)
    for name, written in TABLES.items():
        write_all(tmp_path / name, ["t/k=1/a", "t/k=2/b"])
        written(tmp_path / name / "t")
        sentence = rf"is in a table of {name.capitalize()} .*: write format: {name} with"
        for inside in ("t", "t/k=1/a", "t/k=[1]/a"):
            for lane in ("scan", "frame") if lists == "arrow" else ("frame",):
                with pytest.raises(sr.InputError, match=sentence):
                    lane_of(Input(path=f"{tmp_path}/{name}/{inside}", columns=COLUMNS), lane, OF_ROWS, PLAN, spark)


def test_a_format_that_spark_lacks_is_told_with_its_package(spark: SparkSession, tmp_path: Path) -> None:
    write_all(tmp_path, ["t/a"])
    for kind, package in (
        ("delta", "io.delta:delta-spark_2.13"),
        ("hudi", r"org.apache.hudi:hudi-spark\d.\d-bundle_2.13"),
        ("iceberg", r"org.apache.iceberg:iceberg-spark-runtime-\d.\d_2.13"),
        ("avro", "org.apache.spark:spark-avro_2.13"),
    ):
        given = Input(path=f"{tmp_path}/t", format=kind, columns=COLUMNS)
        with pytest.raises(
            sr.SpecError, match=f"input.format is {kind}, which this Spark cannot read: add {package} to"
        ):
            lane_of(given, "auto", OF_ROWS, PLAN, spark)
