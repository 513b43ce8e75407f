"""What a scheduler reads on the stdout of spark-submit: a document alone, or the sentence of an error last."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.jobs.conftest import DAY, PROJECT

Separate = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def submit_apart(spark_environment: dict[str, str]) -> Separate:
    """spark-submit with nothing but a master, as a person types it; stdout and stderr apart."""

    def run(job: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        program = str(Path(sys.executable).with_name("spark-submit"))
        command = [program, "--master", "local[2]", str(PROJECT / "jobs" / job), *arguments]
        settings = {**os.environ, **spark_environment}
        return subprocess.run(command, env=settings, capture_output=True, text=True, check=False, timeout=240)

    return run


@pytest.mark.job
def test_a_day_is_one_document_on_stdout(submit_apart: Separate, spec: Callable[..., str]) -> None:
    done = submit_apart("evaluate.py", "--conf", spec(), "--date", DAY, "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert (document["day"], document["lane"], document["exit_code"]) == (DAY, "scan", 0)
    assert "Traceback" not in done.stderr
    assert {row["metric"] for row in document["metrics"]} >= {"ndcg@10", "auc"}


@pytest.mark.job
def test_a_spec_that_is_wrong_ends_before_spark_starts(submit_apart: Separate, spec: Callable[..., str]) -> None:
    done = submit_apart("merge.py", "--conf", spec(metrics=["ndgc@10"]), "--from", DAY, "--to", DAY, "--json")
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) < 10  # of what starts the JVM, its version
    error = json.loads(done.stdout)["error"]
    assert (error["code"], error["exit_code"]) == ("metric", 2)
    assert 'did you mean "ndcg"?' in error["sentence"]


@pytest.mark.job
def test_a_quiet_day_without_rows_says_so_and_no_more(submit_apart: Separate, spec: Callable[..., str]) -> None:
    done = submit_apart("evaluate.py", "--conf", spec(), "--date", "2026-01-01", "--quiet")
    assert done.returncode == 4
    assert done.stdout == "sparkrank: the input has no rows\n"  # as all that Python prints there
    assert len(done.stderr.splitlines()) < 10, done.stderr
    assert "Traceback" not in done.stderr
