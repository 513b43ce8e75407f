"""The rows of any DataFrame as Arrow batches in Spark's tasks, and so many of them together as are cut at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import pyarrow as pa
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark import RDD, SparkContext
from pyspark.serializers import NoOpSerializer
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from sparkrank.engine.reading.parquet import SPLIT_ROWS
from sparkrank.engine.spark.batches import ROWS
from sparkrank.engine.spark.frame_values import arrow_type
from sparkrank.engine.spark.workers import settle

# What a task holds before it cuts. Fewer rows make more pieces, and small ones.
HELD_ROWS = SPLIT_ROWS
HELD_BYTES = 128 << 20  # cutting and packing take some times as much
LARGE_TYPES = "spark.sql.execution.arrow.useLargeVarTypes"
# Types that Spark writes to Arrow as :func:`arrow_schema` says, which a batch without its schema is read by.
_PLAIN_TYPES = (
    *(T.BooleanType, T.IntegralType, T.FloatType, T.DoubleType, T.DecimalType, T.StringType, T.BinaryType),
    *(T.DateType, T.TimestampType, T.TimestampNTZType),
)


def arrow_schema(rows: DataFrame) -> pa.Schema:
    """The schema in which the pieces of ``rows`` are agreed: whatever the session is set to."""
    return pa.schema({field.name: arrow_type(field.dataType) for field in rows.schema})


def arrow_batches(rows: DataFrame, context: SparkContext) -> RDD[bytes] | None:
    """The rows in Arrow batches without their schema, straight from where Spark makes them; or nothing.

    Spark has this for its own use and promises it to nobody. It has had it since version 2.3; where it is gone, and
    where it might write something else than :func:`arrow_schema` says, ``mapInArrow`` gives the same rows: with 20
    million of them, and with the pieces as rows too, the lane takes 2.3 s instead of 1.7.

    A plan that Spark adapts to what it meets runs here up to its last exchange. To be called, and what it returns to be
    used, inside of :func:`settings_in_tasks`.
    """
    spark = rows.sparkSession
    if not all(isinstance(field.dataType, _PLAIN_TYPES) for field in rows.schema):
        return None
    active = SparkSession.getActiveSession()  # its settings are those that hold when Spark makes code
    if active is not spark and (active is None or active.conf.getAll != spark.conf.getAll):
        return None
    if spark.conf.get(LARGE_TYPES, "false") != "false" or int(spark.conf.get(ROWS) or 0) <= 0:
        return None
    try:
        batches = rows._jdf.toArrowBatchRdd().toJavaRDD()  # noqa: SLF001 - the docstring says why
    except Py4JJavaError:  # what the plan has met
        raise
    except Py4JError:  # there is no such method
        return None
    return RDD(batches, context, NoOpSerializer())


@contextmanager
def settings_in_tasks(spark: SparkSession) -> Iterator[None]:
    """What runs inside has the session's settings of Spark SQL in its tasks, as all that Spark SQL runs has them.

    Some of its functions look them up there, and find those of the cluster in tasks of RDDs.
    """
    context = spark.sparkContext
    settings = {name: value for name, value in spark.conf.getAll.items() if name.startswith("spark.sql.")}
    before = {name: context.getLocalProperty(name) for name in settings}
    try:
        for name, value in settings.items():
            context.setLocalProperty(name, value)
        yield
    finally:
        for name, was in before.items():
            context.setLocalProperty(name, was)  # type: ignore[arg-type] # nothing takes it away


def read_batches(packed: Iterable[bytes], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """What :func:`arrow_batches` gives to a task."""
    for batch in packed:
        yield pa.ipc.read_record_batch(pa.ipc.read_message(batch), schema)


def held_rows(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.Table]:
    """The rows of the batches, so many together as are cut at once."""
    settle()
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
