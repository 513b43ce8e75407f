"""Which part of an evaluation grows how: splits, buckets, the pieces between them, and states that meet at the driver.

    python -m benchmarks.scaling --rows 1e7

The same rows are read in few and in many splits and evaluated in few and in many buckets, so that what grows is not the
rows but what they are cut into: as many splits and buckets as a day of a hundred times the rows has. All shapes take
turns in one session of the scan lane, and their values must be the same bits. docs/scaling.md says what follows.
"""

from __future__ import annotations

import itertools
import statistics
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import sparkrank as sr
from benchmarks.machine import usable_cores
from benchmarks.sets import SETS
from benchmarks.table import Table, arguments
from sparkrank.inputs.buckets import task_count

SPLITS, BUCKETS = (4, 500), (10, 1000)
ROWS_OF_A_GROUP = 20


def main() -> None:
    parser = arguments(__doc__, 3)
    parser.add_argument("--rows", type=float, default=1e7)
    parser.add_argument("--driver-memory", default="3g")
    given = parser.parse_args()
    rows = int(given.rows)
    with TemporaryDirectory(prefix="sparkrank-scaling-") as folder:
        times = measure(write_log(rows, Path(folder)), rows, given.repeats, given.driver_memory)
    plain = statistics.median(times[SPLITS[0], BUCKETS[0]])
    lines = []
    for (splits, buckets), seconds in times.items():
        median = statistics.median(seconds)
        pieces = splits * task_count(buckets)
        lines.append(
            [
                f"{splits} splits, {buckets:,} buckets",
                str(task_count(buckets)),
                f"{pieces:,}",
                f"{median:.2f}",
                f"{min(seconds):.2f} to {max(seconds):.2f}",
                f"{median / plain:.1f}",
            ]
        )
    command = f"python -m benchmarks.scaling --rows {given.rows:g}"
    titles = [f"{rows:,} rows in", "tasks of buckets", "pieces", "median, s", "range, s", "over the first"]
    Table(command, titles, lines).tell(given.output)


def write_log(rows: int, folder: Path) -> Path:
    """A log of one file whose row groups are as many as the most splits."""
    draw = np.random.default_rng(1)
    log = pa.table(
        {
            "user_id": draw.integers(0, max(1, rows // ROWS_OF_A_GROUP), rows),
            "score": draw.random(rows),
            "clicked": (draw.random(rows) < 0.1).astype(np.int8),
        }
    )
    pq.write_table(log, folder / "log.parquet", row_group_size=-(-rows // max(SPLITS)))
    return folder / "log.parquet"


def measure(log: Path, rows: int, repeats: int, driver_memory: str) -> dict[tuple[int, int], list[float]]:
    """Seconds of each shape, in turns after one that does not count."""
    from benchmarks import session
    from sparkrank.engines.spark import scan

    spark = session.start(usable_cores(), driver_memory)
    session.start_workers(spark, usable_cores())
    shapes = list(itertools.product(SPLITS, BUCKETS))
    times: dict[tuple[int, int], list[float]] = {shape: [] for shape in shapes}
    values = set()
    for turn in range(repeats + 1):
        for splits, buckets in shapes:
            scan.SPLIT_ROWS = -(-rows // splits)
            started = time.monotonic()
            with sr.evaluate(
                str(log),
                list(SETS["nightly"]),
                group="user_id",
                score="score",
                label="clicked",
                spark=spark,
                lane="scan",
                buckets=buckets,
                group_table=False,
            ) as evaluation:
                if turn:
                    times[splits, buckets].append(time.monotonic() - started)
                values.add(tuple(evaluation.table["value"].to_pylist()))
    if len(values) != 1:
        raise SystemExit("the values depend on splits or buckets")
    spark.stop()
    return times


if __name__ == "__main__":
    main()
