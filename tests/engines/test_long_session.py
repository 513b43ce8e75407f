"""Two hundred evaluations in one process, by threads, forks and asyncio: the second hundred leaves nothing more."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import threading
import weakref
from pathlib import Path

import pytest

import sparkrank as sr
from sparkrank.engines.result import PassResult
from sparkrank.states import Partials
from tests.support.long_session import log

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.long  # the other tests of this file are the short form
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the process tells what it holds in /proc")
def test_two_hundred_evaluations_are_flat(tmp_path: Path) -> None:
    (tmp_path / "tmp").mkdir()
    command = [sys.executable, "-W", "ignore", "-m", "tests.support.long_session", str(tmp_path)]
    environment = {**os.environ, "TMPDIR": str(tmp_path / "tmp")}
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    half, whole = found["states"]
    assert len(found["values"]) == 1
    assert whole["memory"] < half["memory"] + 16  # a table of groups is 50 KiB, the rows are 500 KiB
    assert {name: whole[name] - half[name] for name in ("descriptors", "threads")} == {"descriptors": 0, "threads": 0}
    assert whole["files"] == half["files"] == 0


class Table:
    """In place of a DataFrame, of which nothing is asked."""


def released(**of: object) -> tuple[PassResult, list[str]]:
    said: list[str] = []
    return PassResult(Partials.merged([]), release=lambda: said.append("released"), **of).leased(), said  # type: ignore[arg-type]


def wait_for() -> None:
    gc.collect()
    for thread in threading.enumerate():
        if thread.name == "sparkrank-release":
            thread.join(10)


def test_what_nobody_holds_is_released_and_a_table_that_is_held_is_not() -> None:
    solved, said = released(groups=Table())
    groups = solved.groups
    del solved
    wait_for()
    assert said == []
    del groups
    wait_for()
    assert said == ["released"]


def test_what_is_released_beside_it_does_not_hold_it() -> None:
    said: list[str] = []
    first = PassResult(Partials.merged([]), Table(), release=lambda: said.append("first"))  # type: ignore[arg-type]
    solved = first.releasing(lambda: said.append("second")).leased()
    del first, solved
    wait_for()
    assert said == ["second", "first"]


def test_a_fork_releases_nothing_of_its_parent() -> None:
    solved, said = released(groups=None)
    ours, theirs = os.pipe()
    child = os.fork()
    if not child:
        del solved
        wait_for()
        os.write(theirs, repr(said).encode() or b"?")
        os._exit(0)
    os.close(theirs)
    with os.fdopen(ours) as answer:
        assert answer.read() == "[]"
    os.waitpid(child, 0)
    for _ in range(2):  # it is released once
        solved.release()
    del solved
    wait_for()
    assert said == ["released"]


def test_an_evaluation_in_a_with_block() -> None:
    with sr.evaluate(log(), ["rr"], group="u", score="s", label="y") as ev:
        found = weakref.ref(ev)
        assert ev["rr"] > 0
    del ev
    assert found() is None  # without waiting for the collector: there is no cycle
