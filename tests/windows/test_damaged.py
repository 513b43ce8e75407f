"""Tables of a day that are damaged, or are there twice: a sentence and exit code 4, and no window."""

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

from tests.support.commands import exit_code
from tests.support.stored_files import one_file, without_checksums
from tests.windows.week import DAYS, evaluate, impressions_of, merging, spec_of, spoil, write_log

Change = Callable[[pa.Table], pa.Table]
ITEMS: dict[str, Any] = {"metrics": ["ap", "median(ap)", "coverage", "auc", "f1"], "input__columns__item": "item_id"}
WEIGHTED: dict[str, Any] = {**ITEMS, "input__columns__weight": "weight"}


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A day with every table that a merge reads, without weights and with them."""
    folder = tmp_path_factory.mktemp("damaged")
    for name, changes in (("plain", ITEMS), ("weighted", WEIGHTED)):
        (folder / name).mkdir()
        rows = impressions_of(DAYS[2], 200)
        rows["item_id"] = [f"i{row % 50}" for row in range(200)]
        write_log(folder / name, rows, DAYS[2])
        evaluate(spec_of(folder / name, **changes), DAYS[2])
    return folder


def merge(folder: Path, **changes: Any) -> int:
    return exit_code(*merging(spec_of(folder, **changes), first=DAYS[2], last=DAYS[2]))


def with_column(table: pa.Table, name: str, values: pa.Array | pa.ChunkedArray) -> pa.Table:
    return table.set_column(table.schema.get_field_index(name), name, values)


def cast(name: str, kind: pa.DataType) -> Change:
    return lambda table: with_column(table, name, table[name].cast(kind))


def no_utf8(name: str) -> Change:
    """The texts of the column without the second byte of a letter of two."""
    return lambda table: with_column(table, name, pa.array([b"\xff"] * table.num_rows).cast(pa.string(), safe=False))


def twice(table: pa.Table) -> pa.Table:
    return pa.concat_tables([table, table])


def a_row_again(table: pa.Table) -> pa.Table:
    """The first row in place of the last, so that there are as many as before."""
    return pa.concat_tables([table[:-1], table[:1]])


def nested(name: str) -> Change:
    return lambda table: with_column(table, name, pa.array([[1]] * table.num_rows))


def nulls(name: str) -> Change:
    return lambda table: with_column(table, name, pa.nulls(table.num_rows, table.schema.field(name).type))


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
    (no_utf8, "has a text in {} that is not UTF-8"),
    (lambda name: cast(name, pa.binary()), "has {} of type binary, not string"),
]
NUMBER_FAULTS: list[Fault] = [(lambda name: cast(name, pa.string()), "has {} of type string, not ")]
FAULTS_OF_BOTH: list[Fault] = [
    (nulls, "lacks {}"),
    (nested, "has {} of type list"),
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
    for table, key in KEYS.items():
        yield table, a_row_again, f"has rows of one key twice ({key})"
    yield "states", twice, "has rows of one key twice"


def test_wrong_types_texts_and_keys_are_refused(evaluated: Path, tmp_path: Path, capsys) -> None:
    """Also where ``runs`` has the checksum of the file, as of a table that something has written anew."""
    shutil.copytree(evaluated / "plain", tmp_path, symlinks=True, dirs_exist_ok=True)
    runs = one_file(tmp_path / f"tables/runs/day={DAYS[2]}")
    passed, count = [], 0
    for table, change, sentence in cases():
        file = one_file(tmp_path / f"tables/{table}/day={DAYS[2]}")
        before = {path: path.read_bytes() for path in (file, runs)}
        spoil(tmp_path, table, change)
        code, error = merge(tmp_path, **ITEMS), capsys.readouterr().err
        starts = error.startswith(f"sparkrank: the table {table} of {DAYS[2]} {sentence}")
        if code != 4 or not starts or not error.endswith("evaluate that day again\n"):
            passed.append((table, sentence, code, error))
        for path, content in before.items():
            path.write_bytes(content)
        count += 1
    assert passed == []
    assert count > 60
    assert not (tmp_path / "tables/windows").exists()
    assert merge(tmp_path, **ITEMS) == 0


@pytest.mark.parametrize(
    "change",
    [lambda t: t.take(np.arange(t.num_rows)[::-1]), lambda t: t.take(np.random.default_rng(1).permutation(t.num_rows))],
)
@pytest.mark.parametrize("of", ["plain", "weighted"])
def test_rows_in_another_order_are_the_same_states(evaluated: Path, tmp_path: Path, of: str, change: Change) -> None:
    asked = {"plain": ITEMS, "weighted": WEIGHTED}[of]
    shutil.copytree(evaluated / of, tmp_path, symlinks=True, dirs_exist_ok=True)
    window = tmp_path / f"tables/windows/metrics/window={DAYS[2]}..{DAYS[2]}"
    found = []
    for table in (None, *TEXTS):
        if table is not None:
            spoil(tmp_path, table, change)
        assert merge(tmp_path, **asked) == 0
        found.append(pq.read_table(one_file(window), partitioning=None).drop_columns(["run_id"]))
    assert all(each.equals(found[0]) for each in found)


@pytest.mark.parametrize("table", [*TEXTS, "runs"])
def test_a_file_that_the_run_did_not_write_is_refused(evaluated: Path, tmp_path: Path, capsys, table: str) -> None:
    """Another copy of the table, an empty table and any other file."""
    shutil.copytree(evaluated / "plain", tmp_path, symlinks=True, dirs_exist_ok=True)
    part = one_file(tmp_path / f"tables/{table}/day={DAYS[2]}")
    for name, content in (("part-1.parquet", part.read_bytes()), ("notes.txt", b"notes")):
        (part.parent / name).write_bytes(content)
        assert merge(tmp_path, **ITEMS) == 4
        told = capsys.readouterr().err
        if table == "runs":
            assert f"the table runs of {DAYS[2]} " in told
        else:
            assert told.startswith(
                f"sparkrank: the table {table} of {DAYS[2]} holds a file that its run did not write ("
            )
            assert f"{name}): remove it, or evaluate that day again" in told
        (part.parent / name).unlink()
    (part.parent / "_SUCCESS").write_text("")  # hidden, as readers of Parquet take it
    assert merge(tmp_path, **ITEMS) == 0


@pytest.mark.parametrize("table", [*TEXTS, "runs"])
def test_a_file_that_is_lost_or_another_is_refused(evaluated: Path, tmp_path: Path, capsys, table: str) -> None:
    shutil.copytree(evaluated / "plain", tmp_path, symlinks=True, dirs_exist_ok=True)
    part = one_file(tmp_path / f"tables/{table}/day={DAYS[2]}")
    rows = pq.read_table(part, partitioning=None)
    content = part.read_bytes()
    pq.write_table(rows[:-1], part)
    assert merge(tmp_path, **ITEMS) == 4
    told = f"the table runs of {DAYS[2]} has 0 rows" if table == "runs" else f"where its run wrote {len(content)}: "
    assert told in capsys.readouterr().err
    if table != "runs":
        part.write_bytes(bytes([*content[:100], content[100] ^ 1, *content[101:]]))
        assert merge(tmp_path, **ITEMS) == 4
        assert f"the table {table} of {DAYS[2]} has other bytes in {part.resolve()} than" in capsys.readouterr().err
        pq.write_table(rows[:-1], part)
        without_checksums(tmp_path / "tables", DAYS[2])  # as runs of releases before have listed their files
        assert merge(tmp_path, **ITEMS) == 4
        assert f"where its run wrote {rows.num_rows}: evaluate" in capsys.readouterr().err
    part.rename(part.with_name("other.parquet"))
    assert merge(tmp_path, **ITEMS) == 4
    if table != "runs":
        assert "other.parquet): remove it" in capsys.readouterr().err
    part.with_name("other.parquet").unlink()
    capsys.readouterr()
    assert merge(tmp_path, **ITEMS) == 4
    told = (
        "there are no states of"
        if table == "states"
        else f"{DAYS[2]} has lost its table {table}: evaluate that day again"
    )
    assert told in capsys.readouterr().err


def test_a_run_lists_the_files_of_every_table(evaluated: Path) -> None:
    tables = evaluated / "plain/tables"
    (run,) = pq.read_table(tables / f"runs/day={DAYS[2]}", partitioning=None).to_pylist()
    expected = {
        (folder.name, file.name, pq.read_metadata(file).num_rows)
        for folder in tables.iterdir()
        if not folder.name.startswith("_") and folder.name != "runs"
        for file in (folder / f"day={DAYS[2]}").iterdir()
    }
    assert {(each["table"], each["name"], each["rows"]) for each in run["files"]} == expected
    for each in run["files"]:
        content = (tables / each["table"] / f"day={DAYS[2]}" / each["name"]).read_bytes()
        assert (each["bytes"], each["checksum"]) == (len(content), hashlib.sha256(content).hexdigest())
    assert {table for table, *_ in expected} >= {"metrics", "groups", "quality", *TEXTS}
