"""The logging of a day to a tracker, with a time limit for its answers, or to a user's own object."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, TypeVar

from sparkrank.base.errors import MOST_LISTED, StoreError, first_line, shorten
from sparkrank.base.time_limits import TIMEOUT, within
from sparkrank.tables.trackers.mlflow_tracker import MlflowTracker
from sparkrank.tables.trackers.tracked_run import TrackedRun

_T = TypeVar("_T")


class ObjectWithLogs(Protocol):
    """An object of a user that logs runs, such as the module ``mlflow`` itself."""

    def log_params(self, params: dict[str, Any], /) -> object:
        """Log the parameters of a run."""

    def log_metrics(self, metrics: dict[str, float], /, *, step: int) -> object:
        """Log the numbers of a run."""

    def log_artifact(self, path: str, /) -> object:
        """Log a file, which is removed after the call."""


def log_to_tracker(
    tracker: MlflowTracker, run: TrackedRun, write_report: Callable[[Path], None], timeout: float = TIMEOUT
) -> bool:
    """Log ``run`` with its files and its report unless it is logged already. Return whether this call logged it.

    Raise :class:`StoreError` with the tracker's message if the tracker fails or takes longer than ``timeout`` seconds.
    ``write_report`` is only called if the run is logged.
    """
    if answer_of(tracker.word, timeout, lambda: tracker.has(run)):
        return False
    with tempfile.TemporaryDirectory(prefix="sparkrank-", ignore_cleanup_errors=True) as name:
        write_files(run, folder := Path(name), write_report)
        answer_of(tracker.word, timeout, lambda: tracker.log(run, folder))
    return True


def log_to_object(to: ObjectWithLogs, run: TrackedRun, write_report: Callable[[Path], None]) -> None:
    """Log ``run`` with its files and its report through the three methods of ``to``. Their errors pass unchanged."""
    to.log_params({**run.parameters, **run.tags})
    to.log_metrics(dict(run.values), step=run.step)
    with tempfile.TemporaryDirectory(prefix="sparkrank-") as name:
        write_files(run, folder := Path(name), write_report)
        for file in sorted(folder.iterdir()):
            to.log_artifact(str(file))


def write_files(run: TrackedRun, folder: Path, write_report: Callable[[Path], None]) -> None:
    run.write_files(folder)
    write_report(folder / "report.html")


def answer_of(word: str, timeout: float, call: Callable[[], _T]) -> _T:
    """Return the result of ``call``; raise :class:`StoreError` if it fails or takes longer than ``timeout`` seconds.

    The message begins with the program's name ``word``.
    """
    try:
        return within(word, timeout, call)
    except StoreError:
        raise
    except Exception as error:  # each tracker raises errors of the libraries that it stands on
        raise StoreError(f"{word} fails: {shorten(first_line(error), MOST_LISTED)}") from error
