"""Tables of a day that are damaged, there twice, or of another day: a sentence, exit code 4, and no window."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sparkrank.schemas.tables import RUNS
from tests.support.stored_files import list_again, one_file, without_checksums
from tests.windows.week import (
    DAYS,
    evaluate,
    exit_code,
    impressions_of,
    merging,
    refused,
    spec_of,
    spoil,
    write_log,
)

Change = Callable[[pa.Table], pa.Table]
FIRST, DAY, THIRD = DAYS[:3]
ITEMS: dict[str, Any] = {"metrics": ["ap", "median(ap)", "coverage", "auc", "f1"], "input__columns__item": "item_id"}
ASKED = {"plain": ITEMS, "weighted": {**ITEMS, "input__columns__weight": "weight"}}


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two days of the same users, items and numbers of rows, whose every table a merge reads, without weights and with
    them.
    """
    folder = tmp_path_factory.mktemp("damaged")
    for name, asked in ASKED.items():
        (folder / name).mkdir()
        for day in (FIRST, DAY):
            rows = impressions_of(FIRST, 200)
            rows["item_id"] = [f"i{row % 50}" for row in range(200)]
            rows["clicked"] = rows["clicked"].to_numpy()[:: 1 if day == FIRST else -1]
            write_log(folder / name, rows, day)
            evaluate(spec_of(folder / name, **asked), day)
    return folder


@pytest.fixture
def folder(evaluated: Path, tmp_path: Path) -> Path:
    shutil.copytree(evaluated / "plain", tmp_path, symlinks=True, dirs_exist_ok=True)
    return tmp_path


def words(folder: Path, first: str = DAY, last: str = DAY, asked: str = "plain") -> list[str]:
    return merging(spec_of(folder, **ASKED[asked]), first=first, last=last)


def part(folder: Path, table: str, day: str = DAY) -> Path:
    return one_file(folder / f"tables/{table}/day={day}")


def rewrite(path: Path, change: Change) -> None:
    pq.write_table(change(pq.read_table(path, partitioning=None)), path)


def with_column(name: str, how: Callable[[pa.ChunkedArray], Any]) -> Change:
    return lambda table: table.set_column(table.schema.get_field_index(name), name, how(table[name]))


TEXTS = {
    "states": ["kind", "definition", "source", "name"],
    "blocks": ["model", "rule"],
    "distributions": ["model", "metric"],
    "items": ["exposure", "item"],
}
NUMBERS = {
    "states": ["version", "n_groups", "count", "n_blocks", "wwvv_5", "total_2"],
    "blocks": ["block", "offset"],
    "distributions": ["groups"],
    "items": ["relevant"],
}
Fault = tuple[Callable[[str], Change], str]
TEXT_FAULTS: list[Fault] = [
    (
        lambda name: with_column(name, lambda column: pa.array([b"\xff"] * len(column)).cast(pa.string(), safe=False)),
        "has a text in {} that is not UTF-8",
    ),
    (
        lambda name: with_column(name, lambda column: column.cast(pa.binary())),
        "has {} of type binary, not string",
    ),
]
NUMBER_FAULTS: list[Fault] = [
    (lambda name: with_column(name, lambda column: column.cast(pa.string())), "has {} of type string, not ")
]
FAULTS_OF_BOTH: list[Fault] = [
    (lambda name: with_column(name, lambda column: pa.nulls(len(column), column.type)), "lacks {}"),
    (lambda name: with_column(name, lambda column: pa.array([[1]] * len(column))), "has {} of type list"),
    (lambda name: lambda table: table.drop_columns([name]), "lacks {}"),
]
KEYS = {
    "states": "kind, model, slice, slice_value, name, part",
    "parts": "model, slice, slice_value, rule, part, block",
    "blocks": "model, slice, slice_value, rule, block",
    "distributions": "model, slice, slice_value, metric, rule, block",
    "items": "model, slice, slice_value, exposure, item",
}


def cases() -> Iterator[tuple[str, Change, str]]:
    """A table, what damages it, and how the sentence goes on."""
    for columns, own in ((TEXTS, TEXT_FAULTS), (NUMBERS, NUMBER_FAULTS)):
        for table, names in columns.items():
            for name in names:
                for change, sentence in (*own, *FAULTS_OF_BOTH):
                    yield table, change(name), sentence.format(name)
    for table, key in KEYS.items():  # the first row in place of the last, so that there are as many as before
        yield table, lambda rows: pa.concat_tables([rows[:-1], rows[:1]]), f"has two rows of one key ({key})"
    yield "states", lambda rows: pa.concat_tables([rows, rows]), "has two rows of one key"


def test_wrong_types_texts_and_keys_are_refused(folder: Path, capsys) -> None:
    """Also where ``runs`` has the checksum of the file, as of a table that something has written anew."""
    passed, count = [], 0
    for table, change, sentence in cases():
        before = {path: path.read_bytes() for path in (part(folder, table), part(folder, "runs"))}
        spoil(folder, table, change, DAY)
        code, error = exit_code(*words(folder)), capsys.readouterr().err
        starts = error.startswith(f"sparkrank: the table {table} of {DAY} {sentence}")
        if code != 4 or not starts or not error.endswith("evaluate that day again\n"):
            passed.append((table, sentence, code, error))
        for path, content in before.items():
            path.write_bytes(content)
        count += 1
    assert passed == []
    assert count > 60
    assert not (folder / "tables/windows").exists()
    assert exit_code(*words(folder)) == 0


@pytest.mark.parametrize("asked", ASKED)
def test_rows_in_another_order_are_the_same_states(evaluated: Path, tmp_path: Path, asked: str) -> None:
    shutil.copytree(evaluated / asked, tmp_path, symlinks=True, dirs_exist_ok=True)
    windows = []
    for order in (lambda count: np.arange(count)[::-1], np.random.default_rng(1).permutation):
        for table in ("", *TEXTS):
            if table:
                spoil(tmp_path, table, lambda rows, order=order: rows.take(order(rows.num_rows)), DAY)
            assert exit_code(*words(tmp_path, asked=asked)) == 0
            window = one_file(tmp_path / f"tables/windows/metrics/window={DAY}..{DAY}")
            windows.append(pq.read_table(window, partitioning=None).drop_columns(["run_id"]))
    assert all(window.equals(windows[0]) for window in windows)


@pytest.mark.parametrize("table", ["states", "runs"])
def test_a_file_that_the_run_did_not_write_is_refused(folder: Path, capsys, table: str) -> None:
    """Another copy of the table, an empty table and any other file."""
    own = part(folder, table)
    for name, content in (("part-1.parquet", own.read_bytes()), ("notes.txt", b"notes")):
        (own.parent / name).write_bytes(content)
        error = refused(capsys, *words(folder))
        assert f"the table {table} of {DAY} " in error
        if table != "runs":
            assert f"of {DAY} has a file that its run did not write (" in error
            assert f"{name}): remove it, or evaluate that day again" in error
        (own.parent / name).unlink()
    (own.parent / "_SUCCESS").write_text("")  # hidden, as readers of Parquet take it
    assert exit_code(*words(folder)) == 0


@pytest.mark.parametrize("table", ["blocks", "runs"])
def test_a_file_that_is_lost_or_another_is_refused(folder: Path, capsys, table: str) -> None:
    own = part(folder, table)
    rows, content = pq.read_table(own, partitioning=None), own.read_bytes()

    def cut() -> None:
        pq.write_table(rows[:-1], own)

    def as_in_releases_before() -> None:
        cut()
        without_checksums(folder / "tables", DAY)

    lost = f"{DAY} has lost its table {table}: evaluate that day again"
    damages: list[tuple[Callable[[], object], str]] = [
        (cut, f"where its run wrote {len(content)}: "),
        (
            lambda: own.write_bytes(bytes([*content[:100], content[100] ^ 1, *content[101:]])),
            f"the table {table} of {DAY} has other bytes in {own.resolve()} than",
        ),
        (as_in_releases_before, f"where its run wrote {rows.num_rows}: evaluate"),
        (lambda: own.rename(own.with_name("other.parquet")), "other.parquet): remove it"),
        (own.with_name("other.parquet").unlink, f"the table {table} of {DAY} has lost its file {own.name}: evaluate"),
    ]
    if table == "runs":
        damages = [(cut, f"the table runs of {DAY} has 0 rows"), (own.unlink, lost)]
    for damage, sentence in damages:
        damage()
        assert sentence in refused(capsys, *words(folder))


def test_a_run_lists_the_files_of_every_table_and_these_name_it(evaluated: Path) -> None:
    tables = evaluated / "plain/tables"
    (run,) = pq.read_table(part(evaluated / "plain", "runs"), partitioning=None).to_pylist()
    files = {path: path.read_bytes() for path in tables.glob(f"[a-z]*/day={DAY}/*") if "/runs/" not in str(path)}
    assert sorted(tuple(listed.values()) for listed in run["files"]) == sorted(
        (path.parts[-3], path.name, pq.read_metadata(path).num_rows, len(content), hashlib.sha256(content).hexdigest())
        for path, content in files.items()
    )
    assert {path.parts[-3] for path in files} >= {"metrics", "groups", "quality", *TEXTS}
    states = pq.read_table(part(evaluated / "plain", "states"), partitioning=None)
    assert set(states["run_id"].to_pylist()) == {run["run_id"]}
    for table in ("blocks", "distributions", "items"):
        assert pq.read_schema(part(evaluated / "plain", table)).metadata[b"run_id"].decode() == run["run_id"]


def test_a_day_copied_as_another_is_refused(folder: Path, capsys) -> None:
    """Its groups would count twice."""
    for source in list((folder / "tables").glob(f"[a-z]*/day={DAY}")):
        shutil.copytree(source, source.with_name(f"day={THIRD}"))
    assert exit_code(*words(folder, FIRST)) == 0
    error = refused(capsys, *words(folder, FIRST, THIRD))
    assert error.startswith(f"sparkrank: the tables of {THIRD} are those of the run {DAY}-")
    assert error.endswith(", which is a run of another day: evaluate that day again\n")


@pytest.mark.parametrize("table", TEXTS)
def test_one_table_of_another_day_is_refused(folder: Path, capsys, table: str) -> None:
    """Whatever their sizes."""
    shutil.copy(part(folder, table, FIRST), part(folder, table))
    list_again(folder / "tables", DAY, table)
    sentence = f"sparkrank: the table {table} of {DAY} is that of the run {FIRST}-"
    assert refused(capsys, *words(folder, FIRST)).startswith(sentence)


def test_a_run_that_is_none_of_the_day_is_refused(folder: Path, capsys) -> None:
    path = part(folder, "runs")
    (run,) = pq.read_table(path, partitioning=None).to_pylist()
    for changes, sentence in (
        ({"status": "running"}, f"the run of {DAY} has the status running, not done"),
        ({"files": None}, f"the table runs of {DAY} has lost its list of files"),
        ({"run_id": f"{FIRST}-0123456789ab"}, f"the tables of {DAY} are those of the run {FIRST}-0123456789ab"),
        ({"run_id": f"{DAY}-0123456789ab"}, f"the table states of {DAY} is that of the run {DAY}-"),
        ({"run_id": ""}, f"the tables of {DAY} are those of the run "),
    ):
        pq.write_table(pa.Table.from_pylist([{**run, **changes}], schema=RUNS.schema), path)
        assert refused(capsys, *words(folder, FIRST)).startswith(f"sparkrank: {sentence}")


def test_days_of_older_versions_merge(folder: Path) -> None:
    """Their states name no run, nor do other tables, and their runs list no files."""

    def merged() -> pa.Table:
        assert exit_code(*words(folder, FIRST)) == 0
        return pq.read_table(one_file(folder / f"tables/windows/metrics/window={FIRST}..{DAY}"), partitioning=None)

    expected = merged()
    without_checksums(folder / "tables", FIRST)
    rewrite(part(folder, "states", FIRST), lambda rows: rows.drop_columns(["run_id"]))
    assert merged().equals(expected)
    for table in ("blocks", "distributions", "items"):
        rewrite(part(folder, table, FIRST), lambda rows: rows.replace_schema_metadata(None))
    rewrite(part(folder, "runs", FIRST), lambda rows: rows.drop_columns(["files"]))
    assert merged().equals(expected)
