"""The settings that a command gives to a new session, unless the user or the site has set them."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from typing import TypeAlias

SettingReader: TypeAlias = Callable[[str], str | None]

# conf/spark-defaults.conf has the reasons. The settings beside a value are alternatives by which a site may have
# chosen.
_COMPRESS, _CODEC = "spark.shuffle.compress", "spark.io.compression.codec"
_MERGE, _CHECKSUM = "spark.shuffle.sort.bypassMergeThreshold", "spark.shuffle.checksum.algorithm"
_SHUFFLE = {_COMPRESS: ("false", (_CODEC,)), _MERGE: ("1", ()), _CHECKSUM: ("CRC32C", ())}
# Python workers get these variables on every machine, also under a local master.
_DELAY, _DELAY_MS = "MIMALLOC_PURGE_DELAY", "600000"
_OF_WORKERS = "spark.executorEnv."

_SOCKETS, _FOLDER = "spark.python.unix.domain.socket.enabled", "spark.python.unix.domain.socket.dir"
# Spark's own variable for the setting, and settings that replace Spark's worker with one that may know only TCP.
_SPARKS_VARIABLE = "PYSPARK_UDS_MODE"
_OTHER_WORKERS = ("spark.python.daemon.module", "spark.python.worker.module")
# Sockets are files in Java's folder for temporary files, whose path may have at most this many characters. If it has
# more, the operating system refuses the socket, and no task runs.
_TEMPORARY, LONGEST_FOLDER = "java.io.tmpdir", 61
_JAVA_OPTIONS = ("spark.executor.extraJavaOptions", "spark.executor.defaultJavaOptions")
# Containers of YARN have their own, longer folder. All machines there have /tmp, because Hadoop needs it.
_OF_YARN = "/tmp"  # noqa: S108 - a name that nobody can guess, of a file that only its owner may use


def session_defaults(read: SettingReader) -> dict[str, str]:
    """Return the recommended settings that are not set. ``read`` returns the value of a setting, or None.

    They take effect only if given before Spark's context is made.
    """
    chosen = {name: value for name, (value, others) in _SHUFFLE.items() if not any(map(read, (name, *others)))}
    if _DELAY not in os.environ and not read(_OF_WORKERS + _DELAY):
        chosen[_OF_WORKERS + _DELAY] = _DELAY_MS
    return chosen | dict(_unix_sockets(read))


def _unix_sockets(read: SettingReader) -> Iterator[tuple[str, str]]:
    """Yield the settings for Unix sockets between executors and workers, if the folder of sockets is certain."""
    # Versions of Spark before 4.1 do not know the settings and ignore them.
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
