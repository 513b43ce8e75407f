"""Makes calls that work in Spark interruptible, for example by a notebook's stop button, and cancels their jobs.

A JVM call that is interrupted leaves its response unread, and the thread's next call would take that response for its
own. So another thread does the work and tags its jobs. An interrupt ends the wait for that thread, and the jobs are
cancelled by their tag.
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
import threading
import time
import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TypeVar("T")

BETWEEN_CANCELS = 0.2  # a job that begins after a cancellation is cancelled, too
GRACE_SECONDS = 30.0  # for a thread whose jobs are cancelled, but which may be inside Arrow
_FOR_WAKING = 0.5  # a wait without a time limit could not be interrupted on every system


def interruptible(spark: SparkSession | None, work: Callable[[], T]) -> T:
    """The result of ``work``, which uses ``spark``. An interrupt cancels the jobs of ``work`` and is then raised.

    Without a session, or in a thread that signals do not reach, ``work`` is called directly.
    """
    if spark is None or threading.current_thread() is not threading.main_thread():
        return work()
    worker = _Worker(spark, work)
    worker.start()
    try:
        while not worker.ended.wait(_FOR_WAKING):
            pass
    except BaseException:
        worker.cancel()
        raise
    result: T = worker.result()
    return result


class _Worker(threading.Thread):
    def __init__(self, spark: SparkSession, work: Callable[[], Any]) -> None:
        super().__init__(name="sparkrank-evaluation", daemon=True)
        self._spark, self._tag = spark, f"sparkrank-{uuid.uuid4().hex}"

        def tagged() -> Any:
            with contextlib.suppress(Exception):  # a session without tags: its jobs run on when interrupted
                _tagging(spark)[0](self._tag)
            return work()

        self._work = _with_context(spark, tagged)
        # An interrupt of join() makes Python before 3.13 take a thread for one that has ended.
        self.ended = threading.Event()
        self._result: Any = None
        self._error: BaseException | None = None

    def run(self) -> None:
        try:
            self._result = self._work()
        except BaseException as error:  # noqa: BLE001 - raised in the thread that waits
            self._error = error
        finally:
            self.ended.set()

    def result(self) -> Any:
        """Return the result of the work, or raise the error that ended it."""
        error, self._error = self._error, None
        if error is not None:
            try:
                raise error
            finally:
                del error  # else its traceback, which holds this frame, would keep it alive
        return self._result

    def cancel(self) -> None:
        """Keep cancelling the jobs until the thread ends, for at most :data:`GRACE_SECONDS`."""
        until = time.monotonic() + GRACE_SECONDS
        while time.monotonic() < until:
            with contextlib.suppress(Exception):
                _tagging(self._spark)[1](self._tag)
            if self.ended.wait(BETWEEN_CANCELS):
                return


def _tagging(spark: SparkSession) -> tuple[Callable[[str], object], Callable[[str], object]]:
    """Two functions: one tags the jobs of this thread, the other cancels the jobs with a tag."""
    try:  # a driver in this process: tags also jobs that are not queries
        context = spark.sparkContext
        return context.addJobTag, context.cancelJobsWithTag
    except Exception:  # noqa: BLE001 - Connect, or a session without a context
        return spark.addTag, spark.interruptTag


def _with_context(spark: SparkSession, work: Callable[[], T]) -> Callable[[], T]:
    """``work`` wrapped to run with this thread's context variables and Spark job settings, such as pools."""
    inside: Callable[[], T] = functools.partial(contextvars.copy_context().run, work)
    with contextlib.suppress(Exception):  # a session that gives no context to other threads
        from pyspark import inheritable_thread_target

        inside = inheritable_thread_target(spark)(inside)
    return inside
