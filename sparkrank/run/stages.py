"""The named, timed stages of a run, and the line that tells a person how far it is."""

from __future__ import annotations

import io
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol, TextIO

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SECONDS_BETWEEN_LOOKS = 0.5


PROGRESS = "SPARKRANK_PROGRESS"  # 0: no line, wherever somebody might look


def unseen() -> Stages:
    """Stages that are timed and that nobody sees."""
    return Stages(output=io.StringIO())


def seen_by_caller(spark: SparkSession | None) -> Stages:
    """The stages of ``sr.evaluate``: shown on stderr in a terminal or a notebook, and nowhere else."""
    return Stages(spark, in_notebook=_is_notebook())


def _is_notebook() -> bool:
    """Whether a kernel runs this process: its stderr is no terminal, but a line that overwrites itself is shown so."""
    shell = sys.modules.get("IPython")
    current = None if shell is None else shell.get_ipython()
    return getattr(current, "kernel", None) is not None


class Stages:
    """Times each stage. Where the output is a terminal, or a notebook, shows the running one on a line that overwrites
    itself: by tqdm, where that is installed.
    """

    def __init__(
        self, spark: SparkSession | None = None, output: TextIO | None = None, *, in_notebook: bool = False
    ) -> None:
        self.seconds: dict[str, float] = {}
        self._spark = spark
        # stderr is None where whoever started this process has closed it
        self._output = sys.stderr or io.StringIO() if output is None else output
        self._visible = (in_notebook or self._output.isatty()) and os.environ.get(PROGRESS) != "0"

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time the block under ``name``."""
        started = time.monotonic()
        done = threading.Event()
        watch = threading.Thread(target=self._show, args=(name, started, done), daemon=True)
        if self._visible:
            watch.start()
        try:
            yield
        finally:
            done.set()
            if self._visible:
                watch.join()
            self.seconds[name] = round(time.monotonic() - started, 3)

    def _show(self, name: str, started: float, done: threading.Event) -> None:
        if done.wait(SECONDS_BETWEEN_LOOKS):
            return  # most stages are shorter, and tqdm takes its time to load
        line = _line_of(name, started, self._output)
        while True:
            line.show(self._tasks())
            if done.wait(SECONDS_BETWEEN_LOOKS):
                break
        line.clear()

    def _tasks(self) -> tuple[int, int]:
        """Tasks done of those that run now, where the session tells: Spark Connect has no such view, and one that is
        gone answers nothing.
        """
        if self._spark is None:
            return 0, 0
        try:
            tracker = self._spark.sparkContext.statusTracker()
            stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        except Exception:  # noqa: BLE001 - what a session raises here differs by version
            return 0, 0
        total = sum(stage.numTasks for stage in stages if stage)
        return sum(stage.numCompletedTasks for stage in stages if stage), total


class _Line(Protocol):
    """The line of a running stage."""

    def show(self, tasks: tuple[int, int]) -> None:
        """Write it again: ``tasks`` are those that are done, and all that run now."""

    def clear(self) -> None:
        """Take it away."""


def _line_of(name: str, started: float, output: TextIO) -> _Line:
    try:
        from tqdm.std import tqdm
    except ImportError:
        return _PlainLine(name, started, output)
    return _Bar(name, tqdm, output)


class _PlainLine:
    def __init__(self, name: str, started: float, output: TextIO) -> None:
        self._name, self._started, self._output = name, started, output

    def show(self, tasks: tuple[int, int]) -> None:
        of_tasks = f", {tasks[0]} of {tasks[1]} tasks" if tasks[1] else ""
        self._output.write(f"\r\x1b[K{self._name}: {time.monotonic() - self._started:.0f} s{of_tasks}")
        self._output.flush()

    def clear(self) -> None:
        self._output.write("\r\x1b[K")
        self._output.flush()


class _Bar:
    """A bar of tqdm: of tasks where Spark tells of some, else the seconds alone."""

    _ALONE = "{desc}: {elapsed}"
    _OF_TASKS = "{desc}: {percentage:3.0f}%|{bar}| {n_fmt} of {total_fmt} tasks, {elapsed}"

    def __init__(self, name: str, tqdm: Callable[..., Any], output: TextIO) -> None:
        self._bar = tqdm(desc=name, file=output, leave=False, bar_format=self._ALONE, disable=False)

    def show(self, tasks: tuple[int, int]) -> None:
        self._bar.n, self._bar.total = tasks[0], tasks[1] or None
        self._bar.bar_format = self._OF_TASKS if tasks[1] else self._ALONE
        self._bar.refresh()

    def clear(self) -> None:
        self._bar.close()
