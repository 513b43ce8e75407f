"""The signals that a job ignores during the commit of a day (the step that makes its tables visible).

A scheduler reads the exit code of ``spark-submit``, a JVM whose child is this process. Right before the commit, both
processes begin to ignore signals; otherwise the job could fail although the new day is visible.
"""

from __future__ import annotations

import signal
import threading
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from sparkrank.base.errors import SparkrankError

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

_NAMES = ("TERM", "INT", "HUP")


@dataclass
class Interrupts:
    """The signals that this process and the JVM of ``spark`` ignore between :meth:`hold` and :meth:`release`."""

    spark: SparkSession | None = None
    _release: list[Callable[[], object]] = field(default_factory=list)

    def hold(self) -> None:
        """Ignore SIGTERM, SIGINT and SIGHUP from now on. Raise :class:`SparkrankError` if the JVM is already ending."""
        if threading.current_thread() is threading.main_thread():  # no other thread may set handlers
            for name in _NAMES:
                number = getattr(signal, f"SIG{name}")
                before = signal.signal(number, signal.SIG_IGN)
                self._release.append(partial(signal.signal, number, before))
        jvm = _jvm(self.spark)
        if jvm is None:
            return
        try:
            for name in _NAMES:
                which = jvm.sun.misc.Signal(name)
                before = jvm.sun.misc.Signal.handle(which, jvm.sun.misc.SignalHandler.SIG_IGN)
                self._release.append(partial(jvm.sun.misc.Signal.handle, which, before))
            hook = jvm.java.lang.Thread()
            jvm.java.lang.Runtime.getRuntime().addShutdownHook(hook)  # refused once the JVM is ending
            jvm.java.lang.Runtime.getRuntime().removeShutdownHook(hook)
        except Exception as error:
            self.release()
            raise SparkrankError("Spark's process is ending: the day is not shown") from error

    def release(self) -> None:
        """Restore the signal handlers from before :meth:`hold`."""
        while self._release:
            self._release.pop()()


def _jvm(spark: Any) -> Any:
    """Return the JVM of the Spark driver, or None without a session or over Spark Connect, which has no local JVM."""
    try:
        return spark.sparkContext._jvm  # noqa: SLF001 - no public interface sets how a JVM handles signals
    except Exception:  # noqa: BLE001 - there is no session, or Connect refuses in ways that differ by version
        return None
