"""Machines whose disks are refused: no driver and no worker opens a file to write, and the numbers are the same.

Spark itself, which is Java, writes what it shuffles. A process of its own, because a hook on what is opened stays for
good; Python's audit events see every way to open a file, a temporary one without a name included.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

# What every Python worker imports as it starts, before anything else.
REFUSES = """
import os
import sys


def refuse(event, given):
    if event == "open" and isinstance(given[2], int) and given[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
        if not isinstance(given[0], int) and os.fsdecode(given[0]) != os.devnull:
            raise PermissionError(30, "the disk is refused", str(given[0]))


def refuse_disks():
    sys.addaudithook(refuse)


if os.environ.get("PYTHON_WORKER_FACTORY_SECRET") or "pyspark.daemon" in sys.orig_argv:
    refuse_disks()
"""

SCRIPT = """
import sys

import sitecustomize
from pyspark.sql import SparkSession

import sparkrank as sr

path, metrics = sys.argv[1], ["ndcg@10", "auc", "auc(exact)"]
roles = {"group": "user", "score": "score", "label": "label"}
expected = sr.evaluate(path, metrics, **roles)
spark = SparkSession.builder.master("local[2]").config("spark.sql.shuffle.partitions", 2).getOrCreate()


def writes(batches):
    import tempfile

    for _ in batches:
        try:
            tempfile.TemporaryFile()
        except OSError as error:
            assert "the disk is refused" in str(error) or "No usable temporary directory" in str(error), error
            continue
        raise AssertionError("a worker may write")
    yield from ()


spark.range(2).mapInArrow(writes, "id long").collect()
sitecustomize.refuse_disks()
try:
    open(sys.argv[2], "w")
except PermissionError:
    pass
else:
    raise AssertionError("the driver may write")
for rows, lane in ((path, "scan"), (spark.read.parquet(path).coalesce(2), "frame")):
    with sr.evaluate(rows, metrics, spark=spark, buckets=3, **roles) as evaluation:
        assert evaluation.lane == lane
        assert evaluation.table.column("value").equals(expected.table.column("value")), lane
        assert evaluation.groups.count() == expected.groups.num_rows
print("done without a disk")
"""


@pytest.mark.long
@pytest.mark.spark
def test_no_process_of_python_writes_a_file(spark_environment: dict[str, str], tmp_path: Path) -> None:
    random = np.random.default_rng(5)
    rows = pa.table(
        {
            "user": pa.array(random.integers(0, 200, 4_000)),
            "score": pa.array(random.random(4_000)),
            "label": pa.array((random.random(4_000) < 0.2).astype("int8")),
        }
    )
    pq.write_table(rows, tmp_path / "log.parquet")
    (tmp_path / "site").mkdir()
    (tmp_path / "site/sitecustomize.py").write_text(REFUSES)
    path = os.pathsep.join([str(tmp_path / "site"), str(Path(__file__).parents[2])])
    found = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path / "log.parquet"), str(tmp_path / "not_written")],
        capture_output=True,
        text=True,
        timeout=240,
        env={**spark_environment, "PYTHONPATH": path},
        check=False,
    )
    assert "done without a disk" in found.stdout, found.stderr[-3000:]
