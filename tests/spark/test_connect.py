"""Over Spark Connect, where there is no JVM to reach into: the lanes use the DataFrame API alone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

# A process of its own: a classic session and a Connect session do not live in one.
SCRIPT = """
import gc
import json
import logging
import os
import re
import shutil
import sys
import threading
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import sparkrank as sr
from sparkrank.config import Spec
from sparkrank.engines.spark import gather as gathering
from sparkrank.engines.spark.batches import BYTES_SETTING
from sparkrank.engines.spark.failures import reason_of
from sparkrank.run import evaluate_day
from sparkrank.run.stages import Stages
from sparkrank.tables.days import write_day
from tests.spark.sealed import NO_CACHE, seal

path = sys.argv[1]
settings = {"group": "user", "score": "score", "label": "label"}
metrics = ["ndcg@3", "ap", "gauc", "auc", "auc(exact)", "pr_auc(exact)", "auc_up(exact)", "f1"]
expected = sr.evaluate(path, metrics, **settings)
# Workers have 1 GiB each: the limit is divided by the cores of an executor, of which a local one counts as one.
builder = SparkSession.builder.remote("local[2]").config("spark.executor.pyspark.memory", "1g")
spark = builder.config("spark.sql.shuffle.partitions", 2).getOrCreate()
assert "connect" in type(spark).__module__
for impressions, lane in ((spark.read.parquet(path), "frame"), (path, "scan")):
  for gathering.MAX_DRIVER_ROWS in (10**9, 0):
    with sr.evaluate(impressions, metrics, spark=spark, buckets=3, **settings) as evaluation:
        assert evaluation.lane == lane
        assert evaluation.to_pandas().equals(expected.to_pandas())
        assert evaluation.groups.count() == expected.groups.num_rows
        assert evaluation.metrics.count() == len(metrics)
        assert BYTES_SETTING not in spark.conf.getAll  # as it was

with sr.evaluate(path, metrics, spark=spark, lane="frame", buckets=3, **settings) as evaluation:
    assert evaluation.to_pandas().equals(expected.to_pandas())
one = {"group": {"user": "7"}, "score": "score", "label": "label"}
explained = sr.explain(path, metrics, **one).to_dict()["groups"]
for impressions, lane in ((spark.read.parquet(path), "frame"), (path, "scan")):
    found = sr.explain(impressions, metrics, spark=spark, **one)
    assert found.lane == lane
    assert repr(found.to_dict()["groups"]) == repr(explained)
asked = {**settings, "spark": spark, "lane": "frame", "group": "k", "partition_types": "text"}
with sr.evaluate(sys.argv[3], ["ap"], **asked) as evaluation:
    assert sorted(evaluation.groups.toPandas()["k"]) == ["07", "7"]
try:
    sr.evaluate(sys.argv[3], ["ap"], **{**asked, "partition_types": "inferred"})
except sr.InputError as error:
    assert '"k=07" and "k=7", which are one value' in str(error), error
else:
    raise AssertionError("two folders became one group")
from pyspark.ml.functions import array_to_vector
from pyspark.sql import functions as F

frame = spark.read.parquet(path)
frame = frame.withColumns({
    "vector": array_to_vector(F.array(F.lit(0.0), F.coalesce("score", F.lit(0.5)).cast("double"))),
    "filled": F.coalesce("score", F.lit(0.5)).cast("double"),
})
of_vectors, of_numbers = (
    sr.evaluate(frame, ["ap", "auc"], buckets=3, group="user", label="label", score={"m": name}).to_pandas()
    for name in ("vector", "filled")
)
names = [name for name in of_numbers if name != "spec_hash"]  # that of another column
assert of_vectors[names].equals(of_numbers[names])


def first_row(ranking, metric):  # of this script: nobody else can import it
    import numpy

    return numpy.where(ranking.length > 0, float(len(LIKES)), numpy.nan)


LIKES = [1, 2, 3]
sr.register(sr.GroupMetric("likes", "a number", "a number", "the list is empty", "here", values=first_row))
for impressions, lane in ((spark.read.parquet(path), "frame"), (path, "scan")):
    with sr.evaluate(impressions, ["likes", "auc(exact)"], spark=spark, buckets=3, **settings) as evaluation:
        assert evaluation.lane == lane
        assert evaluation.to_pandas()["value"][0] == 3.0

arrays = spark.sql("select 1 u, array(1, 2) p, array(2) a union all select 1, array(3), array(1, 3)")
with sr.evaluate(arrays, ["ap"], group="u", items="p", true_items="a", buckets=3) as evaluation:
    assert evaluation.groups.count() == 2
    assert evaluation.to_pandas()["value"].to_list() == [0.5]

write_day(sys.argv[2], "2026-11-19", {"blocks": spark.range(0, 10, 1, 2)}, spark)
assert pq.read_table(sys.argv[2] + "/blocks/day=2026-11-19").num_rows == 10


def fails(batches):
    raise ValueError("bad in a task")


try:
    spark.range(1).mapInArrow(fails, "a long").collect()
except Exception as error:
    assert reason_of(error) == "ValueError: bad in a task", reason_of(error)
else:
    raise AssertionError("nothing failed")


def limits(batches):
    import resource

    for _ in batches:
        yield pa.record_batch([pa.array([resource.getrlimit(resource.RLIMIT_AS)[0]])], ["bytes"])


assert spark.range(1).mapInArrow(limits, "bytes long").collect()[0][0] == 1 << 30

# Nobody holds an evaluation: its cached rows go. One that is released is not released again.
Frame = type(spark.range(1))
cached, unpersist = [], Frame.unpersist
Frame.unpersist = lambda rows, *given: cached.append(rows.is_cached) or unpersist(rows, *given)


def released():
    gc.collect()
    for thread in threading.enumerate():
        if thread.name == "sparkrank-release":
            thread.join(30)
    found = cached.copy()
    cached.clear()
    return found


evaluation = sr.evaluate(path, metrics[:2], spark=spark, buckets=3, **settings)
groups = evaluation.groups
del evaluation
assert released() == []
assert groups.count() == expected.groups.num_rows
del groups
assert released() == [True]
with sr.evaluate(path, metrics[:2], spark=spark, buckets=3, **settings):
    pass
assert released() == [True]
Frame.unpersist = unpersist

# What a serverless session refuses: the default call gives the same bits and says what is slower.
gathering.MAX_DRIVER_ROWS = 10**9
told = []
handler = logging.Handler()
handler.emit = lambda record: told.append(record.getMessage())
logging.getLogger("sparkrank").addHandler(handler)
with pytest.MonkeyPatch.context() as patch:
    seal(patch, spark)
    for impressions, lane in ((spark.read.parquet(path), "frame"), (path, "scan")):
        evaluation = sr.evaluate(impressions, metrics, spark=spark, **settings)
        assert evaluation.lane == lane
        assert evaluation.to_pandas().equals(expected.to_pandas())
        found = evaluation.groups.toArrow().sort_by("user").to_pylist()
        assert repr(found) == repr(expected.groups.sort_by("user").to_pylist())
        assert f"the session refuses cached rows ({NO_CACHE}): reading groups evaluates the input again" in told
        assert [each for each in told if each.startswith("the session refuses a size of Arrow batches")]
        told.clear()
    document = {
        "input": {"path": path, "columns": settings},
        "metrics": ["ap"],
        "output": {"path": sys.argv[2] + "-of-job"},
        "engine": {"lane": "scan"},
    }
    evaluate_day(Spec.model_validate(document), "2026-11-19", spark, Stages())
    (runs,) = pq.read_table(sys.argv[2] + "-of-job/runs/day=2026-11-19").to_pylist()
    refused = json.loads(runs["versions"])["refused by the session"]
    assert list(refused) == ["RDDs", "a size of Arrow batches"], refused
    assert refused["RDDs"].startswith("Spark Connect has none: rows cross Spark in batches"), refused

# As docs/sessions.md sends sparkrank to workers. These have imported another, so where they look for it is looked at.
page = Path("docs/sessions.md").read_text(encoding="utf-8")
(block,) = (each for each in re.findall("```python\\n(.*?)```", page, re.DOTALL) if "addArtifacts" in each)
package = Path(sr.__file__).parent.parent
os.chdir(Path(sys.argv[2]).parent)
shutil.make_archive("dist/sparkrank-0.1.0", "zip", package, "sparkrank")
exec(block, {"spark": spark})


def place(batches):
    for _ in batches:
        yield pa.record_batch([pa.array([str(sys.path)])], ["place"])


assert "sparkrank-0.1.0.zip" in spark.range(1).mapInArrow(place, "place string").collect()[0][0]
with sr.evaluate(path, metrics, spark=spark, buckets=3, **settings) as evaluation:
    assert evaluation.to_pandas().equals(expected.to_pandas())
spark.stop()
print("same bits")
"""


def test_the_spark_lanes_over_connect(spark_environment: dict[str, str], tmp_path: Path) -> None:
    pytest.importorskip("grpc", reason="Spark Connect needs pyspark[connect]")
    rng = np.random.default_rng(29)
    rows = {"user": rng.integers(0, 60, 800), "score": rng.random(800).round(2), "label": rng.integers(0, 3, 800)}
    pq.write_table(pa.table(rows), tmp_path / "log.parquet")
    for key in ("k=07", "k=7"):
        (tmp_path / "by key" / key).mkdir(parents=True)
        pq.write_table(pa.table(rows), tmp_path / "by key" / key / "a.parquet")
    command = [sys.executable, "-c", SCRIPT, *(str(tmp_path / name) for name in ("log.parquet", "tables", "by key"))]
    done = subprocess.run(
        command,
        env={**spark_environment, "SPARK_TESTING": "1"},  # a free port: other tests start servers, too
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=200,
    )
    assert done.returncode == 0, done.stdout
    assert "same bits" in done.stdout
