"""How states grow, and what merging them costs, by models, values of slices and metrics.

    python -m benchmarks.scaling_states merging
    python -m benchmarks.scaling_states wide
    python -m benchmarks.scaling_states scanned
    python -m benchmarks.scaling_states buckets
    python -m benchmarks.scaling_states pieces

``merging``: ten thousand packed states through the tree of ``engines/spark/gather``.
``wide``: a few rows of many models and slice values in the local lane, up to 200 models and 1,000 values.
``scanned``: the same in the scan lane, with a heap of 2 GiB for the driver.
``buckets``: the same rows in ever more buckets, with the group table: seconds, files, and the time to commit them.
``pieces``: a split cut for ever more buckets, and its pieces joined by bucket where they arrive, all without Java.
Seconds are those of the processor. docs/scaling.md says what follows.
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
from typing import Any

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
WIDE = ((20, 100, 3), (200, 100, 3), (20, 1000, 3), (200, 1000, 1), (200, 1000, 3))
SCANNED = ((20, 1000, 3), (200, 1000, 1), (200, 1000, 3))
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
        print("\t".join(measure(*given.shape, *([given.rows] if given.what in OF_ROWS else []))))
        return
    command = ["-m", "benchmarks.scaling_states", given.what, "--rows", str(given.rows)]
    lines = []
    for shape in shapes:
        asked = [sys.executable, *command, "--shape", *map(str, shape)]
        done = subprocess.run(asked, capture_output=True, text=True, check=False)
        line = done.stdout.strip().split("\t") if not done.returncode else [f"ended with {done.returncode}"]
        name = ", ".join(f"{number:,}" for number in shape)
        lines.append([name, *line, *([""] * (len(titles) - 1 - len(line)))])
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
    from sparkrank.inputs.buckets import FAN_IN
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


def scanned(models: int, values: int, metrics: int, rows: int) -> list[str]:
    """The evaluation of :func:`wide` by Spark, of rows in a file of eight splits, after one of few rows."""
    from benchmarks import machine, session
    from benchmarks.memory import pyspark_workers

    spark = session.start(machine.usable_cores(), "2g")
    asked = ("ndcg@10", "rr", "hit@10")[:metrics]
    with tempfile.TemporaryDirectory(prefix="sparkrank-scaling-") as made:
        folder = Path(made)
        for name, size in (("few", 2_000), ("log", rows)):
            log = rows_of(models, values, size, np.random.default_rng(1))
            pq.write_table(log, folder / f"{name}.parquet", row_group_size=size // 8)
        named = {f"score_{each}": f"score_{each}" for each in range(models)}
        columns: dict[str, Any] = {"group": "user_id", "label": "clicked", "score": named, "slices": ["country"]}

        def evaluated_by_spark(name: str) -> int:
            path = str(folder / f"{name}.parquet")
            with sr.evaluate(path, list(asked), **columns, group_table=False, spark=spark, lane="scan") as found:
                return found.table.num_rows

        evaluated_by_spark("few")
        before = resident(os.getpid())
        with peak_of(pyspark_workers) as workers, peak_of(lambda: [os.getpid()]) as driver:
            started = time.perf_counter()
            count = evaluated_by_spark("log")
            seconds = time.perf_counter() - started
    states = models * (values + 1) * metrics
    return [
        f"{states:,}",
        f"{seconds:.1f}",
        f"{max(workers) / MIB:,.0f}",
        f"{(max(driver) - before) / MIB:,.0f}",
        f"{count:,}",
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


def pieces(rows: int, buckets: int) -> list[str]:
    """A split of so many rows, cut for so many buckets, and one of its pieces as often as a task has splits."""
    from sparkrank.engines.bucket_evaluation import add_pieces
    from sparkrank.engines.shuffle.group_runs import small_together
    from sparkrank.engines.shuffle.packing import pieces_by_task, unpack_piece
    from sparkrank.engines.shuffle.spill import LazyFile, PieceStore
    from sparkrank.inputs.buckets import task_count
    from sparkrank.metrics import plan_of
    from sparkrank.states.pickling import stream_of

    draw = np.random.default_rng(1)
    split = pa.table(
        {
            "key_0": draw.integers(0, 10**9, rows),
            "label": (draw.random(rows) < 0.1).astype(np.int8),
            "score_0": draw.random(rows),
        }
    )
    plan, tasks = plan_of(["rr"], ["score"], ["user"]), task_count(buckets)
    cut, taken = [], []
    for _ in range(3):
        started = time.process_time()
        sent = [(bucket, stream_of(piece)) for bucket, piece in pieces_by_task(split, buckets, tasks)]
        cut.append(time.process_time() - started)
        first, piece = sent[0]
        times = min(300, len(sent))  # pieces of other splits are as large
        arriving = ((first, unpack_piece(piece)) for _ in range(times))
        started = time.process_time()
        store = PieceStore(split.schema, LazyFile(), 1 << 30)
        for together in small_together(store, sorted(add_pieces(store, arriving, plan))):
            store.take(*together)
        taken.append((time.process_time() - started) / times)
    size = sum(piece.size for _, piece in sent)
    return [
        f"{len(sent):,}",
        f"{rows / buckets:,.0f}",
        f"{1e6 * min(cut) / len(sent):,.0f}",
        f"{1e6 * min(taken):,.0f}",
        f"{1e9 * (min(cut) + min(taken) * len(sent)) / rows:,.0f}",
        f"{size / rows:.1f}",
    ]


OF_ROWS = ("wide", "scanned")
PARTS = {
    "pieces": (
        [
            "rows, buckets",
            "pieces",
            "rows of a part",
            "cut, us a piece",
            "taken apart, us a piece",
            "both, ns a row",
            "bytes a row",
        ],
        ((2_000_000, 100), (2_000_000, 1_000), (2_000_000, 10_000), (2_000_000, 65_536)),
        pieces,
    ),
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
    "scanned": (
        ["models, values, metrics", "states", "seconds", "largest worker, MiB", "Python of the driver, MiB", "rows"],
        SCANNED,
        scanned,
    ),
    "buckets": (
        ["rows, buckets", "rows of a bucket", "core s", "ms a bucket", "files", "peak, MiB"],
        BUCKETED,
        buckets,
    ),
}

if __name__ == "__main__":
    main()
