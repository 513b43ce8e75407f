"""Days in real folders (``output.plain``, ``sparkrank export``): no step mixes runs unseen, and each is repaired."""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from sparkrank.base.errors import SparkrankError
from sparkrank.tables.commit import days
from sparkrank.tables.commit.links import Commit
from sparkrank.tables.commit.output_folder import OutputFolder
from tests.extent import IS_LONG
from tests.support.commands import exit_code
from tests.support.killed import Killed, survives
from tests.support.stored_files import one_file
from tests.support.written_days import conf_of, paths_in, steps_below, tables_of, write_day
from tests.tables.test_output_folder import seen

DAY, OTHER = "2026-11-19", "2026-11-18"
NAMES = ("groups", "metrics", "runs", "states")
PLAIN = Commit(keep_runs=0, plain=True)
LINKS = Commit(keep_runs=0)


def plain(output: Path, day: str = DAY, column: str = "day", *, follows: bool = False) -> dict[str, int]:
    """The value of each table of the day that a program finds that follows links or none, and skips ``_*``."""
    found = {}
    for folder, _, files in os.walk(output, followlinks=follows):
        place = Path(folder)
        if place.name == f"{column}={day}" and not {"_runs", "_days"} & set(place.parts):
            (file,) = files
            found[place.parent.name] = pq.read_table(place / file, partitioning=None)["value"][0].as_py()
    return found


def by_run(output: Path, day: str = DAY, column: str = "day") -> dict[str, int]:
    """The same as sparkrank itself reads it."""
    folders = days.run_folders(str(output), day, NAMES, column)
    there = {name: Path(folder) for name, folder in folders.items() if Path(folder).is_dir()}
    return {name: pq.read_table(folder, partitioning=None)["value"][0].as_py() for name, folder in there.items()}


def test_files_have_one_name_and_no_reader_needs_a_link(tmp_path: Path) -> None:
    for value in (1, 2):
        write_day(str(tmp_path), DAY, tables_of(value, NAMES), how=PLAIN)
        assert plain(tmp_path) == by_run(tmp_path) == dict.fromkeys(NAMES, value)
    files = [path for path in tmp_path.rglob("*.parquet") if not path.is_symlink()]
    assert len(files) == len(NAMES)
    assert {file.stat().st_nlink for file in files} == {1}


@pytest.mark.parametrize("keep", [0, 1, 2])
def test_runs_before_stay_for_as_many_as_are_kept(tmp_path: Path, keep: int) -> None:
    """Whole, in their own folders."""
    for value in range(4):
        write_day(str(tmp_path), DAY, tables_of(value, NAMES), how=Commit(keep, plain=True))
    place = OutputFolder(tmp_path, "day")
    kept = [
        {table.name: pq.read_table(table)["value"][0].as_py() for table in run.glob("[a-z]*")}
        for run in place.replaced(place.shown(DAY))
    ]
    assert len(place.runs_of(DAY)) == 1 + keep
    assert kept == [dict.fromkeys(NAMES, value) for value in range(3 - keep, 3)]


@pytest.mark.parametrize(
    ("how", "before", "after", "column"),
    [
        pytest.param(Killed, PLAIN, PLAIN, "day", id="rerun killed"),
        pytest.param(Killed, LINKS, PLAIN, "day", id="from links killed"),
        pytest.param(Killed, PLAIN, LINKS, "day", id="to links killed"),
        pytest.param(KeyboardInterrupt, PLAIN, PLAIN, "window", id="rerun told to stop"),
    ],
)
def test_stopped_at_any_step(
    tmp_path: Path, before: Commit, after: Commit, how: type[BaseException], column: str
) -> None:
    """Every call that changes the file system is in turn the last that the run makes, or the one where it is stopped.

    sparkrank's own readers see one run, whole, at each step. Others, whether they follow links or not, see no two runs
    and lack no table while ``runs`` is there. The next run of any day ends what was begun, and the next of the day
    leaves what it always leaves.
    """
    killed = how is Killed
    day, other = (DAY, OTHER) if column == "day" else (f"{OTHER}..{DAY}", f"{OTHER}..{OTHER}")
    old, new = (("metrics", "runs", "states"), ("groups", "metrics", "runs")) if killed else (NAMES, NAMES)
    write = partial(write_day, column=column, how=after)
    write(str(tmp_path / "undisturbed"), day, tables_of(3, NAMES))
    write(str(tmp_path / "undisturbed"), other, tables_of(0, NAMES))
    states = [dict.fromkeys(old, 1), dict.fromkeys(new, 2)]
    for step in itertools.count(int(killed), 1 if IS_LONG else 3):
        output = tmp_path / str(step)
        write_day(str(output), day, tables_of(1, old), column=column, how=before)
        survived = survives(step, how, partial(write, str(output), day, tables_of(2, new)), counts_syncs=False)
        shown, there = by_run(output, day, column), plain(output, day, column)
        assert shown in states, step
        assert there in states or (killed and "runs" not in there), step
        by_links = plain(output, day, column, follows=True)
        assert by_links in states or (killed and "runs" not in by_links), step
        write(str(output), other, tables_of(0, NAMES))
        assert by_run(output, day, column) == shown
        links_now = before == LINKS if shown == states[0] else after == LINKS
        assert plain(output, day, column) == ({} if links_now else shown), f"{step}, then another day"
        write(str(output), day, tables_of(3, NAMES))
        assert by_run(output, day, column) == dict.fromkeys(NAMES, 3)
        assert paths_in(output) == paths_in(tmp_path / "undisturbed"), step
        if survived:
            assert step > 12
            return


def test_clean_ends_what_a_killed_run_has_begun(tmp_path: Path) -> None:
    output = tmp_path / "out"
    write_day(str(output), DAY, tables_of(1, NAMES), how=PLAIN)
    place = OutputFolder(output, "day")
    shown = place.shown(DAY)
    assert shown is not None
    for name in ("runs", "metrics"):  # as where the run was killed before these
        place.table_link(name, DAY).rename(shown / name)
    assert by_run(output) == dict.fromkeys(NAMES, 1)
    assert exit_code("clean", "--conf", conf_of(output, plain=True)) == 0
    assert plain(output) == dict.fromkeys(NAMES, 1)


def own_name_as_link(folder: Path) -> None:
    file = one_file(folder)
    file.unlink()
    file.symlink_to(folder.parents[2] / "precious")


FOREIGN: dict[str, Callable[[Path], object]] = {
    "another file": lambda folder: (folder / "mine").write_text("mine"),
    "a folder": lambda folder: (folder / "mine").mkdir(),
    "a link": lambda folder: (folder / "mine").symlink_to(folder.parents[2] / "precious"),
    "no file": lambda folder: one_file(folder).unlink(),
    "an own name": own_name_as_link,
    "a forged list": lambda folder: next(folder.parents[1].glob("_runs/*/_PLAIN")).write_text("[[]]"),
}


@pytest.mark.parametrize("what", FOREIGN)
def test_what_is_not_its_own_stays(tmp_path: Path, what: str) -> None:
    """In the folder of a table: it is told before anything is evaluated, and at the commit."""
    output = tmp_path / "out"
    write_day(str(output), DAY, tables_of(1, NAMES), how=PLAIN)
    (tmp_path / "precious").write_text("mine")
    FOREIGN[what](output / "metrics" / f"day={DAY}")
    before = seen(output)
    for how in (PLAIN, LINKS):
        with pytest.raises(SparkrankError, match=rf"{output}/\w+/day={DAY} is not a link of sparkrank's, nor"):
            write_day(str(output), DAY, tables_of(2, NAMES), how=how)
        assert seen(output) == before


@pytest.mark.parametrize("refused", ["metrics", f"metrics/day={DAY}", "the run", "sticky"])
@pytest.mark.parametrize("how", [PLAIN, LINKS], ids=["plain", "links"])
def test_rights_to_move_are_asked_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: Commit, refused: str
) -> None:
    """And at the commit: by then a folder may be another's."""
    write_day(str(tmp_path), DAY, tables_of(1, NAMES), how=PLAIN)
    shown = OutputFolder(tmp_path, "day").shown(DAY)
    assert shown is not None
    forbidden = shown if refused == "the run" else tmp_path / refused

    def write() -> None:
        with days.day_run(str(tmp_path), DAY, how=how) as run:
            forbid()
            run.commit(tables_of(2, NAMES))

    def forbid() -> None:
        monkeypatch.setattr(os, "access", lambda path, _: path != forbidden)
        if refused == "sticky":
            (tmp_path / "metrics").chmod(0o1777)
            monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)

    told = rf"^output.plain moves folders in {tmp_path}/.*, which this account may not: let it write there"
    with pytest.raises(SparkrankError, match=told):
        write()
    with pytest.raises(SparkrankError, match=told):
        days.day_run(str(tmp_path), DAY, how=how).__enter__()
    assert plain(tmp_path) == by_run(tmp_path) == dict.fromkeys(NAMES, 1)


def test_a_copy_is_an_output_of_its_own(tmp_path: Path) -> None:
    """`cp -r` and `tar` keep links as they are, and these lead nowhere but into the copy."""
    output = tmp_path / "out"
    write_day(str(output), DAY, tables_of(1, NAMES), how=PLAIN)
    subprocess.run(["cp", "-r", str(output), str(tmp_path / "copy")], check=True)
    shutil.rmtree(output)
    assert plain(tmp_path / "copy") == by_run(tmp_path / "copy") == dict.fromkeys(NAMES, 1)
    write_day(str(tmp_path / "copy"), DAY, tables_of(2, NAMES), how=PLAIN)
    assert plain(tmp_path / "copy") == dict.fromkeys(NAMES, 2)


def test_all_is_on_the_disk_before_the_old_run_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folders into which tables were moved, and those that they have left; and the run itself before its commit."""
    write_day(str(tmp_path), DAY, tables_of(1, NAMES), how=PLAIN)
    steps = steps_below(tmp_path, monkeypatch)
    old = OutputFolder(tmp_path, "day").shown(DAY)
    write_day(str(tmp_path), DAY, tables_of(2, NAMES), how=PLAIN)
    new = OutputFolder(tmp_path, "day").shown(DAY)
    moves = [number for number, (what, _) in enumerate(steps) if what == "move"]
    gone = steps.index(("move", f"_runs/{old.name}"))
    before = {path for what, path in steps[: moves[0]] if what == "sync"}
    assert before >= {"_days", f"_runs/{new.name}/_PLAIN", *(f"_runs/{new.name}/{name}" for name in NAMES)}
    moves.remove(gone)
    between = {path for what, path in steps[moves[-1] : gone] if what == "sync"}
    assert between >= {*NAMES, f"_runs/{new.name}", f"_runs/{old.name}"}
    assert (steps[moves[0]][1], steps[moves[-1]][1]) == (f"runs/day={DAY}", f"_runs/{new.name}/runs")


def test_stored_days_are_exported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All of them, or one; again where they are others; and by names of the same bytes."""
    output, goal = tmp_path / "out", tmp_path / "plain"
    window = f"{OTHER}..{DAY}"
    for day in (OTHER, DAY):
        write_day(str(output), day, tables_of(1, NAMES))
    write_day(str(output / "windows"), window, tables_of(1, NAMES), column="window")
    conf = conf_of(output)
    one_day = ("export", "--conf", conf, "--date", DAY, str(goal))
    assert exit_code(*one_day) == 0
    assert (plain(goal), plain(goal, OTHER)) == (dict.fromkeys(NAMES, 1), {})
    capsys.readouterr()
    assert exit_code("export", "--conf", conf, str(goal)) == 0
    lines = [f"{OTHER}: exported", f"{DAY}: there", f"{window}: exported", "Exported: 2"]
    assert capsys.readouterr().out.splitlines() == lines
    assert plain(goal / "windows", window, "window") == plain(goal, OTHER) == dict.fromkeys(NAMES, 1)
    shown = one_file(output / "metrics" / f"day={DAY}")
    assert (goal / "metrics" / f"day={DAY}" / shown.name).samefile(shown)
    write_day(str(output), DAY, tables_of(2, NAMES))
    assert exit_code(*one_day) == 0
    assert plain(goal) == dict.fromkeys(NAMES, 2)
    (goal / "groups" / f"day={DAY}").rename(tmp_path / "lost")
    assert exit_code(*one_day) == 0
    assert plain(goal) == dict.fromkeys(NAMES, 2)


@pytest.mark.parametrize("how", [LINKS, PLAIN], ids=["links", "plain"])
def test_an_export_in_wrong_places_is_refused(tmp_path: Path, how: Commit, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "out"
    write_day(str(output), DAY, tables_of(1, NAMES), how=how)
    conf = conf_of(output)
    before = seen(tmp_path)
    for words, code, told in (
        (("--date", OTHER, f"{tmp_path}/a"), 4, f"{OTHER} has no tables under {output}: evaluate the day first"),
        ((str(output),), 2, f"{output} is the folder of the tables themselves: name another one"),
        ((f"{output}/metrics",), 2, f"{output}/metrics is in the folder of the tables themselves: name another one"),
        ((f"{output}/windows/b",), 2, f"{output}/windows/b is in the folder of the tables themselves"),
        (("s3://a/b",), 2, "output.path is s3://a/b: sparkrank export is for local and mounted folders"),
        (
            (f"{tmp_path}/a", "--set", "output={path: s3://a, plain: true}"),
            2,
            "output has plain, but path s3://a: on loc",
        ),
        ((f"{tmp_path}/a", "--set", f"output.path={output}/{{date}}"), 2, "output.path has a mark of a day"),
    ):
        assert exit_code("export", "--conf", conf, *words) == code
        assert told in capsys.readouterr().err
    assert seen(tmp_path) == before


def test_a_path_is_that_of_each_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "out"
    write_day(str(output), DAY, tables_of(1, NAMES), how=PLAIN)
    words = ("path", "--conf", conf_of(output, plain=True), "--date", DAY)
    assert exit_code(*words, "--table", "metrics") == 0
    assert capsys.readouterr().out == f"{output}/metrics/day={DAY}\n"
    assert exit_code(*words) == 2
    told = f"{DAY} is shown by real folders (output.plain), one for each table: name a --table (there are: "
    assert capsys.readouterr().err.startswith(f"sparkrank: {told}groups, metrics")
