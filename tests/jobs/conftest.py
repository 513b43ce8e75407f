"""Running the job as people do: spark-submit in a process of its own, on impressions that Spark did not write."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
import yaml

PROJECT = Path(__file__).resolve().parents[2]
DAY = "2026-11-19"
TABLES = ("metrics", "groups", "blocks", "curves", "states", "quality", "runs")
Submit = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="session")
def submit(spark_environment: dict[str, str]) -> Submit:
    """spark-submit of a job with its arguments; ``spark`` are options before the script."""

    def run(job: str, *arguments: str, spark: tuple[str, ...] = (), **environment: str) -> subprocess.CompletedProcess:
        command = [
            str(Path(sys.executable).with_name("spark-submit")),
            *("--conf", "spark.ui.enabled=false", "--conf", "spark.ui.showConsoleProgress=false"),
            *("--conf", "spark.sql.shuffle.partitions=2"),
            *(spark or ("--master", "local[2]")),
            *(str(PROJECT / "jobs" / job), *arguments),
        ]
        settings = {**os.environ, **spark_environment, **environment}
        # spark-submit hands on what the driver writes to stderr as its own stdout: one stream holds both.
        return subprocess.run(
            command, env=settings, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=240
        )

    return run


# Each of some commands, with a session of its own, in one driver: most of a spark-submit is the start of its JVM.
IN_TURN = """
import json, sys
from sparkrank.cli import main
for words in json.loads(sys.argv[1]):
    try:
        main(words)
        code = 0
    except SystemExit as ended:
        code = ended.code
    print(f"exit code {code}", flush=True)
"""


@pytest.fixture
def submit_in_turn(submit: Submit, tmp_path: Path) -> Callable[..., list[tuple[int, str]]]:
    """One spark-submit of several commands: the exit code of each, and what it printed."""

    def run(*commands: Sequence[str]) -> list[tuple[int, str]]:
        job = tmp_path / "in_turn.py"
        job.write_text(IN_TURN, encoding="utf-8")
        done = submit(str(job), json.dumps(commands))
        assert done.returncode == 0, done.stdout
        printed = re.split(r"^exit code (\d+)\n", done.stdout, flags=re.MULTILINE)
        ended = [(int(code), text) for text, code in zip(printed[::2], printed[1::2], strict=False)]
        assert len(ended) == len(commands), done.stdout
        return ended

    return run


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

    def with_first(name: str, value: object, kind: pa.DataType) -> pa.Table:
        values = [value, *good[name].to_pylist()[1:]]
        return good.set_column(good.column_names.index(name), name, pa.array(values, kind))

    write(DAY, good, files=3)
    write("2026-01-01", good[:0])
    write("2026-01-02", good.drop_columns(["clicked"]))
    write("2026-01-03", good.set_column(4, "clicked", good["clicked"].cast(pa.string())))
    write("2026-01-04", with_first("score", float("nan"), pa.float64()))
    write("2026-01-05", with_first("user_id", None, pa.int64()))
    write("2026-01-06", with_first("clicked", float("inf"), pa.float64()))
    return folder


@pytest.fixture
def spec(tmp_path: Path, log: Path) -> Callable[..., str]:
    """Writes a spec to a file, after changes by dotted key, and gives its path; tables go to ``tmp_path/tables``."""

    def write(**changes: object) -> str:
        document: dict = {
            "input": {
                "path": f"{log}/dt={{date}}",
                "columns": {
                    "group": "user_id",
                    "item": "item_id",
                    "label": "clicked",
                    "score": {"production": "score", "candidate": "other"},
                },
            },
            "metrics": ["ndcg@10", "ap", "rr", "gauc", "auc", "auc_up(digits=1)"],
            "output": {"path": str(tmp_path / "tables")},
        }
        for key, value in changes.items():
            *parents, last = key.split("__")
            place = document
            for parent in parents:
                place = place.setdefault(parent, {})
            place[last] = value
        path = tmp_path / "spec.yaml"
        path.write_text(yaml.safe_dump(document), encoding="utf-8")
        return str(path)

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
