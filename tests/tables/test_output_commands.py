"""``sparkrank path``, ``clean`` and ``unlock`` on stored days."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from sparkrank.tables.commit import days
from sparkrank.tables.commit.output_folder import OutputFolder
from tests.support.commands import exit_code
from tests.support.written_days import conf_of, write_day
from tests.windows.week import spec_of, write_logs

DAY, OTHER = "2026-11-19", "2026-11-18"
WINDOW = f"{OTHER}..{DAY}"
TABLES = {name: pa.table({"value": [1]}) for name in ("metrics", "runs")}


@pytest.fixture
def conf(tmp_path: Path) -> str:
    return conf_of(tmp_path / "tables")


@pytest.fixture
def place(tmp_path: Path) -> OutputFolder:
    """Two days and a window, each shown twice."""
    for _ in range(2):
        for day in (OTHER, DAY):
            write_day(f"{tmp_path}/tables", day, TABLES)
        write_day(f"{tmp_path}/tables/windows", WINDOW, TABLES, column="window")
    return OutputFolder(tmp_path / "tables", "day")


def test_a_path_is_that_of_the_run_that_a_day_shows(
    conf: str, place: OutputFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    shown, windows = place.shown(DAY), OutputFolder(place.root / "windows", "window")
    for words, code, out, error in (
        (("--date", DAY), 0, shown, ""),
        (("--date", DAY, "--table", "metrics"), 0, f"{shown}/metrics", ""),
        (("--from", OTHER, "--to", DAY), 0, windows.shown(WINDOW), ""),
        (("--date", "2026-11-17"), 4, "", f"2026-11-17 has no tables under {place.root}: evaluate the day first"),
        (
            ("--date", DAY, "--table", "metric"),
            2,
            "",
            f'{DAY} has no table "metric", did you mean "metrics"? (there are: metrics, runs)',
        ),
    ):
        assert exit_code("path", "--conf", conf, *words) == code
        assert tuple(capsys.readouterr()) == (f"{out}\n" if out else "", f"sparkrank: {error}\n" if error else "")


def test_clean_removes_what_was_shown_before_and_what_killed_runs_have_left(
    conf: str, place: OutputFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    killed = place.run_folder("2026-11-17", "0123456789ab")
    (killed / "metrics").mkdir(parents=True)
    dangling = place.table_link("metrics", "2026-11-17")
    dangling.symlink_to(place.table_target("metrics", "2026-11-17"))
    windows = OutputFolder(place.root / "windows", "window")
    shown = [place.shown(OTHER), place.shown(DAY), windows.shown(WINDOW)]
    gone = [run for of in (place, windows) for run in of.runs_of() if run not in shown]
    assert exit_code("clean", "--conf", conf) == 0
    printed = capsys.readouterr().out.splitlines()
    assert sorted(printed[:-1]) == sorted(map(str, [*gone, dangling]))
    assert printed[-1] == f"Removed: {len(gone) + 1}"
    assert [*place.runs_of(), *windows.runs_of()] == shown
    assert not dangling.is_symlink()
    assert exit_code("clean", "--conf", conf) == 0
    assert capsys.readouterr().out == "Removed: 0\n"


def test_clean_of_one_day_leaves_the_others_and_what_is_being_written(conf: str, place: OutputFolder) -> None:
    assert exit_code("clean", "--conf", conf, "--date", DAY) == 0
    assert (len(place.runs_of(DAY)), len(place.runs_of(OTHER))) == (1, 2)
    assert exit_code("clean", "--conf", conf, "--from", OTHER, "--to", DAY) == 0  # the window
    assert len(OutputFolder(place.root / "windows", "window").runs_of()) == 1
    before = place.runs_of(OTHER)
    with days.day_run(str(place.root), OTHER) as run:
        assert exit_code("clean", "--conf", conf) == 0
        assert set(place.runs_of(OTHER)) == {*before, run.folder}
        run.commit(TABLES)


def test_clean_needs_to_know_which_folder(tmp_path: Path, conf: str, capsys: pytest.CaptureFixture[str]) -> None:
    each = f"output.path={tmp_path}/{{date}}"
    assert exit_code("clean", "--conf", conf, "--set", each) == 2
    assert "name the days to clean" in capsys.readouterr().err
    for command in ("clean", "unlock"):
        assert exit_code(command, "--conf", conf, "--date", DAY, "--set", "output.path=s3://lake/tables") == 2
        assert f"sparkrank {command} is for local and mounted folders" in capsys.readouterr().err


def test_a_day_that_is_written_is_unlocked_by_force_alone(
    conf: str, place: OutputFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("unlock", "--conf", conf, "--date", DAY)
    assert exit_code(*words) == 0  # nobody holds it
    capsys.readouterr()
    with days.day_run(str(place.root), DAY):
        assert exit_code(*words) == 1
        assert f"a run is writing {DAY}" in capsys.readouterr().err
        assert exit_code(*words, "--force") == 0
        assert capsys.readouterr().out == f"{place.lock(DAY)}\n"
        assert not place.lock(DAY).exists()


def test_commands_that_do_not_evaluate_need_no_plugin(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nor the metrics that its module would register, unless a gate may be about them."""
    write_logs(tmp_path, DAY)
    gates = [{"metric": "ap", "min": 2}]
    assert exit_code("evaluate", "--conf", spec_of(tmp_path, metrics=["ap"], gates=gates), "--date", DAY) == 3

    def words(**changes: Any) -> tuple[str, ...]:
        return (
            "--conf",
            spec_of(tmp_path, **{"metrics": ["ap", "nowhere@3"], "gates": gates, **changes}),
            "--date",
            DAY,
        )

    of_day = words(plugins=["no_such_module"])
    for code, *command in (
        (0, "path", *of_day),
        (0, "export", *of_day, f"{tmp_path}/goal"),
        (0, "report", *of_day, "--format", "md"),
        (0, "plan", *of_day),
        (3, "gate", *of_day),
        (0, "accept", *of_day, "--reason", "known"),
        (0, "gate", *of_day),
        (0, "clean", *of_day),
        (0, "unlock", *of_day),
    ):
        assert exit_code(*command) == code, command
    assert (tmp_path / f"goal/metrics/day={DAY}").is_dir()
    assert "| ap |" in capsys.readouterr().out
    for changes, commands in (
        ({}, ("evaluate", "validate")),
        ({"metrics": ["nowhere@3"]}, ("gate", "plan")),
        ({"gates": [{"metric": "nowhere@3", "min": 0}]}, ("gate",)),
        ({"gates": [{"metric": "*", "min": 0}]}, ("gate",)),
    ):
        for command in commands:
            assert exit_code(command, *words(plugins=["no_such_module"], **changes)) == 2
            assert "there is no module no_such_module" in capsys.readouterr().err
