"""The sending of a DataFrame's rows to tasks, as Arrow batches of limited size. The tasks join these into tables."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

import pyarrow as pa
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark import RDD, SparkContext
from pyspark.errors import PySparkTypeError
from pyspark.serializers import NoOpSerializer
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.pandas.types import to_arrow_type

from sparkrank.engines.result import Refusal
from sparkrank.engines.spark.session_features import all_settings, is_made_active, refused_batches, setting, setting_as
from sparkrank.engines.spark.tasks import tune_worker
from sparkrank.sources.parquet import SPLIT_ROWS

BYTES_SETTING = "spark.sql.execution.arrow.maxBytesPerBatch"  # Spark's default is 64 MiB
ROWS_SETTING = "spark.sql.execution.arrow.maxRecordsPerBatch"
# The limit for pieces. Arrow's pools in the JVM keep blocks of up to 16 MiB. Larger blocks come from the operating
# system each time, which took a tenth of the time of the scan lane.
BYTES_OF_PIECES = 4 << 20
# The limit for rows. With any other limit, Spark adds up the bytes of all columns after every row: 7 of the 10.7
# seconds of processor time that the JVM takes for 20 million rows of the frame lane.
NO_LIMIT = 2**31 - 1
# Texts may be of any length: Spark doubles the memory of a batch as it grows, and fails at 2 GiB. 12,000 texts of
# 200 KB in batches of 10,000 killed a driver with 3 GiB. For ids of 16 letters this limit costs no time.
ROWS_OF_TEXTS = 4096
ROWS_OF_ARRAYS = 1024  # each makes about twenty bucket rows, or even thousands
_OUR_LIMITS = {str(limit) for limit in (BYTES_OF_PIECES, NO_LIMIT)}


@contextmanager
def batches_of(spark: SparkSession, most_bytes: int) -> Iterator[Refusal | None]:
    """Limit Arrow batches to ``most_bytes`` bytes inside a ``with`` block. Yield the refusal of the session, or None.

    :data:`NO_LIMIT` is applied only in a session that limits the rows per batch.
    """
    limit, now = str(most_bytes), setting(spark, BYTES_SETTING)
    if now in _OUR_LIMITS:  # another evaluation of the session has set it
        limit = now
    elif most_bytes == NO_LIMIT:
        rows = setting(spark, ROWS_SETTING)
        if rows is None:
            yield refused_batches(f"it does not tell {ROWS_SETTING}")
            return
        if int(rows or 0) <= 0:
            yield None
            return
    with setting_as(spark, BYTES_SETTING, limit) as because:  # Spark 4.0 has no such limit
        yield None if because is None else refused_batches(because)


@contextmanager
def short_batches(spark: SparkSession, most: int = ROWS_OF_TEXTS) -> Iterator[None]:
    """Limit Arrow batches to ``most`` rows inside a ``with`` block. The session's setting is restored at the end."""
    if int(setting(spark, ROWS_SETTING) or 0) <= most:
        yield
        return
    with setting_as(spark, ROWS_SETTING, str(most)):
        yield


# The rows and bytes that a task gathers before it partitions them. Fewer rows would make more and smaller pieces.
GATHERED_ROWS = SPLIT_ROWS
GATHERED_BYTES = 128 << 20  # partitioning and packing need several times as much memory
LARGE_TYPES = "spark.sql.execution.arrow.useLargeVarTypes"
# Sessions may keep the declared length of a table's texts. Elsewhere all texts are strings.
TEXTS = (T.StringType, T.CharType, T.VarcharType)
# Types that Spark writes to Arrow as in :func:`arrow_schema`, which is used to read batches without a schema.
_PLAIN_TYPES = (
    *(T.BooleanType, T.IntegralType, T.FloatType, T.DoubleType, T.DecimalType, T.StringType, T.BinaryType),
    *(T.DateType, T.TimestampType, T.TimestampNTZType),
)


def named(name: str) -> Column:
    return F.col("`" + name.replace("`", "``") + "`")


def arrow_type(kind: T.DataType) -> pa.DataType:
    """Return the Arrow type for the Spark type ``kind``, which does not depend on the session's settings.

    The result for a type that Arrow lacks, such as some intervals, is a struct without fields.
    """
    if isinstance(kind, T.UserDefinedType):
        return arrow_type(kind.sqlType())
    if isinstance(kind, T.ArrayType):  # also for arrays of the null type, which pyspark's own function refuses
        return pa.list_(arrow_type(kind.elementType))
    if isinstance(kind, T.MapType):
        return pa.map_(arrow_type(kind.keyType), arrow_type(kind.valueType))
    if isinstance(kind, T.StructType):
        return pa.struct([(field.name, arrow_type(field.dataType)) for field in kind])
    return pa.string() if isinstance(kind, TEXTS) else _plain_type(kind)


def _plain_type(kind: T.DataType) -> pa.DataType:
    if isinstance(kind, T.TimestampType):  # pyspark's own function treats the time zone differently by version
        return pa.timestamp("us", "UTC")
    try:
        plain = to_arrow_type(kind)
    except PySparkTypeError:
        return pa.struct([])
    return pa.struct([]) if pa.types.is_nested(plain) else plain  # Arrow has only the stored form of a variant


def arrow_schema(rows: DataFrame) -> pa.Schema:
    """Return the Arrow schema of ``rows``, which does not depend on session settings."""
    return pa.schema([(field.name, arrow_type(field.dataType)) for field in rows.schema])


def arrow_batches(rows: DataFrame, context: SparkContext) -> RDD[bytes] | None:
    """Return ``rows`` as Arrow batches without a schema, by a private method of Spark; None without this method.

    The method is not used if it does not exist, if the driver's environment has ``SPARKRANK_PRIVATE_SPARK=0``, or if
    the batches might not match :func:`arrow_schema`. Call this function inside :func:`settings_in_tasks`.
    """
    spark = rows.sparkSession
    if (
        os.environ.get("SPARKRANK_PRIVATE_SPARK") == "0"
        or not all(_is_as_agreed(field.dataType) for field in rows.schema)
        or not _tasks_have_settings(spark)
        or setting(spark, LARGE_TYPES, "false") != "false"
        or int(setting(spark, ROWS_SETTING) or 0) <= 0
    ):
        return None
    try:
        batches = rows._jdf.toArrowBatchRdd().toJavaRDD()  # noqa: SLF001 - the docstring says why
    except Py4JJavaError:  # the plan itself has an error
        raise
    except Py4JError:  # this version has no such method
        return None
    return RDD(batches, context, NoOpSerializer())


def _is_as_agreed(kind: T.DataType) -> bool:
    """Return whether Spark writes values of type ``kind`` as :func:`arrow_schema` declares them."""
    if isinstance(kind, T.UserDefinedType):
        return _is_as_agreed(kind.sqlType())
    if isinstance(kind, T.StructType):
        return all(_is_as_agreed(field.dataType) for field in kind)
    if isinstance(kind, T.MapType):
        return _is_as_agreed(kind.keyType) and _is_as_agreed(kind.valueType)
    return isinstance(kind, _PLAIN_TYPES) or (isinstance(kind, T.ArrayType) and _is_as_agreed(kind.elementType))


def _tasks_have_settings(spark: SparkSession) -> bool:
    """Return whether tasks can use the settings of ``spark``. Code generation uses the active session's settings."""
    settings, active = all_settings(spark), SparkSession.getActiveSession()
    if settings is None:
        return False
    if active is None:  # in a thread that has not used a session, such as Spark's tuning threads
        return is_made_active(spark)
    return active is spark or all_settings(active) == settings


@contextmanager
def settings_in_tasks(spark: SparkSession) -> Iterator[None]:
    """Make Spark SQL functions in RDD tasks use the session's settings inside a ``with`` block, not the cluster's."""
    context = spark.sparkContext
    settings = {name: value for name, value in (all_settings(spark) or {}).items() if name.startswith("spark.sql.")}
    before = {name: context.getLocalProperty(name) for name in settings}
    try:
        for name, value in settings.items():
            context.setLocalProperty(name, value)
        yield
    finally:
        for name, was in before.items():
            context.setLocalProperty(name, was)  # type: ignore[arg-type] # nothing takes it away


def read_batches(packed: Iterable[bytes], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield the decoded ``packed`` batches that a task receives from :func:`arrow_batches`."""
    for batch in packed:
        yield pa.ipc.read_record_batch(pa.ipc.read_message(batch), schema)


def gathered_rows(
    batches: Iterable[pa.RecordBatch], schema: pa.Schema, rows_in: Callable[[pa.RecordBatch], int] = len
) -> Iterator[pa.Table]:
    """Yield ``batches`` joined into tables of about :data:`GATHERED_ROWS` rows or :data:`GATHERED_BYTES` bytes.

    ``rows_in`` returns the number of rows that a batch counts as, such as the number of elements in its arrays.
    """
    tune_worker()
    gathered: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        gathered.append(batch)
        rows, size = rows + rows_in(batch), size + batch.nbytes
        if rows >= GATHERED_ROWS or size >= GATHERED_BYTES:
            yield pa.Table.from_batches(gathered).cast(schema)
            gathered.clear()
            rows = size = 0
    if rows:
        yield pa.Table.from_batches(gathered).cast(schema)
