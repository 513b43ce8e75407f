"""The stages of a run: their names, their times, and progress lines on stderr during a long stage."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from typing import TextIO

from sparkrank.base.errors import OutOfMemoryError
from sparkrank.engines.progress import Progress, watched
from sparkrank.numeric.free_memory import NotEnoughMemoryError
from sparkrank.sources.sizes import long_text_errors

SECONDS_BETWEEN_LINES = 5.0
PROGRESS = "SPARKRANK_PROGRESS"  # the value 0 turns progress lines off


def seen_stages() -> Stages:
    """Return stages that write progress lines to stderr.

    The environment variable ``SPARKRANK_PROGRESS=0`` turns the lines off.
    """
    return Stages(None if os.environ.get(PROGRESS) == "0" else sys.stderr)


class Stages:
    """The times of the stages of a run.

    During a long stage, a line about its progress is written to ``output``, if given.
    """

    def __init__(self, output: TextIO | None = None) -> None:
        self.seconds: dict[str, float] = {}
        self._output = output

    @contextmanager
    def stage(self, name: str, rows: int = 0) -> Iterator[None]:
        """Time the ``with`` block as the stage ``name``, which reads about ``rows`` rows (0 if unknown)."""
        started = time.monotonic()
        shown = nullcontext() if self._output is None else _shown(name, rows, started, self._output)
        try:
            with long_text_errors(), shown:
                yield
        except MemoryError as error:
            lacking = f" ({error})" if isinstance(error, NotEnoughMemoryError) else ""
            raise OutOfMemoryError(
                f"{name} needs more memory than this process may use{lacking}: allow more memory, or request fewer "
                "metrics"
            ) from None
        finally:
            self.seconds[name] = round(time.monotonic() - started, 3)


@contextmanager
def _shown(name: str, rows: int, started: float, output: TextIO) -> Iterator[None]:
    done, progress = threading.Event(), Progress(rows)

    def show() -> None:
        while not done.wait(SECONDS_BETWEEN_LINES):
            output.write(f"{progress_text(name, time.monotonic() - started, progress)}\n")
            output.flush()

    thread = threading.Thread(target=show, name="sparkrank-progress", daemon=True)
    token = watched.set(progress)
    with suppress(RuntimeError):  # without memory for a thread, progress lines are left out
        thread.start()
    try:
        yield
    finally:
        done.set()
        if thread.ident is not None:
            thread.join()
        watched.reset(token)


def progress_text(name: str, seconds: float, progress: Progress) -> str:
    """Return the progress line of a stage, with its name, its seconds and, once rows are read, the row counts."""
    total = f" of {progress.rows:,}" if progress.rows else ""
    rows = f", {progress.read:,}{total} rows read, {progress.solved:,} evaluated" if progress.read else ""
    return f"{name}: {seconds:.0f} s{rows}"
