"""Stages are timed always, and shown only where somebody looks."""

from __future__ import annotations

import io
import sys
import time
from types import SimpleNamespace
from typing import Any

import pytest

from sparkrank.run import stages
from sparkrank.run.stages import Stages

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
