"""The rows of any DataFrame, cut into pieces by Python as Spark reads them, so that no row is shuffled or sorted."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import types as T
from pyspark.sql.pandas.types import to_arrow_type

from sparkrank.engine.parquet import SPLIT_ROWS
from sparkrank.engine.shuffle import PIECES_TYPE, cut_pieces
from sparkrank.engine.workers import settle

# What a task holds before it cuts. Fewer rows make more pieces, and small ones.
HELD_ROWS = SPLIT_ROWS
HELD_BYTES = 128 << 20  # cutting and packing take some times as much


def arrow_schema(rows: DataFrame) -> pa.Schema:
    """The schema in which the pieces of ``rows`` are agreed: whatever the session is set to."""
    return pa.schema({field.name: _arrow_type(field.dataType) for field in rows.schema})


def _arrow_type(kind: T.DataType) -> pa.DataType:
    # pyspark's own function differs between versions in how it is told the time zone
    return pa.timestamp("us", "UTC") if isinstance(kind, T.TimestampType) else to_arrow_type(kind)


def frame_pieces(rows: DataFrame, schema: pa.Schema, buckets: int) -> DataFrame:
    """``rows``, of ``schema`` in Arrow, as rows of :data:`sparkrank.engine.shuffle.PIECES_SCHEMA`."""
    return rows.mapInArrow(_cutter(schema, buckets), PIECES_TYPE)


def _cutter(schema: pa.Schema, buckets: int) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def cut(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        settle()
        for held in _held(batches, schema):
            yield cut_pieces(held, buckets)

    return cut


def _held(batches: Iterator[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.Table]:
    """The rows of the batches, so many together as are cut at once."""
    held: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        held.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows >= HELD_ROWS or size >= HELD_BYTES:
            yield pa.Table.from_batches(held).cast(schema)
            held.clear()
            rows = size = 0
    if rows:
        yield pa.Table.from_batches(held).cast(schema)
