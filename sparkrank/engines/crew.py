"""Threads that work through tasks, which a caller stops waiting for where they hang.

Python joins the threads of its own pools when it ends, and so never ends where one hangs in a library: an interrupt, or
the watchdog here, would leave the day locked.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from queue import Empty, SimpleQueue
from typing import TypeVar

from sparkrank.base.errors import SparkrankError, shown

T = TypeVar("T")
R = TypeVar("R")

STALL = "SPARKRANK_STALL_SECONDS"  # after so many seconds without a step the work counts as hung; 0: never
STALL_SECONDS = 1800.0  # a bucket of 30 million rows of one group takes a minute
POLL_SECONDS = 1.0
GRACE_SECONDS = 5.0  # for threads to end their step where the work has failed
NAME = "sparkrank-worker"


def stall_seconds() -> float:
    """How long nothing may move, by the environment. Raises :class:`SparkrankError` where that is no number."""
    given = os.environ.get(STALL, "")
    try:
        seconds = float(given) if given else STALL_SECONDS
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < float("inf"):
        raise SparkrankError(f"{STALL} is {shown(given)}: a number of seconds is needed, or 0 for no watchdog")
    return seconds


def are_left() -> bool:
    """Whether threads of a crew that failed hang still."""
    return any(thread.name == NAME for thread in threading.enumerate())


class Crew:
    """Threads for the tasks of one evaluation. Tasks call :meth:`moved` at each step, or the work counts as hung."""

    def __init__(self) -> None:
        self.failed = threading.Event()
        self._limit = stall_seconds()
        self._last = time.monotonic()
        self._threads: list[threading.Thread] = []

    def moved(self) -> None:
        """Say that a step is done."""
        self._last = time.monotonic()

    @property
    def has_ended(self) -> bool:
        """Whether no thread works any more, so that what they used may go."""
        return not any(thread.is_alive() for thread in self._threads)

    def all(self, threads: int, task: Callable[[T], R], over: Iterable[T], doing: str) -> list[R]:
        """The results of ``task`` in order, by so many ``threads``. Where one fails, others do not start.

        Raises what the first task that failed has raised, and :class:`SparkrankError` where nothing has moved for long
        while ``doing`` that.
        """
        todo = deque(enumerate(over))
        results: dict[int, R] = {}
        ended: SimpleQueue[tuple[int, R | None, BaseException | None]] = SimpleQueue()
        count = len(todo)

        def work() -> None:
            while not self.failed.is_set():
                try:
                    place, each = todo.popleft()
                except IndexError:
                    return
                try:
                    ended.put((place, task(each), None))
                except BaseException as error:  # noqa: BLE001 - raised where it is waited for
                    ended.put((place, None, error))
                    return

        self.moved()
        try:
            self._start(min(threads, count), work)
            while len(results) < count:
                try:
                    place, result, error = ended.get(timeout=POLL_SECONDS)
                except Empty:
                    self._raise_if_stalled(doing)
                    continue
                if error is not None:
                    raise error
                self.moved()
                results[place] = result  # type: ignore[assignment]
        except BaseException:  # an interrupt too
            self.failed.set()
            until = time.monotonic() + GRACE_SECONDS
            for thread in self._threads:
                if thread.ident is not None:  # of those that have started
                    thread.join(max(0.0, until - time.monotonic()))
            raise
        for thread in self._threads:
            thread.join()  # they have nothing to do
        return [results[place] for place in range(count)]

    def _start(self, count: int, work: Callable[[], None]) -> None:
        """Start ``count`` threads, or as many as there is memory for."""
        self._threads = []
        for _ in range(count):
            thread = threading.Thread(target=work, name=NAME, daemon=True)
            self._threads.append(thread)  # before it starts: an interrupt may come while it does
            try:
                thread.start()
            except RuntimeError as error:
                self._threads.pop()
                if not self._threads:
                    raise SparkrankError(f"no thread can be started ({error}): the process lacks memory") from error
                return

    def _raise_if_stalled(self, doing: str) -> None:
        if 0 < self._limit < time.monotonic() - self._last:
            raise SparkrankError(
                f"nothing has moved for {self._limit:g} s while {doing}: the process lacks memory (ulimit -v), or a "
                f"disk or store does not answer ({STALL} sets how long to wait)"
            )
