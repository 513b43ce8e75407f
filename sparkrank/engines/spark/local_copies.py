"""Copies of Spark DataFrames in local files, for code that reads the same rows several times in the same order."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from sparkrank.engines.spark.batches import arrow_schema
from sparkrank.engines.spark.failures import task_errors
from sparkrank.engines.spark.session_features import packed_once
from sparkrank.engines.spark.table_streams import STREAMS_TYPE, streams_of
from sparkrank.engines.spark.worker_python import validate_session


def local_copy(rows: DataFrame) -> ds.Dataset:
    """Copy ``rows`` to a temporary file, which is removed once the returned dataset is garbage-collected."""
    # Spark spreads streams of batches evenly over partitions, and the driver holds one partition at a time
    spark, schema = rows.sparkSession, arrow_schema(rows)
    validate_session(spark)

    def packed(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return streams_of(pa.Table.from_batches([batch]).cast(schema) for batch in batches)

    folder = TemporaryDirectory(prefix="sparkrank-")
    file = f"{folder.name}/rows.parquet"
    with task_errors(spark), pq.ParquetWriter(file, schema) as writer:
        streams = rows.mapInArrow(packed_once(packed), STREAMS_TYPE)
        for row in streams.repartition(F.monotonically_increasing_id()).toLocalIterator():
            writer.write_table(pa.ipc.open_stream(row[0]).read_all())
    copy: ds.Dataset = ds.dataset(file)
    weakref.finalize(copy, folder.cleanup)
    return copy
