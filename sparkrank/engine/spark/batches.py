"""How many bytes the Arrow batches have that Spark SQL hands to Python, while pieces go as rows of a DataFrame."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

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
