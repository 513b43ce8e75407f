"""A job that is told to stop has failed and left the old day, or is done and shows the new one: never one of each."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.faults.conftest import Tried
from tests.support.commands import PROJECT

DAY = "2026-11-19"
LOCAL = (sys.executable, "-m", "sparkrank", "evaluate")
SUBMIT = (
    str(Path(sys.executable).with_name("spark-submit")),
    *("--conf", "spark.ui.enabled=false", "--conf", "spark.ui.showConsoleProgress=false", "--master", "local[2]"),
    str(PROJECT / "jobs/evaluate.py"),
)
RUN, WRITTEN, SHOWN = f"_runs/{DAY}.*/*", f"_runs/{DAY}.*/runs/*", f"_days/{DAY}"  # what is there from a moment on
TERM, INT = signal.SIGTERM, signal.SIGINT
# (how, when, seconds after that, the signal): all of them without Spark, and by spark-submit, whose process is the JVM
# and takes ten times as long, every moment around the commit by one signal or the other.
MOMENTS = ((RUN, 0.0), (WRITTEN, 0.0), (SHOWN, 0.0), (SHOWN, 0.02), (SHOWN, 0.1))
STOPPED = [(LOCAL, *moment, which) for moment in MOMENTS for which in (TERM, INT)]
STOPPED += [(SUBMIT, RUN, 0.0, TERM), (SUBMIT, WRITTEN, 0.0, INT), (SUBMIT, WRITTEN, 0.0, TERM)]
STOPPED += [(SUBMIT, SHOWN, after, which) for after, which in ((0.0, TERM), (0.02, INT), (0.1, TERM), (0.3, INT))]
pytestmark = [pytest.mark.faults]


@pytest.mark.parametrize(("command", "moment", "after", "which"), STOPPED)
def test_told_to_stop_at_any_moment(
    spark_environment: dict[str, str],
    spec: Callable[..., str],
    tmp_path: Path,
    command: Sequence[str],
    moment: str,
    after: float,
    which: signal.Signals,
    tried: Tried,
) -> None:
    output = tmp_path / "tables"
    conf = spec(**({"engine__lane": "local"} if command == LOCAL else {}))
    job = subprocess.Popen(
        [*command, "--conf", conf, "--date", DAY],
        env={**os.environ, **spark_environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        with tried(which.name) as outcome:
            deadline = time.monotonic() + 120
            while not any(output.glob(moment)):
                assert job.poll() is None, job.communicate()[0]
                assert time.monotonic() < deadline
                time.sleep(0.0005)
            time.sleep(after)
            job.send_signal(which)
            printed = job.communicate(timeout=120)[0]
            outcome["is_new"] = is_new = (output / SHOWN).is_symlink()
            state = f"exit {job.returncode}, {'the new' if is_new else 'the old'} day: {printed}"
            assert (job.returncode == 0) == is_new, state
            assert is_new or moment != SHOWN, state
    finally:
        job.kill()
