"""Which rows a path stands for does not depend on the lane: all read the same ones, or all refuse."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import fs

import sparkrank as sr
from sparkrank.config.sections import Columns, Input
from sparkrank.inputs.roles import Roles
from sparkrank.metrics import Plan
from sparkrank.sources import stored_files
from sparkrank.sources.files import files_at
from tests.spark.small import lane_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LANES = ("local", "scan", "frame")
ROLES = {"group": "user", "score": "score", "label": "label", "buckets": 1}
EMPTY = "(empty)"  # a file of 0 bytes
# Of each layout: its files, each of which has two rows of a user of the same name; the path that is asked for; and the
# users that are read of it, or the sentence that refuses it.
LAYOUTS: dict[str, tuple[Sequence[str], str, Sequence[str] | str]] = {
    "a folder": (["in/a", "in/b"], "in", ["in/a", "in/b"]),
    "a file beside others": (["in/a", "in/b"], "in/a", ["in/a"]),
    "a slash at the end": (["in/a"], "in/", ["in/a"]),
    "dots in the path": (["in/a", "b"], "in/../in/./", ["in/a"]),
    "a nested folder": (["in/a", "in/sub/b"], "in", "sub/b in a folder that is not named key=value"),
    "nested folders alone": (["in/sub/b"], "in", "sub/b in a folder that is not named key=value"),
    "a pattern and folders": (["in/x/a", "in/y/b"], "in/*", ["in/x/a", "in/y/b"]),
    "a pattern and what is deeper": (["in/x/a", "in/y/z/b"], "in/*", "z/b in a folder that is not named key=value"),
    "a pattern that reaches it": (["in/x/a", "in/y/z/b"], "in/*/*", ["in/x/a", "in/y/z/b"]),
    "files and folders by a pattern": (["in/a", "in/x/b"], "in/*", ["in/a", "in/x/b"]),
    "files of one name": (["in/x/a", "in/x/b", "in/y/a"], "in/*/a", ["in/x/a", "in/y/a"]),
    "partitions": (["in/k=1/a", "in/k=2/b"], "in", ["in/k=1/a", "in/k=2/b"]),
    "partitions below a pattern": (["in/x/k=1/a", "in/y/k=1/b"], "in/*", ["in/x/k=1/a", "in/y/k=1/b"]),
    "partitions below one match": (["in/x/k=1/a", "y/k=1/b"], "in/*", ["in/x/k=1/a"]),
    "a partition by a pattern": (["in/k=1/a", "in/k=2/b"], "in/k=[12]", ["in/k=1/a", "in/k=2/b"]),
    "files beside partitions": (["in/a", "in/k=1/b"], "in", "has a and k=1/b, in folders of different columns"),
    "files beside them in a match": (["in/x/a", "in/x/k=1/b"], "in/*", "has a and k=1/b, in folders of different"),
    "partitions of two columns": (["in/k=1/a", "in/m=1/b"], "in", "has k=1/a and m=1/b, in folders of different"),
    "partitions in other case": (["in/k=1/a", "in/K=1/b"], "in", "in folders of different columns"),
    "a partition in itself": (["in/k=1/K=2/a"], "in", "k=1/K=2/a, in two folders of one column"),
    "a partition without a value": (["in/k=/a", "in/k=1/b"], "in", 'in the folder "k=", which has no value'),
    "a partition without a name": (["in/=1/a"], "in", 'in the folder "=1", which has no name'),
    "hidden files": (["in/a", "in/_b", "in/.c", "in/_metadata"], "in", ["in/a"]),
    "hidden folders": (["in/a", "in/_temporary/b", "in/.c/d", "in/_metadata/e"], "in", ["in/a"]),
    "hidden ones by a pattern": (["in/x/a", "in/_temporary/b", "in/.c/d", "in/_e"], "in/*", ["in/x/a"]),
    "hidden ones that a pattern names": (["in/x/_v2/a", "in/x/_v1/b"], "in/*/_v2/*", ["in/x/_v2/a"]),
    "a hidden folder that is named": (["_in/a"], "_in", ["_in/a"]),
    "a hidden file that is named": (["in/_a"], "in/_a", "in/_a is hidden from Spark by its name"),
    "a file of 0 bytes": (["in/a", f"in/b{EMPTY}"], "in", "in/b is a file of 0 bytes"),
    "it alone": ([f"in/b{EMPTY}"], "in/b", "in/b is a file of 0 bytes"),
    "it among partitions": (["in/k=1/a", f"in/k=1/b{EMPTY}"], "in", "in/k=1/b is a file of 0 bytes"),
    "it in a match": (["in/x/a", f"in/y/b{EMPTY}"], "in/*", "in/y/b is a file of 0 bytes"),
    "a file that is being copied": (["in/a", "in/b._COPYING_"], "in", "in/b._COPYING_ is still being copied"),
    "it outside": (["in/a", "in/_x/b._COPYING_"], "in", ["in/a"]),
    "it hidden": (["in/a", f"in/_SUCCESS{EMPTY}", f"in/.b.crc{EMPTY}"], "in", ["in/a"]),
    "it outside of the pattern": (["in/x/a", f"in/y/b{EMPTY}"], "in/x*", ["in/x/a"]),
    "a folder of S3 by Hadoop": (["in/k=1/a", f"in/k=1_$folder${EMPTY}"], "in", ["in/k=1/a"]),
    "braces": (["in/a", "in/b", "in/c"], "in/{a,c}", ["in/a", "in/c"]),
    "braces and more": (["in/a1", "in/b2", "in/c"], "in/{a,b}?", ["in/a1", "in/b2"]),
    "braces in braces": (["in/ab", "in/ac", "in/d"], "in/{a{b,c},e}", ["in/ab", "in/ac"]),
    "braces with slashes": (["in/x/a", "in/y/b", "in/z/c"], "in/{x/a,y}", ["in/x/a", "in/y/b"]),
    "braces in the name": (["in/{a}", "in/a"], "in/\\{a\\}", ["in/{a}"]),
    "marks in names": (
        ["in/a[1]", "in/b*", "in/c{d", "in/e?", "in/f\\"], "in", ["in/a[1]", "in/b*", "in/c{d", "in/e?", "in/f\\"]
    ),
    "marks in names that match": (["in/a[1]", "in/ab*", "in/c"], "in/a*", ["in/a[1]", "in/ab*"]),
    "a mark taken as it is": (["in[1]/a", "in1/b"], "in\\[1\\]", ["in[1]/a"]),
    "a mark by a pattern": (["in[1]/k=1/a", "in1/b"], "in\\[1\\]/*", ["in[1]/k=1/a"]),
    "a range": (["in/1", "in/2", "in/3"], "in/[2-3]", ["in/2", "in/3"]),
    "none of a range": (["in/1", "in/2", "in/3"], "in/[^2]", ["in/1", "in/3"]),
    "a bracket that does not close": (["in/a[", "in/b"], "in/a[", "is not a pattern"),
    "upper and lower case": (["in/A", "in/a"], "in/[a-z]", ["in/a"]),
    "blanks and marks of URLs": (
        ["in/a b", "in/c%20d", "in/e#f", "in/g+h", "in/i&j"], "in", ["in/a b", "in/c%20d", "in/e#f", "in/g+h", "in/i&j"]
    ),
    "folders of such names": (["i n%20#+/a", "i n%20#+/b"], "i n%20#+", ["i n%20#+/a", "i n%20#+/b"]),
    "such names by a pattern": (["i n%20#+/a", "in/b"], "i*+/?", ["i n%20#+/a"]),
    "a question mark": (["in/a?b", "in/acb"], "in/a\\?b", ["in/a?b"]),
    "other letters": (["ïn/ä", "ïn/水"], "ïn", ["ïn/ä", "ïn/水"]),
    "other letters by a pattern": (["ïn/ä", "ïn/水"], "?n/水", ["ïn/水"]),
    "partitions of such names": (
        ["in/k=a b/a", "in/k=c%2Fd/b", "in/k=ä/c"], "in", ["in/k=a b/a", "in/k=c%2Fd/b", "in/k=ä/c"]
    ),
    "nothing": (["in/a"], "on", "there is no parquet input at"),
    "nothing that matches": (["in/a"], "in/b*", "there is no parquet input at"),
    "nothing that is not hidden": (["in/_a"], "in", "there is no parquet input at"),
}  # fmt: skip


def _write(file: Path, user: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"user": [user] * 2, "score": [0.5, 0.25], "label": [0, 1]}), file)


def _write_all(folder: Path, files: Sequence[str]) -> None:
    for name in files:
        if name.endswith(EMPTY):
            file = folder / name.removesuffix(EMPTY)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.touch()
        else:
            _write(folder / name, name)


def _users(path: str, spark: SparkSession, lane: str, **settings) -> list[str]:
    session = None if lane == "local" else spark
    with sr.evaluate(path, ["rr"], spark=session, lane=lane, **{**ROLES, **settings}) as found:
        assert found.lane == lane
        groups = found.groups if lane == "local" else found.groups.toArrow()
        return sorted(groups["user"].to_pylist())


@pytest.mark.parametrize(("files", "path", "wanted"), LAYOUTS.values(), ids=LAYOUTS)
def test_every_lane_reads_the_same_files(
    spark: SparkSession, tmp_path: Path, files: Sequence[str], path: str, wanted: Sequence[str] | str
) -> None:
    _write_all(tmp_path, files)
    for lane in LANES:
        if isinstance(wanted, str):
            with pytest.raises((sr.InputError, sr.SpecError), match=re.escape(wanted)) as error:
                _users(f"{tmp_path}/{path}", spark, lane)
            assert "\n" not in str(error.value)
        else:
            assert _users(f"{tmp_path}/{path}", spark, lane) == sorted(wanted), lane


def test_a_name_that_spark_cannot_read_is_refused_by_the_lane_that_cannot(spark: SparkSession, tmp_path: Path) -> None:
    """Hadoop takes the colon in the name of its checksum for the end of a scheme, on this machine only."""
    _write_all(tmp_path, ["in/a:b", "in/c"])
    for lane in ("local", "scan"):
        assert _users(f"{tmp_path}/in", spark, lane) == ["in/a:b", "in/c"]
    with pytest.raises(sr.InputError, match=r"cannot be read: .*Relative path in absolute URI"):
        _users(f"{tmp_path}/in", spark, "frame")


def _link_to_a_file(folder: Path) -> None:
    _write(folder / "elsewhere", "a")
    (folder / "in").mkdir()
    (folder / "in/link").symlink_to(folder / "elsewhere")


def _link_to_a_folder(folder: Path) -> None:
    _write(folder / "elsewhere/a", "a")
    (folder / "in").mkdir()
    (folder / "in/k=1").symlink_to(folder / "elsewhere")


def _link_to_nothing(folder: Path) -> None:
    _write(folder / "in/a", "a")
    (folder / "in/b").symlink_to(folder / "elsewhere")


@pytest.mark.parametrize(
    ("written", "refused"),
    [(_link_to_a_file, None), (_link_to_a_folder, None), (_link_to_nothing, "in/b is a link to nothing")],
)
def test_links_are_what_they_lead_to(
    spark: SparkSession, tmp_path: Path, written: Callable[[Path], None], refused: str | None
) -> None:
    written(tmp_path)
    for lane in LANES:
        if refused is None:
            assert _users(f"{tmp_path}/in", spark, lane) == ["a"]
        else:
            with pytest.raises(sr.InputError, match=refused):
                _users(f"{tmp_path}/in", spark, lane)


@pytest.mark.parametrize("where", ["score > 0", "score > 0 or score > 0"])
@pytest.mark.parametrize("path", ["in/*/*", "in/*"])
def test_a_condition_that_moves_the_day_to_another_lane_moves_no_row(
    spark: SparkSession, tmp_path: Path, where: str, path: str
) -> None:
    _write_all(tmp_path, ["in/x/a", "in/y/z/b"])
    columns = Columns(group="user", score="score", label="label")
    plan, roles = Plan.of(["rr"], ["score"], ["user"]), Roles.of("user", "label", "score")
    given = Input(path=f"{tmp_path}/{path}", where=where, columns=columns)
    if path == "in/*":
        with pytest.raises(sr.InputError, match=r"z/b in a folder that is not named key=value"):
            lane_of(given, "auto", roles, plan, spark)
        return
    lane = lane_of(given, "auto", roles, plan, spark)
    assert (lane.name, lane.rows()) == ("frame" if " or " in where else "scan", 4)


def test_other_formats_are_listed_alike(spark: SparkSession, tmp_path: Path) -> None:
    """Of which Spark leaves out what is nested, or has no bytes, as well."""
    (tmp_path / "in/sub").mkdir(parents=True)
    (tmp_path / "in/a.csv").write_text("user,score,label\nx,0.5,1\n")
    (tmp_path / "in/sub/b.csv").write_text("user,score,label\ny,0.5,1\n")
    plan, roles = Plan.of(["rr"], ["score"], ["user"]), Roles.of("user", "label", "score")
    options = {"header": "true"}
    for path, rows in (("in", None), ("in/{a.csv,sub}", 2)):
        given = Input(
            path=f"{tmp_path}/{path}", format="csv", options=options,
            columns=Columns(group="user", score="score", label="label"),
        )  # fmt: skip
        if rows is None:
            with pytest.raises(sr.InputError, match=r"sub/b.csv in a folder that is not named key=value"):
                lane_of(given, "frame", roles, plan, spark)
        else:
            assert lane_of(given, "frame", roles, plan, spark).rows() == rows


def _no_file_system(path: str) -> None:
    raise OSError(f"{path}: nobody may open it")


@pytest.mark.parametrize(
    "name",
    [
        "a folder", "a file beside others", "partitions", "a nested folder", "a file of 0 bytes", "it among partitions",
        "files beside partitions", "hidden folders", "hidden ones by a pattern", "a pattern and what is deeper",
        "braces with slashes", "partitions below a pattern", "blanks and marks of URLs", "nothing",
        "nothing that matches",
    ],
)  # fmt: skip
def test_where_arrow_opens_no_file_system_spark_lists(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(stored_files, "file_system", _no_file_system)
    files, path, wanted = LAYOUTS[name]
    _write_all(tmp_path, files)
    if isinstance(wanted, str):
        with pytest.raises(sr.InputError, match=re.escape(wanted)):
            _users(f"{tmp_path}/{path}", spark, "frame")
    else:
        assert _users(f"{tmp_path}/{path}", spark, "frame") == sorted(wanted)


@pytest.mark.parametrize(
    "pattern",
    [
        *("*", "a*", "?b", "[a-c]?", "[^a]*", "[!a]*", "{a,b}*", "{a{b,c},x}*", "*.{x,y}", "a\\*b", "\\[a\\]", "[a.]b"),
        *("*(*", "a+b*", "{ab,a.b}", "*}", "a.b*", "*/s", "{d/s,e/*}", "{d,e}/{s,t}", "[d-e]/t"),
    ],
)
def test_patterns_are_those_of_hadoop(spark: SparkSession, tmp_path: Path, pattern: str) -> None:
    names = ["ab", "a.b", "a*b", "bb", "cb", "[a]", "a(b", "a+b", "aab", "ac.x", "b.y", "}", "a}", "d/s", "d/t", "e/t"]
    _write_all(tmp_path, names)
    spark_finds = spark.read.format("binaryFile").load(f"{tmp_path}/{pattern}").inputFiles()
    found = files_at(fs.LocalFileSystem(), f"{tmp_path}/{pattern}")
    assert found == sorted(unquote(uri).removeprefix("file://") for uri in spark_finds)


def _hudi(folder: Path) -> None:
    (folder / ".hoodie").mkdir()
    (folder / ".hoodie/hoodie.properties").write_text("hoodie.table.name=t")


def _delta(folder: Path) -> None:
    (folder / "_delta_log").mkdir()
    (folder / "_delta_log/00000000000000000000.json").write_text("{}")


def _iceberg(folder: Path) -> None:
    (folder / "metadata").mkdir()
    (folder / "metadata/v1.metadata.json").write_text("{}")


@pytest.mark.parametrize("lists", ["arrow", "spark"])
@pytest.mark.parametrize(("written", "name"), [(_delta, "delta"), (_hudi, "hudi"), (_iceberg, "iceberg")])
def test_a_lake_table_is_no_folder_of_files_in_any_lane(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written, name: str, lists: str
) -> None:
    """Whoever lists the files; for the input and the truth, by ``sr.evaluate`` and by the job."""
    _write_all(tmp_path, ["t/k=1/a", "t/k=2/b"])
    written(tmp_path / "t")
    if lists == "spark":
        monkeypatch.setattr(stored_files, "file_system", _no_file_system)
    lists_of = pa.table({"user": ["a"], "item": [1], "score": [0.5]})
    plan, roles = Plan.of(["rr"], ["score"], ["user"]), Roles.of("user", "label", "score")
    refused = pytest.raises(sr.InputError, match=rf"is in a table of {name.capitalize()} .*: write format: {name} with")
    for inside in ("t", "t/k=1", "t/k=1/a", "t/k=*", "t/k=[1]/a", "*"):
        path = f"{tmp_path}/{inside}"
        for lane in LANES if lists == "arrow" else ("frame",):
            with refused:
                _users(path, spark, lane)
        with refused:
            given = Input(path=path, columns=Columns(group="user", score="score", label="label"))
            lane_of(given, "frame", roles, plan, spark)
    with refused:
        sr.evaluate(lists_of, ["rr"], truth=path, spark=spark, lane="frame", group="user", item="item", score="score")


@pytest.mark.parametrize(
    ("kind", "package"),
    [
        ("delta", "io.delta:delta-spark_2.13"),
        ("hudi", r"org.apache.hudi:hudi-spark\d.\d-bundle_2.13"),
        ("iceberg", r"org.apache.iceberg:iceberg-spark-runtime-\d.\d_2.13"),
        ("avro", "org.apache.spark:spark-avro_2.13"),
    ],
)
def test_a_format_that_spark_lacks_is_told_with_its_package(
    spark: SparkSession, tmp_path: Path, kind: str, package: str
) -> None:
    _write_all(tmp_path, ["t/a"])
    given = Input(path=f"{tmp_path}/t", format=kind, columns=Columns(group="user", score="score", label="label"))
    plan, roles = Plan.of(["rr"], ["score"], ["user"]), Roles.of("user", "label", "score")
    with pytest.raises(sr.SpecError, match=f"input.format is {kind}, which this Spark cannot read: add {package} to"):
        lane_of(given, "auto", roles, plan, spark)
