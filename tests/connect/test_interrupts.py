"""The stop button over Spark Connect: the call ends long before its tasks would, and the next one works."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import sparkrank as sr
from tests.connect.conftest import ROLES


def test_an_interrupt_ends_the_call_alone(spark: SparkSession, tmp_path: Path) -> None:
    """The main thread is interrupted once a task says that it has begun."""
    begun = tmp_path / "begun"
    asked = {**ROLES, "buckets": 2}
    rows = spark.range(40).selectExpr("id % 8 as user", "cast(id * 7 % 11 as double) as score", "id % 3 as label")

    @F.udf(returnType="double", useArrow=False)
    def slowly(score: float) -> float:
        begun.touch()
        time.sleep(10)
        return score

    def interrupt_once() -> None:
        while not begun.exists():
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt_once, daemon=True).start()
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        sr.evaluate(rows.withColumn("score", slowly("score")), ["rr", "auc"], **asked)
    assert time.monotonic() - started < 90  # the rows alone take 200 s of two cores
    with sr.evaluate(rows, ["rr", "auc"], **asked) as again:
        same = sr.evaluate(rows.toArrow(), ["rr", "auc"], **asked)
        assert [again["rr"], again["auc"]] == [same["rr"], same["auc"]]
