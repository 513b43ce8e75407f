"""Which rows a path stands for does not depend on the lane: all read the same ones, or all refuse."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

import pyarrow as pa
import pytest
from pyarrow import fs

import sparkrank as sr
from sparkrank.config.sections import Columns, Input
from sparkrank.engines.lanes import Lane
from sparkrank.inputs.roles import Roles
from sparkrank.metrics import plan_of
from sparkrank.sources import stored_files
from sparkrank.sources.files import Listing
from sparkrank.sources.lake_formats import LAKES
from tests.sources.test_layouts import LAYOUTS, write_file, write_files
from tests.spark.small import lane_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LANES = ("local", "scan", "frame")
ROLES = {"group": "user", "score": "score", "label": "label", "buckets": 1}


def _users(path: str, spark: SparkSession, lane: str, **settings) -> list[str]:
    session = None if lane == "local" else spark
    with sr.evaluate(path, ["rr"], spark=session, lane=lane, **{**ROLES, **settings}) as found:
        assert found.lane == lane
        groups = found.groups if lane == "local" else found.groups.toArrow()
        return sorted(groups["user"].to_pylist())


# Of which Spark by itself would read other files.
SPARKS_OWN = (
    "a nested folder", "a pattern and folders", "partitions below a pattern", "hidden ones by a pattern",
    "a file of 0 bytes", "braces with slashes", "marks in names", "blanks and marks of URLs",
    "partitions of such names",
)  # fmt: skip


def test_every_lane_reads_the_same_files(spark: SparkSession, tmp_path: Path) -> None:
    for number, name in enumerate(SPARKS_OWN):
        files, path, wanted = LAYOUTS[name]
        write_files(tmp_path / str(number), files)
        for lane in LANES if name == "partitions below a pattern" else ("frame",):
            if isinstance(wanted, str):
                with pytest.raises((sr.InputError, sr.SpecError), match=re.escape(wanted)):
                    _users(f"{tmp_path}/{number}/{path}", spark, lane)
            else:
                assert _users(f"{tmp_path}/{number}/{path}", spark, lane) == sorted(wanted), (name, lane)


def test_a_name_that_spark_cannot_read_is_refused_by_the_lane_that_cannot(spark: SparkSession, tmp_path: Path) -> None:
    """Hadoop takes the colon in the name of its checksum for the end of a scheme, on this machine only."""
    write_files(tmp_path, ["in/a:b", "in/c"])
    for lane in ("local", "scan"):
        assert _users(f"{tmp_path}/in", spark, lane) == ["in/a:b", "in/c"]
    with pytest.raises(sr.InputError, match=r"cannot be read: .*Relative path in absolute URI"):
        _users(f"{tmp_path}/in", spark, "frame")


def test_links_are_what_they_lead_to(spark: SparkSession, tmp_path: Path) -> None:
    write_file(tmp_path / "elsewhere/a", "a")
    for name, target in (("file/link", "elsewhere/a"), ("folder/k=1", "elsewhere"), ("nothing/b", "nowhere")):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).symlink_to(tmp_path / target)
    write_file(tmp_path / "nothing/a", "a")
    for lane in LANES:
        assert _users(f"{tmp_path}/file", spark, lane) == _users(f"{tmp_path}/folder", spark, lane) == ["a"]
        with pytest.raises(sr.InputError, match="nothing/b is a link to nothing"):
            _users(f"{tmp_path}/nothing", spark, lane)


def test_a_condition_that_moves_the_day_to_another_lane_moves_no_row(spark: SparkSession, tmp_path: Path) -> None:
    """Nor do other formats, of which Spark by itself leaves out what is nested, or has no bytes, as well."""
    write_files(tmp_path, ["in/x/a", "in/y/z/b"])
    (tmp_path / "csv/sub").mkdir(parents=True)
    for file in ("a.csv", "sub/b.csv"):
        (tmp_path / "csv" / file).write_text("user,score,label\nx,0.5,1\n")
    csv = {"format": "csv", "options": {"header": "true"}, "lane": "frame"}
    for given, name, refused, path, rows in (
        ({"where": "score > 0"}, "scan", "in/*", "in/*/*", 4),
        ({"where": "score > 0 or score > 0"}, "frame", "in/*", "in/*/*", 4),
        (csv, "frame", "csv", "csv/{a.csv,sub}", 2),
    ):
        with pytest.raises(sr.InputError, match=r"/b(.csv)? in a folder that is not named key=value"):
            _lane(f"{tmp_path}/{refused}", spark, **given)
        lane = _lane(f"{tmp_path}/{path}", spark, **given)
        assert (lane.name, lane.rows()) == (name, rows)


def _lane(path: str, spark: SparkSession, lane: str = "auto", **given) -> Lane:
    columns = Columns(group="user", score="score", label="label")
    plan, roles = plan_of(["rr"], ["score"], ["user"]), Roles.of("user", "label", "score")
    return lane_of(Input(path=path, columns=columns, **given), lane, roles, plan, spark)


def _no_file_system(path: str) -> None:
    raise OSError(f"{path}: nobody may open it")


def test_where_arrow_opens_no_file_system_spark_lists(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored_files, "file_system", _no_file_system)
    names = ("hidden ones by a pattern", "partitions of such names", "files beside partitions", "nothing")
    for number, name in enumerate(names):
        files, path, wanted = LAYOUTS[name]
        write_files(tmp_path / str(number), files)
        if isinstance(wanted, str):
            with pytest.raises(sr.InputError, match=re.escape(wanted)):
                _users(f"{tmp_path}/{number}/{path}", spark, "frame")
        else:
            assert _users(f"{tmp_path}/{number}/{path}", spark, "frame") == sorted(wanted), name


PATTERNS = (
    *("*", "a*", "?b", "[a-c]?", "[^a]*", "[!a]*", "{a,b}*", "{a{b,c},x}*", "*.{x,y}", "a\\*b", "\\[a\\]", "[a.]b"),
    *("*(*", "a+b*", "{ab,a.b}", "*}", "a.b*", "*/s", "{d/s,e/*}", "{d,e}/{s,t}", "[d-e]/t"),
)


def test_patterns_are_those_of_hadoop(spark: SparkSession, tmp_path: Path) -> None:
    names = ["ab", "a.b", "a*b", "bb", "cb", "[a]", "a(b", "a+b", "aab", "ac.x", "b.y", "}", "a}", "d/s", "d/t", "e/t"]
    write_files(tmp_path, names)
    for pattern in PATTERNS:
        spark_finds = spark.read.format("binaryFile").load(f"{tmp_path}/{pattern}").inputFiles()
        listing = Listing.at(fs.LocalFileSystem(), f"{tmp_path}/{pattern}")
        assert list(listing.files) == sorted(unquote(uri).removeprefix("file://") for uri in spark_finds), pattern


@pytest.mark.parametrize("lists", ["arrow", "spark"])
def test_a_lake_table_is_no_folder_of_files_in_any_lane(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lists: str
) -> None:
    """Whoever lists the files; for the input and the truth."""
    if lists == "spark":
        monkeypatch.setattr(stored_files, "file_system", _no_file_system)
    marks = {"delta": "_delta_log/0.json", "hudi": ".hoodie/hoodie.properties", "iceberg": "metadata/v1.metadata.json"}
    for kind, mark in marks.items():
        folder = tmp_path / kind
        write_files(folder, ["k=1/a", "k=2/b"])
        (folder / mark).parent.mkdir()
        (folder / mark).write_text("{}")
        sentence = rf"is in a table of {kind.capitalize()} .*: write format: {kind} w"
        for lane in LANES if (lists, kind) == ("arrow", "delta") else ("frame",):
            with pytest.raises(sr.InputError, match=sentence):
                _users(f"{folder}/k=[1]/a", spark, lane)
        rows = pa.table({"user": ["a"], "item": [1], "score": [0.5]})
        with pytest.raises(sr.InputError, match=sentence):
            sr.evaluate(rows, ["rr"], truth=str(folder), spark=spark, lane="frame", item="item", **ROLES)


def test_a_format_that_spark_lacks_is_told_with_its_package(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("delta", "delta_log"):  # without the library that reads Delta tables
        monkeypatch.setattr(f"sparkrank.sources.{module}.reads_delta", bool)
    monkeypatch.setitem(LAKES, "delta", LAKES["delta"]._replace(is_installed=bool))
    write_files(tmp_path, ["t/a"])
    for kind, package, library in (
        ("delta", "io.delta:delta-spark_2.13", "; or pip install 'sparkrank\\[delta]' for the lanes scan and local"),
        ("avro", "org.apache.spark:spark-avro_2.13", ""),
    ):
        told = rf"input.format is {kind}, which this Spark cannot read: add {package} to .* Spark [\d.]+{library}$"
        with pytest.raises(sr.SpecError, match=told):
            _lane(f"{tmp_path}/t", spark, format=kind)
