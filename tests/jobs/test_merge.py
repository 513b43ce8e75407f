"""Windows through spark-submit. What a merge refuses is tested without Spark in tests/windows."""

from __future__ import annotations

import shutil
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest

from tests.support.commands import exit_code
from tests.support.stored_files import one_file

pytestmark = pytest.mark.job

DAYS = ("2026-11-18", "2026-11-19")
WINDOW = "2026-11-18..2026-11-19"


def _metrics(folder: Path) -> pd.DataFrame:
    path = one_file(folder / f"tables/windows/metrics/window={WINDOW}")
    return pq.read_table(path, partitioning=None).to_pandas()


def test_a_window_by_spark_submit(submit_in_turn, spec, log: Path, tmp_path: Path, capsys) -> None:
    """A day of the scan lane and a day of the local lane, merged by the job and in this process."""
    shutil.copytree(log / f"dt={DAYS[1]}", tmp_path / f"log/dt={DAYS[1]}")
    (tmp_path / f"log/dt={DAYS[0]}").mkdir()
    shutil.copy(log / f"dt={DAYS[1]}/0.parquet", tmp_path / f"log/dt={DAYS[0]}/0.parquet")
    conf = spec(input__path=f"{tmp_path}/log/dt={{date}}", slices=["device"])
    window = ("merge", "--conf", conf, "--from", DAYS[0], "--to", DAYS[1])
    ((code, told),) = submit_in_turn(["evaluate", "--conf", conf, "--date", DAYS[1]])
    assert code == 0, told
    assert exit_code(*window) == 4
    assert f"there are no states of {DAYS[0]} under" in capsys.readouterr().err
    assert not (tmp_path / "tables/windows").exists()

    assert exit_code("evaluate", "--conf", conf, "--date", DAYS[0], "--set", "engine.lane=local") == 0
    ((code, told),) = submit_in_turn(window)
    assert code == 0, told
    assert "2 days pooled" in told
    by_job = _metrics(tmp_path)
    rows = by_job.groupby("slice")["n_rows"].agg(lambda counts: sum({*counts}))
    assert (rows["all"], rows["device"]) == (200 + 600, 200 + 600)
    assert exit_code(*window) == 0
    pd.testing.assert_frame_equal(_metrics(tmp_path), by_job, check_exact=True)
