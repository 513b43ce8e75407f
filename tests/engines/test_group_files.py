"""The group table in files: nothing lost, nothing twice, whatever failed on the way."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import fs

import sparkrank as sr
from sparkrank.base.errors import InputError, SparkrankError
from sparkrank.engines import group_files
from sparkrank.engines.group_files import BucketGroups, GroupFiles
from sparkrank.run import execute
from tests.support.killed import Killed, counting


def _part(*values: int) -> pa.Table:
    """Groups of one row each: ``n_rows`` is the first column behind the key."""
    return pa.table({"model": ["m"] * len(values), "value": values, "n_rows": [1] * len(values)})


NO_GROUPS = _part(1).slice(0, 0)


def _parts(*groups: pa.Table, first: int = 0) -> list[BucketGroups]:
    """Those of buckets from ``first``."""
    return list(map(BucketGroups, itertools.count(first), groups))


def _stored(folder: Path) -> list[list[int]]:
    return sorted(pq.read_table(file)["value"].to_pylist() for file in folder.glob("*.parquet"))


def _finish(files: GroupFiles, names: Iterable[str]) -> None:
    files.keep(names)
    files.publish()


def _written(path: Path, parts: Iterable[BucketGroups]) -> list[str]:
    """The names of the files, all of them visible."""
    files = GroupFiles.at(str(path))
    names = list(files.write(parts))
    _finish(files, names)
    return names


def _buckets(names: Iterable[str]) -> list[str]:
    """Names of files without what is drawn."""
    return [name.rsplit("-", 2)[0] for name in names]


def test_parts_fill_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_files, "ROW_GROUP_ROWS", 1)
    monkeypatch.setattr(group_files, "FILE_ROWS", 3)
    names = _written(tmp_path / "new" / "groups", _parts(_part(1, 2), _part(3), _part(4, 5), _part(6)))
    assert _buckets(names) == ["part-00000", "part-00002"]
    assert _stored(tmp_path / "new" / "groups") == [[1, 2, 3], [4, 5, 6]]


def test_a_row_group_is_written_before_the_next_is_gathered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So what a writer holds does not grow with its file."""
    monkeypatch.setattr(group_files, "ROW_GROUP_ROWS", 2)
    written, write = [], pq.ParquetWriter.write_table

    def counted(writer: pq.ParquetWriter, rows: pa.Table, **how: int) -> None:
        written.append(len(rows))
        write(writer, rows, **how)

    def parts() -> Iterator[BucketGroups]:
        for number in range(7):
            assert number - sum(written) <= 2
            yield BucketGroups(number, _part(number))

    monkeypatch.setattr(pq.ParquetWriter, "write_table", counted)
    (name,) = _written(tmp_path, parts())
    assert written == [2, 2, 2, 1]
    file = pq.ParquetFile(tmp_path / name)
    assert [file.metadata.row_group(index).num_rows for index in range(file.num_row_groups)] == written
    assert file.read()["value"].to_pylist() == list(range(7))


def test_nothing_to_write_is_no_file(tmp_path: Path) -> None:
    for parts in ([], _parts(NO_GROUPS)):
        assert not _written(tmp_path, parts)
        assert not list(tmp_path.iterdir())


def test_of_a_task_that_runs_twice_the_files_that_its_result_names_stay(tmp_path: Path) -> None:
    """Whichever of the two writes last, one that has lost a part of its rows and ends too late among them. Once the
    names are known, nothing is written, as where an executor is lost with what it held.
    """
    files = GroupFiles.at(str(tmp_path))
    late = files.write(_parts(_part(1), _part(3)))  # begun, and no more
    names = list(files.write(_parts(_part(2, 1), _part(4, 3), _part(5))))
    list(late)
    list(files.write(_parts(_part(1))))
    _finish(files, names)
    list(files.write(_parts(_part(2, 1), _part(4, 3), _part(5))))
    assert [file.name for file in tmp_path.iterdir()] == names
    assert _stored(tmp_path) == [[2, 1, 4, 3, 5]]


def test_a_task_that_dies_while_it_writes_leaves_nothing_to_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor does one whose file no result names. A bucket of nothing but bad rows has no groups, and names no file."""
    files = GroupFiles.at(str(tmp_path))
    (kept,) = files.write(_parts(NO_GROUPS, _part(1)))
    assert _buckets([kept]) == ["part-00001"]
    assert list(files.write(_parts(_part(3), first=3))) != [kept]
    with monkeypatch.context() as patch:
        patch.setattr(pq.ParquetWriter, "write_table", lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            list(files.write(_parts(_part(2), first=2)))
    assert len([file for file in Path(files.unseen).iterdir() if file.is_file()]) == 3
    _finish(files, {kept})
    assert _stored(tmp_path) == [[1]]
    assert [file.name for file in tmp_path.iterdir()] == [kept]


def test_a_task_that_outlives_its_evaluation_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may have begun a file when the others fail, or begin one later, when another evaluation has the folder."""
    monkeypatch.setattr(group_files, "ROW_GROUP_ROWS", 1)
    files = GroupFiles.at(str(tmp_path))

    def parts() -> Iterator[BucketGroups]:
        yield from _parts(_part(1), _part(2))
        _finish(files, ())  # a file is open by now
        yield BucketGroups(2, _part(3))

    list(files.write(parts()))
    names = _written(tmp_path, _parts(_part(4), first=4))
    list(files.write(_parts(_part(5), first=5)))
    assert [file.name for file in tmp_path.iterdir()] == names


def test_keys_and_metrics_are_stored_each_in_its_way(tmp_path: Path) -> None:
    """Keys do not repeat and are texts; models are codes of all models, which readers get as texts."""
    models = [pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), ["m", "n"]) for codes in ([0, 0], [1, 0])]
    at = pa.array([1, 2], pa.timestamp("us", "Europe/Berlin"))
    parts = [pa.table({"model": model, "a.b": at, "n_rows": [3, 4], "ap": [0.5, 1.0]}) for model in models]
    (name,) = _written(tmp_path, _parts(*parts))
    read, group = pq.read_table(tmp_path / name), pq.ParquetFile(tmp_path / name).metadata.row_group(0)
    assert read.schema.types == [pa.string(), at.type, pa.int64(), pa.float64()]
    assert not any(field.nullable for field in read.schema)
    assert read["model"].to_pylist() == ["m", "m", "n", "m"]
    columns = [group.column(index) for index in range(group.num_columns)]  # model, a.b, n_rows and ap
    assert [column.compression for column in columns] == ["SNAPPY", "ZSTD", "SNAPPY", "SNAPPY"]
    assert [column.has_dictionary_page for column in columns] == [True, False, False, False]
    assert "DELTA_BINARY_PACKED" in columns[2].encodings


def test_a_folder_with_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").touch()
    with pytest.raises(InputError, match="the folder is not empty"):
        GroupFiles.at(str(tmp_path))
    for place, reason in ((f"{tmp_path}/mine.txt", "Cannot list directory"), ("nofs://a/b", "Unrecognized filesystem")):
        sentence = rf"^the group table cannot be written to {place}: .*{reason}"
        with pytest.raises(SparkrankError, match=sentence) as raised:
            GroupFiles.at(place)
        assert raised.value.exit_code == 1  # nothing is wrong with the input


def test_a_folder_is_of_one_run_from_its_beginning_to_its_end(tmp_path: Path) -> None:
    """Also before any file is in it, and of one that was killed."""
    first = GroupFiles.at(str(tmp_path))
    with pytest.raises(InputError, match=rf"is writing it, or was killed: wait for it, or remove {first.unseen}$"):
        GroupFiles.at(str(tmp_path))
    first.keep(list(first.write(_parts(_part(1)))))
    with pytest.raises(InputError, match=rf"is writing it, or was killed: wait for it, or remove {first.kept}$"):
        GroupFiles.at(str(tmp_path))
    first.publish()
    assert _stored(tmp_path) == [[1]]


def test_of_two_runs_that_begin_at_once_one_at_most_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second begins when the first has made its folder and not looked yet."""
    folder, other = tmp_path / "groups", tmp_path / ".groups.0123456789ab"
    folder.mkdir()

    class Store(fs.LocalFileSystem):
        def create_dir(self, path: str, *, recursive: bool = True) -> None:
            super().create_dir(path, recursive=recursive)
            other.mkdir()

    monkeypatch.setattr(group_files, "file_system", lambda path: (Store(), path))
    with pytest.raises(InputError, match=rf"is writing it, or was killed: wait for it, or remove {other}$"):
        GroupFiles.at(str(folder))
    assert set(tmp_path.iterdir()) == {other, folder}


def test_files_that_solvers_wrote_elsewhere_are_missed(tmp_path: Path) -> None:
    """As where executors do not share the folder: each has written, or seen no folder and written nothing."""
    files = GroupFiles.at(str(tmp_path / "here"))
    away = GroupFiles(files.store, str(tmp_path / "away"), files.attempt, str(tmp_path / ".away.run"))
    names = [*files.write(_parts(_part(1))), *away.write(_parts(_part(2), first=2))]
    sentence = rf"1 of 2 files of the group table are not in {tmp_path}/here: name a place"
    with pytest.raises(SparkrankError, match=sentence):
        files.keep(names)


def test_what_the_operating_system_refuses_is_told_with_its_place(tmp_path: Path, small_files: None) -> None:
    files = GroupFiles.at(str(tmp_path / "groups"))
    with pytest.raises(SparkrankError, match=rf"the group table in {tmp_path}/groups .* written: File too large$"):
        list(files.write(_parts(_part(*range(5000)))))


def test_an_evaluation_that_fails_leaves_no_file_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor one that is interrupted, as in a notebook: the folder may be named again."""
    asked = {"metrics": ["rr"], "group": "user", "score": "score", "label": "label", "group_table": tmp_path / "groups"}
    log = pa.table({"user": ["a", "a", "b"], "score": [0.5, 0.25, 0.75], "label": [1, 0, 1]})
    with pytest.raises(InputError, match="1 NaN score"):
        sr.evaluate(log.set_column(1, "score", pa.array([0.5, 0.25, math.nan])), **asked)
    assert list(tmp_path.iterdir()) == []
    with monkeypatch.context() as patch:
        patch.setattr(execute, "validate_partials", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            sr.evaluate(log, **asked)
    assert list(tmp_path.iterdir()) == []
    sr.evaluate(log, **asked)
    assert pq.read_table(tmp_path / "groups").num_rows == 2


@pytest.mark.parametrize("is_there", [True, False], ids=["an empty folder", "no folder"])
def test_killed_at_any_step_it_shows_all_rows_or_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_there: bool
) -> None:
    """Each call that changes the file system in turn is the last one."""
    monkeypatch.setattr(group_files, "ROW_GROUP_ROWS", 1)
    monkeypatch.setattr(group_files, "FILE_ROWS", 1)
    for step in itertools.count():
        place, counted = tmp_path / f"{step}/groups", counting(step)
        (place if is_there else place.parent).mkdir(parents=True)

        class Store(fs.LocalFileSystem):
            open_output_stream = counted(fs.LocalFileSystem.open_output_stream)
            move = counted(fs.LocalFileSystem.move)
            delete_file = counted(fs.LocalFileSystem.delete_file)

        with monkeypatch.context() as patch:
            patch.setattr(group_files, "file_system", lambda path, store=Store: (store(), path))
            patch.setattr(group_files.os, "rename", counted(os.rename))
            try:
                _written(place, _parts(_part(1), _part(2), _part(3)))
            except Killed:
                assert _stored(place) == [], f"killed after step {step}"
            else:
                assert step > 4  # it was killed at each of the steps that there are
                return


@pytest.mark.parametrize("before", [True, False], ids=["before they are taken over", "after"])
def test_what_others_put_there_meanwhile_stays(tmp_path: Path, before: bool) -> None:
    """Be the evaluation good or bad, and no other file of theirs is taken for one of its own."""
    for outcome in ("publish", "discard"):
        place = tmp_path / outcome
        place.mkdir()
        files = GroupFiles.at(str(place))
        names = list(files.write(_parts(_part(1), _part(2))))
        mine = {place / "notes.txt", place / "part-00007.parquet"}
        if not before:
            files.keep(names)
        assert [file.write_text("mine") for file in mine] == [4, 4]
        if before:
            files.keep(names)
        getattr(files, outcome)()
        assert set(place.iterdir()) == mine | ({place / name for name in names} if outcome == "publish" else set())
        assert {file.read_text() for file in mine} == {"mine"}
    assert {place.name for place in tmp_path.iterdir()} == {"publish", "discard"}
