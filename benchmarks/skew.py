"""What large groups cost: the same rows spread evenly, as groups of 100,000 rows in one bucket, and as one group.

    python -m benchmarks.skew --rows 3e7

All shapes take turns in one session, in the lanes scan, frame and local, with the nightly set and a group table. The
peak is that of the largest Python process of the lane, from the kernel's own count.
"""

from __future__ import annotations

import os
import statistics
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import sparkrank as sr
from benchmarks import memory
from benchmarks.machine import usable_cores
from benchmarks.sets import SETS
from benchmarks.table import Table, arguments

LANES = ("scan", "frame", "local")
ROWS_OF_A_LARGE_GROUP = 100_000
WRITTEN_AT_ONCE = 1_000_000
MIB = 2**20


def main() -> None:
    parser = arguments(__doc__, 3)
    parser.add_argument("--rows", type=float, default=3e7)
    parser.add_argument("--lanes", nargs="+", choices=LANES, default=LANES)
    parser.add_argument("--driver-memory", default="3g")
    given = parser.parse_args()
    rows = int(given.rows)
    # groups, and buckets where it is not the rows that say how many
    shapes = {
        "20 rows a group": (rows // 20, None),
        f"{ROWS_OF_A_LARGE_GROUP:,} rows a group, in one bucket": (rows // ROWS_OF_A_LARGE_GROUP, 1),
        "all rows in one group": (1, None),
    }
    with TemporaryDirectory(prefix="sparkrank-skew-") as folder:
        logs = {shape: write_log(rows, groups, Path(folder)) for shape, (groups, _) in shapes.items()}
        buckets = {shape: count for shape, (_, count) in shapes.items()}
        lines = []
        for lane in given.lanes:
            times, peaks = measure(lane, logs, buckets, given.repeats, given.driver_memory)
            plain = statistics.median(next(iter(times.values())))
            for shape, seconds in times.items():
                median = statistics.median(seconds)
                span = f"{min(seconds):.2f} to {max(seconds):.2f}"
                lines.append([lane, shape, f"{median:.2f}", span, f"{median / plain:.2f}", f"{peaks[shape] // MIB}"])
    command = f"python -m benchmarks.skew --rows {given.rows:g}"
    titles = ["lane", f"{rows:,} rows", "median, s", "range, s", "over the first", "peak, MiB"]
    Table(command, titles, lines).tell(given.output)


def write_log(rows: int, groups: int, folder: Path) -> Path:
    draw, path = np.random.default_rng(1), folder / f"{groups}.parquet"
    kinds = pa.schema({"user_id": pa.int64(), "score": pa.float64(), "clicked": pa.int8()})
    with pq.ParquetWriter(path, kinds) as writer:
        for start in range(0, rows, WRITTEN_AT_ONCE):
            count = min(WRITTEN_AT_ONCE, rows - start)
            clicked = (draw.random(count) < 0.1).astype(np.int8)
            columns = [draw.integers(0, groups, count), draw.random(count), clicked]
            writer.write_table(pa.table(columns, schema=kinds))
    return path


def measure(
    lane: str, logs: dict[str, Path], buckets: dict[str, int | None], repeats: int, driver_memory: str
) -> tuple[dict[str, list[float]], dict[str, int]]:
    """Seconds of each shape, in turns after one that does not count, and the peak of each."""
    from benchmarks import session

    spark = None if lane == "local" else session.start(usable_cores(), driver_memory)
    times: dict[str, list[float]] = {shape: [] for shape in logs}
    peaks = dict.fromkeys(logs, 0)
    for turn in range(repeats + 1):
        for shape, log in logs.items():
            rows = str(log) if spark is None or lane == "scan" else spark.read.parquet(str(log))
            started = time.monotonic()
            with (
                memory.peak_of(memory.pyspark_workers if spark is not None else this_process) as peak,
                sr.evaluate(
                    rows,
                    list(SETS["nightly"]),
                    group="user_id",
                    score="score",
                    label="clicked",
                    spark=spark,
                    lane=lane,
                    buckets=buckets[shape],
                    group_table=False,
                ) as evaluation,
            ):
                if evaluation["auc"] != evaluation["auc"]:
                    raise SystemExit(f"{shape} has no auc")
            if turn:
                times[shape].append(time.monotonic() - started)
            peaks[shape] = max(peaks[shape], peak[0])
    if spark is not None:
        spark.stop()
    return times, peaks


def this_process() -> list[int]:
    return [os.getpid()]


if __name__ == "__main__":
    main()
