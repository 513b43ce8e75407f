"""A cluster whose machines lack the package: executors get it from --py-files."""

from __future__ import annotations

import shutil
import sys
import sysconfig
from pathlib import Path

import pytest

pytestmark = pytest.mark.job

PROJECT = Path(__file__).resolve().parents[2]


@pytest.fixture
def python_without_sparkrank(tmp_path: Path) -> Path:
    """A Python with everything that is installed here but sparkrank: driver and executors start it."""
    site = tmp_path / "site"
    site.mkdir()
    for entry in Path(sysconfig.get_paths()["purelib"]).iterdir():
        if "sparkrank" not in entry.name and entry.suffix != ".pth":
            (site / entry.name).symlink_to(entry)
    base = getattr(sys, "_base_executable", sys.executable)
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH="$PYTHONPATH:{site}" exec "{base}" -S "$@"\n', encoding="utf-8")
    python.chmod(0o755)
    return python


def test_executors_take_the_package_from_a_zip(submit, spec, tmp_path: Path, python_without_sparkrank: Path) -> None:
    archive = shutil.make_archive(str(tmp_path / "sparkrank"), "zip", PROJECT, "sparkrank")
    python = {"PYSPARK_PYTHON": str(python_without_sparkrank), "PYSPARK_DRIVER_PYTHON": str(python_without_sparkrank)}
    python["PYTHONPATH"] = ""
    job = ("evaluate.py", "--conf", spec(), "--date", "2026-11-19")
    master = ("--master", "local-cluster[1,1,1024]")  # an executor in a process of its own

    without = submit(*job, spark=master, **python)
    assert without.returncode == 1
    assert "No module named 'sparkrank'" in without.stdout

    done = submit(*job, spark=(*master, "--py-files", archive), **python)
    assert done.returncode == 0, done.stdout
    assert (tmp_path / "tables/metrics/day=2026-11-19/part-0.parquet").is_file()
