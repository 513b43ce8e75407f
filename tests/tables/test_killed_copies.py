"""Copies whose writer is killed between commits and inside of them, while others read: the old day or the new one."""

from __future__ import annotations

import datetime as dt
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

from sparkrank.config import load_spec
from sparkrank.jobs.publish_job import publish_target
from sparkrank.jobs.target import Target
from tests.support.copied_days import DAY, OTHER, TABLES, store
from tests.support.publishing_process import publishing
from tests.support.written_days import conf_of

duckdb, deltalake = pytest.importorskip("duckdb"), pytest.importorskip("deltalake")

MODELS = ("a", "b", "c")
ROWS = {"metrics": 3, "gates": 1, "runs": 1}
Readers = dict[str, Callable[[str], pa.Table]]


@dataclass(frozen=True)
class Lake:
    """A place that gets copies: its part of a spec, the environment of a writer, and who reads a table of it."""

    place: dict[str, str]
    environment: dict[str, str]
    readers: Readers


@contextmanager
def delta(folder: Path) -> Iterator[Lake]:
    def opened(name: str) -> Any:
        return deltalake.DeltaTable(f"{folder}/lake/{name}")

    readers: Readers = {
        "deltalake": lambda name: opened(name).to_pyarrow_table(),
        "polars": lambda name: pl.read_delta(f"{folder}/lake/{name}").to_arrow(),
        "duckdb": lambda name: duckdb.from_arrow(opened(name).to_pyarrow_dataset()).to_arrow_table(),
    }
    yield Lake({"format": "delta", "path": f"{folder}/lake"}, {}, readers)


@contextmanager
def iceberg(folder: Path) -> Iterator[Lake]:
    pytest.importorskip("pyiceberg", reason="pyiceberg writes Iceberg tables: the dev extra has it")
    from pyiceberg.catalog import load_catalog
    from pyiceberg.utils.config import Config

    settings = {"TYPE": "sql", "URI": f"sqlite:///{folder}/catalog.db", "WAREHOUSE": f"file://{folder}/lake"}
    environment = {f"PYICEBERG_CATALOG__PROD__{name}": value for name, value in settings.items()}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {**environment, "POLARS_ICEBERG_PLANNER": "pyiceberg"}.items():
            patch.setenv(name, value)
        patch.setattr("pyiceberg.catalog._ENV_CONFIG", Config())  # read when the module was imported
        with load_catalog("prod") as catalog:

            def opened(name: str) -> Any:
                return catalog.load_table(("eval", name))

            readers: Readers = {
                "pyiceberg": lambda name: opened(name).scan().to_arrow(),
                "polars": lambda name: pl.scan_iceberg(opened(name)).collect().to_arrow(),
                "duckdb": lambda name: opened(name).scan().to_duckdb("copy").sql("FROM copy").to_arrow_table(),
            }
            yield Lake({"format": "iceberg", "catalog": "prod", "namespace": "eval"}, environment, readers)


def run_in(table: pa.Table, name: str, day: str) -> int:
    """The number of the run whose rows a reader has found, all of them."""
    rows = [row for row in table.to_pylist() if row["day"] == dt.date.fromisoformat(day)]
    runs = [int(row["run_id"].rpartition("-")[2]) if name == "runs" else int(row["value"]) for row in rows]
    assert len(runs) == ROWS[name], (name, day, runs)
    assert len({*runs}) == 1, (name, day, runs)
    return runs[0]


def runs_in(read: Callable[[str], pa.Table]) -> dict[str, int]:
    """The run in each table, of which ``runs`` is read first: a day in it is whole in all others."""
    found: dict[str, int] = {}
    for name in reversed(TABLES):
        table = read(name)
        assert run_in(table, name, OTHER) == 0
        found[name] = run_in(table, name, DAY)
    assert min(found.values()) == found["runs"], found
    return found


@contextmanager
def reading(readers: Readers) -> Iterator[list[str]]:
    """Read on a thread until the end of a block, which gets whatever a reader found wrong."""
    errors, passes, ends = list[str](), list[int](), threading.Event()

    def read_all() -> None:
        while not (ends.is_set() and passes) and not errors:
            for name, read in readers.items():
                try:
                    runs_in(read)
                except Exception as error:  # noqa: BLE001 - whatever it is, the test tells it
                    errors.append(f"{name}: {error!r}")
            passes.append(len(errors))

    thread = threading.Thread(target=read_all, daemon=True)
    thread.start()
    yield errors
    ends.set()
    thread.join(60)


def files_in(folder: Path) -> set[str]:
    return {os.path.join(place, name) for place, _, names in os.walk(folder) for name in names}  # noqa: PTH118 - quick


@pytest.mark.parametrize("kills", [2, pytest.param(100, marks=pytest.mark.long)], ids=["two", "all"])
@pytest.mark.parametrize("kind", [delta, iceberg])
def test_readers_see_the_old_day_or_the_new_one_while_writers_are_killed(tmp_path: Path, kind: Any, kills: int) -> None:
    """A writer is killed when it has made one file, the next one at two, and so on until one outlives it."""
    with kind(tmp_path) as lake:
        conf = conf_of(tmp_path / "out", publish=[lake.place])
        for day in (OTHER, DAY):
            store(tmp_path, 0, day, run="0", models=MODELS)
            publish(conf, day)
        all_behind: list[tuple[str, ...]] = []
        for run in range(1, kills + 1):
            store(tmp_path, run, run=str(run), models=MODELS)
            before = files_in(tmp_path / "lake")
            with reading(lake.readers) as errors:
                writer, limit = publishing(conf, DAY, lake.environment), time.monotonic() + 60
                while writer.is_alive() and len(files_in(tmp_path / "lake") - before) < run:
                    assert time.monotonic() < limit
                writer.kill()
                writer.join()
                found = runs_in(next(iter(lake.readers.values())))
                all_behind.append(publish(conf))
            assert errors == []
            assert all_behind[-1] == tuple(name for name in TABLES if found[name] < run)
            for read in lake.readers.values():
                assert runs_in(read) == dict.fromkeys(TABLES, run)
            if writer.exitcode == 0:
                break
        assert any(all_behind)
        assert kills == 2 or (writer.exitcode, all_behind[-1]) == (0, ())


def publish(conf: str, day: str = DAY) -> tuple[str, ...]:
    spec = load_spec(conf)
    (done,) = publish_target(spec, Target.of_day(spec, day))
    return done.written
