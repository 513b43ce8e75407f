"""A contender that needs no Spark, in a process of its own.

So its threads, caches and memory are its own: they neither slow the others down nor count as theirs.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from typing import Any

from benchmarks.contenders.contender import Contender, Value, Work

_HERE: list[Contender] = []  # in the process started here: the one contender that it runs


class OwnProcess:
    """The contender that ``make(work)`` gives, elsewhere. Also a context manager, which ends the process."""

    def __init__(self, make: Callable[[Work], Contender], work: Work) -> None:
        contender = make(work)
        self.name, self.table = contender.name, contender.table
        fresh = multiprocessing.get_context("spawn")  # a fork would inherit the JVM's sockets
        self._process = ProcessPoolExecutor(1, mp_context=fresh, initializer=_start, initargs=(make, work))
        self._pid = self._process.submit(os.getpid).result()

    def __enter__(self) -> OwnProcess:  # noqa: PYI034 - typing.Self is of Python 3.11
        return self

    def __exit__(self, *_: object) -> None:
        self._process.shutdown()

    def prepare(self) -> None:
        self._call("prepare")

    def run(self) -> None:
        self._call("run")

    def values(self) -> Mapping[str, Value]:
        values: Mapping[str, Value] = self._call("values")
        return values

    def processes(self) -> list[int]:
        return [self._pid]

    def _call(self, method: str) -> Any:
        return self._process.submit(_call, method).result()


def _start(make: Callable[[Work], Contender], work: Work) -> None:
    _HERE.append(make(work))


def _call(method: str) -> Any:
    return getattr(_HERE[0], method)()
