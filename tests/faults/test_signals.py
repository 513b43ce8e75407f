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


@pytest.mark.parametrize("local", [True, False], ids=["without Spark", "spark-submit"])
@pytest.mark.parametrize(
    ("moment", "after"),
    [("the run has a folder", 0.0), ("runs is written", 0.0), *(("shown", after) for after in (0, 0.02, 0.1, 0.3))],
)
@pytest.mark.parametrize("which", [signal.SIGTERM, signal.SIGINT])
def test_told_to_stop_at_any_moment(
    spark_environment: dict[str, str],
    spec: Callable[..., str],
    tmp_path: Path,
    local: bool,
    moment: str,
    after: float,
    which: signal.Signals,
) -> None:
    output = tmp_path / "tables"
    conf = spec(**({"engine__lane": "local"} if local else {}))
    before = _shown(output)
    reached = {
        "the run has a folder": lambda: any(output.glob(f"_runs/{DAY}.*/*")),
        "runs is written": lambda: any(output.glob(f"_runs/{DAY}.*/runs/*")),
        "shown": lambda: _shown(output) != before,
    }[moment]
    job = _started(spark_environment, conf, local)
    deadline = time.monotonic() + 120
    while not reached():
        assert job.poll() is None, job.communicate()[0]
        assert time.monotonic() < deadline
        time.sleep(0.0005)
    time.sleep(after)
    job.send_signal(which)
    told = job.communicate(timeout=120)[0]
    is_new = _shown(output) != before
    assert (job.returncode == 0) == is_new, f"exit {job.returncode}, {'the new' if is_new else 'the old'} day: {told}"
    if moment == "shown":
        assert is_new, told
