"""A session whose workers run a Python that lacks everything: one sentence, and no line of Java before or behind it."""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("pyspark")

# A process of its own, as a user has it: what nobody catches is on its stderr. All cases share its JVM.
SCRIPT = """
import sys
from pathlib import Path
from pyspark.sql import SparkSession
import sparkrank as sr
from sparkrank.run import lane

path = sys.argv[1]
roles = {"group": "user", "score": "score", "label": "label"}
settings = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
session = settings.config("spark.sql.shuffle.partitions", 2).getOrCreate()
bare = session.sparkContext.pythonExec
remedy = f"set PYSPARK_PYTHON={sys.executable} before the session starts"


def told(impressions, **given):
    try:
        sr.evaluate(impressions, ["ndcg@3"], buckets=2, **roles, **given)
    except sr.SparkrankError as error:
        assert type(error) is sr.SparkrankError and error.__cause__ is None
        return str(error)
    raise AssertionError("a bare Python has worked")


lanes = [(path, {"spark": session}), (session.read.parquet(path).coalesce(1), {})]
for impressions, given in lanes:
    found = told(impressions, **given)
    assert found.startswith(f"Spark's workers run {bare}, which has no numpy, pyarrow"), found
    assert found.endswith(f": {remedy}"), found
print("BEFORE THE WORK", file=sys.stderr)

# As on a cluster, whose Python nobody sees before the first task.
validate, lane.validate_session = lane.validate_session, lambda spark: None
for impressions, given in lanes:
    found = told(impressions, **given)
    assert found in [
        f"Spark's workers run {bare}, which has no {name}: {remedy}" for name in ("numpy", "pyarrow", "sparkrank")
    ], found
session.sparkContext.pythonExec = "/nowhere/python"
for impressions, given in lanes:
    found = told(impressions, **given)
    assert found.startswith("Spark's workers run /nowhere/python, which cannot be run (No such file"), found

lane.validate_session = validate
session.sparkContext.pythonExec = sys.executable
assert sr.evaluate(path, ["rr"], spark=session, **roles)["rr"] == 0.5
session.sparkContext.pythonExec = bare
print("UNCAUGHT", file=sys.stderr)
sr.evaluate(path, ["ndcg@3"], spark=session, **roles)
"""


@pytest.mark.long  # its short form: a Python that does not start, in tests/jobs/test_evaluate.py
def test_a_bare_environment_ends_in_one_sentence(spark_environment: dict[str, str], tmp_path: Path) -> None:
    venv.create(tmp_path / "bare", with_pip=False)
    pq.write_table(pa.table({"user": [1, 1], "score": [0.2, 0.1], "label": [0, 1]}), tmp_path / "log.parquet")
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path / "log.parquet")],
        env={**spark_environment, "PYSPARK_PYTHON": str(tmp_path / "bare/bin/python")},
        capture_output=True,
        text=True,
        check=False,
        timeout=250,
    )
    before, _, rest = done.stderr.partition("BEFORE THE WORK\n")
    uncaught = rest.partition("UNCAUGHT\n")[2]
    assert done.returncode == 1, done.stderr
    assert uncaught, done.stderr
    last = uncaught.rstrip().splitlines()[-1]
    assert last.startswith(f"sparkrank.base.errors.SparkrankError: Spark's workers run {tmp_path}/bare/bin/python, ")
    for said in (before, uncaught):  # no task has failed, so Spark has nothing to say
        assert "Exception" not in said
        assert "\tat " not in said
