"""There is no JVM to reach into: the lanes use the DataFrame API alone, and give the bits of the local one."""

from __future__ import annotations

import gc
import json
import logging
import re
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import sparkrank as sr
from sparkrank.base.errors import NoInputError
from sparkrank.config import Spec
from sparkrank.config.sections import Columns, Input
from sparkrank.engines.spark.failures import reason_of
from sparkrank.jobs import evaluate_day
from sparkrank.run.stages import Stages
from sparkrank.tables.copies.catalog_copies import CatalogCopies
from tests.cases.text_files import case
from tests.conftest import PROJECT
from tests.connect.conftest import ROLES
from tests.sources.test_text_formats import document_of
from tests.spark.logs import rows_of
from tests.spark.sealed import NO_CACHE, seal
from tests.spark.small import frame_of
from tests.support.written_days import write_day
from tests.tables.test_catalog_copies import copy_of

METRICS = ["ndcg@3", "auc", "auc(exact)"]  # of groups, of bins and of exact bins
DAY = "2026-11-19"


@pytest.fixture(scope="module")
def expected(log: str) -> sr.Evaluation:
    """By the local lane."""
    return sr.evaluate(log, METRICS, **ROLES)


def test_one_group_is_explained(spark: SparkSession, log: str) -> None:
    one = {"group": {"user": "7"}, "score": "score", "label": "label"}
    explained = sr.explain(log, METRICS, **one).to_dict()["groups"]
    for impressions, lane in ((spark.read.parquet(log), "frame"), (log, "scan")):
        found = sr.explain(impressions, METRICS, spark=spark, **one)
        assert found.lane == lane
        assert repr(found.to_dict()["groups"]) == repr(explained)


OF_A_SCRIPT = """
def first_row(ranking, metric):  # nobody else can import it
    import numpy

    return numpy.where(ranking.length > 0, float(len(LIKES)), numpy.nan)


LIKES = [1, 2, 3]
"""


def test_a_metric_of_the_script_goes_to_workers(spark: SparkSession, log: str) -> None:
    script: dict = {"__name__": "__main__"}
    exec(OF_A_SCRIPT, script)  # noqa: S102 - what a script defines
    sr.register(
        sr.GroupMetric("likes", "a number", "a number", "the list is empty", "here", values=script["first_row"])
    )
    for impressions, lane in ((spark.read.parquet(log), "frame"), (log, "scan")):
        with sr.evaluate(impressions, ["likes", "auc(exact)"], spark=spark, buckets=3, **ROLES) as evaluation:
            assert (evaluation.lane, evaluation["likes"]) == (lane, 3.0)


def test_a_day_is_written(spark: SparkSession, tmp_path: Path) -> None:
    write_day(str(tmp_path), DAY, {"blocks": spark.range(0, 10, 1, 2)}, spark)
    assert pq.read_table(tmp_path / f"blocks/day={DAY}").num_rows == 10


def test_the_reason_of_a_task_that_failed_is_found(spark: SparkSession) -> None:
    def fails(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        raise ValueError("bad in a task")

    with pytest.raises(Exception, match="bad in a task") as raised:
        spark.range(1).mapInArrow(fails, "a long").collect()
    assert reason_of(raised.value) == "ValueError: bad in a task"


def test_cached_rows_of_what_nobody_holds_go(
    spark: SparkSession, log: str, expected: sr.Evaluation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that is released is not released again."""
    frame = type(spark.range(1))
    cached, unpersist = [], frame.unpersist

    def released() -> list[bool]:
        gc.collect()
        for thread in threading.enumerate():
            if thread.name == "sparkrank-release":
                thread.join(30)
        found = cached.copy()
        cached.clear()
        return found

    released()  # of other tests
    monkeypatch.setattr(frame, "unpersist", lambda rows, *of: cached.append(rows.is_cached) or unpersist(rows, *of))
    evaluation = sr.evaluate(log, METRICS[:2], spark=spark, buckets=3, **ROLES)
    groups = evaluation.groups
    del evaluation
    assert released() == []
    assert groups.count() == expected.groups.num_rows
    del groups
    assert released() == [True]
    with sr.evaluate(log, METRICS[:2], spark=spark, buckets=3, **ROLES):
        pass
    assert released() == [True]


def test_a_session_that_refuses_what_a_serverless_one_does(
    spark: SparkSession,
    log: str,
    expected: sr.Evaluation,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The default call gives the same bits and says what is slower."""
    caplog.set_level(logging.INFO, "sparkrank")
    seal(monkeypatch, spark)
    for impressions, lane in ((spark.read.parquet(log), "frame"), (log, "scan")):
        caplog.clear()
        evaluation = sr.evaluate(impressions, METRICS, spark=spark, **ROLES)
        assert evaluation.lane == lane
        assert evaluation.to_pandas().equals(expected.to_pandas())
        assert rows_of(evaluation.groups) == rows_of(expected.groups)
        again = "the input was evaluated 2 times, and reading groups evaluates the input again"
        assert f"the session refuses cached rows ({NO_CACHE}): {again}" in caplog.messages
        assert any(text.startswith("the session refuses a size of Arrow batches") for text in caplog.messages)
    document = {"input": {"path": log, "columns": ROLES}, "metrics": ["ap"], "output": {"path": str(tmp_path)}}
    evaluate_day(Spec.model_validate({**document, "engine": {"lane": "scan"}}), DAY, spark, Stages())
    refused = json.loads(pq.read_table(tmp_path / f"runs/day={DAY}")["versions"][0].as_py())["refused by the session"]
    assert list(refused) == ["RDDs", "a size of Arrow batches"], refused
    assert refused["RDDs"].startswith("Spark Connect has none: rows cross Spark in batches"), refused


def test_workers_get_sparkrank_as_the_page_of_sessions_sends_it(
    spark: SparkSession, another_session: SparkSession, log: str, expected: sr.Evaluation, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """Those of a session of its own. They may have imported another, so where they look for it is looked at."""

    def place(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import sys

        for _ in batches:
            yield pa.record_batch([pa.array([str(sys.path)])], ["place"])

    page = (PROJECT / "docs/sessions.md").read_text(encoding="utf-8")
    (block,) = (text for text in re.findall("```python\n(.*?)```", page, re.DOTALL) if "addArtifacts" in text)
    monkeypatch.chdir(tmp_path)
    shutil.make_archive(f"dist/sparkrank-{sr.__version__}", "zip", Path(sr.__file__).parent.parent, "sparkrank")
    exec(block, {"spark": another_session})  # noqa: S102 - our own page
    for session, is_sent in ((another_session, True), (spark, False)):
        places = session.range(1).mapInArrow(place, "place string").collect()[0][0]
        assert (f"sparkrank-{sr.__version__}.zip" in places) == is_sent
    with sr.evaluate(log, METRICS[:1], spark=another_session, buckets=3, **ROLES) as evaluation:
        assert evaluation[METRICS[0]] == expected[METRICS[0]]


def test_texts_are_read_by_tasks(spark: SparkSession, tmp_path: Path) -> None:
    """Of the user a the second row is clicked."""
    document = document_of(case("rows", "a,x,2,0\na,y,1,1\n", {}), tmp_path, "auto")
    assert evaluate_day(Spec.model_validate(document), DAY, spark, Stages()).lane == "scan"
    (group,) = pq.read_table(f"{tmp_path}/out-auto/groups/day={DAY}").to_pylist()
    assert (group["u"], group["rr"]) == ("a", 1 / 2)


def test_tables_of_a_catalog_are_written_and_read(spark: SparkSession, tmp_path: Path) -> None:
    spark.sql(f"CREATE DATABASE eval LOCATION '{tmp_path}/eval'")
    try:
        for users in (["a", "b"], ["c"], []):
            CatalogCopies("eval", spark).replace(copy_of(tmp_path, pa.table({"u": pa.array(users, pa.string())})))
            given = Input(table="eval.groups", columns=Columns(group="u", score="u", label="u"))
            assert sorted(row["u"] for row in frame_of(given, spark).collect()) == users
        with pytest.raises(NoInputError, match=r"there is no input at table eval.grups \(eval has groups\)"):
            frame_of(given.model_copy(update={"table": "eval.grups"}), spark)
    finally:
        spark.sql("DROP DATABASE eval CASCADE")
