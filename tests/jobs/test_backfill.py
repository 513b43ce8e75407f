"""Many days through spark-submit, in one session."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

pytestmark = pytest.mark.job

DAYS = ("2026-11-17", "2026-11-18", "2026-11-19")


def test_many_days_by_spark_submit(submit, spec, log: Path, tmp_path: Path) -> None:
    """The second day is missing: it stops there with 4, and goes on past it where that is asked for."""
    for day in (DAYS[0], DAYS[2]):
        shutil.copytree(log / f"dt={DAYS[2]}", tmp_path / f"log/dt={day}")
    conf = spec(input__path=f"{tmp_path}/log/dt={{date}}")
    window = ("--conf", conf, "--from", DAYS[0], "--to", DAYS[2])
    stopped = submit("evaluate.py", *window)
    assert stopped.returncode == 4, stopped.stdout
    assert f"{DAYS[0]}  evaluated: 600 rows" in stopped.stdout
    assert f"sparkrank: there is no parquet input at {tmp_path}/log/dt={DAYS[1]}" in stopped.stdout
    done = submit("evaluate.py", *window, "--allow-missing")
    assert done.returncode == 0, done.stdout
    assert f"{DAYS[0]}  there already" in done.stdout
    assert f"{DAYS[2]}  evaluated: 600 rows" in done.stdout
    assert f"Without input: 1 day ({DAYS[1]})" in done.stdout
