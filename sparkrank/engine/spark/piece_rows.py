"""Pieces as rows of a DataFrame, which Spark shuffles: the way of both Spark lanes where there can be no pairs.

Spark Connect has DataFrames and nothing else, and exact blocks go on as rows. A piece crosses as in
:mod:`sparkrank.engine.spark.piece_pairs`, but is copied more often: to Arrow, to a row, to Spark's own form of it, and
back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import types as T

from sparkrank.engine.buckets import task_count
from sparkrank.engine.group_files import GroupFiles
from sparkrank.engine.pieces.packing import Packed, pack_pieces, pieces_by_bucket
from sparkrank.engine.result import Solved
from sparkrank.engine.spark.gathering import RESULT_SCHEMA, RESULT_TYPE, gather
from sparkrank.engine.spark.solving import solve_pieces, solve_tables
from sparkrank.metrics import Plan

BUCKET, PIECE = "bucket", "piece"
PIECES_TYPE = T.StructType([T.StructField(BUCKET, T.IntegerType()), T.StructField(PIECE, T.BinaryType())])
PIECES_SCHEMA = pa.schema({BUCKET: pa.int32(), PIECE: pa.binary()})


def cut_to_rows(tables: Iterable[pa.Table], buckets: int) -> Iterator[pa.RecordBatch]:
    """The rows of ``tables``, each cut on its own, as batches of :data:`PIECES_SCHEMA`."""
    for rows in tables:
        pieces = list(pieces_by_bucket(rows, buckets))
        numbers = pa.array([bucket for bucket, _ in pieces], pa.int32())
        yield pa.record_batch([numbers, pack_pieces(piece for _, piece in pieces)], schema=PIECES_SCHEMA)


def shuffled_rows(pieces: DataFrame, buckets: int) -> DataFrame:
    """All pieces of a bucket in one partition, as many buckets in each."""
    tasks = task_count(buckets)
    if hasattr(pieces, "repartitionById"):
        return pieces.repartitionById(tasks, BUCKET)  # the number of the bucket modulo that of the tasks
    return pieces.repartition(tasks, BUCKET)  # Spark 4.0: by its hash, which leaves some tasks without a bucket


def solve_rows(
    pieces: DataFrame,
    schema: pa.Schema,
    plan: Plan,
    buckets: int,
    group_schema: T.StructType | None,
    files: GroupFiles | None,
) -> Solved:
    """Shuffle ``pieces``, cut from rows of ``schema``, and solve their buckets.

    ``group_schema`` asks for the group table, as a DataFrame unless its solvers write it to ``files``.
    """

    def solve(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for result in solve_pieces(_pieces(batches), schema, plan, files):
            yield pa.RecordBatch.from_pylist([result], RESULT_SCHEMA)

    results = shuffled_rows(pieces, buckets).mapInArrow(solve, RESULT_TYPE)
    return gather(results, task_count(buckets), plan, group_schema, files)


def solve_rows_where_read(
    rows: DataFrame, tables: Callable[[Iterator[pa.RecordBatch]], Iterable[pa.Table]], plan: Plan, tasks: int
) -> Solved:
    """The results of rows without a group: ``tasks`` tasks make ``tables`` of ``rows``, and nothing is shuffled."""

    def solve(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for result in solve_tables(tables(batches), plan):
            yield pa.RecordBatch.from_pylist([result], RESULT_SCHEMA)

    return gather(rows.mapInArrow(solve, RESULT_TYPE), tasks, plan, None, None)


def _pieces(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, Packed]]:
    for batch in batches:
        for bucket, piece in zip(batch.column(0).to_pylist(), batch.column(1), strict=True):
            yield bucket, [piece.as_buffer()]
