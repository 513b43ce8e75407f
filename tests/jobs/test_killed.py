"""The short form of ``make faults``: a driver and a Python worker are killed, and the day is the old or the new one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from tests.faults.cluster import children_of, command_of, kill, wait_until
from tests.jobs.conftest import DAY, PROJECT, differing
from tests.support.commands import exit_code

pytestmark = pytest.mark.job

OF_A_RUN = ("spec_hash", "run_id", "attempt_id")


def evaluate(conf: str) -> None:
    command = [sys.executable, "-m", "sparkrank", "evaluate", "--conf", conf, "--date", DAY]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def shown(output: Path) -> str | None:
    try:
        return (output / f"_days/{DAY}").readlink().name
    except FileNotFoundError:
        return None


@pytest.mark.long  # tests/tables/test_days.py kills a commit at every step
def test_a_run_without_spark_that_is_killed(
    spec: Callable[..., str], stored: Callable[[], dict[str, pd.DataFrame]], tmp_path: Path
) -> None:
    """While it evaluates, over a day of fewer metrics, which stays."""
    output = tmp_path / "tables"
    evaluate(spec(engine__lane="local", metrics=["ndcg@10", "ap", "auc"]))
    old, before = stored(), shown(output)
    conf = spec(engine__lane="local")
    command = [sys.executable, "-m", "sparkrank", "evaluate", "--conf", conf, "--date", DAY]
    job = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:

        def is_evaluating() -> bool:
            assert job.poll() is None, job.communicate()[0]
            return any(output.glob(f"_runs/{DAY}.*/.groups.*"))

        wait_until(is_evaluating, "the group table is begun")
        job.send_signal(signal.SIGKILL)
        job.communicate(timeout=60)
    finally:
        job.kill()
    killed = stored()
    assert shown(output) == before
    evaluate(conf)
    new = stored()
    assert shown(output) != before
    assert differing(old, new, OF_A_RUN)
    assert differing(killed, old, OF_A_RUN) == []
    subprocess.run([sys.executable, "-m", "sparkrank", "clean", "--conf", conf], check=True, capture_output=True)
    assert sorted(each.name for each in (output / "_runs").iterdir()) == sorted([f"{DAY}.lock", str(shown(output))])
    assert not list(output.rglob(".*"))


def test_a_python_worker_that_is_killed(
    spark_environment: dict[str, str],
    spec: Callable[..., str],
    stored: Callable[[], dict[str, pd.DataFrame]],
    tmp_path: Path,
) -> None:
    """Its task runs again, and nothing of it is there twice."""
    conf = spec(engine__buckets=12, engine__lane="scan")
    job = subprocess.Popen(
        [
            str(Path(sys.executable).with_name("spark-submit")),
            *("--conf", "spark.ui.enabled=false", "--conf", "spark.ui.showConsoleProgress=false"),
            *("--master", "local[2,4]", str(PROJECT / "jobs/evaluate.py"), "--conf", conf, "--date", DAY),
        ],
        env={**os.environ, **spark_environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )

    def killed() -> bool:
        assert job.poll() is None, job.communicate()[0]
        daemons = [pid for pid in children_of(job.pid) if b"pyspark.daemon" in command_of(pid)]
        return any(kill(worker) for daemon in daemons for worker in children_of(daemon)[:1])

    try:
        wait_until(killed, "a Python worker is killed")
        told = job.communicate(timeout=120)[0]
    finally:
        job.kill()
    assert job.returncode == 0, told
    disturbed = stored()
    assert exit_code("evaluate", "--conf", spec(engine__lane="local", engine__buckets=12), "--date", DAY) == 0
    assert differing(disturbed, stored(), OF_A_RUN) == []
