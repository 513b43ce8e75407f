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


def constant(value: Any) -> Callable[[pa.ChunkedArray], Any]:
    return lambda column: pa.array([value] * len(column), column.type)


def no_utf8(column: pa.ChunkedArray) -> pa.Array:
    return pa.array([b"\xff"] * len(column)).cast(pa.string(), safe=False)


def first_null(column: pa.ChunkedArray) -> pa.Array:
    return pa.array([None, *column.to_pylist()[1:]], column.type)


def twice(table: pa.Table) -> pa.Table:
    return pa.concat_tables([table, table])


def nested(column: pa.ChunkedArray) -> pa.Array:
    return pa.array([[1]] * len(column))


TEXT = ("as bytes", lambda column: column.cast(pa.binary())), ("no UTF-8", no_utf8), ("null", first_null)
AS_TEXT = ("as text", lambda column: column.cast(pa.string()))
NUMBER = (AS_TEXT, ("nested", nested))
# Of groups the numbers are looked at too: they are summed as they are read.
COUNT = (*NUMBER, ("below 0", lambda column: pc.subtract(column, 10**6)))
METRICS = [
    *(("metrics", name, *how) for name in ("model", "metric", "slice") for how in TEXT),
    *(("metrics", name, *how) for name in ("n_groups", "value", "weight") for how in NUMBER),
    ("metrics", "weight", "infinite", constant(np.inf)),
]
GROUPS = [
    *(("groups", "model", *how) for how in TEXT),
    *(
        ("groups", name, *how)
        for name in ("n_rows", "n_relevant")
        for how in (*COUNT, ("null", lambda column: pa.nulls(len(column), column.type)))
    ),
    *(("groups", "rr", *how) for how in (*NUMBER, ("infinite", constant(np.inf)))),
]
GATES = [
    *(("gates", name, *how) for name in ("gate", "metric", "verdict", "kind") for how in TEXT),
    ("gates", "accepted", "null", first_null),
    ("gates", "value", *AS_TEXT),
]
COMPARED = [
    *(("comparisons", name, *how) for name in ("candidate", "baseline", "metric") for how in TEXT),
    *(("comparisons", name, *how) for name in ("difference", "ci_high") for how in NUMBER),
]
GATE = ("gate", "--date", DAYS[2])
DECOMPOSE = ("compare", "--left-date", DAYS[1], "--right-date", DAYS[2], "--model", "candidate", "--decompose", "kind")
MOVERS = ("movers", "--date", DAYS[2], "--metric", "rr")
TWICE = [(GATE, "metrics"), (GATE, "comparisons"), (DECOMPOSE, "metrics"), (MOVERS, "groups")]
CASES = [
    *((GATE, table, column, change_of(column, how)) for table, column, _, how in (*METRICS, *GATES, *COMPARED)),
    *((DECOMPOSE, table, name, change_of(name, how)) for table, name, _, how in METRICS if name != "n_groups"),
    *((MOVERS, table, column, change_of(column, how)) for table, column, _, how in GROUPS),
    *((words, table, "one key", twice) for words, table in TWICE),
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


@pytest.mark.parametrize("words", [("gate", "--date", DAYS[2]), ("merge", "--from", DAYS[1], "--to", DAYS[2])])
def test_a_table_of_runs_of_endless_rows_is_not_read(
    evaluated: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    shutil.copytree(evaluated, tmp_path, symlinks=True, dirs_exist_ok=True)
    (part,) = (tmp_path / f"tables/runs/day={DAYS[2]}").glob("*.parquet")
    row = pq.read_table(part, partitioning=None)
    many = row.take(pa.array(np.zeros(100_000, np.int64)))
    with pq.ParquetWriter(part, many.schema) as writer:
        for _ in range(3):
            writer.write_table(many)
    assert exit_code(*asked(tmp_path, *words)) == 4
    assert "has 300000 rows, not one" in capsys.readouterr().err


def test_tables_in_memory_are_looked_at_too(evaluated: Path) -> None:
    metrics, groups = (
        pq.read_table(one_file(evaluated / f"tables/{name}/day={DAYS[2]}"), partitioning=None)
        for name in ("metrics", "groups")
    )
    groups = groups.set_column(0, "model", groups["model"].cast(pa.string()))
    for _, column, _, how in METRICS:
        with pytest.raises(sr.InputError):
            sr.decompose(
                metrics, change_of(column, how)(metrics), "kind", left_model="candidate", right_model="candidate"
            )
    for _, column, _, how in GROUPS:
        for side in (0, 1):
            sides = [groups, groups]
            sides[side] = change_of(column, how)(groups)
            with pytest.raises(sr.InputError):
                sr.movers(*sides, "rr", left_model="production", right_model="candidate")
