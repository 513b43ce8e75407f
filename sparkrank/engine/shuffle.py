"""What the Spark lanes share: rows cross Spark's shuffle as pieces, and buckets are solved on the other side.

Whoever reads the rows cuts them by bucket and sends each bucket's as one piece of bytes: thousands of rows of Spark
instead of millions, so that what rows cost in the JVM (about 100 ns a value) is not paid. On the other side the pieces
of a bucket are mapped back, whole numbers widened, and solved like any other bucket.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import types as T

from sparkrank.bucket import evaluate_bucket
from sparkrank.engine.buckets import task_count
from sparkrank.engine.group_files import GroupFiles
from sparkrank.engine.packing import pack_pieces, pieces_by_bucket, unpack_pieces
from sparkrank.engine.solving import PACKED_SCHEMA, PACKED_TYPE, packed_results
from sparkrank.engine.workers import settle
from sparkrank.metrics import Plan

BUCKET, PIECE = "bucket", "piece"
PIECES_TYPE = T.StructType([T.StructField(BUCKET, T.IntegerType()), T.StructField(PIECE, T.BinaryType())])
PIECES_SCHEMA = pa.schema({BUCKET: pa.int32(), PIECE: pa.binary()})


def cut_pieces(rows: pa.Table, buckets: int) -> pa.RecordBatch:
    """The pieces of ``rows``, as rows of :data:`PIECES_SCHEMA`."""
    pieces = list(pieces_by_bucket(rows, buckets))
    numbers = pa.array([bucket for bucket, _ in pieces], pa.int32())
    return pa.record_batch([numbers, pack_pieces(piece for _, piece in pieces)], schema=PIECES_SCHEMA)


def by_bucket(pieces: DataFrame, buckets: int) -> DataFrame:
    """Rows of :data:`PIECES_SCHEMA`, all those of a bucket in one partition, as many buckets in each."""
    tasks = task_count(buckets)
    if hasattr(pieces, "repartitionById"):
        return pieces.repartitionById(tasks, BUCKET)  # the number of the bucket modulo that of the tasks
    return pieces.repartition(tasks, BUCKET)  # Spark 4.0: by its hash, which leaves some tasks without a bucket


def solved(pieces: DataFrame, schema: pa.Schema, plan: Plan, files: GroupFiles | None) -> DataFrame:
    """Rows of :data:`sparkrank.engine.solving.PACKED_SCHEMA` from what :func:`by_bucket` gives.

    ``schema`` is that of the rows that were cut. With ``files``, the tasks write the group table there.
    """
    return pieces.mapInArrow(solver(schema, plan, files), PACKED_TYPE)


def solver(
    schema: pa.Schema, plan: Plan, files: GroupFiles | None
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """What a task does with the pieces of its buckets: it gathers them, some forty megabytes, and solves each bucket.

    Python groups the pieces itself: they are few, and a grouping by Spark would sort and copy their bytes once more.
    """

    def solve(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        settle()
        pieces: dict[int, list[pa.Buffer]] = {}
        for batch in batches:
            for bucket, piece in zip(batch.column(0).to_pylist(), batch.column(1), strict=True):
                pieces.setdefault(bucket, []).append(piece.as_buffer())
        rows = (unpack_pieces(pieces.pop(bucket), schema) for bucket in sorted(pieces))
        for packed in packed_results((evaluate_bucket(each, plan) for each in rows), files):
            yield pa.RecordBatch.from_pylist([packed], PACKED_SCHEMA)

    return solve
