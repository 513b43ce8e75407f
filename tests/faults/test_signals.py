"""A job that is told to stop has failed and left the old day, or is done and shows the new one: never one of each."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults.conftest import Tried

PROJECT = Path(__file__).resolve().parents[2]
DAY = "2026-11-19"
pytestmark = [pytest.mark.faults]


def _shown(output: Path) -> str | None:
    try:
        return (output / f"_days/{DAY}").readlink().name
    except FileNotFoundError:
        return None


def _started(spark_environment: dict[str, str], conf: str, local: bool) -> subprocess.Popen[str]:
    """The job as a scheduler starts it: by spark-submit, whose process is the JVM, or without Spark."""
    if local:
        command = [sys.executable, "-m", "sparkrank", "evaluate"]
    else:
        command = [
            str(Path(sys.executable).with_name("spark-submit")),
            *("--conf", "spark.ui.enabled=false", "--conf", "spark.ui.showConsoleProgress=false"),
            *("--master", "local[2]", str(PROJECT / "jobs/evaluate.py")),
        ]
    return subprocess.Popen(
        [*command, "--conf", conf, "--date", DAY],
        env={**os.environ, **spark_environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


RUN, WRITTEN, SHOWN = "the run has a folder", "runs is written", "shown"
TERM, INT = signal.SIGTERM, signal.SIGINT
# (without Spark, when, seconds after that, the signal): all of them without Spark, and by spark-submit, which takes ten
# times as long, every moment around the commit by one signal or the other.
WITHOUT_SPARK = [(True, RUN, 0.0), (True, WRITTEN, 0.0), *((True, SHOWN, after) for after in (0.0, 0.02, 0.1))]
BY_SUBMIT = [
    (False, RUN, 0.0, TERM),
    (False, WRITTEN, 0.0, INT),
    (False, WRITTEN, 0.0, TERM),
    *((False, SHOWN, after, which) for after, which in ((0.0, TERM), (0.02, INT), (0.1, TERM), (0.3, INT))),
]


@pytest.mark.parametrize(
    ("local", "moment", "after", "which"),
    [*((*case, which) for case in WITHOUT_SPARK for which in (TERM, INT)), *BY_SUBMIT],
)
def test_told_to_stop_at_any_moment(
    spark_environment: dict[str, str],
    spec: Callable[..., str],
    tmp_path: Path,
    local: bool,
    moment: str,
    after: float,
    which: signal.Signals,
    tried: Tried,
) -> None:
    output = tmp_path / "tables"
    conf = spec(**({"engine__lane": "local"} if local else {}))
    before = _shown(output)
    reached = {
        RUN: lambda: any(output.glob(f"_runs/{DAY}.*/*")),
        WRITTEN: lambda: any(output.glob(f"_runs/{DAY}.*/runs/*")),
        SHOWN: lambda: _shown(output) != before,
    }[moment]
    job = _started(spark_environment, conf, local)
    try:
        with tried(which.name) as found:
            deadline = time.monotonic() + 120
            while not reached():
                assert job.poll() is None, job.communicate()[0]
                assert time.monotonic() < deadline
                time.sleep(0.0005)
            time.sleep(after)
            job.send_signal(which)
            told = job.communicate(timeout=120)[0]
            found["is_new"] = is_new = _shown(output) != before
            state = f"exit {job.returncode}, {'the new' if is_new else 'the old'} day: {told}"
            assert (job.returncode == 0) == is_new, state
            assert is_new or moment != SHOWN, state
    finally:
        job.kill()
