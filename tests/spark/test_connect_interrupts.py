"""The stop button over Spark Connect: the call ends long before its tasks would, and the next one works."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

# A process of its own, whose main thread is interrupted once a task says that it has begun.
SCRIPT = """
import os
import signal
import sys
import threading
import time
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import sparkrank as sr

begun = Path(sys.argv[1])
spark = SparkSession.builder.remote("local[2]").config("spark.sql.shuffle.partitions", 2).getOrCreate()
assert "connect" in type(spark).__module__
asked = {"group": "user", "score": "score", "label": "label", "buckets": 2}
rows = spark.range(40).selectExpr("id % 8 as user", "cast(id * 7 % 11 as double) as score", "id % 3 as label")


@F.udf(returnType="double", useArrow=False)
def slowly(score):
    begun.touch()
    time.sleep(10)
    return score


def interrupt_once():
    while not begun.exists():
        time.sleep(0.05)
    os.kill(os.getpid(), signal.SIGINT)


threading.Thread(target=interrupt_once, daemon=True).start()
started = time.monotonic()
try:
    sr.evaluate(rows.withColumn("score", slowly("score")), ["rr", "auc"], **asked)
except KeyboardInterrupt:
    pass
else:
    raise AssertionError("nobody was interrupted")
assert time.monotonic() - started < 90, time.monotonic() - started  # the rows alone take 200 s of two cores
with sr.evaluate(rows, ["rr", "auc"], **asked) as again:
    same = sr.evaluate(rows.toArrow(), ["rr", "auc"], **asked)
    assert [again["rr"], again["auc"]] == [same["rr"], same["auc"]]
spark.stop()
print("interrupted, and evaluated again")
"""


def test_an_interrupt_over_connect_ends_the_call_alone(spark_environment: dict[str, str], tmp_path: Path) -> None:
    pytest.importorskip("grpc", reason="Spark Connect needs pyspark[connect]")
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path / "begun")],
        env={**spark_environment, "SPARK_TESTING": "1"},  # a free port: other tests start servers, too
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=200,
    )
    assert "interrupted, and evaluated again" in done.stdout, done.stdout[-3000:]
