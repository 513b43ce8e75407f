"""The stop button of a notebook: the jobs of Spark end, nothing stays cached, and the next call works."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F

import sparkrank as sr

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ASKED = {"group": "user", "score": "score", "label": "label", "buckets": 2}


def _rows(spark: SparkSession) -> DataFrame:
    return spark.range(40).selectExpr("id % 8 as user", "cast(id * 7 % 11 as double) as score", "id % 3 as label")


def _slow_rows(spark: SparkSession, begun: Path) -> DataFrame:
    """Rows of which each task takes minutes, and says that it has begun."""

    @F.udf(returnType="double", useArrow=False)
    def slowly(score: float) -> float:
        begun.touch()
        time.sleep(10)
        return score

    return _rows(spark).withColumn("score", slowly("score"))


def _jobs(spark: SparkSession) -> list[int]:
    return list(spark.sparkContext.statusTracker().getActiveJobsIds())


def _cached(spark: SparkSession) -> int:
    return int(spark.sparkContext._jsc.getPersistentRDDs().size())


@pytest.fixture
def _handler(request: pytest.FixtureRequest) -> Iterator[None]:
    """Spark has one of its own for the interrupt where its session was made in the main thread, else Python's stays."""
    before = signal.getsignal(signal.SIGINT)
    if request.param == "Python's handler":
        signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def _interrupt_once(begun: Path) -> threading.Thread:
    def wait_and_interrupt() -> None:
        until = time.monotonic() + 60
        while not begun.exists() and time.monotonic() < until:
            time.sleep(0.05)
        if begun.exists():
            os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=wait_and_interrupt, daemon=True)
    thread.start()
    return thread


@pytest.mark.parametrize(
    ("_handler", "in_files"), [("Python's handler", False), ("Spark's handler", True)], indirect=["_handler"]
)
@pytest.mark.usefixtures("_handler")
def test_an_interrupt_ends_the_jobs_and_the_next_call_works(
    spark: SparkSession, tmp_path: Path, in_files: bool
) -> None:
    folder, cached, begun = tmp_path / "groups", _cached(spark), tmp_path / "begun"
    thread = _interrupt_once(begun)
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        sr.evaluate(_slow_rows(spark, begun), ["rr", "auc"], **ASKED, group_table=str(folder) if in_files else True)
    thread.join()
    assert begun.exists()
    assert time.monotonic() - started < 60  # the rows alone take 200 s
    until = time.monotonic() + 10
    while _jobs(spark) and time.monotonic() < until:
        time.sleep(0.1)
    assert _jobs(spark) == []
    assert _cached(spark) <= cached  # what tests before have left may go meanwhile
    assert not list(folder.rglob("*.parquet"))
    with sr.evaluate(_rows(spark), ["rr", "auc"], **ASKED) as again:
        same = sr.evaluate(_rows(spark).toArrow(), ["rr", "auc"], **ASKED)
        assert [again["rr"], again["auc"]] == [same["rr"], same["auc"]]


def test_jobs_of_others_run_on(spark: SparkSession, tmp_path: Path) -> None:
    """Python's handler alone: that of Spark, where it is there, cancels all jobs before anybody is asked."""
    counted: list[int] = []
    begun, other = tmp_path / "begun", tmp_path / "other"

    @F.udf(returnType="long", useArrow=False)
    def waits(value: int) -> int:
        other.touch()
        until = time.monotonic() + 60
        while not begun.exists() and time.monotonic() < until:
            time.sleep(0.05)
        time.sleep(1)
        return value

    of_others = threading.Thread(
        target=lambda: counted.append(spark.range(1, numPartitions=1).select(waits("id").alias("n")).collect()[0]["n"])
    )
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        of_others.start()
        while not other.exists():
            time.sleep(0.05)
        thread = _interrupt_once(begun)
        with pytest.raises(KeyboardInterrupt):
            sr.evaluate(_slow_rows(spark, begun), ["rr"], **ASKED)
        thread.join()
    finally:
        signal.signal(signal.SIGINT, before)
    of_others.join(60)
    assert counted == [0]


def test_a_failure_is_raised_as_it_is_and_settings_of_jobs_reach_the_work(spark: SparkSession) -> None:
    with pytest.raises(sr.InputError, match="scoer"):
        sr.evaluate(_rows(spark), ["rr"], **{**ASKED, "score": "scoer"})
    tracker, context = spark.sparkContext.statusTracker(), spark.sparkContext
    context.setJobGroup("mine", "a group of jobs of the caller")
    try:
        sr.evaluate(_rows(spark), ["rr"], **ASKED).release()
        assert len(tracker.getJobIdsForGroup("mine")) > 0
    finally:
        context.setLocalProperty("spark.jobGroup.id", None)
