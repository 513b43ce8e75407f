"""A lane is an implementation detail: the same input gives the same bits in every one of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyspark import cloudpickle

import sparkrank as sr
from sparkrank.config import Spec
from sparkrank.engines import local
from sparkrank.engines.group_files import GroupFiles
from sparkrank.engines.shuffle.packing import pieces_by_bucket
from sparkrank.engines.spark import gather as gathering
from sparkrank.engines.spark import ranges, scan
from sparkrank.engines.spark.session_features import SessionFeatures
from sparkrank.engines.spark.tasks import solve_pieces
from sparkrank.inputs.roles import Roles
from sparkrank.inputs.window import Window
from sparkrank.jobs import evaluate_day, merge_days
from sparkrank.metrics import Plan
from sparkrank.run.stages import Stages
from sparkrank.sources.parquet import ParquetInput
from sparkrank.sources.sources import Sides, Source
from sparkrank.states.pickling import stream_of
from tests.spark.logs import METRICS, ROLES, bits_of, rows_of, write_log

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COMPARED = ["kendall_tau(ref=b)", "spearman(ref=reference_rank)", "pair_auc", "rbo(ref=b)"]
COMPARED += [
    "p90(ap)",
    "median(spearman)",
    "gini@3",
    "novelty",
    "median(err(ties=item)@5)",
    "gini(ties=worst)@3",
    "fitness",
]
DAY_METRICS = [
    *("auc", "auc(exact)", "auc_up(digits=1)", "auc_up(exact,min_rows=20)", "pr_auc", "pr_auc(exact)", "ks", "bep"),
    *("accuracy", "precision(threshold=0.25)", "recall", "specificity", "fpr", "f1", "fbeta(beta=2)"),
    *("logloss", "ne", "brier", "ece", "copc"),
]


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_log(tmp_path_factory.mktemp("log"))


@pytest.fixture(params=["pairs", "rows"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """How pieces cross: as pairs of an RDD, or as rows of a DataFrame as where the session has no context."""
    if request.param == "rows":
        monkeypatch.setattr(SessionFeatures, "of", lambda spark, plan: SessionFeatures())
    return request.param


@pytest.mark.parametrize(
    ("way", "group", "ties", "group_table"),
    [  # every two values stand together once
        ("pairs", "user_id", "expected", True),
        ("rows", "user_id", "item", False),
        ("pairs", "name", "item", False),
        ("rows", "name", "expected", True),
        ("pairs", ["name", "born"], "expected", False),
        ("rows", ["name", "born"], "item", True),
    ],
    ids=str,
    indirect=["way"],
)
def test_every_lane_gives_the_samebits_of(
    spark: SparkSession, log: Path, way: str, group, ties: str, group_table: bool
) -> None:
    settings = {**ROLES, "group": group, "ties": ties, "item": "item", "group_table": group_table}
    exact = {"auc(exact)"} if way == "pairs" else set()  # whose pieces always cross as rows
    metrics = [name for name in (*METRICS, *COMPARED) if name not in exact]
    frame = sr.evaluate(spark.createDataFrame(pq.read_table(log).combine_chunks()), metrics, **settings)
    lanes = {
        "scan": sr.evaluate(str(log), metrics, spark=spark, buckets=5, **settings),
        "local": sr.evaluate(log, metrics, buckets=3, **settings),
    }
    expected = bits_of(frame)
    assert frame.lane == "frame"
    for name, evaluation in lanes.items():
        assert evaluation.lane == name
        for got, wanted in zip(bits_of(evaluation), expected, strict=True):
            assert got == wanted


@pytest.mark.parametrize("short_way", [gathering.MAX_DRIVER_ROWS, 0], ids=["short way", "ranges"])
def test_every_lane_gives_the_same_slices(
    spark: SparkSession, log: Path, short_way: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One slice that the group decides, those that divide groups, of which one has rows without a value, and both."""
    monkeypatch.setattr(gathering, "MAX_DRIVER_ROWS", short_way)
    slices = ["user_id_parity", "born", ["born", "user_id_parity"], "where", ["user_id_parity", "where"]]
    table = pq.read_table(log).slice(0, 1_000)
    table = table.append_column("user_id_parity", pc.equal(pc.bit_wise_and(table["user_id"], 1), 1))
    missing_or_so = [None, "null", "", "(null)"]
    table = table.append_column("where", pa.array([missing_or_so[row % 4] for row in range(table.num_rows)]))
    pq.write_table(table, file := log.parent / f"sliced-{short_way}.parquet")
    settings = {**ROLES, "group": "user_id", "item": "item", "weight": "weight", "slices": slices}
    metrics = [*METRICS, "p90(ap)", "gini@3", "logloss", "f1"]
    lanes = {
        "frame": sr.evaluate(spark.read.parquet(str(file)), metrics, **settings),
        "scan": sr.evaluate(str(file), metrics, spark=spark, buckets=5, **settings),
        "local": sr.evaluate(file, metrics, buckets=3, **settings),
    }
    bits = {name: bits_of(evaluation) for name, evaluation in lanes.items()}
    values = {(row["slice"], row["slice_value"]) for row in bits["local"][0]}
    assert len(values) == 1 + 2 + 3 + 6 + 4 + 8
    assert bits["scan"] == bits["local"]
    assert bits["frame"] == bits["local"]


def test_what_a_task_refuses_is_one_sentence(spark: SparkSession, log: Path) -> None:
    settings = {**ROLES, "group": "user_id", "slices": ["many"], "buckets": 1}
    table = pq.read_table(log)
    table = table.append_column("many", pa.array(range(table.num_rows)))
    pq.write_table(table, file := log.parent / "many.parquet")
    for rows in (str(file), spark.read.parquet(str(file))):
        with pytest.raises(sr.InputError, match=r'^the slice "many" has 3000 values in one bucket alone: at most 1000'):
            sr.evaluate(rows, ["ap"], spark=spark, **settings)


def test_every_lane_writes_the_same_group_table(spark: SparkSession, log: Path, tmp_path: Path) -> None:
    """Also where the states of more buckets than one driver merges come together in tasks."""
    settings = {**ROLES, "group": ["name", "born"], "buckets": 130}
    sources = {"frame": spark.read.parquet(str(log / "[23].parquet")), "scan": str(log / "[23].parquet")}
    expected = rows_of(sr.evaluate(sources["scan"], METRICS, **settings).groups)
    for lane, source in {**sources, "local": sources["scan"]}.items():
        session = spark if lane == "scan" else None
        folder = str(tmp_path / lane)
        evaluation = sr.evaluate(source, METRICS, **settings, spark=session, group_table=folder)
        assert evaluation.lane == lane
        assert evaluation.groups is None
        assert rows_of(pq.read_table(folder)) == expected


def test_pieces_go_as_pairs_unless_tasks_tell_exact_blocks(spark: SparkSession) -> None:
    for metrics, pairs in ((METRICS, False), (COMPARED, True), (["auc", "auc_up(digits=2)"], True)):
        plan = Plan.of(metrics, ["a", "b"], ["user_id"])
        assert (SessionFeatures.of(spark, plan).context is spark.sparkContext) is pairs


def test_a_task_gets_its_own_split_alone(spark: SparkSession, log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What all tasks get does not grow with the splits of the day: a thousand of them take 18 ms to unpack."""
    sides = Sides(Source(ParquetInput.at(str(log))), None, Roles.of("user_id", "label", {"a": "score"}))
    plan = Plan.of(METRICS, ["a"], ["user_id"])
    shared = []
    # of 300 rows: 1; 300 six times; 199 and 14 row groups of 7; 42 such groups three times; the three that are left
    for rows, splits in ((10**6, 1), (300, 1 + 6 + 1 + 3 + 1)):
        monkeypatch.setattr(scan, "SPLIT_ROWS", rows)
        pairs = scan.pairs_of(spark.sparkContext, sides, plan, 3)
        assert pairs.getNumPartitions() == splits
        shared.append(len(cloudpickle.dumps(pairs.func)))
    assert shared[0] == shared[1]


def test_a_task_of_buckets_that_runs_again_writes_no_group_twice(tmp_path: Path) -> None:
    """As where an executor is lost after its results were read: pieces come in another order, what is told does not."""
    plan = Plan.of(METRICS, ["a"], ["user_id"])
    user = np.arange(200)
    rows = pa.table({"key_0": user // 4, "label": user % 3.0, "score_0": user % 7 / 7})
    numbered = [piece for start in (0, 50, 100, 150) for piece in pieces_by_bucket(rows[start : start + 50], 5)]
    files = GroupFiles.at(str(tmp_path))
    told: list[list[dict]] = []
    for pieces in (numbered, numbered[::-1]):
        sent = [(bucket, stream_of(piece)) for bucket, piece in pieces]
        told.append(list(solve_pieces(sent, rows.schema, plan, files)))
        if len(told) == 1:
            files.keep({name.decode() for row in told[0] if row["groups"] for name in row["groups"].split(b"/")})
    assert [row["groups"] for row in told[0]] == [row["groups"] for row in told[1]]
    files.publish()
    assert sorted(pq.read_table(tmp_path)["user_id"].to_pylist()) == list(range(50))


@pytest.mark.parametrize("weight", [None, "weight"])
def test_metrics_of_the_day_have_the_same_bits_in_every_lane(spark: SparkSession, log: Path, weight) -> None:
    settings = {**ROLES, "group": "user_id", "weight": weight, "group_table": False}
    evaluations = [
        sr.evaluate(spark.createDataFrame(pq.read_table(log).combine_chunks()), DAY_METRICS, **settings),
        sr.evaluate(str(log), DAY_METRICS, spark=spark, buckets=5, **settings),
        sr.evaluate(log, DAY_METRICS, buckets=3, **settings),
    ]
    assert [evaluation.lane for evaluation in evaluations] == ["frame", "scan", "local"]
    expected, *others = map(bits_of, evaluations)
    for got in others:
        assert got == expected
    values = {row["metric"]: row["value"] for row in evaluations[2].metrics.to_pylist() if row["model"] == "a"}
    assert all(value >= 0 for value in values.values())


@pytest.mark.parametrize(
    ("way", "lane", "metric"),
    [  # every two values stand together once
        ("pairs", "frame", "auc"),
        ("pairs", "scan", "auc(exact)"),
        ("rows", "frame", "auc(exact)"),
        ("rows", "scan", "auc"),
    ],
    indirect=["way"],
)
@pytest.mark.usefixtures("way")
def test_files_that_are_written_anew_are_read_anew(spark: SparkSession, tmp_path: Path, lane: str, metric: str) -> None:
    """Also while results of the old ones are held, of the same evaluation of files of the same names and sizes."""
    path = str(tmp_path / "log.parquet")
    held, expected = [], {(1, 0, 1, 0): 1.0, (0, 1, 0, 1): 0.0}  # by the labels: the higher scores first, or last
    for labels in expected:
        rows = {"user": [1, 1, 2, 2], "score": [0.9, 0.1, 0.8, 0.2], "label": labels}
        pq.write_table(pa.table(rows), path)
        log = spark.read.parquet(path) if lane == "frame" else path
        held.append(sr.evaluate(log, ["p@1", metric], group="user", score="score", label="label", spark=spark))
    for evaluation, value in zip(held, expected.values(), strict=True):
        with evaluation:
            assert evaluation.to_pandas()["value"].tolist() == [value, value]
            assert [row["p@1"] for row in evaluation.groups.collect()] == [value, value]


EXACT_METRICS = [
    *("auc(exact)", "pr_auc(exact)", "ks(exact)", "bep(exact)", "auc_up(exact)"),
    *("auc(exact,rel=3)", "auc", "brier"),
]


@pytest.mark.parametrize(("lane", "weight"), [("frame", "weight"), ("scan", None)])
def test_exact_blocks_merged_where_they_lie_give_the_samebits_of(
    spark: SparkSession, log: Path, monkeypatch: pytest.MonkeyPatch, lane: str, weight
) -> None:
    """The long way of a day with too many distinct scores for the driver, forced on a small one."""
    settings = {**ROLES, "group": "user_id", "weight": weight}
    expected = bits_of(sr.evaluate(log, EXACT_METRICS, **settings))
    monkeypatch.setattr(gathering, "MAX_DRIVER_ROWS", 0)
    monkeypatch.setattr(ranges, "RANGE_BINS", 300)
    frame = spark.createDataFrame(pq.read_table(log).combine_chunks())
    impressions = frame if lane == "frame" else str(log)
    evaluation = sr.evaluate(impressions, EXACT_METRICS, spark=spark, lane=lane, buckets=5, **settings)
    assert not isinstance(evaluation.blocks, pa.Table)
    assert not any(series.rule.kind == "exact" for series in evaluation.partials.blocks)
    assert bits_of(evaluation) == expected


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


def test_a_table_and_a_data_frame_in_memory(log: Path) -> None:
    table = pq.read_table(log)
    expected = bits_of(sr.evaluate(log, METRICS, group="user_id", **ROLES))
    assert bits_of(sr.evaluate(table, METRICS, group="user_id", **ROLES)) == expected
    clean = table.filter(table["other"].is_valid()).filter(table["label"].is_valid().filter(table["other"].is_valid()))
    of_pandas = bits_of(sr.evaluate(clean.to_pandas(), METRICS, group="user_id", **ROLES))
    alike = [[row for row in rows if "NaN in pandas" not in str(row.get("check"))] for rows in of_pandas]
    assert alike == bits_of(sr.evaluate(clean, METRICS, group="user_id", **ROLES))


def test_buckets_that_outgrow_memory_go_to_disk(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = bits_of(sr.evaluate(log, METRICS, group="user_id", **ROLES))
    spilled = []
    original = local.PieceStore._spill
    monkeypatch.setattr(local.PieceStore, "_spill", lambda pieces, held: (spilled.append(1), original(pieces, held)))
    monkeypatch.setattr(local, "LOCAL_SPLIT_ROWS", 1)
    assert bits_of(sr.evaluate(log, METRICS, group="user_id", buckets=6, row_memory=5_000, **ROLES)) == expected
    assert len(spilled) > 2


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
    day, tables = "2026-11-19", {}
    for lane in ("scan", "local"):
        document = {
            "input": {"path": str(log), "columns": {"group": "user_id", "label": "label", "score": ROLES["score"]}},
            "metrics": ["auc(exact)", "pr_auc(exact)", "auc_up", "ap"],
            "output": {"path": str(tmp_path / lane)},
            "engine": {"lane": lane, "buckets": 4},
        }
        session = spark if lane == "scan" else None
        evaluate_day(Spec.model_validate(document), day, session, Stages())
        local = Spec.model_validate({**document, "engine": {"lane": "local"}})
        window = Window.of(day, day)
        merge_days(local, window, None, Stages())
        places = {name: tmp_path / lane / name / f"day={day}" for name in ("metrics", "blocks", "curves", "groups")}
        places["window"] = tmp_path / lane / "windows" / "metrics" / f"window={window}"
        read = {name: pq.read_table(place, partitioning=None) for name, place in places.items()}
        tables[lane] = {name: rows_of(_without_run(table)) for name, table in read.items()}
    assert tables["scan"]["blocks"]
    assert tables["scan"] == tables["local"]


def _without_run(table: pa.Table) -> pa.Table:
    """A table without the columns that name its run."""
    return table.select([name for name in table.column_names if name not in ("run_id", "spec_hash")])
