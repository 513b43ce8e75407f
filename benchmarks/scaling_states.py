"""How states grow, and what merging them costs, by models, values of slices and metrics.

    python -m benchmarks.scaling_states merging
    python -m benchmarks.scaling_states wide
    python -m benchmarks.scaling_states buckets

``merging``: ten thousand packed states through the tree of ``engines/spark/gather``.
``wide``: a few rows of many models and slice values in the local lane, up to 200 models and 1,000 values.
``buckets``: the same rows in ever more buckets, with the group table: seconds, files, and the time to commit them.
docs/scaling.md says what follows.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import sparkrank as sr
from benchmarks.memory import peak_of, resident
from benchmarks.sets import SETS
from benchmarks.table import Table, arguments

STATES = 10_000
GROUP_ROWS = 20
MIB = 2**20
# Models, values of a slice (0: no slice), metrics of the nightly set.
MERGED = ((1, 0, 18), (3, 0, 18), (3, 50, 18), (3, 500, 18), (20, 50, 18), (20, 50, 6))
WIDE = ((20, 100, 3), (50, 100, 3), (200, 100, 3), (20, 1000, 3), (50, 1000, 3), (200, 1000, 1), (200, 1000, 3))
BUCKETED = ((2_000_000, 10), (2_000_000, 1_000), (20_000_000, 100), (20_000_000, 1_000), (20_000_000, 10_000))


def main() -> None:
    parser = arguments(__doc__, 1)
    parser.add_argument("what", choices=list(PARTS))
    parser.add_argument("--rows", type=int, default=200_000, help="of wide (default: %(default)s)")
    parser.add_argument(
        "--shape", type=int, nargs="+", help="one shape, measured here in place of a process of its own"
    )
    given = parser.parse_args()
    titles, shapes, measure = PARTS[given.what]
    if given.shape:
        print("\t".join(measure(*given.shape, *([given.rows] if given.what == "wide" else []))))
        return
    command = ["-m", "benchmarks.scaling_states", given.what, "--rows", str(given.rows)]
    lines = []
    for shape in shapes:
        asked = [sys.executable, *command, "--shape", *map(str, shape)]
        done = subprocess.run(asked, capture_output=True, text=True, check=False)
        told = done.stdout.strip().split("\t") if not done.returncode else [f"ended with {done.returncode}"]
        lines.append([", ".join(f"{each:,}" for each in shape), *told, *([""] * (len(titles) - 1 - len(told)))])
        print(lines[-1], done.stderr[-500:] if done.returncode else "", file=sys.stderr, flush=True)
    Table(f"python {' '.join(command)}", titles, lines).tell(given.output)


def rows_of(models: int, values: int, rows: int, draw: np.random.Generator) -> pa.Table:
    """Groups of twenty rows, each of one value of the slice."""
    users = np.arange(rows) // GROUP_ROWS
    columns = {"user_id": users, "clicked": (draw.random(rows) < 0.1).astype(np.int8)}
    if values:
        columns["country"] = pa.array([f"value {each}" for each in range(values)]).take(pa.array(users % values))
    return pa.table({**columns, **{f"score_{each}": draw.random(rows, np.float32) for each in range(models)}})


def evaluated(log: pa.Table, metrics: Sequence[str], **settings: object) -> sr.Evaluation:
    """``log`` with all of its models and its slice."""
    models = {name: name for name in log.column_names if name.startswith("score_")}
    slices = ["country"] if "country" in log.column_names else []
    named = {"group": "user_id", "label": "clicked", "score": models, "slices": slices, "group_table": False}
    return sr.evaluate(log, list(metrics), **{**named, **settings})  # type: ignore[arg-type]


def merging(models: int, values: int, metrics: int) -> list[str]:
    """The tree over ten thousand states: the packed bytes of one, its time, and the peak of one merge of the tree."""
    from sparkrank.engines.spark.gather import FAN_IN
    from sparkrank.states import Partials

    draw = np.random.default_rng(1)
    asked = SETS["nightly"][:metrics]
    few = [
        evaluated(rows_of(models, values, 20 * max(1_000, 4 * values), draw), asked, buckets=1).partials.pack()
        for _ in range(2)
    ]
    packed = [few[each % 2] for each in range(FAN_IN)]
    before = resident(os.getpid())
    with peak_of(lambda: [os.getpid()]) as peak:
        started = time.process_time()
        merged = Partials.unpack(packed)
        seconds = time.process_time() - started
    started = time.process_time()
    again = merged.pack()
    packing = time.process_time() - started
    states = models * max(1, values + 1) * len(asked)
    tree, parts = 0, STATES
    while parts > FAN_IN:
        parts = math.ceil(parts / FAN_IN)
        tree += parts
    each = seconds / FAN_IN
    whole = (STATES + tree) * each + tree * packing
    return [
        f"{states:,}",
        f"{len(few[0]) / 1024:,.0f}",
        f"{len(few[0]) / states:,.0f}",
        f"{1e3 * each:.2f}",
        f"{1e6 * each / states:.2f}",
        f"{(peak[0] - before) / MIB:,.0f}",
        f"{len(again) / 1024:,.0f}",
        f"{whole:,.1f}",
    ]


def wide(models: int, values: int, metrics: int, rows: int) -> list[str]:
    """An evaluation of few rows by many models and slice values, and its table of metrics."""
    log = rows_of(models, values, rows, np.random.default_rng(1))
    asked = ("ndcg@10", "rr", "hit@10")[:metrics]
    before = resident(os.getpid())
    with peak_of(lambda: [os.getpid()]) as peak:
        started = time.process_time()
        evaluation = evaluated(log, asked, buckets=4)
        seconds = time.process_time() - started
        packed = evaluation.partials.pack()
    states = models * (values + 1) * metrics
    return [
        f"{states:,}",
        f"{seconds:.1f}",
        f"{1e6 * seconds / states:,.0f}",
        f"{(peak[0] - before) / MIB:,.0f}",
        f"{(peak[0] - before) / states / 1024:,.1f}",
        f"{len(packed) / MIB:,.0f}",
        f"{evaluation.table.num_rows:,}",
    ]


def buckets(rows: int, count: int) -> list[str]:
    """Rows in so many buckets with the group table as files: seconds, and what is left in the folder."""
    draw = np.random.default_rng(1)
    with tempfile.TemporaryDirectory(prefix="sparkrank-scaling-") as made:
        folder = Path(made)
        users = draw.integers(0, max(1, rows // GROUP_ROWS), rows)
        log = {"user_id": users, "clicked": (draw.random(rows) < 0.1).astype(np.int8), "score": draw.random(rows)}
        pq.write_table(pa.table(log), folder / "log.parquet", row_group_size=1_000_000)
        before = resident(os.getpid())
        with peak_of(lambda: [os.getpid()]) as peak:
            started = time.process_time()
            with sr.evaluate(
                str(folder / "log.parquet"),
                list(SETS["nightly"]),
                group="user_id",
                score="score",
                label="clicked",
                buckets=count,
                group_table=str(folder / "groups"),
                lane="local",
            ):
                seconds = time.process_time() - started
        files = len(list((folder / "groups").iterdir()))
        return [
            f"{rows // count:,}",
            f"{seconds:.1f}",
            f"{1e3 * seconds / count:.1f}",
            f"{files}",
            f"{(peak[0] - before) / MIB:,.0f}",
        ]


PARTS = {
    "merging": (
        [
            "models, values, metrics",
            "states",
            "packed, KiB",
            "bytes a state",
            "merge of one, ms",
            "us a state",
            "peak of 64, MiB",
            "merged, KiB",
            "tree of 10,000, core s",
        ],
        MERGED,
        merging,
    ),
    "wide": (
        [
            "models, values, metrics",
            "states",
            "seconds",
            "us a state",
            "peak, MiB",
            "KiB a state",
            "packed, MiB",
            "rows",
        ],
        WIDE,
        wide,
    ),
    "buckets": (
        ["rows, buckets", "rows of a bucket", "core s", "ms a bucket", "files", "peak, MiB"],
        BUCKETED,
        buckets,
    ),
}

if __name__ == "__main__":
    main()
