"""What the driver holds while exact metrics of a day are computed, from a million distinct scores on.

    python -m benchmarks.exact --rows 1e6 1e7 5e7

The driver and the executor are processes of their own (Spark's local-cluster), so that only what the driver holds is
counted: the peak of its Python process, and of its JVM. Each size runs in a session of its own. Every row has a score
of its own.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time

from benchmarks import memory
from benchmarks.session import SETTINGS

METRICS = ["auc(exact)", "pr_auc(exact)", "auc_up(exact)"]
ROWS_OF_A_USER = 20
MIB = 2**20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=float, nargs="+", default=[1e6, 1e7, 5e7])
    parser.add_argument("--cores", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--executor-memory", type=int, default=6144, help="MiB")
    parser.add_argument("--driver-memory", default="1g")
    parser.add_argument("--alone", action="store_true", help="run the one size here instead of in a process of its own")
    given = parser.parse_args()
    if given.alone:
        measure(int(given.rows[0]), given.cores, given.executor_memory, given.driver_memory)
        return
    print(
        "| distinct scores | seconds | driver's Python, MiB | driver's JVM, MiB | values |\n|---:|---:|---:|---:|---|"
    )
    for rows in given.rows:
        shared = ["--cores", str(given.cores), "--executor-memory", str(given.executor_memory)]
        command = [sys.executable, "-m", "benchmarks.exact", "--alone", "--rows", str(rows), *shared]
        subprocess.run([*command, "--driver-memory", given.driver_memory], check=True, stderr=subprocess.DEVNULL)


def measure(rows: int, cores: int, executor_memory: int, driver_memory: str) -> None:
    """Evaluate ``rows`` rows once and print a row of the table."""
    from pyspark.sql import SparkSession
    from pyspark.sql import functions as F

    import sparkrank as sr

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master(f"local-cluster[1,{cores},{executor_memory}]").appName("sparkrank-exact")
    os.environ.setdefault("SPARK_WORKER_DIR", tempfile.mkdtemp(prefix="sparkrank-"))
    conf = {**SETTINGS, "spark.driver.memory": driver_memory, "spark.executor.memory": f"{executor_memory}m"}
    for key, value in conf.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    chance = (F.xxhash64("id") / F.lit(2.0**64)) + F.lit(0.5)
    log = spark.range(0, rows, 1, 4 * cores).select(
        (F.hash("id", F.lit(1)) % F.lit(max(1, rows // ROWS_OF_A_USER))).alias("user"),
        chance.alias("score"),
        (F.rand(1) * F.lit(4.0) < chance).cast("int").alias("click"),
    )
    started = time.monotonic()
    settings = {"group": "user", "score": "score", "label": "click", "group_table": False}
    with (
        memory.peak_of(lambda: [os.getpid()]) as python,
        memory.peak_of(memory.java_children) as java,
        sr.evaluate(log, METRICS, **settings) as evaluation,
    ):
        values = ", ".join(f"{value:.6f}" for value in evaluation.to_pandas()["value"])
        far = not hasattr(evaluation.blocks, "num_rows")
    seconds = time.monotonic() - started
    way = "" if far else " (merged by the driver)"
    print(f"| {rows:,}{way} | {seconds:.0f} | {python[0] // MIB} | {java[0] // MIB} | {values} |", flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
