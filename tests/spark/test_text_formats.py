"""CSV and JSON in the lanes of Spark: what the local lane reads, and what it leaves to the frame lane."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from sparkrank.config import Spec
from sparkrank.engines.arrow import text_parts
from sparkrank.engines.spark import part_looks, scan
from sparkrank.errors import InputError, SparkrankError
from sparkrank.run import evaluate_day
from sparkrank.run.stages import Stages
from tests.cases.text_files import CASES, UNUSABLE, TextCase, case
from tests.unit.test_text_formats import DAY, document_of, found_by

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize("each", [pytest.param(each, id=each.name) for each in CASES])
def test_what_every_lane_reads(spark: SparkSession, each: TextCase, tmp_path: Path) -> None:
    """By the scan lane where it takes them, and by the frame lane."""
    assert found_by(each, tmp_path, "frame", spark) == (each.groups, each.rejected)
    if not each.is_sparks:
        assert found_by(each, tmp_path, "scan", spark) == (each.groups, each.rejected)


@pytest.mark.parametrize(("each", "told"), [pytest.param(*pair, id=pair[0].name) for pair in UNUSABLE])
def test_what_no_lane_reads(spark: SparkSession, each: TextCase, told: str, tmp_path: Path) -> None:
    """The tasks that look through files for the scan lane say what the local lane says."""
    document = document_of(each, tmp_path, "scan")
    with pytest.raises(SparkrankError) as failed:
        evaluate_day(Spec.model_validate(document), DAY, spark, Stages())
    assert told in str(failed.value)
    document = document_of(each, tmp_path, "frame")
    del document["engine"]["buckets"]  # so that rows are counted, too
    with pytest.raises(InputError):
        evaluate_day(Spec.model_validate(document), DAY, spark, Stages())


def test_the_lanes_have_one_hash_and_the_same_bits(another_session: SparkSession, tmp_path: Path) -> None:
    """Whatever the session says of casts and zones."""
    spark = another_session
    spark.conf.set("spark.sql.ansi.enabled", "false")
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    rows = "".join(
        f"{user:03},i{item},{1 / (item * user + 3)!r},{(item * user) % 3}\n" for user in range(20) for item in range(9)
    )
    each = case("many", rows + "000,x,none,0\n", {})
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


def test_auto_takes_the_scan_lane_and_leaves_to_the_frame_lane_what_only_spark_reads(
    spark: SparkSession, tmp_path: Path
) -> None:
    for rows, lane, told in (
        ("a,x,2,0\na,y,1,1\n", "scan", "the input is CSV named by path"),
        ("a,x,2,0\na,y,1,1\n \n", "frame", "x.csv of the input has a line of blanks, which is left to Spark"),
    ):
        document = document_of(case("rows", rows, {}), tmp_path, "auto")
        result = evaluate_day(Spec.model_validate(document), DAY, spark, Stages())
        assert result.lane == lane
        (runs,) = pq.read_table(f"{tmp_path}/out-auto/runs/day={DAY}").to_pylist()
        assert runs["lane_reason"].endswith(told)


def test_large_files_are_cut_where_tasks_read_them(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of each of 3,000 users the second of two is clicked; parts of 10 kB are looked through and read by many tasks."""
    monkeypatch.setattr(text_parts, "PART", 10_000)
    monkeypatch.setattr(part_looks, "PART", 20_000)
    of_tasks, shares = [], part_looks._shares
    monkeypatch.setattr(part_looks, "_shares", lambda parts: of_tasks.append(shares(parts)) or of_tasks[-1])
    monkeypatch.setattr(scan, "SPLIT_ROWS", 1_500)
    users = [f"{user:04}" for user in range(3_000)]
    text = "u,i,s,y\n" + "".join(f"{user},{item},{2 - item},{item}\n" for user in users for item in (0, 1))
    each = TextCase("large", {"x.csv": text.encode()}, {})
    assert found_by(each, tmp_path, "scan", spark) == (dict.fromkeys(users, 1 / 2), 0)
    # 66,008 bytes are seven parts of 9,430, and three of them are beyond 20,000 bytes
    assert [len(share) for share in of_tasks[0]] == [3, 3, 1]


def test_a_value_that_is_not_of_the_type_of_the_schema_is_told(spark: SparkSession, tmp_path: Path) -> None:
    """And what inferSchema does not infer, by Spark too."""
    record = b'{"u":"a","i":"x","s":2,"y":1.7}\n'
    each = TextCase("INT", {"json.json": record}, {}, options={}, schema="u STRING, i STRING, s DOUBLE, y INT")
    document = document_of(each, tmp_path, "frame", max_bad_fraction=0.0)
    with pytest.raises(InputError, match=r"1 text that is no number.*not of the type that the schema names, as 1.7 of"):
        evaluate_day(Spec.model_validate(document), DAY, spark, Stages())
    (tmp_path / "in/json.json").unlink()
    each = case("ids", "007,7,3.0,0\n007,8,2.0,1\n", {}, options={"header": True, "inferSchema": True})
    result = evaluate_day(Spec.model_validate(document_of(each, tmp_path, "frame")), DAY, spark, Stages())
    (told,) = result.warnings
    assert told.startswith("input.options.inferSchema infers no type of u, i: ")
