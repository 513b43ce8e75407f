"""Tables as bytes, one per row of a DataFrame. Tasks return them in this form to preserve Arrow types."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import types as T

from sparkrank.engines.spark.tasks import tune_worker
from sparkrank.states.pickling import stream_of

_STREAM = "stream"
STREAMS_TYPE = T.StructType([T.StructField(_STREAM, T.BinaryType())])
_SCHEMA = pa.schema({_STREAM: pa.binary()})


def streams_of(tables: Iterable[pa.Table]) -> Iterator[pa.RecordBatch]:
    """Yield each non-empty table of ``tables`` as a row of bytes."""
    tune_worker()
    for table in tables:
        if table.num_rows:
            yield pa.record_batch([pa.array([stream_of(table).to_pybytes()], pa.binary())], schema=_SCHEMA)


def tables_of_streams(rows: DataFrame) -> list[pa.Table]:
    """Return all tables that ``rows`` contain as bytes, in no particular order."""
    return [pa.ipc.open_stream(row[_STREAM]).read_all() for row in rows.collect()]
