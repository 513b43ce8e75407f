"""Over Spark Connect: the tests of tests/connect, in a process of their own, as no classic session lives beside one."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import PROJECT


@pytest.mark.slow
def test_over_connect(spark_environment: dict[str, str], tmp_path: Path) -> None:
    pytest.importorskip("grpc", reason="Spark Connect needs pyspark[connect]")
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-p",
            "no:cacheprovider",
            f"--basetemp={tmp_path / 'connect'}",
            "tests/connect",
        ],
        env=spark_environment,
        cwd=PROJECT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=290,
    )
    assert done.returncode == 0, done.stdout
    assert re.fullmatch(r"=+ \d+ passed in .*=+", done.stdout.splitlines()[-1]), done.stdout  # none skipped
