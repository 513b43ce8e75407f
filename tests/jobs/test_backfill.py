"""Many days through spark-submit, in one session."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

pytestmark = pytest.mark.job

DAYS = ("2026-11-17", "2026-11-18", "2026-11-19")


def test_many_days_by_spark_submit(submit_in_turn, spec, log: Path, tmp_path: Path) -> None:
    """The second day is missing: it stops there with 4, and goes on past it where that is asked for."""
    for day in (DAYS[0], DAYS[2]):
        shutil.copytree(log / f"dt={DAYS[2]}", tmp_path / f"log/dt={day}")
    conf = spec(input__path=f"{tmp_path}/log/dt={{date}}")
    window = ["evaluate", "--conf", conf, "--from", DAYS[0], "--to", DAYS[2]]
    (stopped, told), (done, printed) = submit_in_turn(window, [*window, "--allow-missing"])
    assert stopped == 4, told
    assert f"{DAYS[0]}  evaluated: 600 rows" in told
    assert f"sparkrank: there is no parquet input at {tmp_path}/log/dt={DAYS[1]}" in told
    assert done == 0, printed
    assert f"{DAYS[0]}  there already" in printed
    assert f"{DAYS[2]}  evaluated: 600 rows" in printed
    assert f"Without input: 1 day ({DAYS[1]})" in printed
