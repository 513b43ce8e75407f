"""A day is replaced whole: killed at any step, a reader finds all tables of the old run or all of the new."""

from __future__ import annotations

import errno
import itertools
import os
import shutil
import stat
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from sparkrank.base.errors import SparkrankError
from sparkrank.tables.commit import days, locks, manifests
from sparkrank.tables.commit.links import DEFAULT_COMMIT, Commit
from sparkrank.tables.commit.output_folder import OutputFolder
from tests.support.killed import Killed, survives
from tests.support.written_days import paths_in, steps_below, tables_of, write_day

DAY, OTHER = "2026-11-19", "2026-11-18"
NAMES = ("metrics", "groups", "runs")


def _shown(output: Path, column: str = "day", day: str = DAY) -> dict[str, int | None]:
    """The value that each table shows for the day, None where it shows no row."""
    folders = {name: output / name / f"{column}={day}" for name in NAMES}
    return {
        name: ds.dataset(folder).to_table()["value"].to_pylist()[0] if folder.exists() else None
        for name, folder in folders.items()
    }


def _runs(output: Path) -> list[Path]:
    return [run for run in (output / "_runs").iterdir() if run.is_dir()]


@pytest.mark.parametrize("keep", [None, 0, 1, 2])
def test_a_day_is_replaced_and_as_many_runs_stay_as_are_kept(tmp_path: Path, keep: int | None) -> None:
    """The last ones that were shown, and one where nothing is said; those of other days are not counted, and clocks,
    which here go back all the time, are not asked.
    """
    how = DEFAULT_COMMIT if keep is None else Commit(keep_runs=keep)
    write_day(str(tmp_path), OTHER, tables_of(9, NAMES), how=how)
    for value in range(5):
        write_day(str(tmp_path), DAY, tables_of(value, NAMES), how=how)
        assert (_shown(tmp_path), _shown(tmp_path, day=OTHER)) == (dict.fromkeys(NAMES, value), dict.fromkeys(NAMES, 9))
        kept = sorted(pq.read_table(run / "metrics")["value"][0].as_py() for run in _runs(tmp_path))
        assert kept == [*range(max(0, value - (1 if keep is None else keep)), value + 1), 9]
        for run in _runs(tmp_path):
            os.utime(run, (-pq.read_table(run / "metrics")["value"][0].as_py(),) * 2)
    table = ds.dataset(tmp_path / "metrics", partitioning="hive").to_table().to_pydict()
    assert sorted(zip(table["day"], table["value"], strict=True)) == [(OTHER, 9), (DAY, 4)]


def test_a_table_left_out_loses_the_day(tmp_path: Path) -> None:
    write_day(str(tmp_path), DAY, tables_of(1, NAMES))
    write_day(str(tmp_path), DAY, tables_of(2, ("metrics", "runs")))
    assert _shown(tmp_path) == {"metrics": 2, "groups": None, "runs": 2}
    assert not list((tmp_path / "groups").iterdir())  # not even a link to nothing


def test_a_reader_that_listed_files_before_a_commit_never_opens_others(tmp_path: Path) -> None:
    """By the names that readers see they are gone, which is an error; by those of the run they are the old day."""
    write_day(str(tmp_path), DAY, tables_of(1, NAMES))
    by_name = list((tmp_path / "metrics" / f"day={DAY}").glob("*.parquet"))
    by_run = [file.resolve() for file in by_name]
    write_day(str(tmp_path), DAY, tables_of(2, NAMES))
    assert by_name
    for file in by_name:
        with pytest.raises(FileNotFoundError):
            pq.read_table(file)
    assert [pq.read_table(file)["value"].to_pylist() for file in by_run] == [[1]]


def test_every_file_says_which_attempt_wrote_it(tmp_path: Path) -> None:
    """In its name and its metadata; two runs of the same day are two attempts."""
    found = []
    for value in range(2):
        with days.day_run(str(tmp_path), DAY) as run:
            run.commit(tables_of(value, NAMES))
            found.append(run.attempt)
        for name in NAMES:
            (file,) = (tmp_path / name / f"day={DAY}").iterdir()
            assert file.name == f"part-0-{run.attempt}.parquet"
            assert pq.read_metadata(file).metadata[b"attempt_id"] == run.attempt.encode()
    assert len(set(found)) == 2


def test_all_is_on_the_disk_before_the_day_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file and folder of the run, the folders of links, and those above: then the link, then its folder.

    ``scripts/power_loss.sh`` shows the same on a file system that loses its power.
    """
    steps = steps_below(tmp_path, monkeypatch)
    write_day(str(tmp_path / "new/out"), DAY, tables_of(1, NAMES))
    commit = steps.index(("show", f"new/out/_days/{DAY}"))
    assert steps[commit + 1 :] == [("sync", "new/out/_days")]
    before = {path for what, path in steps[:commit] if what == "sync"}
    (run,) = _runs(tmp_path / "new/out")
    of_run = {str(path.relative_to(tmp_path)) for path in (run, *run.rglob("*"))}
    assert before >= of_run | {".", "new", "new/out", "new/out/_runs", *(f"new/out/{name}" for name in NAMES)}
    links = max(number for number, (what, path) in enumerate(steps[:commit]) if what == "show")
    assert {f"new/out/{name}" for name in NAMES} <= {path for _, path in steps[links:commit]}


def test_what_the_operating_system_refuses_is_told_with_its_place(tmp_path: Path, small_files: None) -> None:
    """And nothing is left of it."""
    large = {"metrics": pa.table({"value": range(5000)})}
    with pytest.raises(SparkrankError, match=rf"the table metrics in {tmp_path}/out/.* be written: File too large$"):
        write_day(str(tmp_path / "out"), DAY, large)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("first_day", "column"), [(True, "day"), (False, "window")], ids=["first run of a day", "rerun of a window"]
)
def test_killed_at_any_step(tmp_path: Path, first_day: bool, column: str) -> None:
    """Every call that changes the file system is in turn the last one that the run makes.

    The next run leaves what it leaves where nobody was killed.
    """
    day = DAY if column == "day" else f"{DAY}..{DAY}"
    write = partial(write_day, column=column, how=Commit(keep_runs=0))
    write(str(tmp_path / "undisturbed"), day, tables_of(3, NAMES))
    for step in itertools.count():
        output = tmp_path / str(step)
        if not first_day:
            write(str(output), day, tables_of(1, NAMES))
        survived = survives(step, Killed, partial(write, str(output), day, tables_of(2, NAMES)))
        old = None if first_day else 1
        assert _shown(output, column, day) in (dict.fromkeys(NAMES, old), dict.fromkeys(NAMES, 2)), step
        write(str(output), day, tables_of(3, NAMES))
        assert _shown(output, column, day) == dict.fromkeys(NAMES, 3)
        assert paths_in(output) == paths_in(tmp_path / "undisturbed"), step
        if survived:
            assert step > 8  # the loop has killed at each of the steps that there are
            return


@pytest.mark.parametrize("before", [(), ("metrics", "runs"), (*NAMES, "items")], ids=["none", "fewer", "more"])
def test_interrupted_at_any_step(tmp_path: Path, before: tuple[str, ...]) -> None:
    """A run that is told to stop leaves what was there, or what it has shown, and nothing beside it.

    ``before`` are the tables of the day that were there.
    """
    write = partial(write_day, how=Commit(keep_runs=0))
    write(str(tmp_path / "after"), DAY, tables_of(2, NAMES))
    for step in itertools.count():
        output, kept = tmp_path / str(step), tmp_path / f"{step}-kept"
        for place in (output, kept) if before else ():
            write(str(place), DAY, tables_of(1, before))
        survived = survives(step, KeyboardInterrupt, partial(write, str(output), DAY, tables_of(2, NAMES)))
        done = _shown(output)["metrics"] == 2
        expected = paths_in(tmp_path / "after" if done else kept)
        if before:  # an empty folder of a table stays: the run of another day may be about to take it
            expected |= {name for name in (*NAMES, "items") if (output / name).exists()}
        if step > 1:  # the lock and its folder are made first
            assert paths_in(output) == expected, step
        if survived:
            assert done
            assert step > 8
            return


def test_tables_are_read_from_one_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_: str) -> None:
        raise OSError("Arrow has no credentials")

    output = str(tmp_path)
    assert days.run_folders(output, DAY, ["runs"]) == {"runs": f"{output}/runs/day={DAY}"}
    write_day(output, DAY, tables_of(1, NAMES))
    folders = days.run_folders(output, DAY, NAMES)
    assert len({Path(folder).parent for folder in folders.values()}) == 1
    assert Path(folders["metrics"]).parent.parent == tmp_path / "_runs"
    monkeypatch.setattr(manifests, "file_system", refused)
    assert days.run_folders("s3a://bucket/a", DAY, ["runs"]) == {"runs": f"s3a://bucket/a/runs/day={DAY}"}


def test_a_lock_that_was_removed_meanwhile_holds_nothing_and_a_file_system_may_have_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that showed nothing takes its lock file with it: who had opened that locks what nobody else sees. Without
    locks one is not told of another run, for whose end one would wait in vain.
    """
    lock = tmp_path / "_runs" / f"{DAY}.lock"

    def removed_first(*_: object) -> None:
        lock.unlink()
        lock.touch()

    def refused(*_: object) -> None:
        raise OSError(errno.ENOLCK, "no locks")

    for taken, sentence in (
        (removed_first, "another run is writing the day"),
        (refused, rf"^the lock .*/_runs/{DAY}.lock cannot be taken: No locks available$"),
    ):
        monkeypatch.setattr(locks.fcntl, "lockf", taken)
        with pytest.raises(SparkrankError, match=sentence):
            write_day(str(tmp_path), DAY, tables_of(1, NAMES))


def test_a_run_that_showed_nothing_takes_no_folder_from_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Several days begin at once where there is no day yet, and one of them ends as another makes its lock."""
    mkdir = Path.mkdir
    times = iter([True, True])

    def removed_then(folder: Path, *arguments: int, **options: bool) -> None:
        mkdir(folder, *arguments, **options)
        if folder.name == "_runs" and next(times, False):
            folder.rmdir()

    monkeypatch.setattr(Path, "mkdir", removed_then)
    write_day(str(tmp_path / "out"), DAY, tables_of(1, NAMES))
    assert _shown(tmp_path / "out") == dict.fromkeys(NAMES, 1)


@pytest.mark.parametrize(
    ("mode", "umask", "expected"),
    [
        (0o755, 0o022, 0o755),
        (0o750, 0o022, 0o750),
        (0o2775, 0o002, 0o2775),
        (0o2775, 0o022, 0o2755),
        (0o1777, 0o022, 0o755),
        (0o1777, 0o077, 0o700),
    ],
)
def test_folders_have_the_rights_of_the_one_above_that_the_umask_leaves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: int, umask: int, expected: int
) -> None:
    """And its group: whoever may read, or write, beside the tables may read, or write, them, if the umask says so."""

    def refused(*_: object, **__: object) -> None:
        raise OSError(errno.EPERM, "no hard links")

    shared, place = tmp_path / "shared", OutputFolder(tmp_path / "shared/of/tables", "day")
    shared.mkdir()
    os.chown(shared, -1, os.getgid())
    shared.chmod(mode)
    before = os.umask(umask)
    try:
        write_day(str(place.root), DAY, tables_of(1, NAMES))
        for path in (*place.root.rglob("metrics"), *place.root.glob("_runs/*/metrics/*")):
            path.chmod(0o777)  # a copy of these is not as wide
        monkeypatch.setattr(os, "link", refused)
        with days.day_run(str(place.root), DAY) as run:
            run.commit(tables_of(2, ("runs",)), run.keep_others(("runs",), []))
    finally:
        os.umask(before)
    made = [path for path in shared.rglob("*") if path.is_dir() and not path.is_symlink()]
    assert len(made) == 2 + 2 + 2 + 3 * len(NAMES)  # of tables, _runs and _days, two runs, each table three times
    wide = {place.root / "metrics", *(run / "metrics" for run in place.replaced(place.shown(DAY)))}
    copies = (place.root / f"metrics/day={DAY}").iterdir()
    assert {stat.S_IMODE(file.stat().st_mode) for file in copies} == {0o666 & ~umask}
    modes = {path: (stat.S_IMODE(path.stat().st_mode), path.stat().st_gid) for path in made if path not in wide}
    assert set(modes.values()) == {(expected, os.getgid())}


def test_a_run_is_gone_in_one_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who was told its folder never finds some of its files."""
    write_day(str(tmp_path), DAY, tables_of(1, NAMES))
    (first,) = _runs(tmp_path)
    rmtree, there = shutil.rmtree, []

    def removed(path: Path, **options: bool) -> None:
        there.append(first.exists())
        rmtree(path, **options)

    monkeypatch.setattr(shutil, "rmtree", removed)
    for value in (2, 3):
        write_day(str(tmp_path), DAY, tables_of(value, NAMES))
    assert there == [False]


def test_what_is_foreign_is_found_before_anything_is_done(tmp_path: Path) -> None:
    """Links of tables that come before it in the alphabet would be left behind for tables that the day lacks. A copy
    that follows links has folders in their places.
    """
    output, copied = tmp_path / "out", tmp_path / "copied"
    write_day(str(output), DAY, tables_of(1, NAMES))
    shutil.copytree(output, copied)
    (output / "zones" / f"day={DAY}").mkdir(parents=True)
    before = {path: path.is_symlink() and path.readlink() for path in tmp_path.rglob("*") if "_runs" not in path.parts}
    with pytest.raises(SparkrankError, match="is not a link of sparkrank's"):
        write_day(str(output), DAY, tables_of(2, (*NAMES, "curves", "zones")))
    with pytest.raises(SparkrankError, match=rf"_days/{DAY} is not a link of sparkrank's"):
        days.day_run(str(copied), DAY).__enter__()
    after = {path: path.is_symlink() and path.readlink() for path in tmp_path.rglob("*") if "_runs" not in path.parts}
    assert after == before
    assert len(_runs(copied)) == 1


@pytest.mark.parametrize(("file", "place"), [("out", "folder .*/out/_runs"), ("out/metrics", "folder .*/out/metrics")])
def test_a_file_in_the_place_of_a_folder_is_told(tmp_path: Path, file: str, place: str) -> None:
    (tmp_path / file).parent.mkdir(exist_ok=True)
    (tmp_path / file).touch()
    with pytest.raises(SparkrankError, match=rf"^the {place} cannot be written: (Not a directory|File exists)$"):
        write_day(str(tmp_path / "out"), DAY, tables_of(1, NAMES))
    assert [path for path in tmp_path.rglob("*") if path.is_symlink() or path.name == "_runs"] == []


def test_a_file_system_without_links_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where it refuses one after others: nothing is left of them."""
    made: list[Path] = []
    symlink_to = Path.symlink_to

    def refused(link: Path, *target: Path, **options: bool) -> None:
        made.append(link)
        if len(made) == 3:
            raise OSError(errno.EOPNOTSUPP, "no links")
        symlink_to(link, *target, **options)

    (tmp_path / "empty").mkdir()
    monkeypatch.setattr(Path, "symlink_to", refused)
    with pytest.raises(SparkrankError, match=rf"^the link .*/runs/day={DAY} cannot be written: Operation not"):
        write_day(str(tmp_path), DAY, tables_of(1, NAMES))
    assert list(tmp_path.iterdir()) == [tmp_path / "empty"]  # which is not the run's


def test_which_outputs_are_local() -> None:
    local = {"a": Path.cwd() / "a", **{path: Path(path) for path in ("/a/b", "/a:b/c")}}
    local |= {"file:///a/b": Path("/a/b"), "file:/a/b": Path("/a/b")}
    local |= {"file:///a #1?b;c%20d": Path("/a #1?b;c%20d")}  # as Hadoop's paths have it, and Arrow's
    local |= dict.fromkeys(("s3a://bucket/a", "hdfs://host/a", "hdfs:/a"))
    assert {output: days.local_path(output) for output in local} == local
