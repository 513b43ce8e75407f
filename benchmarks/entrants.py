"""The contenders of a session, each where it belongs: in the one Spark session, or in a process of its own."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, MutableMapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import session
from benchmarks.contenders import ALONE, IN_JVM, ON_SPARK, PLAIN_ON_SPARK, Contender, Work
from benchmarks.memory import peak_of, pyspark_workers
from benchmarks.process import OwnProcess

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Entrant:
    """A contender, the Python processes that work for it, and what must be up before it is timed.

    One that ``rehearses`` runs once untimed in each of its turns: Spark ends workers that were idle for a minute, and
    whoever is the first to run in new ones pays for the memory that the others then find. So the floor took longer
    than the scan lane, which does all that it does and more.
    """

    contender: Contender
    processes: Callable[[], list[int]] = list
    warm: Callable[[], None] = lambda: None
    rehearses: bool = False

    def turn(self) -> tuple[float, int]:
        """:meth:`run`, after a rehearsal where there is one."""
        if self.rehearses:
            self.run()
        return self.run()

    def run(self) -> tuple[float, int]:
        """Seconds of one run, and the peak memory in bytes of any of its processes (0 where it has none).

        The group table of the run before goes first: to remove it, or to write over it, is no part of an evaluation.
        """
        self.warm()
        remove(self.contender.table)
        with peak_of(self.processes) as peak:
            start = time.perf_counter()
            self.contender.run()
            seconds = time.perf_counter() - start
        return seconds, max(peak, default=0)


def remove(table: Path | None) -> None:
    """Remove the file ``table``, or what is in the folder: some contenders make theirs once."""
    if table is not None and table.is_dir():
        for each in table.iterdir():
            remove(each)
            if each.is_dir():
                each.rmdir()
    elif table is not None:
        table.unlink(missing_ok=True)


def installed() -> list[str]:
    """The contenders whose tools are here."""
    return [*ON_SPARK, *(name for name, alone in ALONE.items() if alone.installed)]


class Field:
    """Makes entrants, and ends what it started for them when left.

    ``startup`` receives the seconds that each thing took to start.
    """

    def __init__(self, cores: int, driver_memory: str, startup: MutableMapping[str, float]) -> None:
        self._cores, self._driver_memory, self._startup = cores, driver_memory, startup
        self._started = contextlib.ExitStack()
        self.spark: SparkSession | None = None

    def __enter__(self) -> Field:  # noqa: PYI034 - typing.Self is of Python 3.11
        return self

    def __exit__(self, *_: object) -> None:
        self._started.close()

    def entrant(self, name: str, work: Work) -> Entrant:
        return self._on_spark(name, work) if name in {**ON_SPARK, **PLAIN_ON_SPARK} else self._alone(name, work)

    def _on_spark(self, name: str, work: Work) -> Entrant:
        spark = self._session()
        contender = {**ON_SPARK, **PLAIN_ON_SPARK}[name](work, spark)
        if name in IN_JVM:
            return Entrant(contender)
        return Entrant(contender, pyspark_workers, lambda: session.start_workers(spark, self._cores), rehearses=True)

    def _alone(self, name: str, work: Work) -> Entrant:
        with timed(self._startup, f"{name} process"):
            process = self._started.enter_context(OwnProcess(name, work))
        return Entrant(process, process.processes, rehearses=True)

    def _session(self) -> SparkSession:
        if self.spark is None:
            with timed(self._startup, "Spark session"):
                self.spark = session.start(self._cores, self._driver_memory)
            self._started.callback(self.spark.stop)
            with timed(self._startup, "Python workers"):
                session.start_workers(self.spark, self._cores)
        return self.spark


@contextlib.contextmanager
def timed(seconds: MutableMapping[str, float], what: str) -> Iterator[None]:
    """Writes down how long the block took."""
    start = time.perf_counter()
    yield
    seconds[what] = time.perf_counter() - start
