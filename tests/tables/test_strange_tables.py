"""Stored tables that gates, comparisons and movers read, damaged: one sentence and exit code 4."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import sparkrank as sr
from tests.support.commands import exit_code
from tests.support.stored_files import one_file
from tests.windows.week import DAYS, evaluate, impressions_of, spec_of, spoil, write_log

Change = Callable[[pa.Table], pa.Table]
ASKED: dict[str, Any] = {
    "metrics": ["rr", "ndcg@5", "auc"],
    "slices": ["kind"],
    "compare": {"baseline": "production"},
    "gates": [{"metric": "rr", "min": 0, "not_worse_than": "history"}],
}


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two days with every table."""
    folder = tmp_path_factory.mktemp("strange")
    for day in DAYS[1:3]:
        write_log(folder, impressions_of(day, 200), day)
        evaluate(spec_of(folder, **ASKED), day)
    return folder


def change_of(name: str, how: Callable[[pa.ChunkedArray], Any]) -> Change:
    return lambda table: table.set_column(table.schema.get_field_index(name), name, how(table[name]))


HOW: dict[str, Callable[[pa.ChunkedArray], Any]] = {
    "as bytes": lambda column: column.cast(pa.binary()),
    "no UTF-8": lambda column: pa.array([b"\xff"] * len(column)).cast(pa.string(), safe=False),
    "first null": lambda column: pa.array([None, *column.to_pylist()[1:]], column.type),
    "nulls": lambda column: pa.nulls(len(column), column.type),
    "as text": lambda column: column.cast(pa.string()),
    "nested": lambda column: pa.array([[1]] * len(column)),
    "infinite": lambda column: pa.array([np.inf] * len(column), column.type),
    "below 0": lambda column: pc.subtract(column, 10**6),
}
TEXT, NUMBER = ("as bytes", "no UTF-8", "first null"), ("as text", "nested")


def damaged(names: str, how: tuple[str, ...]) -> list[tuple[str, Change]]:
    return [(name, change_of(name, HOW[way])) for name in names.split() for way in how]


# Of groups the numbers are looked at too: they are summed as they are read.
METRICS = [
    *damaged("model metric slice", TEXT),
    *damaged("n_groups value weight", NUMBER),
    *damaged("weight", ("infinite",)),
]
GROUPS = [
    *damaged("model", TEXT),
    *damaged("n_rows n_relevant", (*NUMBER, "below 0", "nulls")),
    *damaged("rr", (*NUMBER, "infinite")),
]
GATES = [
    *damaged("gate metric verdict kind", TEXT),
    *damaged("accepted", ("first null",)),
    *damaged("value", ("as text",)),
]
COMPARED = [*damaged("candidate baseline metric", TEXT), *damaged("difference ci_high", NUMBER)]
GATE = ("gate", "--date", DAYS[2])
DECOMPOSE = ("compare", "--left-date", DAYS[1], "--right-date", DAYS[2], "--model", "candidate", "--decompose", "kind")
MOVERS = ("movers", "--date", DAYS[2], "--metric", "rr")
TWICE = [(GATE, "metrics"), (GATE, "comparisons"), (DECOMPOSE, "metrics"), (MOVERS, "groups")]
CASES = [
    *((GATE, "metrics", *damage) for damage in METRICS),
    *((GATE, "gates", *damage) for damage in GATES),
    *((GATE, "comparisons", *damage) for damage in COMPARED),
    *((DECOMPOSE, "metrics", *damage) for damage in METRICS if damage[0] != "n_groups"),
    *((MOVERS, "groups", *damage) for damage in GROUPS),
    *((words, table, "one key", lambda rows: pa.concat_tables([rows, rows])) for words, table in TWICE),
]


def asked(folder: Path, *words: str) -> list[str]:
    return [words[0], "--conf", spec_of(folder, **ASKED), *words[1:]]


def test_what_no_run_writes_is_refused(evaluated: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(evaluated, tmp_path, symlinks=True, dirs_exist_ok=True)
    passed = []
    for words, table, part_of_sentence, change in CASES:
        files = [one_file(tmp_path / f"tables/{name}/day={DAYS[2]}") for name in (table, "runs")]
        before = {file: file.read_bytes() for file in files}
        spoil(tmp_path, table, change)
        code, error = exit_code(*asked(tmp_path, *words)), capsys.readouterr().err
        if code != 4 or error.count("\n") != 1 or part_of_sentence not in error:
            passed.append((words[0], table, part_of_sentence, code, error))
        for file, content in before.items():
            file.write_bytes(content)
    assert passed == []
    assert len(CASES) > 60


def test_a_table_of_runs_of_endless_rows_is_not_read(
    evaluated: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(evaluated, tmp_path, symlinks=True, dirs_exist_ok=True)
    (part,) = (tmp_path / f"tables/runs/day={DAYS[2]}").glob("*.parquet")
    row = pq.read_table(part, partitioning=None)
    many = row.take(pa.array(np.zeros(100_000, np.int64)))
    with pq.ParquetWriter(part, many.schema) as writer:
        for _ in range(3):
            writer.write_table(many)
    assert exit_code(*asked(tmp_path, *GATE)) == 4
    assert "has 300000 rows, not one" in capsys.readouterr().err


def test_tables_in_memory_are_looked_at_too(evaluated: Path) -> None:
    metrics, groups = (
        pq.read_table(one_file(evaluated / f"tables/{name}/day={DAYS[2]}"), partitioning=None)
        for name in ("metrics", "groups")
    )
    groups = groups.set_column(0, "model", groups["model"].cast(pa.string()))
    for _, change in METRICS:
        with pytest.raises(sr.InputError):
            sr.decompose(metrics, change(metrics), "kind", left_model="candidate", right_model="candidate")
    for _, change in GROUPS:
        for sides in ((change(groups), groups), (groups, change(groups))):
            with pytest.raises(sr.InputError):
                sr.movers(*sides, "rr", left_model="production", right_model="candidate")
