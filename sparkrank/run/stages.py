"""The named, timed stages of a run, and the line that tells a person how far it is."""

from __future__ import annotations

import io
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TextIO

from sparkrank.engines.progress import Progress, watched
from sparkrank.text.java_console import STARTED_BY_JAVA

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SECONDS_BETWEEN_LOOKS = 0.5
LOOKS_BEFORE = 10  # that pass before a line is shown: most stages are shorter, and tqdm takes its time to load
LEAST_SHARE = 0.05  # of the work, from which on the time that is left can be told


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


def terminal() -> TextIO:
    """The stderr of this process, or of the Java that has started it: spark-submit hands on what Python prints as its
    own stdout, so a terminal is seen at its own stderr alone, which Linux shows.
    """
    own = sys.stderr or io.StringIO()  # None where whoever started this process has closed it
    if own.isatty() or STARTED_BY_JAVA not in os.environ:
        return own
    try:
        descriptor = os.open(f"/proc/{os.getppid()}/fd/2", os.O_WRONLY | os.O_NOCTTY)
    except OSError:  # no such place, or one of somebody else
        return own
    if not os.isatty(descriptor):
        os.close(descriptor)
        return own
    return os.fdopen(descriptor, "w", encoding="utf-8", errors="replace")


class Stages:
    """Times each stage. Where the output is a terminal, or a notebook, shows one that takes long on a line that
    overwrites itself: by tqdm, where that is installed. What it says is how many tasks are done, rows read, rows a
    second, and about how long it will take.
    """

    def __init__(
        self, spark: SparkSession | None = None, output: TextIO | None = None, *, in_notebook: bool = False
    ) -> None:
        self.seconds: dict[str, float] = {}
        self._spark = spark
        self._output = terminal() if output is None else output
        self._visible = (in_notebook or self._output.isatty()) and os.environ.get(PROGRESS) != "0"

    @contextmanager
    def stage(self, name: str, rows: int = 0) -> Iterator[None]:
        """Time the block under ``name``, which reads about so many ``rows``, 0 where nobody knows."""
        started = time.monotonic()
        if not self._visible:
            try:
                yield
            finally:
                self.seconds[name] = round(time.monotonic() - started, 3)
            return
        done, progress = threading.Event(), Progress(rows)
        watch = threading.Thread(target=self._show, args=(name, started, done, progress), daemon=True)
        token = watched.set(progress)
        watch.start()
        try:
            yield
        finally:
            done.set()
            watch.join()
            watched.reset(token)
            self.seconds[name] = round(time.monotonic() - started, 3)

    def _show(self, name: str, started: float, done: threading.Event, progress: Progress) -> None:
        first: int | None = None  # of Spark's stages: it reads the rows
        for _ in range(LOOKS_BEFORE):
            if done.wait(SECONDS_BETWEEN_LOOKS):
                return
            first = min(self._stages(), default=None) if first is None else first
        line = _line_of(name, started, self._output)
        while True:
            stages = self._stages()
            first = min(stages, default=None) if first is None else first
            line.show(Told.of(time.monotonic() - started, stages, first, progress))
            if done.wait(SECONDS_BETWEEN_LOOKS):
                break
        line.clear()

    def _stages(self) -> dict[int, tuple[int, int]]:
        """Tasks done, and all, of each of Spark's stages that run now, where the session tells: Spark Connect has no
        such view, and one that is gone answers nothing.
        """
        if self._spark is None:
            return {}
        try:
            tracker = self._spark.sparkContext.statusTracker()
            found = {stage: tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()}
        except Exception:  # noqa: BLE001 - what a session raises here differs by version
            return {}
        return {number: (each.numCompletedTasks, each.numTasks) for number, each in found.items() if each}


@dataclass(frozen=True)
class Told:
    """What is said of a stage that runs: its seconds, tasks done and all, its share of the work (0: unknown), and what
    there is to say of rows and time.
    """

    seconds: float
    tasks: tuple[int, int] = (0, 0)
    share: float = 0.0
    rows: str = ""

    @classmethod
    def of(cls, seconds: float, stages: Mapping[int, tuple[int, int]], first: int | None, progress: Progress) -> Told:
        """What a lane has counted itself, or else what the tasks of Spark's ``stages`` tell, the ``first`` of which
        reads: half of the work is reading, and half what comes of it.
        """
        done, total = (sum(each) for each in zip(*stages.values(), strict=True)) if stages else (0, 0)
        rows, read, about = progress.rows, progress.read, ""
        if rows and read:
            share = (min(read / rows, 1.0) + min(progress.solved / rows, 1.0)) / 2
        elif rows and total and first is not None:
            own, all_ = stages.get(first, (1, 1))  # once it runs no more, all is read
            read, about = round(rows * own / all_) if all_ else 0, "about "
            behind = [each for number, each in stages.items() if number != first]
            share = own / all_ / 2 if first in stages or not behind else 0.5 + done / total / 2
        else:
            return cls(seconds, (done, total))
        parts = []
        if read >= rows:
            parts.append(f"{rows:,} rows read")
        elif read:
            parts += [f"{about}{read:,} of {rows:,} rows read", f"{read / max(seconds, 1e-9):,.0f} rows a second"]
        if share >= LEAST_SHARE:
            parts.append(f"about {seconds * (1 - share) / share:.0f} s left")
        return cls(seconds, (done, total), share, ", ".join(parts))


class _Line(Protocol):
    """The line of a running stage."""

    def show(self, told: Told) -> None:
        """Write it again."""

    def clear(self) -> None:
        """Take it away."""


def _line_of(name: str, started: float, output: TextIO) -> _Line:
    try:
        from tqdm.std import tqdm
    except ImportError:
        return _PlainLine(name, output)
    return _Bar(name, started, tqdm, output)


class _PlainLine:
    def __init__(self, name: str, output: TextIO) -> None:
        self._name, self._output = name, output

    def show(self, told: Told) -> None:
        of_tasks = f", {told.tasks[0]} of {told.tasks[1]} tasks" if told.tasks[1] else ""
        rows = f", {told.rows}" if told.rows else ""
        self._output.write(f"\r\x1b[K{self._name}: {told.seconds:.0f} s{of_tasks}{rows}")
        self._output.flush()

    def clear(self) -> None:
        self._output.write("\r\x1b[K")
        self._output.flush()


class _Bar:
    """A bar of tqdm: of tasks where Spark tells of some, or of the work where rows are counted, else the seconds."""

    _ALONE = "{desc}: {elapsed}{postfix}"
    _OF_TASKS = "{desc}: {percentage:3.0f}%|{bar:10}| {n_fmt} of {total_fmt} tasks, {elapsed}{postfix}"
    _OF_WORK = "{desc}: {percentage:3.0f}%|{bar:10}| {elapsed}{postfix}"

    def __init__(self, name: str, started: float, tqdm: Callable[..., Any], output: TextIO) -> None:
        self._bar = tqdm(desc=name, file=output, leave=False, bar_format=self._ALONE, disable=False, dynamic_ncols=True)
        self._bar.start_t -= time.monotonic() - started  # the stage has begun before the bar

    def show(self, told: Told) -> None:
        bar = self._bar
        if told.tasks[1]:
            bar.n, bar.total, bar.bar_format = *told.tasks, self._OF_TASKS
        elif told.share:
            bar.n, bar.total, bar.bar_format = round(told.share * 100), 100, self._OF_WORK
        else:
            bar.n, bar.total, bar.bar_format = 0, None, self._ALONE
        bar.set_postfix_str(told.rows, refresh=False)
        bar.refresh()

    def clear(self) -> None:
        self._bar.close()
