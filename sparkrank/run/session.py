"""The Spark session of a command: its start and its end."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from sparkrank.base.errors import SparkrankError
from sparkrank.engines.spark.session_features import set_where_permitted, setting
from sparkrank.engines.spark.worker_python import validate_version
from sparkrank.run.session_defaults import session_defaults
from sparkrank.text.terminal import STARTED_BY_JAVA

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Buckets are transferred about a tenth faster in Arrow batches of this many rows than in batches of Spark's default,
# which is taken as "not set" (docs/performance.md).
BATCH_ROWS, SPARK_BATCH_ROWS = "100000", "10000"
_BATCH_ROWS = "spark.sql.execution.arrow.maxRecordsPerBatch"

# The log level unless the user sets one. At Spark's default the one sentence of sparkrank is lost among log lines, and
# where tasks run in the driver's own process, an error in a task would add 30 lines of Java.
_LOG_LEVEL, QUIET, QUIET_LOCAL = "spark.log.level", "ERROR", "FATAL"
# Spark's own progress bar. Outside of spark-submit Spark draws it over the lines and tables of sparkrank.
_BAR = "spark.ui.showConsoleProgress"
# The settings that tell log4j where its configuration is, and the name of a configuration on the class path.
_LOG4J_PROPERTIES = ("log4j2.configurationFile", "log4j.configurationFile", "log4j.configuration")
_LOG4J_FILES = [
    f"log4j2{test}.{kind}" for test in ("", "-test") for kind in ("properties", "xml", "yaml", "yml", "json", "jsn")
]


@contextmanager
def command_session(name: str, *, is_needed: bool) -> Iterator[SparkSession | None]:
    """Yield the Spark session of a command (None if not needed) inside a ``with`` block, and stop it at the end."""
    spark = spark_session(f"sparkrank {name}") if is_needed else None
    try:
        yield spark
    finally:
        if spark is not None:
            with suppress(Exception):  # the work of the command is complete
                spark.stop()


def spark_session(name: str) -> SparkSession:
    """Return the active session, or a new session ``name``. Raise :class:`SparkrankError` if pyspark is missing."""
    try:
        import pyspark
        from pyspark import SparkContext
        from pyspark.sql import SparkSession
    except ImportError:
        raise SparkrankError(
            "pyspark is not installed: run through spark-submit, install sparkrank's extra spark, or set engine.lane: "
            "local"
        ) from None
    validate_version(pyspark.__version__)
    quieten_pyspark()
    builder = SparkSession.builder.appName(name)
    if not _over_connect() and SparkSession.getActiveSession() is None:
        if _is_local():
            _give_workers_this_python()
        if STARTED_BY_JAVA not in os.environ and _BAR not in os.environ.get("PYSPARK_SUBMIT_ARGS", ""):
            builder = builder.config(_BAR, "false")
        if not _logging_is_configured():
            builder = builder.config(_LOG_LEVEL, QUIET_LOCAL if _is_local() else QUIET)
        # spark-submit passes settings to the driver as system properties, and this process makes the context
        for key, value in session_defaults(SparkContext.getSystemProperty).items():
            builder = builder.config(key, value)
    spark = builder.getOrCreate()
    if setting(spark, _BATCH_ROWS) == SPARK_BATCH_ROWS:
        set_where_permitted(spark, _BATCH_ROWS, BATCH_ROWS)
    return spark


def _is_local() -> bool:
    from pyspark import SparkContext

    master = SparkContext.getSystemProperty("spark.master") or os.environ.get("MASTER") or "local"
    return master.startswith("local") and not master.startswith("local-cluster")


def _give_workers_this_python() -> None:
    """Let workers on this machine use this process's Python instead of python3 from PATH, unless one is configured."""
    from pyspark import SparkContext

    if not SparkContext.getSystemProperty("spark.pyspark.python"):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)


def _over_connect() -> bool:
    """Return whether the session uses Spark Connect, whose server has its own log."""
    from pyspark.sql import is_remote

    is_remote_mode = (
        os.environ.get("SPARK_API_MODE", "").lower() == "connect" or os.environ.get("SPARK_CONNECT_MODE") == "1"
    )
    return is_remote_mode or is_remote() or "SPARK_REMOTE" in os.environ


def _logging_is_configured() -> bool:
    """Return whether the user has configured Spark's log, with a setting or a log4j file.

    Call this before a session starts.
    """
    from pyspark import SparkContext

    property_of = (
        SparkContext.getSystemProperty
    )  # spark-submit passes settings of Spark to the driver as system properties
    if "LOG4J_CONFIGURATION_FILE" in os.environ or any(map(property_of, (_LOG_LEVEL, *_LOG4J_PROPERTIES))):
        return True
    places = map(Path, (property_of("java.class.path") or "").split(os.pathsep))
    return any((place / file).is_file() for place in places for file in _LOG4J_FILES)


def quieten_pyspark() -> None:
    """Turn off the JSON that PySpark writes to stderr for query errors. Messages of sparkrank report these errors."""
    from pyspark.logger import PySparkLogger

    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(name).disabled = True
