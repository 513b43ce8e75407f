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


def _nothing() -> None:
    """There is nothing to set back."""
