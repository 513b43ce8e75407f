"""A lane is an implementation detail: the same input gives the same bits in every one of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark import cloudpickle

import sparkrank as sr
from sparkrank.config import Spec
from sparkrank.engines.group_files import GroupFiles
from sparkrank.engines.shuffle.packing import pieces_by_bucket
from sparkrank.engines.spark import gather as gathering
from sparkrank.engines.spark import ranges, scan
from sparkrank.engines.spark.session_features import SessionFeatures
from sparkrank.engines.spark.tasks import solve_pieces
from sparkrank.inputs.roles import Roles
from sparkrank.inputs.window import Window
from sparkrank.jobs import evaluate_day, merge_days
from sparkrank.metrics import plan_of
from sparkrank.run.stages import Stages
from sparkrank.sources.parquet import ParquetInput
from sparkrank.sources.selection import Selection, Sides
from sparkrank.states.pickling import stream_of
from tests.spark.logs import METRICS, ROLES, rows_of, write_log

DAY = "2026-11-19"

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_log(tmp_path_factory.mktemp("log"))


def test_pieces_go_as_pairs_unless_tasks_tell_exact_blocks(spark: SparkSession) -> None:
    for metrics, pairs in ((METRICS, False), (["p90(ap)", "gini@3", "auc"], True)):
        plan = plan_of(metrics, ["a", "b"], ["user_id"])
        assert (SessionFeatures.of(spark, plan).context is spark.sparkContext) is pairs


def test_a_task_gets_its_own_split_alone(spark: SparkSession, log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What all tasks get does not grow with the splits of the day: a thousand of them take 18 ms to unpack."""
    roles = Roles.of("user_id", "label", {"a": "score"})
    sides = Sides([(Selection(ParquetInput.at(str(log))), roles)], roles)
    plan = plan_of(METRICS, ["a"], ["user_id"])
    shared = []
    # of 300 rows: 1; 300 six times; 199 and 14 row groups of 7; 42 such groups three times; the three that are left
    for rows, splits in ((10**6, 1), (300, 1 + 6 + 1 + 3 + 1)):
        monkeypatch.setattr(scan, "SPLIT_ROWS", rows)
        pairs = scan.pairs_of(spark.sparkContext, sides, plan, 3)
        assert pairs.getNumPartitions() == splits
        shared.append(len(cloudpickle.dumps(pairs.func)))
    assert shared[0] == shared[1]


def test_a_task_of_buckets_that_runs_again_writes_no_group_twice(tmp_path: Path) -> None:
    """As where an executor is lost after its results were read. Files that no result names do not stay."""
    plan = plan_of(METRICS, ["a"], ["user_id"])
    user = np.arange(200)
    rows = pa.table({"key_0": user // 4, "label": user % 3.0, "score_0": user % 7 / 7})
    numbered = [piece for start in (0, 50, 100, 150) for piece in pieces_by_bucket(rows[start : start + 50], 5)]
    files = GroupFiles.at(str(tmp_path))
    told: list[list[dict]] = []
    for pieces in (numbered, numbered[::-1]):
        sent = [(bucket, stream_of(piece)) for bucket, piece in pieces]
        told.append(list(solve_pieces(sent, rows.schema, plan, files)))
    files.keep({name.decode() for row in told[1] if row["groups"] for name in row["groups"].split(b"/")})
    files.publish()
    assert sorted(pq.read_table(tmp_path)["user_id"].to_pylist()) == list(range(50))


@pytest.mark.parametrize(("lane", "metric"), [("frame", "auc"), ("scan", "auc(exact)")])
def test_files_that_are_written_anew_are_read_anew(spark: SparkSession, tmp_path: Path, lane: str, metric: str) -> None:
    """Also while results of the old ones are held, of the same evaluation of files of the same names and sizes."""
    path = str(tmp_path / "log.parquet")
    held, expected = [], {(1, 0, 1, 0): 1.0, (0, 1, 0, 1): 0.0}  # by the labels: the higher scores first, or last
    for labels in expected:
        rows = {"user": [1, 1, 2, 2], "score": [0.9, 0.1, 0.8, 0.2], "label": labels}
        pq.write_table(pa.table(rows), path)
        log = spark.read.parquet(path) if lane == "frame" else path
        held.append(
            sr.evaluate(log, ["p@1", metric], group="user", score="score", label="label", spark=spark, lane=lane)
        )
    for evaluation, value in zip(held, expected.values(), strict=True):
        with evaluation:
            assert evaluation.to_pandas()["value"].tolist() == [value, value]
            assert [row["p@1"] for row in evaluation.groups.collect()] == [value, value]


def test_neighbouring_scores_of_a_large_day_are_not_joined(
    spark: SparkSession, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {**ROLES, "group": "user_id"}
    monkeypatch.setattr(gathering, "MAX_DRIVER_ROWS", 0)
    told = r"^auc_up\(exact,min_rows=30\) joins neighbouring scores, of which "
    with pytest.raises(sr.InputError, match=told):
        sr.evaluate(str(log), ["auc", "auc_up(exact,min_rows=30)"], spark=spark, **settings)
    allowed = ["auc_up(bits=12,min_rows=30)", "auc_up(exact)"]
    with sr.evaluate(str(log), allowed, spark=spark, **settings) as found:
        assert found.to_pandas().equals(sr.evaluate(str(log), allowed, **settings).to_pandas())


def test_minus_zero_and_zero_are_one_key(spark: SparkSession) -> None:
    table = pa.table({"key": [0.0, -0.0, 1.0], "score": [0.5, 0.4, 0.3], "label": [0, 1, 1]})
    for impressions in (table, spark.createDataFrame(table)):
        with sr.evaluate(impressions, ["rr"], group="key", score="score", label="label") as evaluation:
            assert [row["key"] for row in rows_of(evaluation.groups)] == ["0.0", "1.0"]


def test_a_day_whose_exact_blocks_lie_apart_is_written_and_merges_as_any(
    spark: SparkSession, log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gathering, "MAX_DRIVER_ROWS", 0)
    monkeypatch.setattr(ranges, "RANGE_BINS", 500)
    window, tables = Window.of(DAY, DAY), {}
    for lane, session in (("scan", spark), ("local", None)):
        document = {
            "input": {"path": str(log), "columns": {"group": "user_id", "label": "label", "score": ROLES["score"]}},
            "metrics": ["auc(exact)", "pr_auc(exact)", "auc_up", "ap"],
            "output": {"path": str(tmp_path / lane)},
            "engine": {"lane": lane, "buckets": 4},
        }
        evaluate_day(Spec.model_validate(document), DAY, session, Stages())
        merge_days(Spec.model_validate({**document, "engine": {"lane": "local"}}), window, None, Stages())
        places = [f"{name}/day={DAY}" for name in ("metrics", "blocks", "curves", "groups")]
        tables[lane] = []
        for place in (*places, f"windows/metrics/window={window}"):
            rows = pq.read_table(tmp_path / lane / place, partitioning=None)
            own = [name for name in ("run_id", "spec_hash") if name in rows.column_names]
            tables[lane].append(rows_of(rows.drop_columns(own)))
            assert tables[lane][-1], place
    assert tables["scan"] == tables["local"]
