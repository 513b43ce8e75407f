"""The rows of any DataFrame as Arrow batches in Spark's tasks: how large they are, and how many are cut at once."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial

import pyarrow as pa
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark import RDD, SparkContext
from pyspark.errors import PySparkException
from pyspark.serializers import NoOpSerializer
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from sparkrank.engines.arrow.parquet import SPLIT_ROWS
from sparkrank.engines.spark.tasks import settle
from sparkrank.engines.spark.values import arrow_type

LIMIT = "spark.sql.execution.arrow.maxBytesPerBatch"  # Spark's own is 64 MiB
ROWS = "spark.sql.execution.arrow.maxRecordsPerBatch"
# Of pieces, which are thousands of rows each. Memory of up to 16 MiB is kept in Arrow's pools in the JVM, more is asked
# of the operating system each time and handed back: half of the JVM's time in the kernel, a tenth of the scan lane's.
BYTES_OF_PIECES = 4 << 20
# Of single rows. Spark asks after every row how many bytes the batch has so far, and the answer looks through all
# columns: 7 of the 10.7 seconds of processor time that the JVM takes for 20 million rows of the frame lane. Where this
# is the limit it does not ask, and batches end by their number of rows.
NO_LIMIT = 2**31 - 1
# Rows of texts, which may be of any length: Spark builds a batch in memory that it doubles, and ends where that has 2
# GiB. With 12,000 texts of 200 KB in batches of 10,000 a driver of 3 GiB went; ids of 16 letters take as long so.
ROWS_OF_TEXTS = 4096
_OURS = {str(limit) for limit in (BYTES_OF_PIECES, NO_LIMIT)}


@contextmanager
def batches_of(spark: SparkSession, most_bytes: int) -> Iterator[None]:
    """What runs inside gets batches of ``most_bytes``; the session is as it was afterwards.

    Of several evaluations at a time in one session, the first one sets the limit for all. There is never
    :data:`NO_LIMIT` in a session that does not limit the rows of a batch either.
    """
    restore = _exchanged(spark, most_bytes)
    try:
        yield
    finally:
        restore()


def _exchanged(spark: SparkSession, most_bytes: int) -> Callable[[], None]:
    """Set the limit, where it may be set; what is returned makes it what it was."""
    try:
        if spark.conf.get(LIMIT) in _OURS:  # another evaluation of the session has set it, and will set it back
            return _nothing
        if most_bytes == NO_LIMIT and int(spark.conf.get(ROWS) or 0) <= 0:
            return _nothing
        before = spark.conf.get(LIMIT, None)  # nothing where it is Spark's own
        spark.conf.set(LIMIT, str(most_bytes))
    except PySparkException:  # Spark 4.0 has no such limit, and some platforms keep their settings to themselves
        return _nothing
    return partial(spark.conf.unset, LIMIT) if before is None else partial(spark.conf.set, LIMIT, before)


@contextmanager
def short_batches(spark: SparkSession) -> Iterator[None]:
    """What runs inside gets batches of :data:`ROWS_OF_TEXTS` rows at most; the session is as it was afterwards."""
    restore = _nothing
    try:
        before = spark.conf.get(ROWS) or "0"
        if int(before) > ROWS_OF_TEXTS:
            spark.conf.set(ROWS, str(ROWS_OF_TEXTS))
            restore = partial(spark.conf.set, ROWS, before)
    except PySparkException:  # some platforms keep their settings to themselves
        pass
    try:
        yield
    finally:
        restore()


def _nothing() -> None:
    """There is nothing to set back."""


# What a task holds before it cuts. Fewer rows make more pieces, and small ones.
HELD_ROWS = SPLIT_ROWS
ROW_MEMORY = 128 << 20  # cutting and packing take some times as much
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

    ``SPARKRANK_PRIVATE_SPARK=0`` in the environment of the driver leaves it to ``mapInArrow`` as well.

    A plan that Spark adapts to what it meets runs here up to its last exchange. To be called, and what it returns to be
    used, inside of :func:`settings_in_tasks`.
    """
    spark = rows.sparkSession
    if os.environ.get("SPARKRANK_PRIVATE_SPARK") == "0":
        return None
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
        if rows >= HELD_ROWS or size >= ROW_MEMORY:
            yield pa.Table.from_batches(held).cast(schema)
            held.clear()
            rows = size = 0
    if rows:
        yield pa.Table.from_batches(held).cast(schema)
