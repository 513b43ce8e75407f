"""Nanoseconds a row of one bucket: the kernels alone, in cache, on one thread, without Spark or files.

python -m benchmarks.kernels --repeats 50
"""

from __future__ import annotations

import argparse
import gc
import itertools
import sys
import time
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchmarks import machine
from benchmarks.generate import LogShape, impressions, whole
from benchmarks.sets import SETS
from benchmarks.table import Table, arguments
from sparkrank.bucket import bucket_columns, evaluate_bucket
from sparkrank.metrics import Plan, plan_of

LABELS = ("click", "graded")
SCORES = ("float64", "float32", "tied")  # tied: float64, all rounded to two decimals


def bucket(rows: int, groups: int, labels: str, scores: str, keys: str) -> pa.Table:
    """A bucket as a lane hands it over: group key, label, scores of one model."""
    shape = LogShape(rows=rows, groups=groups, labels=labels, keys=keys, ties=1.0 if scores == "tied" else 0.0)
    log = impressions(shape, rows, chunk=0, file=0)
    score = log["score"].cast(pa.float32()) if scores == "float32" else log["score"]
    return pa.table([log["user_id"], log[shape.label], score], names=bucket_columns(plan_of_set("small"), keys=1))


def plan_of_set(name: str) -> Plan:
    """The plan that ``sparkrank.evaluate`` makes for a set: with the group table."""
    return plan_of(SETS[name], ["model"], ["user_id"], group_table=True)


def nanoseconds(rows: pa.Table, plan: Plan, repeats: int) -> NDArray[np.float64]:
    """A row's share of each of ``repeats`` calls, after one that is not counted: (by the clock, of processor time)."""
    evaluate_bucket(rows, plan)
    found = np.empty((repeats, 2))
    for repeat in range(repeats):
        start = time.perf_counter_ns(), time.process_time_ns()
        evaluate_bucket(rows, plan)
        found[repeat] = time.perf_counter_ns() - start[0], time.process_time_ns() - start[1]
    shares: NDArray[np.float64] = found / rows.num_rows
    return shares


def measure(options: argparse.Namespace) -> Iterator[tuple[str, ...]]:
    """A line of the table for each set of metrics and kind of bucket."""
    for labels, scores in itertools.product(LABELS, SCORES):
        rows = bucket(options.rows, options.groups, labels, scores, options.keys)
        for name in SETS:
            clock, processor = nanoseconds(rows, plan_of_set(name), options.repeats).T
            low, high = np.percentile(clock, (5, 95))
            figures = f"{np.median(clock):.0f}", f"{low:.0f} to {high:.0f}", f"{np.median(processor):.0f}"
            yield f"{name}, {labels}, {scores}", *figures


def main() -> None:
    parser = arguments(__doc__, repeats=50)
    parser.add_argument("--rows", type=whole, default=150_000)
    parser.add_argument("--groups", type=whole, default=7_500)
    parser.add_argument("--keys", choices=("int", "string"), default="int")
    options = parser.parse_args()
    print(", ".join(f"{name} {value}" for name, value in machine.describe().items()))
    print(f"\nOne bucket of {options.rows} rows and {options.groups} groups, {options.keys} keys, ns a row")
    print("(CPU: processor time of all threads, which a busy machine disturbs less)\n")
    gc.disable()  # a collection costs as much as a bucket, and meets whoever comes by
    command = machine.command("kernels", sys.argv[1:])
    table = Table(command, ("metrics, labels, scores", "median", "5 % to 95 %", "CPU"), list(measure(options)))
    table.tell(options.output)


if __name__ == "__main__":
    main()
