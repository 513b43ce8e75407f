"""A day that a job has shown, and ended with 0, is there after a loss of power, however soon that comes.

The tables are on ext4 on a loop device. What its image holds at a moment is what a disk would hold if the power went
then; a copy of it, mounted, is what the next boot finds.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.faults.conftest import Tried
from tests.faults.disks import run
from tests.support.commands import write_spec
from tests.support.stored_files import one_file

pytestmark = [pytest.mark.faults]

DAY = "2026-11-19"
MOMENTS = (0, 2, 8)  # seconds after the end of the job


@contextmanager
def mounted(image: Path, place: Path) -> Iterator[Path]:
    """``image`` at ``place``; the test is skipped where nobody may mount."""
    place.mkdir(exist_ok=True)
    done = run("mount", "-o", "loop", str(image), str(place))
    if done.returncode:
        pytest.skip(f"a loop device cannot be mounted here: {done.stderr.strip()}")
    try:
        yield place
    finally:
        run("umount", "--lazy", str(place))  # a file may still be open


@pytest.fixture
def image(tmp_path: Path) -> Path:
    """An empty ext4 file system."""
    if os.geteuid() or shutil.which("mkfs.ext4") is None:
        pytest.skip("mounting a loop device needs root and mkfs.ext4")
    found = tmp_path / "disk.img"
    found.write_bytes(b"")
    os.truncate(found, 64 << 20)
    assert run("mkfs.ext4", "-q", "-F", str(found)).returncode == 0
    return found


def spec(folder: Path, output: Path, plain: bool) -> str:
    columns = {"group": "u", "score": "s", "label": "y"}
    document = {
        "input": {"path": f"{folder}/rows.parquet", "columns": columns},
        "metrics": ["rr", "auc"],
        "output": {"path": str(output), "plain": plain},
        "engine": {"lane": "local"},
    }
    return write_spec(folder, document)


def evaluate(conf: str) -> None:
    done = run(sys.executable, "-m", "sparkrank", "evaluate", "--conf", conf, "--date", DAY)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("plain", [False, True], ids=["links", "plain"])
@pytest.mark.parametrize("is_rerun", [False, True], ids=["first run", "rerun"])
def test_what_a_job_has_shown_survives(tmp_path: Path, image: Path, is_rerun: bool, plain: bool, tried: Tried) -> None:
    with mounted(image, tmp_path / "disk") as disk:
        conf = spec(tmp_path, disk / "tables", plain)
        for label in (0, 1) if is_rerun else (1,):
            rows = {"u": [1, 1, 2, 2], "s": [2.0, 1.0, 2.0, 1.0], "y": [label, 1 - label, label, 1 - label]}
            pq.write_table(pa.table(rows), tmp_path / "rows.parquet")
            evaluate(conf)
        ended = time.monotonic()
        copies = []
        for seconds in MOMENTS:
            time.sleep(max(0.0, ended + seconds - time.monotonic()))
            copies.append(tmp_path / f"after-{seconds}.img")
            shutil.copy(image, copies[-1])
    for copy in copies:
        with tried("power lost after exit 0") as survived, mounted(copy, tmp_path / "found") as disk:
            tables = disk / "tables"
            found = {each.name: one_file(each / f"day={DAY}") for each in tables.iterdir() if each.name[0] != "_"}
            assert (tables / f"metrics/day={DAY}").is_symlink() != plain
            assert set(found) >= {"metrics", "groups", "quality", "states", "runs"}, copy.name
            read = {name: pq.read_table(file, partitioning=None) for name, file in found.items()}
            values = {row["metric"]: row["value"] for row in read["metrics"].to_pylist()}
            assert values["rr"] == 1.0, copy.name  # of the first row, which is relevant in the last run alone
            survived["is_new"] = True
