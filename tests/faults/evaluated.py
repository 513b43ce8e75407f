"""What is evaluated while something breaks, and whether a day is the old one or the new one, whole."""

from __future__ import annotations

import datetime as dt
import json
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import yaml

METRICS = ("ndcg@10", "ap", "rr", "p@5", "gauc", "auc", "auc_up(digits=1)", "logloss", "gini(ties=item)@3")
FIRST = dt.date(2026, 11, 1)
DAYS = tuple((FIRST + dt.timedelta(days=number)).isoformat() for number in range(16))
ROWS, OLD_ROWS, GROUPS = 300_000, 3_000, 20_000
TABLES = ("blocks", "curves", "groups", "items", "metrics", "parts", "quality", "runs", "states")
# What says when and by whom a table was written, in which two runs of the same rows differ.
OF_A_RUN = ("attempt_id", "day", "run_id", "spec_hash")
Tables = dict[str, pa.Table]


def rows(seed: int, count: int) -> pa.Table:
    """Impressions of two models with ties, of which some have no score."""
    draw = np.random.default_rng(seed)
    score = np.round(draw.random(count), 2)
    return pa.table(
        {
            "user": draw.integers(0, GROUPS, count),
            "item": draw.integers(0, 5_000, count),
            "one": pa.array(score, mask=draw.random(count) < 0.02),
            "two": draw.normal(size=count),
            "click": (draw.random(count) < 0.2).astype(np.int8),
            "device": draw.choice(["phone", "web", "tv"], count),
        }
    )


def bits(table: pa.Table) -> pa.Table:
    """The rows of ``table`` in one order, each number as its exact bits, without what says who wrote it."""
    table = table.drop_columns([name for name in OF_A_RUN if name in table.column_names]).replace_schema_metadata(None)
    columns = {}
    for name in table.column_names:
        column = table[name]
        if pa.types.is_floating(column.type):
            whole = column.combine_chunks()
            values = whole.fill_null(0.0).cast(pa.float64()).to_numpy(zero_copy_only=False)
            columns[name] = pa.array(values.view(np.int64), mask=np.asarray(whole.is_null()))
        elif pa.types.is_nested(column.type) or pa.types.is_dictionary(column.type):
            columns[name] = pa.array([json.dumps(value, default=repr) for value in column.to_pylist()])
        else:
            columns[name] = column.combine_chunks()
    plain = pa.table(columns).select(sorted(columns))
    return plain.sort_by([(name, "ascending") for name in plain.column_names])


@dataclass(frozen=True)
class Output:
    """The folder of tables that a test breaks, with its specs."""

    folder: Path
    old_conf: Path
    conf: Path
    evaluated: Evaluated

    def make_old(self, days: Iterable[str]) -> None:
        """Let each of ``days`` be there as of the old log."""
        days = sorted(days)
        sparkrank("evaluate", "--conf", str(self.old_conf), "--from", days[0], "--to", days[-1])

    def shown(self, day: str) -> str | None:
        """The name of the run that ``day`` shows."""
        try:
            return (self.folder / f"_days/{day}").readlink().name
        except FileNotFoundError:
            return None

    def has(self, pattern: str, before: str | None) -> bool:
        """Whether a run that is not ``before`` has something that matches ``pattern`` below ``_runs``."""
        runs = self.folder / "_runs"
        names = (each.relative_to(runs).parts[0] for each in runs.glob(pattern))
        return any(name != before and not name.endswith(".lock") for name in names)

    def is_new(self, day: str) -> bool:
        """Whether ``day`` is the new one. Fails where it is neither that nor the old one, whole."""
        found = self.tables(day)
        for is_new, wanted in ((True, self.evaluated.new), (False, self.evaluated.old)):
            if all(found[name].equals(wanted[name]) for name in wanted):
                return is_new
        differ = {
            which: [name for name in wanted if not found[name].equals(wanted[name])]
            for which, wanted in (("new", self.evaluated.new), ("old", self.evaluated.old))
        }
        raise AssertionError(f"{day} is neither the old nor the new day: {differ}")

    def tables(self, day: str) -> Tables:
        """The tables of ``day`` as a reader finds them, each as its bits; all must be of the run that is shown."""
        shown = self.shown(day)
        assert shown is not None, f"{day} is not there"
        there = {each.name for each in self.folder.iterdir() if (each / f"day={day}").is_symlink()}
        assert there == set(TABLES), there
        attempt = shown.rpartition(".")[2]
        found = {}
        for name in TABLES:
            files = sorted((self.folder / name / f"day={day}").iterdir())
            assert files, name
            assert all(file.stem.endswith(attempt) for file in files), files
            found[name] = pa.concat_tables([pq.read_table(file, partitioning=None) for file in files])
        listed = [(each["table"], each["name"], each["rows"]) for each in found.pop("runs")["files"].to_pylist()[0]]
        assert sorted(listed) == sorted(
            (name, file.name, pq.read_metadata(file).num_rows)
            for name in found
            for file in (self.folder / name / f"day={day}").iterdir()
        )
        return {name: bits(table) for name, table in found.items()}

    def clean(self, days: Iterable[str]) -> None:
        """``sparkrank clean``, after which nothing is there but one run for each of ``days``."""
        sparkrank("clean", "--conf", str(self.conf))
        days = sorted(days)
        runs = sorted(each.name for each in (self.folder / "_runs").iterdir())
        assert runs == sorted([*(f"{day}.lock" for day in days), *(str(self.shown(day)) for day in days)])
        assert sorted(each.name for each in (self.folder / "_days").iterdir()) == days
        for name in TABLES:
            assert sorted(each.name for each in (self.folder / name).iterdir()) == [f"day={day}" for day in days]
        for day in days:
            run = self.folder / "_runs" / str(self.shown(day))
            assert sorted(each.name for each in run.iterdir() if each.name != "_REPLACED") == sorted(TABLES), day


@dataclass(frozen=True)
class Evaluated:
    """Two logs, and the tables that undisturbed runs in this machine's own process make of them."""

    folder: Path
    old: Tables
    new: Tables

    @classmethod
    def made(cls, folder: Path) -> Evaluated:
        for log, seed, count in (("old", 1, OLD_ROWS), ("new", 2, ROWS)):
            (folder / log).mkdir()
            pq.write_table(rows(seed, count), folder / f"{log}.parquet", row_group_size=20_000)
            for day in DAYS:
                (folder / f"{log}/dt={day}").mkdir()
                (folder / f"{log}/dt={day}/rows.parquet").hardlink_to(folder / f"{log}.parquet")
        found = {}
        for log in ("old", "new"):
            output = cls(folder, {}, {}).output(folder / f"{log}-conf", folder / f"{log}-tables")
            conf = output.old_conf if log == "old" else output.conf
            sparkrank("evaluate", "--conf", str(conf), "--date", DAYS[0], "--set", "engine.lane=local")
            found[log] = output.tables(DAYS[0])
        return cls(folder, found["old"], found["new"])

    def output(self, folder: Path, tables: Path) -> Output:
        """Specs in ``folder`` whose output is ``tables``."""
        folder.mkdir(exist_ok=True)
        for log in ("old", "new"):
            columns = {"group": "user", "item": "item", "label": "click", "score": {"a": "one", "b": "two"}}
            document = {
                "input": {"path": f"{self.folder}/{log}/dt={{date}}", "columns": columns},
                "metrics": list(METRICS),
                "slices": ["device"],
                "output": {"path": str(tables)},
                # Many buckets, so that there is a while in which they are solved.
                "engine": {"buckets": 40, **({"lane": "local"} if log == "old" else {})},
            }
            (folder / f"{log}.yaml").write_text(yaml.safe_dump(document), encoding="utf-8")
        return Output(tables, folder / "old.yaml", folder / "new.yaml", self)


def sparkrank(*arguments: str) -> str:
    """The command in a process of its own, which must end with 0."""
    done = subprocess.run(
        [sys.executable, "-m", "sparkrank", *arguments], check=False, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
