"""Daemon threads that work through tasks. At exit, Python would wait for threads of its own pools, even hung ones."""

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
    """Whether any thread of a failed crew is still running."""
    return any(thread.name == NAME for thread in threading.enumerate())


class Crew:
    """Threads for the tasks of one evaluation. ``failed`` is set when a task fails, which stops the other threads."""

    def __init__(self) -> None:
        self.failed = threading.Event()
        self._threads: list[threading.Thread] = []

    @property
    def has_ended(self) -> bool:
        """Whether all threads have ended, so that the resources they used can be removed."""
        return not any(thread.is_alive() for thread in self._threads)

    def all(self, threads: int, task: Callable[[T], R], over: Iterable[T]) -> list[R]:
        """Results of ``task`` on the items of ``over``, in order. Raises the first failure and starts no more tasks."""
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
                except BaseException as error:  # noqa: BLE001 - raised where it is waited for
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
        """Start ``count`` threads, or as many as memory allows."""
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
