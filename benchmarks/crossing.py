"""What it costs to hand a bucket's rows to Python: each way that Spark offers, with nothing computed behind it.

The last two are those of the frame lane, the first over Spark Connect. Both cut and pack the rows on the way.

python -m benchmarks.crossing --rows 2e7 --keys string
"""

from __future__ import annotations

import functools
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa

from benchmarks import session
from benchmarks.generate import add_arguments, shape_of, write
from benchmarks.machine import command, usable_cores
from benchmarks.table import Table, arguments

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

BUCKET_ROWS = 1_000_000
COUNTED = "rows long"


def count_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """For mapInArrow: how many rows came."""
    yield pa.record_batch({"rows": [sum(batch.num_rows for batch in batches)]})


def count_frame(rows: pd.DataFrame) -> pd.DataFrame:
    """For applyInPandas."""
    return pd.DataFrame({"rows": [len(rows)]})


def count_table(rows: pa.Table) -> pa.Table:
    """For applyInArrow."""
    return pa.table({"rows": [rows.num_rows]})


def count_arrays(key: pa.Array, label: pa.Array, score: pa.Array) -> int:  # noqa: ARG001 - all three cross
    """For a grouped aggregate on Arrow arrays."""
    return len(key)


def ways(log: DataFrame, columns: Sequence[str], buckets: int) -> dict[str, Callable[[], object]]:
    """Each way, ready to run."""
    from pyspark.sql import functions as F

    from sparkrank.engines.spark.batch_converter import FrameSide
    from sparkrank.engines.spark.batches import arrow_batches, settings_in_tasks
    from sparkrank.engines.spark.frame import framed_schema, pairs_of, rows_of
    from sparkrank.engines.spark.shuffle import remove_shuffled, shuffled_pairs, shuffled_rows
    from sparkrank.inputs.roles import Roles
    from sparkrank.metrics import plan_of

    bucketed = log.select(F.pmod(F.hash("user_id"), F.lit(buckets)).alias("bucket"), *columns).repartition(16, "bucket")
    hashed = log.select(
        F.pmod(F.hash("user_id"), F.lit(buckets)).alias("bucket"), F.xxhash64("user_id").alias("user_id"), *columns[1:]
    ).repartition(16, "bucket")
    aggregate: Any = F.arrow_udf(count_arrays, "long")
    key, label, score = columns
    plan = plan_of(["rr"], [score], [key])
    side = FrameSide(log, Roles.of(key, label, score), "log")
    rows, sent = side.sent(plan, framed_schema([side], plan))
    pieces = shuffled_rows(rows_of(rows, sent, buckets), buckets)

    def as_pairs() -> None:
        with settings_in_tasks(rows.sparkSession):
            batches = arrow_batches(rows, rows.sparkSession.sparkContext)
            assert batches is not None  # noqa: S101 - this Spark gives them
            shuffled = shuffled_pairs(pairs_of(batches, sent, buckets), buckets)
            shuffled.count()
            remove_shuffled(shuffled)

    frames: dict[str, Callable[[], DataFrame]] = {
        "repartition alone": lambda: log.select(*columns).repartition(16, "user_id"),
        "repartition, sort by bucket": lambda: bucketed.sortWithinPartitions("bucket"),
        "repartition, mapInArrow": lambda: bucketed.mapInArrow(count_batches, COUNTED),
        "groupBy(bucket).applyInArrow": lambda: bucketed.groupBy("bucket").applyInArrow(count_table, COUNTED),
        "groupBy(bucket).applyInPandas": lambda: bucketed.groupBy("bucket").applyInPandas(count_frame, COUNTED),
        "groupBy(bucket).agg(arrow_udf)": lambda: bucketed.groupBy("bucket").agg(aggregate(*columns)),
        "the same, keys as 64-bit hashes": lambda: hashed.groupBy("bucket").agg(aggregate(*columns)),
        "cut into pieces, shuffled as rows": lambda: pieces.mapInArrow(count_batches, COUNTED),
    }
    dropped = {name: functools.partial(_drop, frame) for name, frame in frames.items()}
    return {**dropped, "cut into pieces, shuffled as pairs": as_pairs}


def _drop(frame: Callable[[], DataFrame]) -> None:
    frame().write.format("noop").mode("overwrite").save()


def main() -> None:
    """Print the median of each way's runs, interleaved, after one that is not counted."""
    parser = arguments(__doc__, repeats=5)
    add_arguments(parser)
    options = parser.parse_args()
    from sparkrank.engines.spark.batches import NO_LIMIT, batches_of

    shape = shape_of(options)
    log = write(shape)
    spark = session.start(usable_cores(), session.DRIVER_MEMORY)
    session.start_workers(spark, usable_cores())
    found = ways(
        spark.read.parquet(str(log)), ("user_id", shape.label, *shape.scores[:1]), max(1, shape.rows // BUCKET_ROWS)
    )
    seconds: dict[str, list[float]] = {name: [] for name in found}
    with batches_of(spark, NO_LIMIT):  # as the frame lane has it; what Spark does by default takes twice the time
        for run in range(options.repeats + 1):
            for name, way in found.items():
                started = time.perf_counter()
                way()
                if run:
                    seconds[name].append(time.perf_counter() - started)
    spark.stop()
    table = Table(
        command("crossing", sys.argv[1:]),
        (f"way, nothing computed ({shape.rows:,} rows, {shape.keys} keys)", "median, s", "range, s"),
        [
            (name, f"{statistics.median(runs):.2f}", f"{min(runs):.2f} to {max(runs):.2f}")
            for name, runs in seconds.items()
        ],
    )
    table.tell(options.output)


if __name__ == "__main__":
    main()
