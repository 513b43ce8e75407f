"""Calls to Spark that an interrupt ends, for example by a notebook's stop button, together with their jobs.

An interrupted JVM call leaves its response unread, and the thread's next call would read that response by mistake. So
another thread does the work and tags its jobs. An interrupt ends the wait for that thread, and cancels the jobs by
their tag.
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

BETWEEN_CANCELS = 0.2  # a job that begins after one cancellation is cancelled by the next
GRACE_SECONDS = 30.0  # to wait for a thread that may be inside Arrow, after its jobs are cancelled
_FOR_WAKING = 0.5  # a wait without a time limit could not be interrupted on every system


def interruptible(spark: SparkSession | None, work: Callable[[], T]) -> T:
    """Return the result of ``work``, which uses ``spark``. An interrupt cancels its jobs, and is then raised.

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
        # After an interrupt of join(), Python before 3.13 reports that the thread has ended.
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
                del error  # otherwise, the error and this frame would keep each other alive
        return self._result

    def cancel(self) -> None:
        """Cancel the jobs again and again until the thread ends, for at most :data:`GRACE_SECONDS`."""
        until = time.monotonic() + GRACE_SECONDS
        while time.monotonic() < until:
            with contextlib.suppress(Exception):
                _tagging(self._spark)[1](self._tag)
            if self.ended.wait(BETWEEN_CANCELS):
                return


def _tagging(spark: SparkSession) -> tuple[Callable[[str], object], Callable[[str], object]]:
    """Return two functions of a tag: the first tags the jobs of this thread, the second cancels the tagged jobs."""
    try:  # a classic session: also tags jobs that are not queries
        context = spark.sparkContext
        return context.addJobTag, context.cancelJobsWithTag
    except Exception:  # noqa: BLE001 - Connect, or a session without a context
        return spark.addTag, spark.interruptTag


def _with_context(spark: SparkSession, work: Callable[[], T]) -> Callable[[], T]:
    """Return ``work``, to run in another thread with this thread's context variables and Spark job settings (pools)."""
    inside: Callable[[], T] = functools.partial(contextvars.copy_context().run, work)
    with contextlib.suppress(Exception):  # a session that gives no context to other threads
        from pyspark import inheritable_thread_target

        inside = inheritable_thread_target(spark)(inside)
    return inside
