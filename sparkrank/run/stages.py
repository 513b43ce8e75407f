"""The named, timed stages of a run, and the line that tells a person how far it is."""

from __future__ import annotations

import io
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SECONDS_BETWEEN_LOOKS = 0.5


def unseen() -> Stages:
    """Stages that are timed and that nobody sees: those of ``sr.evaluate``."""
    return Stages(output=io.StringIO())


class Stages:
    """Times each stage. Where the output is a terminal, shows the running one on a line that overwrites itself."""

    def __init__(self, spark: SparkSession | None = None, output: TextIO | None = None) -> None:
        self.seconds: dict[str, float] = {}
        self._spark = spark
        # stderr is None where whoever started this process has closed it
        self._output = sys.stderr or io.StringIO() if output is None else output
        self._visible = self._output.isatty()

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
        while not done.wait(SECONDS_BETWEEN_LOOKS):
            line = f"{name}: {time.monotonic() - started:.0f} s{self._tasks()}"
            self._output.write(f"\r\x1b[K{line}")
            self._output.flush()
        self._output.write("\r\x1b[K")
        self._output.flush()

    def _tasks(self) -> str:
        """Tasks done of those that run now, where the session tells: Spark Connect has no such view, and one that is
        gone answers nothing.
        """
        if self._spark is None:
            return ""
        try:
            tracker = self._spark.sparkContext.statusTracker()
            stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        except Exception:  # noqa: BLE001 - what a session raises here differs by version
            return ""
        total = sum(stage.numTasks for stage in stages if stage)
        finished = sum(stage.numCompletedTasks for stage in stages if stage)
        return f", {finished} of {total} tasks" if total else ""
