"""The stderr of ``spark-submit``: it hands on all that the driver's Python prints, stderr too, as its own stdout.

A scheduler that reads the document of a command from stdout, and its error from stderr, gets both as from any program
where what belongs on stderr is printed by the process of Java.
"""

from __future__ import annotations

import os
import sys
import time
from typing import Any

STARTED_BY_JAVA = "PYSPARK_GATEWAY_PORT"  # in the environment of a Python that spark-submit has started
_FOR_STDOUT = 0.1  # seconds for what was printed before to go through Java, which nobody can wait for


def print_by_java(text: str) -> bool:
    """Whether Java's process has printed ``text`` as lines of its stderr: where it has started this process."""
    if STARTED_BY_JAVA not in os.environ:
        return False
    try:
        jvm = _jvm()
        if sys.stdout is not None:
            sys.stdout.flush()
        time.sleep(_FOR_STDOUT)
        lines = bytearray(f"{text}\n".encode())  # as bytes: Java's own letters depend on its locale
        jvm.java.lang.System.err.write(lines, 0, len(lines))
        jvm.java.lang.System.err.flush()
    except Exception:  # noqa: BLE001 - without Java it goes where Python prints
        return False
    return True


def _jvm() -> Any:
    from pyspark import SparkContext
    from pyspark.java_gateway import launch_gateway

    gateway: Any = SparkContext._gateway  # noqa: SLF001 - where there is one, a second would be another session's
    return (gateway or launch_gateway()).jvm  # type: ignore[no-untyped-call]
