"""CSV and JSON in the lanes of Spark: what the local lane reads, by Arrow and by Spark's own readers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from sparkrank.base.errors import InputError, SparkrankError, SpecError
from sparkrank.config import Spec
from sparkrank.jobs import evaluate_day
from sparkrank.run.stages import Stages
from tests.cases.text_files import CASES, REFUSED, UNUSABLE, case
from tests.sources.test_text_formats import DAY, document_of, found_by

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_what_every_lane_reads(spark: SparkSession, tmp_path: Path) -> None:
    """By the lanes in turns: ``tests/sources/test_text_formats.py`` has all by the reader of the scan lane."""
    wrong = []
    for index, each in enumerate(CASES):
        lane = ("frame", "scan")[index % 4 == 3]
        (tmp_path / str(index)).mkdir()
        groups = found_by(each, tmp_path / str(index), lane, spark)
        if groups != each.groups:
            wrong.append((each.name, lane, groups))
    assert wrong == []


def test_what_no_lane_reads(spark: SparkSession, tmp_path: Path) -> None:
    """The tasks of the scan lane say what the local lane says."""
    wrong = []
    for index, (each, told) in enumerate([*REFUSED, *UNUSABLE]):
        for lane in ("scan", "frame") if (each, told) in UNUSABLE else ("scan",):
            (tmp_path / f"{index}{lane}").mkdir()
            document = document_of(each, tmp_path / f"{index}{lane}", lane)
            with pytest.raises(SparkrankError) as failed:
                evaluate_day(Spec.model_validate(document), DAY, spark, Stages())
            if not isinstance(failed.value, InputError) or (lane == "scan" and told not in str(failed.value)):
                wrong.append((each.name, lane, str(failed.value)))
    assert wrong == []


def test_the_lanes_have_one_hash_and_the_same_bits(another_session: SparkSession, tmp_path: Path) -> None:
    """Whatever the session says of casts and zones."""
    spark = another_session
    spark.conf.set("spark.sql.ansi.enabled", "false")
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    rows = "".join(
        f"{user:03},i{item},{1 / (item * user + 3)!r},{(item * user) % 3}\n" for user in range(20) for item in range(9)
    )
    each = case("many", rows, {})
    tables = {}
    for lane in ("local", "scan", "frame"):
        document = document_of(each, tmp_path, lane)
        document["metrics"] = ["ndcg@5", "ap", "auc(exact)"]
        evaluate_day(Spec.model_validate(document), DAY, None if lane == "local" else spark, Stages())
        folder = f"{tmp_path}/out-{lane}"
        found = {name: pq.read_table(f"{folder}/{name}/day={DAY}") for name in ("metrics", "groups", "runs", "states")}
        assert "session" not in json.loads(found["runs"]["versions"][0].as_py())
        tables[lane] = {
            "metrics": found["metrics"].to_pylist(),
            "groups": sorted(map(str, found["groups"].to_pylist())),  # NaN is not equal to itself
            "states": sorted(map(str, found["states"].to_pylist())),
        }
        assert found["groups"].schema.field("u").type == "string"
    assert tables["local"] == tables["scan"] == tables["frame"]  # spec_hash and run_id too


def test_auto_takes_the_scan_lane_whatever_a_file_holds(spark: SparkSession, tmp_path: Path) -> None:
    """And Spark's readers where these are asked for."""
    document = document_of(case("rows", "a,x,2,0\na,y,1,1\n", {}), tmp_path, "auto")
    assert evaluate_day(Spec.model_validate(document), DAY, spark, Stages()).lane == "scan"
    (runs,) = pq.read_table(f"{tmp_path}/out-auto/runs/day={DAY}").to_pylist()
    assert runs["lane_reason"] == "the input is CSV named by path"
    document["input"]["options"] = {"header": True, "comment": "#"}
    with pytest.raises(SpecError, match=r"options\.comment is none of Arrow's reader of csv .*lane: frame reads"):
        evaluate_day(Spec.model_validate(document), DAY, spark, Stages())
    document["engine"]["lane"] = "frame"
    assert evaluate_day(Spec.model_validate(document), DAY, spark, Stages()).lane == "frame"
