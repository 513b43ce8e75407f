"""The scan lane: Arrow reads Parquet inside the tasks, and Spark shuffles bytes instead of rows.

A task reads a split, cuts its rows by bucket, and sends each bucket's rows as one piece of bytes: thousands of rows of
Spark instead of millions, so that what rows cost in the JVM (about 100 ns a value) is not paid. On the other side the
pieces of a bucket are mapped back, whole numbers widened, and solved like any other bucket.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_type

from sparkrank.bucket import evaluate_bucket
from sparkrank.engine.buckets import task_count
from sparkrank.engine.group_files import GroupFiles
from sparkrank.engine.packing import pack_pieces, pieces_by_bucket, unpack_pieces
from sparkrank.engine.parquet import SPLIT_ROWS
from sparkrank.engine.result import Solved
from sparkrank.engine.solving import PACKED_SCHEMA, PACKED_TYPE, gather, group_schema, packed_results
from sparkrank.engine.sources import BucketSplit, Sides
from sparkrank.engine.workers import settle
from sparkrank.impressions import key_column
from sparkrank.metrics import Plan

_BUCKET, _PIECE = "bucket", "piece"
_PIECES_TYPE = f"{_BUCKET} int, {_PIECE} binary"
_PIECES_SCHEMA = pa.schema({_BUCKET: pa.int32(), _PIECE: pa.binary()})


def evaluate_scan(
    spark: SparkSession,
    sides: Sides,
    plan: Plan,
    buckets: int,
    files: GroupFiles | None = None,
) -> Solved:
    """Evaluate the rows of ``sides``, which have passed their check, in one pass and ``buckets`` buckets.

    With ``files``, the tasks write the group table there.
    """
    schema = sides.schema(plan)
    packed = shuffled_pieces(spark, sides, plan, buckets).mapInArrow(_solver(schema, plan, files), PACKED_TYPE)
    keys = {
        column: from_arrow_type(schema.field(key_column(index)).type) for index, column in enumerate(sides.roles.group)
    }
    return gather(packed, task_count(buckets), plan, group_schema(keys, plan) if plan.group_table else None, files)


def shuffled_pieces(spark: SparkSession, sides: Sides, plan: Plan, buckets: int) -> DataFrame:
    """The rows of ``sides`` as pieces (bucket, piece), all those of a bucket in one partition: read, cut, packed."""
    splits = sides.splits(plan, SPLIT_ROWS)
    # range gives each of its partitions one number, so each task reads one split
    pieces = spark.range(0, len(splits), 1, max(1, len(splits))).mapInArrow(_reader(splits, buckets), _PIECES_TYPE)
    return pieces.repartition(task_count(buckets), _BUCKET)


def _reader(splits: list[BucketSplit], buckets: int) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """What a task does with the numbers of its splits."""

    def read(numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        settle()
        for batch in numbers:
            for number in batch.column(0).to_pylist():
                for rows in splits[number]():
                    pieces = list(pieces_by_bucket(rows, buckets))
                    numbered = pa.array([bucket for bucket, _ in pieces], pa.int32())
                    packed = pack_pieces(piece for _, piece in pieces)
                    yield pa.record_batch([numbered, packed], schema=_PIECES_SCHEMA)

    return read


def _solver(
    schema: pa.Schema, plan: Plan, files: GroupFiles | None
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """What a task does with the pieces of its buckets: it gathers them, some twenty megabytes, and solves each bucket.

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
