"""Stages are timed always, and shown only where somebody looks."""

from __future__ import annotations

import io
import os
import pty
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

import sparkrank as sr
from sparkrank.engines.progress import Progress, watched
from sparkrank.run import stages
from sparkrank.run.stages import Stages, Told

pytestmark = pytest.mark.same_without_loops


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_stage_is_timed_even_when_it_fails() -> None:
    timed = Stages(output=io.StringIO())

    def fails() -> None:
        with timed.stage("read"):
            time.sleep(0.02)
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        fails()
    assert 0.02 <= timed.seconds["read"] < 5


def test_quiet_where_no_terminal_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stages, "SECONDS_BETWEEN_LOOKS", 0.001)
    output = io.StringIO()
    with Stages(output=output).stage("read"):
        time.sleep(0.05)
    assert not output.getvalue()


def test_quiet_where_stderr_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """As by ``2>&-``: Python has none then."""
    monkeypatch.setattr("sys.stderr", None)
    timed = Stages()
    with timed.stage("read"):
        pass
    assert list(timed.seconds) == ["read"]


@pytest.fixture
def _without_tqdm(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("tqdm", "tqdm.std"):
        monkeypatch.setitem(sys.modules, name, None)


@pytest.mark.usefixtures("_without_tqdm")
def test_a_line_that_overwrites_itself_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stages, "SECONDS_BETWEEN_LOOKS", 0.001)
    output = Terminal()
    with Stages(output=output).stage("evaluate"):
        time.sleep(0.05)
    shown = output.getvalue()
    assert "\r\x1b[Kevaluate: 0 s" in shown
    assert shown.endswith("\r\x1b[K")  # the line is gone when the stage is over
    assert "\n" not in shown


def _session(lives: bool) -> Any:
    """A session with two stages of eight tasks each, three of them done, and a third that has just ended.

    Its tracker, as that of a dead JVM, may answer nothing.
    """

    def active() -> list[int]:
        if not lives:
            raise ConnectionRefusedError
        return [1, 2, 3]

    stage = SimpleNamespace(numTasks=8, numCompletedTasks=3)
    tracker = SimpleNamespace(getActiveStageIds=active, getStageInfo={1: stage, 2: stage}.get)
    return SimpleNamespace(sparkContext=SimpleNamespace(statusTracker=lambda: tracker))


@pytest.mark.usefixtures("_without_tqdm")
@pytest.mark.parametrize(("lives", "tasks"), [(True, ", 6 of 16 tasks"), (False, "")])
def test_the_line_tells_of_tasks_where_spark_does(monkeypatch: pytest.MonkeyPatch, lives: bool, tasks: str) -> None:
    """Where it does not, a thread that shows the time must not end in a traceback of its own."""
    monkeypatch.setattr(stages, "SECONDS_BETWEEN_LOOKS", 0.001)
    output = Terminal()
    with Stages(_session(lives), output=output).stage("evaluate"):
        time.sleep(0.05)
    assert f"\r\x1b[Kevaluate: 0 s{tasks}\r" in output.getvalue()
    assert output.getvalue().endswith("\r\x1b[K")


@pytest.mark.parametrize(("lives", "shown"), [(True, "38%|"), (False, "evaluate: 00:0")])
def test_tqdm_draws_the_bar_where_it_is_installed(monkeypatch: pytest.MonkeyPatch, lives: bool, shown: str) -> None:
    """Of 16 tasks 6 are done, which is 37.5 %."""
    pytest.importorskip("tqdm")
    monkeypatch.setattr(stages, "SECONDS_BETWEEN_LOOKS", 0.001)
    output = Terminal()
    with Stages(_session(lives), output=output).stage("evaluate"):
        time.sleep(0.3)
    assert shown in output.getvalue()
    assert ("6 of 16 tasks" in output.getvalue()) == lives
    assert "\n" not in output.getvalue()
    assert output.getvalue().rpartition("\r")[0].rpartition("\r")[2].strip() == ""  # the bar is gone


@pytest.mark.parametrize(
    ("terminal", "kernel", "asked", "seen"),
    [
        (True, None, None, True), (False, object(), None, True), (False, None, None, False),
        (True, None, "0", False), (False, object(), "0", False),
    ],
)  # fmt: skip
def test_a_caller_sees_stages_in_a_terminal_or_a_notebook_alone(
    monkeypatch: pytest.MonkeyPatch, terminal: bool, kernel: object, asked: str | None, seen: bool
) -> None:
    monkeypatch.setattr(stages, "SECONDS_BETWEEN_LOOKS", 0.001)
    output = Terminal() if terminal else io.StringIO()
    shell = SimpleNamespace(get_ipython=lambda: None if kernel is None else SimpleNamespace(kernel=kernel))
    monkeypatch.setitem(sys.modules, "IPython", shell)
    monkeypatch.setattr("sys.stderr", output)
    if asked is not None:
        monkeypatch.setenv(stages.PROGRESS, asked)
    with stages.seen_by_caller(None).stage("evaluate"):
        time.sleep(0.05)
    assert bool(output.getvalue()) == seen


@pytest.mark.usefixtures("_without_tqdm")
def test_nothing_is_shown_of_what_takes_less_than_ten_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five seconds, with a look each half second."""
    assert stages.SECONDS_BETWEEN_LOOKS * stages.LOOKS_BEFORE == 5
    monkeypatch.setattr(stages, "SECONDS_BETWEEN_LOOKS", 0.02)
    output = Terminal()
    timed = Stages(output=output)
    with timed.stage("short"):
        time.sleep(0.1)
    assert output.getvalue() == ""
    with timed.stage("long"):
        time.sleep(0.4)
    assert "long: 0 s" in output.getvalue()


def test_a_lane_counts_its_rows_where_somebody_watches_and_nowhere_else() -> None:
    rows = pa.table({"user": [1, 1, 2] * 1000, "score": [3.0, 2.0, 1.0] * 1000, "click": [0, 1, 1] * 1000})
    progress = Progress(3000)
    token = watched.set(progress)
    try:
        of_groups = sr.evaluate(rows, ["rr"], group="user", score="score", label="click")
        assert (progress.read, progress.solved) == (3000, 3000)
        sr.evaluate(rows, ["auc"], score="score", label="click")
        assert (progress.read, progress.solved) == (6000, 6000)
    finally:
        watched.reset(token)
    assert sr.evaluate(rows, ["rr"], group="user", score="score", label="click").metrics.equals(of_groups.metrics)
    assert (progress.read, progress.solved) == (6000, 6000)


def test_what_is_told_of_rows_a_lane_counts() -> None:
    """Of 1,000 rows 800 are read and 400 solved after 30 s: (0.8 + 0.4) / 2 = 0.6 of the work, so 20 s are left."""
    progress = Progress(1000)
    assert Told.of(30.0, {}, None, progress).rows == ""  # before the first row nobody knows anything
    progress.add(read=800, solved=400)
    told = Told.of(30.0, {}, None, progress)
    assert told.share == pytest.approx(0.6)
    assert told.rows == "800 of 1,000 rows read, 27 rows a second, about 20 s left"


@pytest.mark.parametrize(
    ("running", "share", "rows"),
    [
        ({4: (3, 6)}, 0.25, "about 500 of 1,000 rows read, 17 rows a second, about 90 s left"),
        ({4: (0, 6)}, 0.0, ""),
        ({7: (1, 4)}, 0.625, "1,000 rows read, about 18 s left"),
    ],
)  # fmt: skip
def test_what_is_told_of_rows_by_the_tasks_of_spark(
    running: dict[int, tuple[int, int]], share: float, rows: str
) -> None:
    """The first stage, number 4, reads: half of the work. Behind it one of four tasks is an eighth of all."""
    told = Told.of(30.0, running, 4, Progress(1000))
    assert told.share == pytest.approx(share)
    assert told.rows == rows
    assert Told.of(30.0, running, 4, Progress()).rows == ""  # nobody knows how many rows there are


_CHILD = "from sparkrank.run.stages import terminal; print(terminal().isatty(), file=terminal(), flush=True)"
_JAVA = """
import os, subprocess, sys
own = {**os.environ, "PYSPARK_GATEWAY_PORT": "1"} if sys.argv[1] == "java" else os.environ
done = subprocess.run([sys.executable, "-c", sys.argv[2]], env=own, stderr=subprocess.PIPE, stdout=subprocess.PIPE)
print(done.stdout.decode(), done.stderr.decode(), end="")
"""


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="only Linux shows where another process prints to")
@pytest.mark.parametrize(("parent", "seen"), [("java", "True"), ("shell", "")])
def test_the_terminal_of_who_has_started_this_process_is_found(parent: str, seen: str) -> None:
    """As under spark-submit, which takes what its Python prints, stderr too, and prints it as its own stdout."""
    here, there = pty.openpty()
    try:
        words = [sys.executable, "-c", _JAVA, parent, _CHILD]
        done = subprocess.run(words, stderr=there, stdout=subprocess.PIPE, text=True, check=True)
        os.set_blocking(here, False)
        try:
            shown = os.read(here, 100).decode().strip()
        except BlockingIOError:
            shown = ""
        assert shown == seen
        assert ("False" in done.stdout) == (parent == "shell")
    finally:
        os.close(here)
        os.close(there)
