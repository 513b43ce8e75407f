"""What fails in a task reaches a person as one line that says what failed, not as the name of Spark's wrapping."""

from __future__ import annotations

import io
import logging
import os
import signal
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import AnalysisException, PySparkException
from pyspark.logger import PySparkLogger
from pyspark.logger.logger import JSONFormatter
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from sparkrank.engines.spark.batches import arrow_batches
from sparkrank.engines.spark.failures import reading_errors, reason_of
from sparkrank.run.session import quieten_pyspark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def _disk_full(_: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    try:
        raise KeyError("the first")
    except KeyError:
        raise OSError(28, "No space left on device") from None


def _chained(_: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    try:
        raise KeyError("the first")
    except KeyError as error:
        raise OSError("the second\nand more") from error


def _killed(_: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    os.kill(os.getpid(), signal.SIGKILL)  # as the system does for want of memory
    yield from ()


def _of_its_batches(rows: DataFrame) -> int:
    return arrow_batches(rows, rows.sparkSession.sparkContext).count()


FAILING: dict[str, tuple[Callable[[DataFrame], DataFrame], str]] = {
    "worker": (lambda rows: rows.mapInArrow(_disk_full, "a long"), "OSError: [Errno 28] No space left on device"),
    "chained": (lambda rows: rows.mapInArrow(_chained, "a long"), "OSError: the second"),
    "killed": (
        lambda rows: rows.mapInArrow(_killed, "a long"),
        "a task was lost on localhost executor driver: Python worker exited",
    ),
    "jvm": (lambda rows: rows.selectExpr("cast(raise_error('no day') as int)"), "[USER_RAISED_EXCEPTION] no day"),
    "arithmetic": (lambda rows: rows.selectExpr("1 div (id - id)"), "[DIVIDE_BY_ZERO] Division by zero"),
}


@pytest.mark.parametrize("name", FAILING)
def test_the_reason_is_what_was_raised_in_the_task(spark: SparkSession, name: str) -> None:
    fails, reason = FAILING[name]
    for collected in (DataFrame.toArrow, _of_its_batches):
        with pytest.raises((Py4JError, PySparkException)) as failed:
            collected(fails(spark.range(0, 3, 1, 1)))
        told = reason_of(failed.value)
        assert told.startswith(reason)
        assert "\n" not in told


def test_pyspark_says_nothing_beside_the_sentence(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    # A handler of the test's own: that of PySpark may hold the stderr of a test before, or none was made.
    handler = logging.StreamHandler(said := io.StringIO())
    handler.setFormatter(JSONFormatter())
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        logger = PySparkLogger.getLogger(name)
        monkeypatch.setattr(logger, "disabled", False)  # as it is again after the test
        monkeypatch.setattr(logger, "handlers", [handler])
    for quiet in (False, True):
        if quiet:
            quieten_pyspark()
        for ask in (lambda: spark.range(1).where("nope = 1"), lambda: spark.range(1).select(F.col("nope")).collect()):
            said.truncate(0)
            with pytest.raises(AnalysisException):
                ask()
            assert ('"logger":' in said.getvalue()) is not quiet


def test_other_errors_are_named_by_their_type_and_a_spark_that_has_gone_says_nothing_of_the_input() -> None:
    """Of an input that cannot be read a scheduler need not try again; of a driver without memory it may."""
    assert reason_of(RuntimeError("the disk is gone\nand more")) == "RuntimeError: the disk is gone"
    assert reason_of(RuntimeError()) == "RuntimeError: no message"
    for gone in (ConnectionRefusedError("refused"), Py4JNetworkError("no answer"), Py4JError("load")):
        with pytest.raises(type(gone)), reading_errors("log", "parquet input", "input"):
            raise gone
