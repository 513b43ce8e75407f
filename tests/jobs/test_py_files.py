"""A cluster whose machines lack the package: executors get it from --py-files, or with its loops from --archives."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from sparkrank import native
from sparkrank.cli import main
from tests.jobs.conftest import DAY, PROJECT, differing

pytestmark = pytest.mark.job


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


def _same_here(spec, stored) -> None:
    """What the cluster wrote is what this process, with whatever loops it has, writes of the same day: bit for bit."""
    there = stored()
    main(["evaluate", "--conf", spec(engine__lane="local"), "--date", DAY])
    assert (there["runs"]["lane"].tolist(), stored()["runs"]["lane"].tolist()) == (["scan"], ["local"])
    assert differing(there, stored()) == []


def test_a_process_takes_the_package_from_a_zip(spec, stored, tmp_path: Path, python_without_sparkrank: Path) -> None:
    """The short form, without Spark: its templates and schemas are read, and the day is that of an installation."""
    archive = shutil.make_archive(str(tmp_path / "sparkrank"), "zip", PROJECT, "sparkrank")
    conf = spec(engine__lane="local")
    command = [str(python_without_sparkrank), "-m", "sparkrank", "evaluate", "--conf", conf, "--date", DAY]
    without, done = (
        subprocess.run(
            command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False
        )
        for path in ("", archive)
    )
    assert "No module named sparkrank" in without.stderr
    assert done.returncode == 0, done.stderr
    there = stored()
    main(["evaluate", "--conf", conf, "--date", DAY])
    assert differing(there, stored()) == []


@pytest.mark.long
def test_executors_take_the_package_from_a_zip(
    submit, spec, stored, tmp_path: Path, python_without_sparkrank: Path
) -> None:
    """So they have no loops, from which a zip is no place to load them."""
    archive = shutil.make_archive(str(tmp_path / "sparkrank"), "zip", PROJECT, "sparkrank")
    python = dict.fromkeys(("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"), str(python_without_sparkrank))
    python["PYTHONPATH"] = ""
    master = ("--master", "local-cluster[1,1,1024]")  # an executor in a process of its own
    done = submit("evaluate.py", "--conf", spec(), "--date", DAY, spark=(*master, "--py-files", archive), **python)
    assert done.returncode == 0, done.stdout
    _same_here(spec, stored)


@pytest.mark.long
@pytest.mark.skipif(
    not native.COMPILED, reason="sparkrank was installed without a C++ compiler: it has no compiled loops"
)
def test_executors_take_the_compiled_loops_from_an_archive(
    submit, spec, stored, tmp_path: Path, python_without_sparkrank: Path
) -> None:
    """The driver, which merges what executors send, has the package from a zip on its path, without loops."""
    archive = shutil.make_archive(str(tmp_path / "sparkrank"), "zip", PROJECT, "sparkrank")
    python = dict.fromkeys(("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"), str(python_without_sparkrank))
    python["PYTHONPATH"] = archive
    shipped = ("--archives", f"{archive}#shipped", "--conf", "spark.executorEnv.PYTHONPATH=shipped")
    (asked := tmp_path / "asked.py").write_text(ASKED, encoding="utf-8")
    cluster = ("--master", "local-cluster[1,1,1024]", *shipped)
    done = submit(asked, "evaluate", "--conf", spec(), "--date", DAY, spark=cluster, **python)
    assert done.returncode == 0, done.stdout
    assert "driver False, executor compiled=True tuned=True" in done.stdout
    _same_here(spec, stored)


@pytest.mark.long  # what workers say of their loops is tested in tests/native
def test_the_environment_of_executors_says_what_workers_use(submit, tmp_path: Path) -> None:
    """Neither the loops, nor settings of the process that whoever uses the worker next would meet."""
    asked = tmp_path / "asked.py"
    asked.write_text(ASKED, encoding="utf-8")
    switched = [f"spark.executorEnv.{name}=0" for name in ("SPARKRANK_NATIVE", "SPARKRANK_WORKER_TUNING")]
    told = submit(asked, spark=("--master", "local[1]", "--conf", switched[0], "--conf", switched[1]))
    assert told.returncode == 0, told.stdout
    assert f"driver {native.COMPILED}, executor compiled=False tuned=False" in told.stdout


# What is used where, and then a command.
ASKED = """
import sys
from pyspark.sql import SparkSession
import sparkrank.native

def ask(batches):
    import gc
    import pandas as pd
    import sparkrank.native
    from sparkrank.engines.spark.tasks import tune_worker
    tune_worker()
    yield pd.DataFrame({"compiled": [sparkrank.native.COMPILED], "tuned": [gc.get_freeze_count() > 0]})

spark = SparkSession.builder.getOrCreate()
(row,) = spark.range(0, 1, 1, 1).mapInPandas(ask, "compiled boolean, tuned boolean").collect()
print(f"driver {sparkrank.native.COMPILED}, executor compiled={row.compiled} tuned={row.tuned}", flush=True)
if sys.argv[1:]:
    from sparkrank.cli import main
    main(sys.argv[1:])
"""
