"""A crew: daemon threads that run tasks. With a pool of Python, the process would wait for hung threads at exit."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from queue import SimpleQueue
from typing import TypeVar

from sparkrank.base.errors import SparkrankError

T = TypeVar("T")
R = TypeVar("R")

GRACE_SECONDS = 5.0  # for threads to finish their step after the work has failed
NAME = "sparkrank-worker"


def are_left() -> bool:
    """Return whether any thread of a crew is still running, as may happen after a failure."""
    return any(thread.name == NAME for thread in threading.enumerate())


class Crew:
    """The threads that run the tasks of one evaluation. A failed task sets ``failed``, and all threads then stop."""

    def __init__(self) -> None:
        self.failed = threading.Event()
        self._threads: list[threading.Thread] = []

    @property
    def has_ended(self) -> bool:
        """Whether all threads have ended, so that it is safe to close the resources that the threads used."""
        return not any(thread.is_alive() for thread in self._threads)

    def all(self, threads: int, task: Callable[[T], R], over: Iterable[T]) -> list[R]:
        """Run ``task`` on each item of ``over`` and return the results in order. Raise the first error of a task."""
        todo = deque(enumerate(over))
        results: dict[int, R] = {}
        ended: SimpleQueue[tuple[int, R | None, BaseException | None]] = SimpleQueue()
        count = len(todo)

        def work() -> None:
            while not self.failed.is_set():
                try:
                    place, item = todo.popleft()
                except IndexError:
                    return
                try:
                    ended.put((place, task(item), None))
                except BaseException as error:  # noqa: BLE001 - the thread that waits raises the error
                    ended.put((place, None, error))
                    return

        try:
            self._start(min(threads, count), work)
            while len(results) < count:
                place, result, error = ended.get()
                if error is not None:
                    raise error
                results[place] = result  # type: ignore[assignment]
        except BaseException:  # an interrupt too
            self.failed.set()
            until = time.monotonic() + GRACE_SECONDS
            for thread in self._threads:
                if thread.ident is not None:  # only threads that have started can be joined
                    thread.join(max(0.0, until - time.monotonic()))
            raise
        for thread in self._threads:
            thread.join()  # no tasks are left
        return [results[place] for place in range(count)]

    def _start(self, count: int, work: Callable[[], None]) -> None:
        """Start ``count`` threads, or as many as memory allows. Raise an error if no thread can be started."""
        self._threads = []
        for _ in range(count):
            thread = threading.Thread(target=work, name=NAME, daemon=True)
            self._threads.append(thread)  # before it starts, because an interrupt may come during the start
            try:
                thread.start()
            except RuntimeError as error:
                self._threads.pop()
                if not self._threads:
                    raise SparkrankError(f"no thread can be started ({error}): the process lacks memory") from error
                return
