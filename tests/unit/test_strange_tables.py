"""Stored tables that gates, comparisons and movers read, damaged or forged: one sentence and exit code 4."""

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
from tests.unit.commands import exit_code
from tests.unit.windows.week import DAYS, evaluate, impressions_of, spec_of, spoil, write_log

pytestmark = pytest.mark.same_without_loops

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
COUNT = (
    ("below 0", lambda column: pc.subtract(column, 10**6)),
    ("as text", lambda column: column.cast(pa.string())),
    ("nested", nested),
)
NUMBER = (
    ("infinite", constant(np.inf)),
    ("below all", constant(-np.inf)),
    ("as text", lambda column: column.cast(pa.string())),
    ("nested", nested),
)
METRICS = [
    *(("metrics", name, *how) for name in ("model", "metric", "slice") for how in TEXT),
    *(("metrics", name, *how) for name in ("n_groups", "n_undefined", "n_rows") for how in COUNT),
    *(("metrics", name, *how) for name in ("value", "stderr", "ci_low", "weight") for how in NUMBER),
    ("metrics", "weight", "below 0", constant(-1.0)),
]
GROUPS = [
    *(("groups", "model", *how) for how in TEXT),
    *(
        ("groups", name, *how)
        for name in ("n_rows", "n_relevant")
        for how in (*COUNT, ("null", lambda column: pa.nulls(len(column), column.type)))
    ),
    *(("groups", "rr", *how) for how in NUMBER),
]
GATES = [
    *(("gates", name, *how) for name in ("gate", "metric", "verdict", "kind") for how in TEXT),
    ("gates", "verdict", "another word", constant("passed")),
    ("gates", "accepted", "null", first_null),
    ("gates", "value", "as text", lambda column: column.cast(pa.string())),
]
COMPARED = [
    *(("comparisons", name, *how) for name in ("candidate", "baseline", "metric") for how in TEXT),
    *(("comparisons", name, *how) for name in ("difference", "stderr", "ci_high") for how in NUMBER),
]


def asked(folder: Path, *words: str) -> list[str]:
    return [words[0], "--conf", spec_of(folder, **ASKED), *words[1:]]


DECOMPOSE = ("compare", "--left-date", DAYS[1], "--right-date", DAYS[2], "--model", "candidate", "--decompose", "kind")
MOVERS = ("movers", "--date", DAYS[2], "--metric", "rr")
CASES = [
    *((("gate", "--date", DAYS[2]), *each) for each in (*METRICS, *GATES, *COMPARED)),
    *((DECOMPOSE, *each) for each in METRICS if each[1] not in ("n_groups", "n_undefined", "n_rows")),
    *((MOVERS, *each) for each in GROUPS),
]


@pytest.mark.parametrize(
    ("words", "table", "column", "name", "how"), CASES, ids=[f"{w[0]}-{t}.{c}-{n}" for w, t, c, n, _ in CASES]
)
def test_what_no_run_writes_is_refused(
    evaluated: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
    table: str,
    column: str,
    name: str,
    how: Callable[[pa.ChunkedArray], Any],
) -> None:
    shutil.copytree(evaluated, tmp_path, symlinks=True, dirs_exist_ok=True)
    spoil(tmp_path, table, change_of(column, how))
    code = exit_code(*asked(tmp_path, *words))
    told = capsys.readouterr().err
    assert code == 4, told
    assert told.count("\n") == 1
    assert column in told, told


@pytest.mark.parametrize(
    ("words", "table"),
    [
        (("gate", "--date", DAYS[2]), "metrics"),
        (("gate", "--date", DAYS[2]), "comparisons"),
        (DECOMPOSE, "metrics"),
        (MOVERS, "groups"),
    ],
)
def test_rows_that_stand_twice_are_refused(
    evaluated: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], table: str
) -> None:
    shutil.copytree(evaluated, tmp_path, symlinks=True, dirs_exist_ok=True)
    spoil(tmp_path, table, twice)
    assert exit_code(*asked(tmp_path, *words)) == 4
    assert "one key" in capsys.readouterr().err


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


@pytest.mark.parametrize("row", [each for each in METRICS if each[2] != "as text" or each[1] == "value"])
def test_tables_in_memory_are_looked_at_too(evaluated: Path, row: tuple[str, str, str, Any]) -> None:
    good = pq.read_table(evaluated / f"tables/metrics/day={DAYS[2]}", partitioning=None)
    bad = change_of(row[1], row[3])(good)
    with pytest.raises(sr.InputError):
        sr.decompose(good, bad, "kind", left_model="candidate", right_model="candidate")


@pytest.mark.parametrize("row", GROUPS, ids=[f"{column}-{name}" for _, column, name, _ in GROUPS])
@pytest.mark.parametrize("side", [0, 1])
def test_group_tables_in_memory_are_looked_at_too(evaluated: Path, row: tuple[str, str, str, Any], side: int) -> None:
    (part,) = (evaluated / f"tables/groups/day={DAYS[2]}").glob("*.parquet")
    good = pq.read_table(part, partitioning=None)
    sides = [good, good]
    sides[side] = change_of(row[1], row[3])(good.set_column(0, "model", good["model"].cast(pa.string())))
    with pytest.raises(sr.InputError):
        sr.movers(*sides, "rr", left_model="production", right_model="candidate")
