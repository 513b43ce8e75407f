"""The output folder is not believed: whatever others have put there, a run touches what is sparkrank's own alone."""

from __future__ import annotations

import multiprocessing
import os
import re
import shutil
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sparkrank.base.errors import SparkrankError
from sparkrank.tables.commit import days
from sparkrank.tables.commit.links import Commit
from sparkrank.tables.commit.locks import is_locked
from sparkrank.tables.commit.output_folder import OutputFolder
from tests.extent import examples
from tests.support.written_days import write_day

DAY, OTHER, WINDOW = "2026-11-19", "2026-11-18", "2026-11-18..2026-11-19"
TABLES = {name: pa.table({"value": [1]}) for name in ("metrics", "groups", "runs")}
RUN = f"{DAY}.0123456789ab"

# Places in and around an output, and what somebody may have put there.
PLACES = f"""
out/_runs out/_days out/metrics out/groups out/clicks out/notes.txt home/thesis home/victim.txt
out/_runs/{DAY}.lock out/_runs/{DAY}.abcdefgh out/_runs/{DAY}.mine out/_runs/{RUN} out/_runs/{RUN}/metrics
out/_runs/{WINDOW}.0123456789ab out/_runs/{OTHER}.0123456789ab
out/_days/{DAY} out/_days/.{DAY} out/_days/.{DAY}.0123456789ab out/_days/{OTHER}
out/metrics/day={DAY} out/metrics/.day={DAY} out/metrics/.day={DAY}.0123456789ab
out/groups/day={DAY} out/clicks/day={DAY} out/clicks/.day={DAY} out/clicks/day={OTHER}
""".split()
TARGETS = f"""
.. . ../home ../../home ../../home/victim.txt /nowhere ../clicks
../_runs/{RUN} ../_runs/{OTHER}.0123456789ab ../_runs/../../home
../_days/{DAY}/metrics ../_days/{DAY}/clicks ../_days/{OTHER}/metrics
""".split()
THINGS = st.one_of(
    st.sampled_from(["file", "folder"]).map(lambda kind: (kind, "")),
    st.sampled_from(TARGETS).map(lambda target: ("link", target)),
)
TREES = st.lists(st.tuples(st.sampled_from(PLACES), THINGS), max_size=8, unique_by=lambda entry: entry[0])


def make(root: Path, tree: list[tuple[str, tuple[str, str]]]) -> None:
    """What others have put there; what cannot be, as a file within a file, is left out."""
    (root / "home/thesis").mkdir(parents=True)
    for file in ("home/victim.txt", "home/thesis/chapter"):
        (root / file).write_text("precious")
    for place, (kind, target) in sorted(tree):
        path = root / place
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            if kind == "link":
                path.symlink_to(target)
            elif kind == "folder":
                path.mkdir()
                (path / "mine").write_text("precious")
            else:
                path.write_text("precious")


def seen(root: Path) -> dict[str, str]:
    """Every path below ``root`` with what it is: the text of a file, the target of a link."""
    paths = (Path(folder, name) for folder, folders, files in os.walk(root) for name in (*folders, *files))
    return {
        str(path.relative_to(root)): f"-> {path.readlink()}"
        if path.is_symlink()
        else "folder"
        if path.is_dir()
        else path.read_text("l1")
        for path in paths
    }


def is_own(path: str, what: str) -> bool:
    """Whether a run of ``DAY``, or what it tidies of other days, may remove what others have made to look like its own:
    the folder of a run by its name, and links of its form.
    """
    if re.match(rf"out/_runs/({DAY}|{OTHER})\.[0-9a-f]{{12}}(/|$)", path):
        return True
    if found := re.fullmatch(rf"out/_days/\.?({DAY}|{OTHER})(\.[0-9a-f]{{12}})?", path):
        return re.fullmatch(rf"-> \.\./_runs/{found[1]}\.\w+", what) is not None
    if re.fullmatch(rf"out/_runs/({DAY}|{OTHER})\.lock", path):
        return what == ""
    found = re.fullmatch(rf"out/(\w+)/\.?day=({DAY}|{OTHER})(\.[0-9a-f]{{12}})?", path)
    return found is not None and what == f"-> ../_days/{found[2]}/{found[1]}"


@settings(max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(tree=TREES, fails=st.booleans())
def test_nothing_but_its_own_changes(
    tmp_path_factory: pytest.TempPathFactory, tree: list[tuple[str, tuple[str, str]]], fails: bool
) -> None:
    """Whether the run is good, fails halfway or is refused: links lead it nowhere, and no file is emptied."""
    root = tmp_path_factory.mktemp("tree")
    make(root, tree)
    before = seen(root)
    try:
        with days.day_run(str(root / "out"), DAY) as run:
            if fails:
                raise SparkrankError("halfway")
            run.commit(TABLES)
    except SparkrankError as error:
        assert "\n" not in str(error)  # noqa: PT017 - most runs do not fail
    after = seen(root)
    changed = {path: what for path, what in before.items() if after.get(path) != what}
    assert not {path: what for path, what in changed.items() if not is_own(path, what)}, (changed, tree)


@pytest.mark.parametrize("what", ["_runs", "_days", "metrics"])
def test_no_folder_of_its_own_is_a_link(tmp_path: Path, what: str) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "home").mkdir()
    (tmp_path / "out" / what).symlink_to("../home")
    with pytest.raises(SparkrankError, match=rf"^{tmp_path}/out/{what} is a link, which sparkrank does not follow"):
        write_day(str(tmp_path / "out"), DAY, TABLES)
    assert list((tmp_path / "home").iterdir()) == []


@pytest.mark.parametrize("kind", ["link", "file of another name", "folder"])
def test_a_lock_is_opened_and_never_written(tmp_path: Path, kind: str) -> None:
    (tmp_path / "out/_runs").mkdir(parents=True)
    victim, lock = tmp_path / "victim.txt", tmp_path / f"out/_runs/{DAY}.lock"
    victim.write_text("precious")
    {"link": lambda: lock.symlink_to(victim), "folder": lock.mkdir}.get(kind, lambda: lock.hardlink_to(victim))()
    if kind == "file of another name":
        write_day(str(tmp_path / "out"), DAY, TABLES)
    else:
        with pytest.raises(SparkrankError, match=r"the lock .* (is a link|Is a directory)"):
            write_day(str(tmp_path / "out"), DAY, TABLES)
    assert victim.read_text() == "precious"


def test_the_next_run_of_any_day_removes_what_a_killed_one_has_left(tmp_path: Path) -> None:
    """Links to nothing, over which readers of all days stumble, an unfinished run, and its lock."""
    place = OutputFolder(tmp_path, "day")
    (tmp_path / "_runs" / RUN / "metrics").mkdir(parents=True)
    place.lock(DAY).touch()
    for table in ("metrics", "groups"):
        place.table_link(table, DAY).parent.mkdir()
        place.table_link(table, DAY).symlink_to(place.table_target(table, DAY))
    write_day(str(tmp_path), OTHER, TABLES)
    assert [path for path in tmp_path.rglob("*") if DAY in path.name] == []


def test_what_a_run_of_another_day_writes_stays(tmp_path: Path) -> None:
    with days.day_run(str(tmp_path), DAY) as run:
        write_day(str(tmp_path), OTHER, TABLES)
        assert run.folder is not None
        assert run.folder.is_dir()
        run.commit(TABLES)
    assert OutputFolder(tmp_path, "day").shown(DAY) == run.folder


@pytest.mark.parametrize("is_plain", [False, True])
def test_a_run_lists_all_runs_as_often_however_many_days_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_plain: bool
) -> None:
    """Were they listed for each day, a thousand days would be a million questions a night, or a backfill's billion."""
    listed = []
    for name in ("scandir", "listdir"):
        asked = getattr(os, name)
        monkeypatch.setattr(os, name, lambda path=".", asked=asked: (listed.append(os.fspath(path)), asked(path))[1])

    def write(day: int) -> int:
        listed.clear()
        with days.day_run(str(tmp_path), f"2026-11-{day:02}", how=Commit(plain=is_plain)) as run:
            run.commit(TABLES)
        return listed.count(str(tmp_path / "_runs"))

    counts = [write(day) for day in range(1, 13)]
    assert counts[0] > 0
    assert counts[2:] == [counts[2]] * 10


def test_a_process_forked_meanwhile_holds_no_lock(tmp_path: Path) -> None:
    """As a pool of workers, or a notebook's shell command, that outlives the run."""
    context = multiprocessing.get_context("fork")
    done = context.Event()
    with days.day_run(str(tmp_path), DAY) as run:
        child = context.Process(target=done.wait, args=(30,))
        child.start()
        run.commit(TABLES)
    try:
        assert not is_locked(OutputFolder(tmp_path, "day").lock(DAY))
        write_day(str(tmp_path), DAY, TABLES)
    finally:
        done.set()
        child.join()


@pytest.mark.parametrize("name", ["real", "link", "real/../real"])
def test_threads_of_a_process_do_not_share_a_lock(tmp_path: Path, name: str) -> None:
    """Whatever each calls the output."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    with days.day_run(str(tmp_path / "real"), DAY) as run:
        for _ in range(2):  # to be refused must not release the lock
            with ThreadPoolExecutor() as pool, pytest.raises(SparkrankError, match="another run is writing the day"):
                pool.submit(write_day, str(tmp_path / name), DAY, TABLES).result()
        assert is_locked(OutputFolder(tmp_path / name, "day").lock(DAY))
        run.commit(TABLES)
    assert not is_locked(OutputFolder(tmp_path, "day").lock(DAY))


@pytest.mark.parametrize("lost", ["metrics/*", "groups", "."])
def test_a_run_whose_files_are_gone_is_not_shown(tmp_path: Path, lost: str) -> None:
    """As where another machine without common locks took it for a killed one."""
    place = OutputFolder(tmp_path, "day")
    write_day(str(tmp_path), DAY, TABLES)
    before = place.shown(DAY)

    def write() -> None:
        with days.day_run(str(tmp_path), DAY) as run:

            def runs(**_: object) -> pa.Table:
                for path in Path(str(run.folder)).glob(lost) if lost != "." else [Path(str(run.folder))]:
                    path.unlink() if path.is_file() else shutil.rmtree(path)
                return TABLES["runs"]

            run.commit({"metrics": TABLES["metrics"], "groups": TABLES["groups"], "runs": runs})

    with pytest.raises(
        SparkrankError, match=r"parquet was taken away while 2026-11-19 was written .* no table of this run"
    ):
        write()
    assert (place.shown(DAY), place.runs_of(DAY)) == (before, [before])


def test_copies_that_a_person_keeps_stay(tmp_path: Path) -> None:
    """Of a run that is shown, and of one that was replaced, by any name that is not a run's."""
    place = OutputFolder(tmp_path, "day")
    names = ("original", "backup01", "old_copy", "keepthis", "bak", "2", "0123456789ab.bak", "0123456789abc")
    for how in (Commit(), Commit(keep_runs=0), Commit(keep_runs=0, plain=True)):
        write_day(str(tmp_path), DAY, TABLES, how=how)
        shown = place.shown(DAY)
        assert shown is not None
        for name in names:
            shutil.copytree(shown, place.runs / f"{DAY}.{name}", dirs_exist_ok=True)
    before = {path for name in names for path in (place.runs / f"{DAY}.{name}").rglob("*")}
    for day in (DAY, OTHER, DAY):
        write_day(str(tmp_path), day, TABLES, how=Commit(keep_runs=0))
    assert before == {path for name in names for path in (place.runs / f"{DAY}.{name}").rglob("*")}
    assert len(before) > len(names)


@pytest.mark.parametrize("what", ["its lock is taken away", "the process is ending"])
def test_what_is_raised_before_the_commit_leaves_the_old_day(tmp_path: Path, what: str) -> None:
    place = OutputFolder(tmp_path, "day")
    write_day(str(tmp_path), DAY, TABLES)
    shown = place.shown(DAY)

    def ending() -> None:
        raise SparkrankError("the process is ending")

    def write() -> None:
        with days.day_run(str(tmp_path), DAY, how=Commit(before=ending)) as run:
            if what != "the process is ending":
                place.lock(DAY).unlink()
            run.commit(TABLES)

    with pytest.raises(SparkrankError, match=r"the lock of 2026-11-19 was taken away|is ending") as raised:
        write()
    assert ("lock" in str(raised.value)) == ("lock" in what)
    assert (place.shown(DAY), place.runs_of(DAY)) == (shown, [shown])
    assert place.replaced(shown) == []


def test_a_day_of_a_release_with_other_names_of_runs_is_replaced(tmp_path: Path) -> None:
    """Its run is known, shown, and stays as the one before."""
    place = OutputFolder(tmp_path, "day")
    write_day(str(tmp_path), DAY, TABLES)
    older, shown = place.run_folder(DAY, "a1_b2c3d"), place.shown(DAY)
    assert shown is not None
    shown.rename(older)
    place.day_link(DAY).unlink()
    place.day_link(DAY).symlink_to(f"../_runs/{older.name}")
    assert place.shown(DAY) == older
    write_day(str(tmp_path), DAY, TABLES)
    assert place.shown(DAY) != older
    assert place.replaced(place.shown(DAY)) == [older]
