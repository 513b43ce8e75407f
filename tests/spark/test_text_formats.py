"""CSV and JSON in the lanes of Spark: what the local lane reads, by Arrow and by Spark's own readers."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest
from pyarrow import fs

from sparkrank.base.errors import InputError, SpecError
from sparkrank.config import Spec
from sparkrank.jobs import evaluate_day
from sparkrank.run.stages import Stages
from sparkrank.sources import stored_files
from tests.cases.text_files import CASES, REFUSED, UNUSABLE, case
from tests.cases.text_values import documents, found_in
from tests.extent import IS_LONG, PART
from tests.sources.test_text_formats import DAY, document_of, found_by

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_what_spark_reads(spark: SparkSession, tmp_path: Path) -> None:
    """By the frame lane; the scan lane has the reader of the local one, and so one case here."""
    wrong = []
    for index, each in enumerate(CASES if IS_LONG else CASES[::PART]):
        lane = "frame" if index else "scan"
        (tmp_path / str(index)).mkdir()
        groups = found_by(each, tmp_path / str(index), lane, spark)
        if groups != each.groups:
            wrong.append((each.name, lane, groups))
    assert wrong == []


def test_each_kind_of_value_is_read_by_spark(spark: SparkSession, tmp_path: Path) -> None:
    """With a schema and without, of rows and of a catalog: a half of the cases in a short run."""
    drawn = list(documents(tmp_path, "frame"))[:: 1 if IS_LONG else 3]
    wrong = [(document, found) for document, values in drawn if (found := found_in(document, spark)) != values]
    assert wrong == []


def test_what_no_lane_reads(spark: SparkSession, tmp_path: Path) -> None:
    """A task of the scan lane says what the local lane says."""
    for index, (lane, each) in enumerate([("scan", REFUSED[0]), *(("frame", of_no_lane) for of_no_lane in UNUSABLE)]):
        (tmp_path / str(index)).mkdir()
        with pytest.raises(InputError, match=re.escape(each.told) if lane == "scan" else r"(?s)."):
            evaluate_day(Spec.model_validate(document_of(each, tmp_path / str(index), lane)), DAY, spark, Stages())


def test_the_lanes_have_one_hash_and_the_same_bits(another_session: SparkSession, tmp_path: Path) -> None:
    """Whatever the session says of casts and zones."""
    spark = another_session
    spark.conf.set("spark.sql.ansi.enabled", "false")
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    rows = "".join(
        f"{user:03},i{item},{1 / (item * user + 3)!r},{(item * user) % 3}\n" for user in range(20) for item in range(9)
    )
    tables = {}
    for lane in ("local", "scan", "frame"):
        document = {**document_of(case("many", rows, {}), tmp_path, lane), "metrics": ["ndcg@5", "ap", "auc(exact)"]}
        evaluate_day(Spec.model_validate(document), DAY, None if lane == "local" else spark, Stages())
        names = ("metrics", "groups", "states", "runs")
        found = {name: pq.read_table(f"{tmp_path}/out-{lane}/{name}/day={DAY}") for name in names}
        assert "session" not in json.loads(found.pop("runs")["versions"][0].as_py())
        assert found["groups"].schema.field("u").type == "string"
        tables[lane] = {name: sorted(map(str, table.to_pylist())) for name, table in found.items()}  # NaN is NaN
    assert tables["local"] == tables["scan"] == tables["frame"]  # spec_hash and run_id too


def test_auto_takes_the_scan_lane_whatever_a_file_holds(spark: SparkSession, tmp_path: Path) -> None:
    """And Spark's readers where these are asked for."""
    document = document_of(case("rows", "a,x,2,0\na,y,1,1\n", {}), tmp_path, "auto")
    assert evaluate_day(Spec.model_validate(document), DAY, spark, Stages()).lane == "scan"
    (runs,) = pq.read_table(f"{tmp_path}/out-auto/runs/day={DAY}").to_pylist()
    assert runs["lane_reason"] == "the input is CSV named by path"
    document["input"]["options"] = {"header": True, "maxColumns": 4}
    with pytest.raises(SpecError, match=r"options\.maxColumns is none of Arrow's reader of csv .*lane: frame reads"):
        evaluate_day(Spec.model_validate(document), DAY, spark, Stages())
    document["engine"]["lane"] = "frame"
    assert evaluate_day(Spec.model_validate(document), DAY, spark, Stages()).lane == "frame"


def test_content_never_chooses_the_reader(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even in a store, where Spark may open what Arrow cannot: it would read other rows of these files."""
    monkeypatch.setattr(stored_files, "file_system", lambda path: (fs.LocalFileSystem(), path.removeprefix("far:/")))
    opened = ("a record without a line end", "numbers in texts", "a column twice")  # each is refused at another point
    for index, each in enumerate(refused for refused in REFUSED if IS_LONG or refused.name in opened):
        document = document_of(each, tmp_path / str(index), "auto")
        document["input"]["path"] = f"far:/{document['input']['path']}"
        with pytest.raises(InputError, match=re.escape(each.told)):
            evaluate_day(Spec.model_validate(document), DAY, spark, Stages())
