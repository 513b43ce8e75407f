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

    def run(job: str | Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        program = str(Path(sys.executable).with_name("spark-submit"))
        command = [program, "--master", "local[2]", str(PROJECT / "jobs" / job), *map(str, arguments)]
        settings = {**os.environ, **spark_environment}
        return subprocess.run(command, env=settings, capture_output=True, text=True, check=False, timeout=240)

    return run


# A command and then the job, in one JVM, whose start is most of a small job.
TWO = """
import runpy, sys
from sparkrank.cli import main
job, first, sys.argv[1:] = sys.argv[1], sys.argv[2:8], sys.argv[8:]
try:
    main(first)
except SystemExit as ended:
    print(f"exit code {ended.code}", flush=True)
runpy.run_path(job, run_name="__main__")
"""


@pytest.mark.job
def test_a_quiet_day_without_rows_is_a_sentence_and_then_a_day_is_one_document(
    submit_apart: Separate, spec: Callable[..., str], tmp_path: Path
) -> None:
    """On stdout, which has all that Python prints; on stderr the JVM says little."""
    (tmp_path / "two.py").write_text(TWO, encoding="utf-8")
    words = ("--conf", spec(), "--date")
    quiet = ("evaluate", *words, "2026-01-01", "--quiet")
    done = submit_apart(tmp_path / "two.py", PROJECT / "jobs/evaluate.py", *quiet, *words, DAY, "--json")
    assert done.returncode == 0, done.stderr
    sentence, _, told = done.stdout.partition("exit code 4\n")
    assert sentence == "sparkrank: the input has no rows\n"
    document = json.loads(told)
    assert (document["day"], document["lane"], document["exit_code"]) == (DAY, "scan", 0)
    assert {row["metric"] for row in document["metrics"]} >= {"ndcg@10", "auc"}
    assert len(done.stderr.splitlines()) < 10, done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.job
def test_a_spec_that_is_wrong_ends_before_spark_starts(submit_apart: Separate, spec: Callable[..., str]) -> None:
    done = submit_apart("merge.py", "--conf", spec(metrics=["ndgc@10"]), "--from", DAY, "--to", DAY, "--json")
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) < 10  # of what starts the JVM, its version
    error = json.loads(done.stdout)["error"]
    assert (error["code"], error["exit_code"]) == ("metric", 2)
    assert 'did you mean "ndcg"?' in error["sentence"]
