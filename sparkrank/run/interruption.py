"""Interrupts of a call that works in Spark, as by the stop button of a notebook: its jobs are cancelled.

An interrupt during a call of the JVM leaves the answer on its way, and the next call of the same thread would take that
for its own answer. So another thread does the work, and tags its jobs; the interrupt ends the wait for it, and the jobs
are cancelled by their tag.
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
    """The result of ``work``, which uses ``spark``. An interrupt of this thread cancels its jobs, and is then raised.

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
        """The result of the work; raises the error of the work."""
        error, self._error = self._error, None
        if error is not None:
            try:
                raise error
            finally:
                del error  # else its traceback, which holds this frame, would keep it alive
        return self._result

    def cancel(self) -> None:
        """Cancel the jobs until the thread has ended, at most for :data:`GRACE_SECONDS`."""
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
    """``work`` in the context of this thread: its variables, and its settings of jobs such as pools and groups."""
    inside: Callable[[], T] = functools.partial(contextvars.copy_context().run, work)
    with contextlib.suppress(Exception):  # a session that gives no context to other threads
        from pyspark import inheritable_thread_target

        inside = inheritable_thread_target(spark)(inside)
    return inside
