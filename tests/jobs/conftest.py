"""Running the job as people do: spark-submit in a process of its own, on impressions that Spark did not write."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from tests.support.commands import write_spec

PROJECT = Path(__file__).resolve().parents[2]
DAY = "2026-11-19"
OF_ROWS = ("metrics", "groups", "blocks", "curves", "states", "quality")
TABLES = (*OF_ROWS, "runs")
Submit = Callable[..., "subprocess.CompletedProcess[str]"]


def differing(one: dict[str, pd.DataFrame], other: dict[str, pd.DataFrame], but: Sequence[str] = ()) -> list[str]:
    """The tables whose bits differ, without the columns ``but``."""
    names = []
    for name in OF_ROWS:
        left, right = (tables[name].drop(columns=list(but), errors="ignore") for tables in (one, other))
        try:
            pd.testing.assert_frame_equal(left, right, check_exact=True, check_dtype=False)
        except AssertionError as error:
            names.append(f"{name}: {error}")
    return names


def command_of(job: str, *arguments: str, spark: tuple[str, ...] = ()) -> list[str]:
    return [
        str(Path(sys.executable).with_name("spark-submit")),
        *("--conf", "spark.ui.enabled=false", "--conf", "spark.ui.showConsoleProgress=false"),
        *("--conf", "spark.sql.shuffle.partitions=2"),
        *(spark or ("--master", "local[2]")),
        *(job, *arguments),
    ]


@pytest.fixture(scope="session")
def submit(spark_environment: dict[str, str]) -> Submit:
    """spark-submit of a job with its arguments; ``spark`` are options before the script.

    It hands on what the driver writes to stderr as its own stdout, so one stream holds both; ``apart`` leaves what the
    JVM writes in ``stderr``.
    """

    def run(
        job: str | Path, *arguments: str, spark: tuple[str, ...] = (), apart: bool = False, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        command = command_of(str(PROJECT / "jobs" / job), *arguments, spark=spark)
        settings, err = (
            {**os.environ, **spark_environment, **environment},
            subprocess.PIPE if apart else subprocess.STDOUT,
        )
        return subprocess.run(
            command, env=settings, stdout=subprocess.PIPE, stderr=err, text=True, check=False, timeout=240
        )

    return run


# Commands, a line of them at a time, in one driver: most of a spark-submit is the start of its JVM and of a session.
# What they leave of the session is stopped at the end, or by each where that is asked for.
IN_TURN = """
import json, os, sys
from pyspark.sql import SparkSession
from sparkrank.cli import main
stop = SparkSession.stop
for line in open(sys.argv[1], encoding="utf-8"):
    asked = json.loads(line)
    before = SparkSession.getActiveSession()
    if asked["stops"] and before is not None:
        stop(before)
    SparkSession.stop = stop if asked["stops"] else lambda session: None
    outside = dict(os.environ)
    os.environ.update(asked["environment"])
    for words in asked["commands"]:
        try:
            main(words)
            code = 0
        except SystemExit as ended:
            code = ended.code
        sys.stderr.flush()
        print(f"exit code {code}", flush=True)
    os.environ.update(outside)
    print("in turn", flush=True)
"""
InTurn = Callable[..., list[tuple[int, str]]]


class Driver:
    """A spark-submit that does commands in turn."""

    def __init__(self, started: Callable[[str, str], subprocess.Popen[str]], folder: Path) -> None:
        job, asked = folder / "in_turn.py", folder / "asked"
        job.write_text(IN_TURN, encoding="utf-8")
        os.mkfifo(asked)
        self._process = started(str(job), str(asked))
        # It has no standard input of ours. Opened for reading, too, or this would wait for a job that has not started.
        self._asked = os.fdopen(os.open(asked, os.O_RDWR), "w", encoding="utf-8")

    def __call__(self, *commands: Sequence[str], stops: bool = False, **environment: str) -> list[tuple[int, str]]:
        """The exit code of each, and what it printed; ``stops`` gives each a session of its own, in ``environment``."""
        request = {"commands": commands, "stops": stops, "environment": environment}
        print(json.dumps(request), file=self._asked, flush=True)
        told = ""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line == "in turn\n":
                break
            told += line
        else:
            raise AssertionError(f"the driver has ended with {self._process.wait()}:\n{told}")
        printed = re.split(r"^exit code (\d+)\n", told, flags=re.MULTILINE)
        assert printed[-1] == ""
        ended = [(int(code), text) for text, code in zip(printed[::2], printed[1::2], strict=False)]
        assert len(ended) == len(commands), told
        return ended

    def close(self) -> None:
        self._asked.close()
        try:
            self._process.communicate(timeout=60)
        finally:
            self._process.kill()


@pytest.fixture(scope="session")
def submit_in_turn(spark_environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[InTurn]:
    """Several commands in one spark-submit, which all tests share."""

    def started(*words: str) -> subprocess.Popen[str]:
        environment, pipe = {**os.environ, **spark_environment}, subprocess.PIPE
        return subprocess.Popen(command_of(*words), env=environment, stdout=pipe, stderr=subprocess.STDOUT, text=True)

    driver = Driver(started, tmp_path_factory.mktemp("driver"))
    yield driver
    driver.close()


@pytest.fixture(scope="session")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of impressions by day: a good one, and one for each thing that can be wrong with a day's rows."""
    folder = tmp_path_factory.mktemp("log")
    rng = np.random.default_rng(5)
    n = 600
    good = pa.table(
        {
            "user_id": rng.integers(0, 40, n),
            "item_id": rng.integers(0, 90, n),
            "score": np.round(rng.random(n), 2),
            "other": rng.normal(size=n),
            "clicked": (rng.random(n) < 0.3).astype(np.int8),
            "device": rng.choice(["phone", "web"], n),
        }
    )

    def write(day: str, rows: pa.Table, files: int = 1) -> None:
        (folder / f"dt={day}").mkdir()
        for index in range(files):
            pq.write_table(rows[index * n // files : (index + 1) * n // files], folder / f"dt={day}/{index}.parquet")

    write(DAY, good, files=3)
    write("2026-01-01", good[:0])
    write("2026-01-02", good.drop_columns(["clicked"]))
    write("2026-01-04", good.set_column(2, "score", pa.array([float("nan"), *good["score"].to_pylist()[1:]])))
    return folder


@pytest.fixture
def spec(tmp_path: Path, log: Path) -> Callable[..., str]:
    """Writes a spec to a file, after changes by dotted key, and gives its path; tables go to ``tmp_path/tables``."""

    def write(**changes: object) -> str:
        score = {"production": "score", "candidate": "other"}
        columns = {"group": "user_id", "item": "item_id", "label": "clicked", "score": score}
        document: dict = {
            "input": {"path": f"{log}/dt={{date}}", "columns": columns},
            "metrics": ["ndcg@10", "ap", "rr", "gauc", "auc", "auc_up(digits=1)"],
            "output": {"path": str(tmp_path / "tables")},
        }
        for key, value in changes.items():
            *parents, last = key.split("__")
            place = document
            for parent in parents:
                place = place.setdefault(parent, {})
            place[last] = value
        return write_spec(tmp_path, document)

    return write


@pytest.fixture
def stored(tmp_path: Path) -> Callable[..., dict[str, pd.DataFrame]]:
    """Every table below ``tmp_path/tables`` as a reader of partitioned Parquet sees it, rows in a fixed order."""

    def read(folder: str = "tables") -> dict[str, pd.DataFrame]:
        tables = {}
        for name in TABLES:
            frame = ds.dataset(tmp_path / folder / name, partitioning="hive").to_table().to_pandas()
            tables[name] = frame.sort_values(list(frame.columns[:8])).reset_index(drop=True)
        return tables

    return read
