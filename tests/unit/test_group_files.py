"""The group table in files: nothing lost, nothing twice, whatever failed on the way."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sparkrank as sr
from sparkrank.engine import group_files
from sparkrank.engine.group_files import GroupFiles
from sparkrank.errors import InputError


def _part(*values: int) -> pa.Table:
    return pa.table({"value": values})


def _stored(folder: Path) -> list[list[int]]:
    return sorted(pq.read_table(file)["value"].to_pylist() for file in folder.glob("*.parquet"))


def test_parts_fill_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_files, "ROW_GROUP_ROWS", 1)
    monkeypatch.setattr(group_files, "FILE_ROWS", 3)
    files = GroupFiles.at(str(tmp_path / "new" / "groups"))
    names = list(files.write([_part(1, 2), _part(3), _part(4, 5), _part(6)]))
    assert len(set(names)) == 2
    assert _stored(tmp_path / "new" / "groups") == [[1, 2, 3], [4, 5, 6]]


def test_a_row_group_is_written_before_the_next_is_gathered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So what a writer holds does not grow with its file."""
    monkeypatch.setattr(group_files, "ROW_GROUP_ROWS", 2)
    written: list[int] = []
    write = pq.ParquetWriter.write_table
    monkeypatch.setattr(
        pq.ParquetWriter, "write_table", lambda self, rows, **how: (written.append(len(rows)), write(self, rows, **how))
    )
    given = 0

    def parts() -> Iterator[pa.Table]:
        nonlocal given
        for number in range(7):
            assert given - sum(written) <= 2
            yield _part(number)
            given += 1

    (name,) = GroupFiles.at(str(tmp_path)).write(parts())
    file = pq.ParquetFile(tmp_path / name)
    assert [file.metadata.row_group(index).num_rows for index in range(file.num_row_groups)] == [2, 2, 2, 1]
    assert file.read()["value"].to_pylist() == list(range(7))


def test_nothing_to_write_is_no_file(tmp_path: Path) -> None:
    assert list(GroupFiles.at(str(tmp_path)).write([])) == []
    assert not list(tmp_path.iterdir())


def test_what_no_result_names_is_removed(tmp_path: Path) -> None:
    files = GroupFiles.at(str(tmp_path))
    (lost,) = files.write([_part(1)])
    (kept,) = files.write([_part(1)])  # the second attempt of the same task
    files.keep({kept})
    assert lost != kept
    assert [file.name for file in tmp_path.iterdir()] == [kept]


def test_a_folder_with_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").touch()
    with pytest.raises(InputError, match="the folder is not empty"):
        GroupFiles.at(str(tmp_path))


def test_evaluate_writes_the_rows_that_it_else_returns(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    log = pa.table({"user": rng.integers(0, 50, 600), "score": rng.random(600), "label": rng.integers(0, 2, 600)})
    asked = {"metrics": ["ndcg@5", "rr"], "group": "user", "score": "score", "label": "label", "buckets": 4}
    held = sr.evaluate(log, **asked)
    written = sr.evaluate(log, **asked, group_table=str(tmp_path / "groups"))
    assert written.groups is None
    stored = pq.read_table(tmp_path / "groups")
    assert stored.num_rows == 50
    assert stored.sort_by("user").equals(held.groups.sort_by("user"))
    assert written.metrics.equals(held.metrics)
