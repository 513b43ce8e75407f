"""Tables of one day that stand under another: told by the run that wrote them, wherever it says so."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sparkrank.schemas.tables import RUNS
from tests.support.commands import exit_code
from tests.support.stored_files import list_again, one_file, without_checksums
from tests.windows.test_damaged import ITEMS, TEXTS
from tests.windows.week import DAYS, evaluate, impressions_of, merging, spec_of, write_log

FIRST, SECOND = DAYS[:2]


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two days of the same users, items and numbers of rows, with other scores: their tables have equal sizes."""
    folder = tmp_path_factory.mktemp("days")
    for day in (FIRST, SECOND):
        rows = impressions_of(FIRST, 200)
        rows["item_id"] = [f"i{row % 50}" for row in range(200)]
        rows["clicked"] = rows["clicked"] if day == FIRST else rows["clicked"].to_numpy()[::-1]
        write_log(folder, rows, day)
        evaluate(spec_of(folder, **ITEMS), day)
    return folder


@pytest.fixture
def folder(evaluated: Path, tmp_path: Path) -> Path:
    shutil.copytree(evaluated, tmp_path, symlinks=True, dirs_exist_ok=True)
    return tmp_path


def merge(folder: Path, last: str = SECOND, **changes: Any) -> int:
    return exit_code(*merging(spec_of(folder, **{**ITEMS, **changes}), first=FIRST, last=last))


def part(folder: Path, table: str, day: str) -> Path:
    return one_file(folder / f"tables/{table}/day={day}")


def rewrite(path: Path, change: Callable[[pa.Table], pa.Table]) -> None:
    pq.write_table(change(pq.read_table(path, partitioning=None)), path)


def of_runs(path: Path, **changes: Any) -> None:
    (run,) = pq.read_table(path, partitioning=None).to_pylist()
    pq.write_table(pa.Table.from_pylist([{**run, **changes}], schema=RUNS.schema), path)


@pytest.mark.parametrize("as_link", [True, False])
def test_a_day_copied_as_another_is_refused(folder: Path, capsys: pytest.CaptureFixture[str], as_link: bool) -> None:
    """Its groups would count twice, whether links are copied or what they show."""
    third = DAYS[2]
    for table in (folder / "tables").iterdir():
        if table.name.startswith("_"):
            continue
        source, target = table / f"day={SECOND}", table / f"day={third}"
        if as_link:
            target.symlink_to(source.readlink())
        else:
            shutil.copytree(source, target)
    assert merge(folder) == 0
    capsys.readouterr()
    assert merge(folder, last=third) == 4
    told = capsys.readouterr().err
    assert told.startswith(f"sparkrank: the tables of {third} are those of the run {SECOND}-")
    assert told.endswith(", of another day: evaluate that day again\n")


@pytest.mark.parametrize("table", TEXTS)
def test_one_table_of_another_day_is_refused(folder: Path, capsys: pytest.CaptureFixture[str], table: str) -> None:
    """Of a file by the same name, with as many rows."""
    theirs, ours = part(folder, table, FIRST), part(folder, table, SECOND)
    rows = pq.read_metadata(theirs).num_rows
    if table != "states":  # so that nothing but the run tells
        assert rows == pq.read_metadata(ours).num_rows or table != "items"
        rewrite(part(folder, "states", SECOND), lambda t: _with_sizes(t, table, part(folder, "states", FIRST)))
        list_again(folder / "tables", SECOND, "states")
    shutil.copy(theirs, ours)
    list_again(folder / "tables", SECOND, table)
    assert merge(folder) == 4
    told = capsys.readouterr().err
    assert told.startswith(f"sparkrank: the table {table} of {SECOND} is that of the run {FIRST}-"), told


def _with_sizes(states: pa.Table, kind: str, other: Path) -> pa.Table:
    """``states`` with the sizes of the states of ``kind`` that another day has."""
    sizes = {
        (row["model"], row["name"]): row["n_blocks"]
        for row in pq.read_table(other, partitioning=None).to_pylist()
        if row["kind"] == kind
    }
    rows = states.to_pylist()
    for row in rows:
        row["n_blocks"] = sizes[row["model"], row["name"]] if row["kind"] == kind else row["n_blocks"]
    return pa.Table.from_pylist(rows, schema=states.schema)


def test_a_run_that_is_none_of_the_day_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = part(folder, "runs", SECOND)
    before = path.read_bytes()
    for changes, sentence in (
        ({"status": "running"}, f"the run of {SECOND} has the status running, not done"),
        ({"files": None}, f"the table runs of {SECOND} has lost its list of files"),
        ({"run_id": f"{FIRST}-0123456789ab"}, f"the tables of {SECOND} are those of the run {FIRST}-0123456789ab"),
        ({"run_id": f"{SECOND}-0123456789ab"}, f"the table states of {SECOND} is that of the run {SECOND}-"),
        ({"run_id": ""}, f"the tables of {SECOND} are those of the run "),
    ):
        of_runs(path, **changes)
        assert merge(folder) == 4
        assert capsys.readouterr().err.startswith(f"sparkrank: {sentence}")
        path.write_bytes(before)


def test_days_of_older_versions_merge(folder: Path) -> None:
    """Their states name no run, nor do other tables, and their runs list no files."""
    window = folder / f"tables/windows/metrics/window={FIRST}..{SECOND}"
    assert merge(folder) == 0
    expected = pq.read_table(one_file(window), partitioning=None)
    without_checksums(folder / "tables", FIRST)
    rewrite(part(folder, "states", FIRST), lambda t: t.drop_columns(["run_id"]))
    assert merge(folder) == 0
    for table in ("blocks", "distributions", "items"):
        rewrite(part(folder, table, FIRST), lambda t: t.replace_schema_metadata(None))
    rewrite(part(folder, "runs", FIRST), lambda t: t.drop_columns(["files"]))
    assert merge(folder) == 0
    assert pq.read_table(one_file(window), partitioning=None).equals(expected)


def test_the_tables_of_a_day_name_its_run(folder: Path) -> None:
    (run,) = pq.read_table(part(folder, "runs", FIRST), partitioning=None).to_pylist()
    assert set(pq.read_table(part(folder, "states", FIRST), partitioning=None)["run_id"].to_pylist()) == {run["run_id"]}
    for table in ("blocks", "distributions", "items"):
        assert pq.read_schema(part(folder, table, FIRST)).metadata[b"run_id"].decode() == run["run_id"]
