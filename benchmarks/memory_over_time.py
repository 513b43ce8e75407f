"""Memory of the nightly job, second by second: is it flat, whatever the rows?

    python -m benchmarks.memory_over_time --rows 2e8 --folder /tmp/memory

writes a log of so many rows, evaluates it by spark-submit in the scan lane on two cores, with a driver of 2 GiB that is
the executor too, and prints what the driver's JVM, its Python and the Python workers hold, every second.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from benchmarks.memory import below, command_of, resident

PROJECT = Path(__file__).resolve().parents[1]
DAY = "2026-11-19"
FILE_ROWS = 10_000_000
GROUP_ROWS = 20  # of a group, on average
METRICS = (
    *(f"{name}@{k}" for name in ("ndcg", "p", "r", "hit") for k in (5, 10, 20)),
    *("ap", "ap(over=min_k_relevant)@10", "rr", "gauc", "auc", "auc_up(digits=5)"),
)
MIB = 1 << 20


class Sample(NamedTuple):
    """Bytes that processes hold at a time, in seconds from the start."""

    second: float
    jvm: int
    python: int
    largest_worker: int
    workers: int


def write_log(folder: Path, rows: int) -> None:
    """Write ``rows`` impressions, whose groups are each in one file."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(-(-rows // FILE_ROWS)):
        path = folder / f"{number:04d}.parquet"
        if path.exists():
            continue
        draw, count = np.random.default_rng(number), min(FILE_ROWS, rows - number * FILE_ROWS)
        groups = max(1, FILE_ROWS // GROUP_ROWS)
        table = pa.table(
            {
                "user_id": draw.integers(0, groups, count) + number * groups,
                "score": draw.random(count, dtype=np.float32),
                "clicked": (draw.random(count, dtype=np.float32) < 0.1).astype(np.int8),
            }
        )
        unfinished = path.with_suffix(".unfinished")
        pq.write_table(table, unfinished, compression="snappy", use_dictionary=False)
        unfinished.rename(path)


def sample(root: int, started: float) -> Sample:
    """What the processes of a spark-submit hold now."""
    jvm = python = 0
    workers = []
    for pid in (root, *below(root)):
        command, held = command_of(pid), resident(pid)
        if b"pyspark.daemon" in command:
            workers.append(held)
        elif b"evaluate.py" in command and b"java" not in command.split(b"\0")[0]:
            python += held
        elif b"java" in command.split(b"\0")[0]:
            jvm += held
    return Sample(time.monotonic() - started, jvm, python, max(workers, default=0), sum(workers))


def measure(folder: Path, rows: int, driver_memory: str) -> list[Sample]:
    """Run the job, and look every second. Raises :class:`RuntimeError` where it fails."""
    conf = folder / "spec.yaml"
    columns = {"group": "user_id", "label": "clicked", "score": {"model": "score"}}
    document = {
        "input": {"path": str(folder / f"log-{rows}"), "columns": columns},
        "metrics": list(METRICS),
        "output": {"path": str(folder / "tables"), "keep_runs": 0},
        "engine": {"lane": "scan"},
    }
    conf.write_text(yaml.safe_dump(document), encoding="utf-8")
    settings = ("spark.ui.enabled=false", "spark.ui.showConsoleProgress=false", f"spark.local.dir={folder / 'local'}")
    command = [str(Path(sys.executable).with_name("spark-submit")), "--master", "local[2]"]
    command += ["--driver-memory", driver_memory, *(word for each in settings for word in ("--conf", each))]
    command += [str(PROJECT / "jobs/evaluate.py"), "--conf", str(conf), "--date", DAY]
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
    found, started = [], time.monotonic()
    with (folder / "job.log").open("wb") as log:
        job = subprocess.Popen(command, env=environment, stdout=log, stderr=subprocess.STDOUT)
        try:
            while job.poll() is None:
                found.append(sample(job.pid, started))
                time.sleep(1)
        finally:
            job.kill()
    if job.returncode:
        raise RuntimeError((folder / "job.log").read_text(encoding="utf-8")[-2000:])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rows", type=float, default=2e8)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--driver-memory", default="2g")
    given = parser.parse_args()
    rows = int(given.rows)
    write_log(given.folder / f"log-{rows}", rows)
    samples = measure(given.folder, rows, given.driver_memory)
    print(f"{rows:,} rows, driver of {given.driver_memory}, {samples[-1].second:.0f} s; MiB:")
    print(f"{'second':>8}{'JVM':>8}{'Python':>8}{'worker':>8}{'workers':>9}")
    for each in samples[:: max(1, len(samples) // 40)]:
        print(f"{each.second:8.0f}" + "".join(f"{part // MIB:8,}" for part in each[1:4]) + f"{each.workers // MIB:9,}")
    for name in Sample._fields[1:]:
        quarters = np.array_split([getattr(each, name) for each in samples], 4)
        peaks = ", ".join(f"{int(max(quarter)) // MIB:,}" for quarter in quarters if len(quarter))
        print(f"{name}: peaks of the quarters {peaks}")


if __name__ == "__main__":
    main()
