"""Files are flushed by several threads at once: a day is shown when all of them are done, and none has failed."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow.dataset as ds
import pytest

from sparkrank.base.errors import SparkrankError
from sparkrank.tables.commit.durable_folders import sync_all
from tests.support.written_days import tables_of, write_day

DAY = "2026-11-19"
NAMES = ("metrics", "groups", "quality", "runs")


def of_handle(handle: int) -> Path:
    return Path(f"/proc/self/fd/{handle}").readlink()


def slow(done: list[Path], fails: Callable[[Path], bool] = lambda path: False) -> Callable[[int], None]:
    """A flush that takes a while, and only then is done or has failed: that of tables much longer than others."""

    def fsync(handle: int) -> None:
        path = of_handle(handle)
        time.sleep(0.1 if path.suffix == ".parquet" else 0.001)
        if fails(path):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        done.append(path)

    return fsync


def test_a_day_is_shown_after_the_last_flush_is_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[Path] = []
    before: dict[str, set[Path]] = {}
    original = Path.replace

    def replace(path: Path, target: Path) -> Path:
        before[target.parent.name] = set(done)
        return original(path, target)

    monkeypatch.setattr(os, "fsync", slow(done))
    monkeypatch.setattr(Path, "replace", replace)
    write_day(str(tmp_path), DAY, tables_of(1, NAMES))
    (run,) = (path for path in (tmp_path / "_runs").iterdir() if path.is_dir())
    files = [path for path in run.rglob("*") if path.is_file()]
    assert len(files) == len(NAMES)
    for shown in NAMES:  # the links of tables lead nowhere before that of the day does
        assert before[shown] >= {*files, run}
    assert before["_days"] >= {*files, run, run.parent, tmp_path, *(tmp_path / name for name in NAMES)}


@pytest.mark.parametrize("name", ["groups", "runs"])
def test_one_failed_flush_of_many_leaves_the_day_of_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """The error says which file, and the next run of the day is not in its way."""
    write_day(str(tmp_path), DAY, tables_of(1, NAMES))
    done: list[Path] = []
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", slow(done, lambda path: path.suffix == ".parquet" and path.parent.name == name))
        with pytest.raises(SparkrankError, match=rf"{name}/part-0.*flushed to disk"):
            write_day(str(tmp_path), DAY, tables_of(2, NAMES))
    assert [ds.dataset(tmp_path / of / f"day={DAY}").to_table()["value"].to_pylist() for of in NAMES] == [[1]] * 4
    write_day(str(tmp_path), DAY, tables_of(3, NAMES))
    assert [ds.dataset(tmp_path / of / f"day={DAY}").to_table()["value"].to_pylist() for of in NAMES] == [[3]] * 4


def test_several_are_flushed_at_once_and_the_first_error_is_that_of_the_first_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = [tmp_path / f"{number}.parquet" for number in range(16)]
    for file in files:
        file.touch()
    done: list[Path] = []
    monkeypatch.setattr(os, "fsync", slow(done))
    start = time.monotonic()
    sync_all(files)
    assert time.monotonic() - start < 16 * 0.1
    assert sorted(done) == sorted(files)
    monkeypatch.setattr(os, "fsync", slow(done, lambda path: path in (files[3], files[12])))
    with pytest.raises(SparkrankError, match=r"/3\.parquet cannot be flushed to disk"):
        sync_all(files)


def test_a_folder_may_be_on_a_file_system_that_flushes_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file may not, and a folder whose flush fails otherwise is told."""

    def fails(number: int) -> Callable[[int], None]:
        def fsync(_: int) -> None:
            raise OSError(number, os.strerror(number))

        return fsync

    file = tmp_path / "file"
    file.touch()
    monkeypatch.setattr(os, "fsync", fails(errno.EINVAL))
    sync_all([tmp_path])
    with pytest.raises(SparkrankError, match="file cannot be flushed to disk"):
        sync_all([file])
    monkeypatch.setattr(os, "fsync", fails(errno.EIO))
    with pytest.raises(SparkrankError, match="cannot be flushed to disk"):
        sync_all([tmp_path])
