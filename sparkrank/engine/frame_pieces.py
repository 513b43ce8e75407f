"""The rows of any DataFrame, cut into pieces by Python as Spark reads them, so that no row is shuffled or sorted.

A scalar iterator UDF on Arrow arrays does it. Its columns cross as they are, where ``mapInArrow`` would wrap every row
into a struct (docs/performance.md). Spark wants a value for every row from it: some rows get an array of pieces,
all others null.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.pandas.types import to_arrow_type

from sparkrank.engine.parquet import SPLIT_ROWS
from sparkrank.engine.shuffle import BUCKET, PIECE, PIECES_SCHEMA, PIECES_TYPE, cut_pieces
from sparkrank.engine.workers import settle

# What a task holds before it cuts. Fewer rows make more pieces, and small ones.
HELD_ROWS = SPLIT_ROWS
HELD_BYTES = 128 << 20  # cutting and packing take some times as much

_ROW_PIECES = f"array<struct<{BUCKET}:int,{PIECE}:binary>>"
_PIECE = pa.struct(list(PIECES_SCHEMA))


def arrow_schema(rows: DataFrame) -> pa.Schema:
    """The schema in which the pieces of ``rows`` are agreed: whatever the session is set to."""
    return pa.schema({field.name: _arrow_type(field.dataType) for field in rows.schema})


def _arrow_type(kind: T.DataType) -> pa.DataType:
    # pyspark's own function differs between versions in how it is told the time zone
    return pa.timestamp("us", "UTC") if isinstance(kind, T.TimestampType) else to_arrow_type(kind)


def frame_pieces(rows: DataFrame, schema: pa.Schema, buckets: int) -> DataFrame:
    """``rows``, of ``schema`` in Arrow, as rows of :data:`sparkrank.engine.shuffle.PIECES_SCHEMA`."""
    if not hasattr(F, "arrow_udf"):  # Spark 4.0
        return rows.mapInArrow(_from_batches(schema, buckets), PIECES_TYPE)
    # Spark runs what is deterministic again wherever it filters by it, and it filters what is made into rows.
    pieces = F.arrow_udf(_from_columns(schema, buckets), _ROW_PIECES).asNondeterministic()
    return rows.select(pieces(*rows.columns).alias("pieces")).select(F.inline("pieces"))


def _from_columns(schema: pa.Schema, buckets: int) -> Callable[..., Any]:
    def cut(batches: Iterator[tuple[pa.Array, ...]]) -> Iterator[pa.Array]:
        settle()
        named = (pa.record_batch(list(columns), schema.names) for columns in batches)
        for rows, held in _held(named, schema):
            yield _spread(rows, None if held is None else cut_pieces(held, buckets))

    return cut


def _from_batches(schema: pa.Schema, buckets: int) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def cut(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        settle()
        for _, held in _held(batches, schema):
            if held is not None:
                yield cut_pieces(held, buckets)

    return cut


def _held(batches: Iterator[pa.RecordBatch], schema: pa.Schema) -> Iterator[tuple[int, pa.Table | None]]:
    """The rows of each batch that has any, and with the last of those that are held together, these as one table."""
    filled = (batch for batch in batches if batch.num_rows)
    held: list[pa.RecordBatch] = []
    rows = size = 0
    batch = next(filled, None)
    while batch is not None:
        held.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
        following = next(filled, None)
        if rows < HELD_ROWS and size < HELD_BYTES and following is not None:
            yield batch.num_rows, None
        else:
            yield batch.num_rows, pa.Table.from_batches(held).cast(schema)
            held.clear()
            rows = size = 0
        batch = following


def _spread(rows: int, pieces: pa.RecordBatch | None) -> pa.Array:
    """An array of pieces for each of so many ``rows``: all of ``pieces`` evenly, and null where that is none."""
    if pieces is None:
        return pa.nulls(rows, pa.list_(_PIECE))
    ends = np.arange(rows + 1) * pieces.num_rows // rows
    structs = pa.StructArray.from_arrays(pieces.columns, fields=list(_PIECE))
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), structs, mask=pa.array(np.diff(ends) == 0))
