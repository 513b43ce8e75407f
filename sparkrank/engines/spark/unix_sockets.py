"""Unix sockets between executors and workers: the settings for them, and the cost of a session without them."""

from __future__ import annotations

import os
import re
import socket
import weakref
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeAlias

from sparkrank.engines.result import Refusal
from sparkrank.engines.spark.session_features import setting

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

SettingReader: TypeAlias = Callable[[str], str | None]

_SOCKETS, _FOLDER = "spark.python.unix.domain.socket.enabled", "spark.python.unix.domain.socket.dir"
_FIRST_VERSION = (4, 1)  # of Spark that knows the settings. Earlier versions ignore them.
# Spark's own variable for the setting, and settings that replace Spark's worker with one that may know only TCP.
_SPARKS_VARIABLE = "PYSPARK_UDS_MODE"
_OTHER_WORKERS = ("spark.python.daemon.module", "spark.python.worker.module")
# Sockets are files in Java's folder for temporary files, whose path may have at most this many characters. If it has
# more, the operating system refuses the socket, and no task runs.
_TEMPORARY, LONGEST_FOLDER = "java.io.tmpdir", 61
_JAVA_OPTIONS = ("spark.executor.extraJavaOptions", "spark.executor.defaultJavaOptions")
# Containers of YARN have their own, longer folder. All machines there have /tmp, because Hadoop needs it.
_OF_YARN = "/tmp"  # noqa: S108 - a name that nobody can guess, of a file that only its owner may use

# 500 tasks of 6,000 rows took 36 % longer over TCP (decision 73), which is 26 ms of a core in each. With more rows in
# a task this is less than a fifth of its time, and with fewer tasks little time at all.
MANY_TASKS, FEW_ROWS = 100, 50_000
_contexts_with_advice: weakref.WeakSet[SparkContext] = weakref.WeakSet()  # so that each user reads it once


def unix_sockets(read: SettingReader) -> Iterator[tuple[str, str]]:
    """Yield the settings for Unix sockets if no user has set any of them and the folder of sockets is known.

    ``read`` returns the value of a setting, or None.
    """
    said = _SPARKS_VARIABLE in os.environ or any(map(read, (_SOCKETS, *_OTHER_WORKERS)))
    if said or not hasattr(socket, "AF_UNIX"):  # Python has none on Windows
        return
    if not read(_FOLDER):
        if (read("spark.master") or "").startswith("yarn"):
            yield _FOLDER, _OF_YARN
        elif len(read(_TEMPORARY) or "") > LONGEST_FOLDER or _is_moved(read):
            return
    yield _SOCKETS, "true"


def _is_moved(read: SettingReader) -> bool:
    """Return whether a setting tells the JVMs of executors their folder for temporary files, whose path may be long."""
    return any(_TEMPORARY in (read(options) or "") for options in _JAVA_OPTIONS)


def missing_sockets(spark: SparkSession, context: SparkContext, tasks: int, rows: int) -> Refusal | None:
    """Return the refusal of Unix sockets if their lack cost an evaluation of ``rows`` in ``tasks`` more than a fifth.

    Return None if ``spark`` cannot use such sockets, if it hides its settings, or if its user has had the advice.
    """
    if tasks < MANY_TASKS or rows > tasks * FEW_ROWS or context in _contexts_with_advice:
        return None
    version = tuple(map(int, re.findall(r"\d+", spark.version)[:2]))
    needed = dict(unix_sockets(lambda name: setting(spark, name, None)))
    if version < _FIRST_VERSION or not needed or setting(spark, "spark.master") is None:
        return None
    _contexts_with_advice.add(context)
    named = " and ".join(f"{name}={value}" for name, value in sorted(needed.items(), reverse=True))
    return Refusal(
        "Unix sockets between executors and workers",
        f"{_SOCKETS} is not set",
        f"{tasks:,} short tasks sent their bytes over TCP, which takes about a third longer; set {named} before the "
        "session starts",
    )
