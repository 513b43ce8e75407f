"""Clusters in every lane: a group has the same part wherever its rows are read, and the same rows are refused."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

import sparkrank as sr
from sparkrank.config import Spec
from sparkrank.engines.spark.session_features import SessionFeatures
from sparkrank.jobs import evaluate_day
from sparkrank.run.stages import Stages
from tests.spark.logs import bits_of, rows_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

METRICS = ["ndcg@3", "p@1", "gauc", "auc", "pr_auc(exact)", "logloss"]
ROLES = {"score": {"a": "score", "b": "other"}, "label": "label", "compare": "a", "slices": ["country"]}


@pytest.fixture(scope="module")
def log() -> pa.Table:
    """Sessions of 40 users, with rows in no order; names with null rows beside, which other cases leave out."""
    draw = np.random.default_rng(23)
    session = draw.permutation(np.repeat(np.arange(200), 6))
    user = session % 40
    return pa.table(
        {
            "session": np.char.add("s", session.astype(str)),
            "number": session,
            "user": np.char.add("user-", user.astype(str)),
            "code": user.astype(np.int32),
            "born": pa.array(user.astype(np.int32)).cast(pa.date32()),
            "item": np.char.add("i", np.arange(len(session)).astype(str)),
            "score": draw.random(len(session)).round(2),
            "other": pa.array(draw.random(len(session)), mask=draw.random(len(session)) < 0.1),
            "label": draw.integers(0, 2, len(session)),
            "country": np.array(["de", "fr", "no"])[draw.integers(0, 3, len(session))],
        }
    )


def bits(evaluation: sr.Evaluation) -> list[list[dict]]:
    compared = rows_of(evaluation.compare("a"))
    return [compared, *bits_of(evaluation)]


@pytest.mark.parametrize(
    ("way", "group", "cluster", "group_table"),
    [
        ("pairs", "session", "user", False),
        ("rows", "session", "user", True),
        ("pairs", "number", "code", True),
        ("rows", ["user", "number"], "user", False),
        ("rows", "number", "born", False),
    ],
    ids=str,
)
def test_every_lane_gives_the_same_bits(
    spark: SparkSession,
    log: pa.Table,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    way: str,
    group,
    cluster,
    group_table,
) -> None:
    if way == "rows":
        monkeypatch.setattr(SessionFeatures, "of", lambda spark, plan: SessionFeatures())
    pq.write_table(log[:500], tmp_path / "0.parquet", row_group_size=70)
    pq.write_table(log[500:], tmp_path / "1.parquet")
    asked = {**ROLES, "group": group, "cluster": cluster, "group_table": group_table}
    expected = bits(sr.evaluate(log, METRICS, **asked))
    assert expected == bits(sr.evaluate(tmp_path, METRICS, buckets=3, **asked))
    assert expected == bits(sr.evaluate(str(tmp_path), METRICS, spark=spark, buckets=5, **asked))
    frame = sr.evaluate(spark.createDataFrame(log), METRICS, buckets=2, **asked)
    assert frame.lane == "frame"
    assert expected == bits(frame)


def of_truth(spark: SparkSession | None, log: pa.Table, cluster: str | None, **more) -> sr.Evaluation:
    truth = log.filter(pc.equal(log["label"], 1)).select(["session", "item", "user"]).rename_columns({"user": "by"})
    unlisted = pa.table({"session": ["s900"], "item": ["i1"], "by": ["user-0"]})
    truth = pa.concat_tables([truth, unlisted])
    lists = log.drop_columns(["label"])
    given = (lists, truth) if spark is None else (spark.createDataFrame(lists), spark.createDataFrame(truth))
    columns = {} if cluster is None else {"truth_columns": {"cluster": cluster}}
    roles = {"group": "session", "item": "item", "cluster": "user", "score": {"a": "score"}}
    return sr.evaluate(given[0], ["r@3", "ap", "auc"], truth=given[1], **roles, **columns, **more)


def test_a_list_or_its_truth_says_who_it_is_in_every_lane(spark: SparkSession, log: pa.Table) -> None:
    assert bits_of(of_truth(spark, log, "by")) == bits_of(of_truth(None, log, "by"))
    of_lists = [of_truth(each, log, None, population="lists") for each in (spark, None)]
    assert bits_of(of_lists[0]) == bits_of(of_lists[1])
    sentence = r"^1 groups of a have no row in the lists, and so no value of the cluster column \"user\""
    for each in (spark, None):
        with pytest.raises(sr.InputError, match=sentence):
            of_truth(each, log, None)


def test_arrays_have_one_cluster_a_row_in_every_lane(spark: SparkSession, tmp_path: Path) -> None:
    draw = np.random.default_rng(3)
    rows = pa.table(
        {
            "session": np.arange(60) % 50,
            "user": [f"u{each % 10}" for each in range(60)],
            "found": [[f"i{item}" for item in draw.permutation(9)[:5]] for _ in range(60)],
            "liked": [[f"i{item}" for item in draw.permutation(9)[:3]] for _ in range(60)],
        }
    )
    pq.write_table(rows, file := tmp_path / "arrays.parquet", row_group_size=7)
    asked = {"group": "session", "items": "found", "true_items": "liked", "cluster": "user"}
    expected = bits_of(sr.evaluate(rows, ["r@3", "ndcg@3"], **asked))
    assert expected == bits_of(sr.evaluate(str(file), ["r@3", "ndcg@3"], spark=spark, **asked))
    assert expected == bits_of(sr.evaluate(spark.createDataFrame(rows), ["r@3", "ndcg@3"], **asked))


@pytest.fixture(params=["null", "several"])
def bad(request: pytest.FixtureRequest, log: pa.Table) -> Iterator[tuple[pa.Table, str]]:
    """A log with a bad row, and the sentence that stops it."""
    users = log["user"].to_pylist()
    users[7] = None if request.param == "null" else "user-x"
    null = r'^the cluster column "user" is null or NaN in 1 rows: '
    several = r"\(6 cluster that is not the same in all rows of its group\)"
    return log.set_column(2, "user", pa.array(users)), null if request.param == "null" else several


def test_every_lane_refuses_the_same_rows(spark: SparkSession, bad: tuple[pa.Table, str], tmp_path: Path) -> None:
    rows, sentence = bad
    pq.write_table(rows, file := tmp_path / "bad.parquet")
    for given, of in ((rows, None), (str(file), None), (str(file), spark), (spark.createDataFrame(rows), None)):
        with pytest.raises(sr.InputError, match=sentence):
            sr.evaluate(given, METRICS, **ROLES, group="session", cluster="user", spark=of, buckets=3)


@pytest.mark.parametrize("lane", ["local", "scan", "frame"])
def test_text_files_have_the_bits_of_the_table(spark: SparkSession, log: pa.Table, tmp_path: Path, lane: str) -> None:
    """Of CSV a cluster is a text, as a group is."""
    pa_csv.write_csv(log, tmp_path / "log.csv")
    document = {
        "input": {
            "path": str(tmp_path / "log.csv"),
            "format": "csv",
            "options": {"header": "true"},
            "columns": {"group": "session", "cluster": "code", "score": {"a": "score"}, "label": "label"},
        },
        "metrics": METRICS,
        "output": {"path": str(tmp_path / lane)},
        "engine": {"lane": lane},
    }
    found = evaluate_day(Spec.model_validate(document), "2026-11-19", None if lane == "local" else spark, Stages())
    text = log.set_column(4 - 1, "code", log["code"].cast(pa.string()))
    wanted = sr.evaluate(text, METRICS, group="session", cluster="code", score={"a": "score"}, label="label").table
    names = ["metric", "value", "stderr", "ci_low", "ci_high"]
    assert repr(found.metrics.select(names).to_pylist()) == repr(wanted.select(names).to_pylist())
