"""Inputs that writers, people and Spark name, type or break in ways of their own: one sentence, or the same bits."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as F

import sparkrank as sr
from sparkrank.engines.spark.frame_lane import FrameLane
from sparkrank.inputs.roles import Roles
from sparkrank.sources.side_rows import SideRows
from tests.spark.small import ROLES, ROWS, RR, groups_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_a_stream_is_refused_and_a_column_of_that_name_is_none(spark: SparkSession) -> None:
    stream = spark.readStream.format("rate").load().selectExpr("value user", "value score", "1 label")
    with pytest.raises(sr.SpecError, match="the impressions are a streaming DataFrame: complete rows are needed"):
        sr.evaluate(stream, ["rr"], **ROLES)
    rows = ROWS.append_column("isStreaming", pa.array([True, False, True])).to_pandas()
    assert groups_of(sr.evaluate(rows, ["rr"], **ROLES)) == RR


def test_a_file_that_cannot_be_read_is_left_out_by_nobody(spark: SparkSession, tmp_path: Path) -> None:
    """Whatever the session says: readers of the tables would not know what is missing."""
    setting = "spark.sql.files.ignoreCorruptFiles"
    for name in ("1.parquet", "2.parquet"):
        pq.write_table(ROWS, tmp_path / name)
    broken = tmp_path / "2.parquet"
    broken.write_bytes(broken.read_bytes()[:100])
    try:
        for in_session in ("true", "false"):
            spark.conf.set(setting, in_session)
            for lane in ("frame", "scan"):
                with pytest.raises(sr.InputError, match=r"cannot be read as.*2\.parquet|2\.parquet cannot be read"):
                    sr.evaluate(str(tmp_path), ["rr"], spark=spark, lane=lane, **ROLES)
    finally:
        spark.conf.unset(setting)


def test_texts_of_a_length_are_texts(spark: SparkSession) -> None:
    setting, kinds = "spark.sql.preserveCharVarcharTypeInfo", {"user": "varchar(5)", "country": "char(2)"}
    spark.conf.set(setting, "true")
    try:
        frame = spark.createDataFrame([("a", "de", 0.75, 0), ("a", "de", 0.5, 1)], [*kinds, "score", "label"])
        frame = frame.withColumns({name: F.col(name).cast(kind) for name, kind in kinds.items()})
        assert dict(frame.dtypes[:2]) == kinds
        with sr.evaluate(frame, ["rr", "gini"], item="country", slices=["country"], **ROLES) as evaluation:
            values = {(row["slice_value"], row["metric"]): row["value"] for row in evaluation.table.to_pylist()}
    finally:
        spark.conf.unset(setting)
    assert (values["all", "rr"], values["de", "rr"], values["all", "gini"]) == (1 / 2, 1 / 2, 0)


def test_a_column_in_which_nothing_stands_is_one_of_nulls_in_spark_too(spark: SparkSession) -> None:
    columns = ["slice_value", "metric", "value", "n_groups", "n_undefined"]
    for name in ("score", "label", "country"):
        rows = ROWS.append_column("country", pa.array(["x"] * 3))
        rows = rows.set_column(rows.column_names.index(name), name, pa.nulls(3))
        frame = spark.createDataFrame(ROWS).selectExpr(*({"score", "label", "user"} - {name}), f"null as {name}")
        asked = {**ROLES, "slices": ["country"] if name == "country" else []}
        with sr.evaluate(frame, ["rr", "ndcg"], **asked) as by_spark:
            tables = [by_spark.table, sr.evaluate(rows, ["rr", "ndcg"], **asked).table]
        by_spark, alone = (sorted(map(repr, table.select(columns).to_pylist())) for table in tables)
        assert by_spark == alone, name


def test_empty_arrays_without_a_type_fit_any_items(spark: SparkSession) -> None:
    frame = spark.sql("select 'a' as user, array() as items, array(1, 2) as actual")
    with pytest.raises(sr.InputError, match=r"^the lists have no rows$"):  # and nothing of types
        sr.evaluate(frame, ["r"], group="user", items="items", true_items="actual")
    both = frame.union(spark.sql("select 'b', array(2), array(2, 3)"))
    with sr.evaluate(both, ["r"], group="user", items="items", true_items="actual") as found:
        assert found.metrics.collect()[0]["value"] == (0 + 1 / 2) / 2


@pytest.mark.parametrize("private", ["0", "1"])
def test_arrays_come_by_both_ways_from_spark(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, private: str
) -> None:
    """The second of a list is relevant, and of all others nothing is; a list that is null has no hit at all."""
    monkeypatch.setenv("SPARKRANK_PRIVATE_SPARK", private)
    asked = {"group": "user", "items": "items", "true_items": "actual", "label": "gains", "group_table": True}
    items, actual = "array(1.50BD, 2.25BD, 3.00BD)", "array(2.25BD, 9.00BD)"
    frame = spark.sql(
        f"select 'u' as user, {items} as items, {actual} as actual, array(1, 0) as gains "
        f"union all select 'v', null, {actual}, array(1, null) "
        f"union all select 'w', {items}, null, array()"
    )
    with sr.evaluate(frame, ["rr"], **asked) as found:
        rows = sorted(found.groups.collect(), key=lambda row: row["user"])
    assert [row["rr"] for row in rows] == pytest.approx([1 / 2, 0, math.nan], nan_ok=True)
    assert [(row["n_retrieved"], row["n_relevant"]) for row in rows] == [(3, 1), (0, 1), (3, 0)]


def test_rows_of_arrays_want_buckets_by_their_elements(spark: SparkSession) -> None:
    frame = spark.range(500).selectExpr("id as user", "sequence(1, 30) as items", "array(1, 2) as actual")
    roles = Roles.of_arrays("user", "items", "actual")
    for rows, expected in ((frame, 500 * 32), (frame.where("id < 0"), 0)):
        assert FrameLane([(rows, SideRows.of("input", rows), roles)], roles).rows() == expected


FLOATS = [9.0, 1e7, 10.0, -0.0]
# Items, and the bytes of their texts: these in descending order. Spark's own texts are 9.0, 10.0, 1.0E7 and -0.0.
ITEMS = {
    "float64": (pa.array(FLOATS, pa.float64()), [b"9", b"10000000", b"10", b"0"]),
    "float32": (pa.array(FLOATS, pa.float32()), [b"9", b"10000000", b"10", b"0"]),
    "no UTF-8": (pa.array([b"\xff\xfe", b"\xff", b"\x80", b"z"]), [b"\xff\xfe", b"\xff", b"\x80", b"z"]),
}


def test_items_of_odd_types_are_the_same_in_every_lane(spark: SparkSession, tmp_path: Path) -> None:
    """All rows are tied, and the relevant one has the third item."""
    asked = {**ROLES, "item": "item", "ties": "item"}
    for kind, (items, texts) in ITEMS.items():
        rows = pa.table({"user": ["a"] * 4, "item": items, "score": [0.5] * 4, "label": [0, 0, 1, 0]})
        pq.write_table(rows, path := str(tmp_path / "log.parquet"))
        pq.write_table(rows.slice(2, 1), truth := str(tmp_path / "truth.parquet"))
        frames = spark.createDataFrame(rows), spark.createDataFrame(rows.slice(2, 1))
        for given, actual, session in ((rows, truth, None), (path, truth, spark), (*frames, None)):
            with sr.evaluate(given, ["rr", "gini@1"], spark=session, **asked) as found:
                assert found.to_pandas()["value"].tolist() == [1 / 3, 3 / 4], (kind, found.lane)  # one of four has all
                assert sorted(found.partials.items.table["item"].cast(pa.binary()).to_pylist()) == sorted(texts)
            with sr.evaluate(given, ["rr"], truth=actual, spark=session, **asked) as joined:
                assert joined.to_pandas()["value"].tolist() == [1 / 3], (kind, joined.lane)


def test_names_that_differ_in_case_only_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    """Arrow would take them for two columns, each null in the other file, and Spark takes them for one."""
    pq.write_table(ROWS, tmp_path / "1.parquet")
    pq.write_table(ROWS.rename_columns(["USER", "score", "label"]), tmp_path / "2.parquet")
    frame = spark.createDataFrame([("a", "b", 0.5, 1)], "user string, USER string, score double, label int")
    for given in (frame, str(tmp_path)):
        with pytest.raises(sr.InputError, match=r'"user" of the input is not the only one .*\(user, USER\)'):
            sr.evaluate(given, ["rr"], spark=spark, **ROLES)


def test_what_spark_cannot_read_is_one_sentence(spark: SparkSession, tmp_path: Path) -> None:
    narrow = ROWS.set_column(2, "label", pa.array([0, 1, 1], pa.int32()))
    at = ROWS.append_column("at", pa.array([1, 2, 3], pa.timestamp("ns")))
    for sentence, *files in (
        ("is not a Parquet file", ROWS, "user,score,label"),
        ("cannot be read: .*label", narrow, ROWS),
        (r"cannot be read: .*TIMESTAMP\(NANOS", at),
    ):
        for place, rows in enumerate(files):
            file = tmp_path / f"{place}.parquet"
            file.write_text(rows) if isinstance(rows, str) else pq.write_table(rows, file)
        with pytest.raises(sr.InputError, match=sentence) as error:
            sr.evaluate(str(tmp_path / "[0-9].parquet"), ["rr"], spark=spark, lane="frame", **ROLES)
        assert "\n" not in str(error.value)
        for file in tmp_path.glob("*.parquet"):
            file.unlink()
