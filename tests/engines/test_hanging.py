"""The local lane ends, with a sentence and without a lock, whatever hangs and however little memory there is."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sparkrank.engines.crew import Crew
from tests.support.commands import exit_code, local_conf

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="it looks into /proc")

ROOT = Path(__file__).resolve().parents[2]
DAY = "2026-01-31"
SECONDS = 60


@pytest.fixture(scope="module")
def conf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, random, rows = tmp_path_factory.mktemp("hanging"), np.random.default_rng(2), 500_000
    log = {"u": random.integers(0, 50_000, rows), "s": random.random(rows), "y": random.integers(0, 2, rows)}
    pq.write_table(pa.table(log), folder / "log.parquet", row_group_size=100_000)
    pq.write_table(pa.table(log)[:1000], folder / "few.parquet")
    roles = {"group": "u", "score": "s", "label": "y"}
    return Path(local_conf(folder, f"{folder}/log.parquet", roles, ["ndcg@10", "auc"]))


def started(conf: Path, how: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.support.hanging", how, "evaluate", "--conf", str(conf), "--date", DAY]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def said(run: subprocess.Popen[str]) -> str:
    """What it says when it has ended, which must be soon."""
    try:
        return run.communicate(timeout=SECONDS)[1]
    finally:
        run.kill()


def is_free(conf: Path) -> bool:
    """Whether the next run of the day, of few rows, goes through: it may wait for the folder of tables."""
    few = f"input.path={conf.parent}/few.parquet"
    return exit_code("evaluate", "--conf", str(conf), "--date", DAY, "--set", few) == 0


@pytest.mark.parametrize("more", [50, *(pytest.param(more, marks=pytest.mark.long) for more in (350, 600))])
def test_a_process_without_memory_ends(conf: Path, more: int) -> None:
    """With so many MiB beyond what it has before it reads: by a sentence, or with the day where it is enough."""
    run = started(conf, str(more))
    last = said(run).strip().rpartition("\n")[-1]
    assert run.returncode == 0 or (run.returncode, last[:11]) == (1, "sparkrank: ")
    assert is_free(conf)


@pytest.mark.parametrize("signals", [1, pytest.param(2, marks=pytest.mark.long)])
def test_a_signal_ends_what_hangs(conf: Path, signals: int) -> None:
    run = started(conf, "hang")
    assert run.stdout is not None
    assert run.stdout.readline() == "reading\n"
    for _ in range(signals):
        run.send_signal(signal.SIGTERM)
        time.sleep(0.5)
    assert said(run).strip().splitlines()[-1] == "sparkrank: interrupted"
    assert run.returncode == 1
    assert is_free(conf)


def test_the_first_failure_is_raised_and_no_task_starts_after_it() -> None:
    ours, begun = Crew(), []

    def task(number: int) -> None:
        begun.append(number)
        if number == 1:
            raise ValueError("one")
        ours.failed.wait(5)

    with pytest.raises(ValueError, match="one"):
        ours.all(2, task, range(9))
    assert begun == [0, 1]
    assert ours.has_ended
