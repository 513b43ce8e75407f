"""Many days in one command: in order, on from where it stopped, past days without input where that is asked for."""

from __future__ import annotations

import json
import shutil
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sparkrank.config import load_spec
from sparkrank.jobs.backfill import BackfilledDay, worst_code
from sparkrank.run.provenance import origin_of
from sparkrank.schemas.tables import RUNS
from tests.support.commands import exit_code
from tests.support.stored_files import one_file
from tests.windows.week import DAYS, spec_of, write_logs


def many(conf: str, *more: str, first: str = DAYS[0], last: str = DAYS[-1]) -> list[str]:
    return ["evaluate", "--conf", conf, "--from", first, "--to", last, *more]


def run_of(folder: Path, day: str) -> dict:
    return pq.read_table(one_file(folder / f"tables/runs/day={day}"), partitioning=None).to_pylist()[0]


def words(printed: str) -> dict[str, str]:
    """What the line of each day says first."""
    lines = (line.split("  ", 1) for line in printed.splitlines() if line[:2] == "20")
    return {day: told.partition(":")[0].partition(",")[0] for day, told in lines}


def test_days_are_evaluated_as_one_by_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("one", "many"):
        write_logs(tmp_path / name, *DAYS)
        conf = spec_of(tmp_path / name, input__path=f"{tmp_path}/one/log/dt={{date}}")
        if name == "many":
            assert exit_code(*many(conf)) == 0
        else:
            assert [exit_code("evaluate", "--conf", conf, "--date", day) for day in DAYS] == [0] * 7
    assert words(capsys.readouterr().out) == dict.fromkeys(DAYS, "evaluated")
    for day in DAYS:
        for table in ("metrics", "groups", "states", "blocks", "quality"):
            one, other = (
                pq.read_table(tmp_path / name / f"tables/{table}/day={day}", partitioning=None).to_pandas()
                for name in ("one", "many")
            )
            pd.testing.assert_frame_equal(one, other, check_exact=True)


def test_a_failing_day_stops_it_and_the_same_command_resumes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_logs(tmp_path, *DAYS[:3], *DAYS[4:])
    conf = spec_of(tmp_path)
    assert exit_code(*many(conf)) == 4
    told = capsys.readouterr()
    assert words(told.out) == dict.fromkeys(DAYS[:3], "evaluated")
    assert f"Stopped at {DAYS[3]}: the days before it stay" in told.out
    assert told.err == f"sparkrank: there is no parquet input at {tmp_path}/log/dt={DAYS[3]}\n"
    assert sorted(each.name for each in (tmp_path / "tables/metrics").iterdir()) == [f"day={day}" for day in DAYS[:3]]
    started = [run_of(tmp_path, day)["started_at"] for day in DAYS[:3]]

    write_logs(tmp_path, DAYS[3])
    assert exit_code(*many(conf)) == 0
    told = capsys.readouterr()
    assert words(told.out) == {**dict.fromkeys(DAYS[:3], "there already"), **dict.fromkeys(DAYS[3:], "evaluated")}
    assert [run_of(tmp_path, day)["started_at"] for day in DAYS[:3]] == started
    assert exit_code(*many(conf, "--again")) == 0
    assert words(capsys.readouterr().out) == dict.fromkeys(DAYS, "evaluated")


def test_a_day_of_bad_rows_stops_it_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """--allow-missing passes over days without input, not over days whose input is wrong."""
    write_logs(tmp_path, *DAYS)
    pq.write_table(pa.table({"user_id": [1]}), tmp_path / f"log/dt={DAYS[1]}/0.parquet")
    assert exit_code(*many(spec_of(tmp_path), "--allow-missing")) == 4
    told = capsys.readouterr()
    assert words(told.out) == {DAYS[0]: "evaluated"}
    assert "clicked" in told.err


def test_days_without_input_are_listed_at_the_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No folder, an empty folder, and files without rows."""
    write_logs(tmp_path, *DAYS)
    shutil.rmtree(tmp_path / f"log/dt={DAYS[1]}")
    (tmp_path / f"log/dt={DAYS[2]}/0.parquet").unlink()
    rows = pq.read_table(tmp_path / f"log/dt={DAYS[5]}/0.parquet", partitioning=None)
    pq.write_table(rows[:0], tmp_path / f"log/dt={DAYS[5]}/0.parquet")
    conf = spec_of(tmp_path)
    assert exit_code(*many(conf, "--allow-missing")) == 0
    out = capsys.readouterr().out
    missing = {DAYS[1], DAYS[2], DAYS[5]}
    assert words(out) == {day: "no input" if day in missing else "evaluated" for day in DAYS}
    assert out.splitlines()[-1] == f"Without input: 3 days ({DAYS[1]}..{DAYS[2]}, {DAYS[5]})"
    assert exit_code(*many(conf, "--allow-missing", first=DAYS[1], last=DAYS[2])) == 4
    assert f"no day of {DAYS[1]}..{DAYS[2]} has input" in capsys.readouterr().err


def test_another_spec_evaluates_days_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_logs(tmp_path, *DAYS[:2])
    for changes, word in (
        ({}, "evaluated"),
        ({"engine__buckets": 3}, "there already"),  # how it runs is no other question
        ({"metrics": ["ndcg@5", "auc"]}, "evaluated"),
        ({"output__curves": 10}, "evaluated"),  # which no hash knows
        ({"slices": ["country"]}, "evaluated"),
        ({"quality__max_bad_fraction": 0.5}, "evaluated"),
    ):
        assert exit_code(*many(spec_of(tmp_path, **changes), last=DAYS[1])) == 0
        assert words(capsys.readouterr().out) == dict.fromkeys(DAYS[:2], word), changes


def without_a_file(folder: Path) -> None:
    one_file(folder / f"tables/groups/day={DAYS[0]}").unlink()


def without_a_table(folder: Path) -> None:
    (folder / f"tables/blocks/day={DAYS[0]}").unlink()


def rewritten(folder: Path, **changes: object) -> None:
    run = {**run_of(folder, DAYS[0]), **changes}
    path = one_file(folder / f"tables/runs/day={DAYS[0]}")
    pq.write_table(pa.Table.from_pylist([run], schema=RUNS.schema), path)


def of_another_version(folder: Path) -> None:
    rewritten(folder, run_id=f"{DAYS[0]}-000000000000")


def of_a_session(folder: Path) -> None:
    """Read under a setting of Spark's, which the local lane does not read: the run is that of another question."""
    session = {"spark.sql.ansi.enabled": "false"}
    run_id = origin_of(load_spec(folder / "spec.yaml"), DAYS[0], session).run_id
    rewritten(folder, versions=json.dumps({"session": session}), run_id=run_id)


def unreadable_run(folder: Path) -> None:
    one_file(folder / f"tables/runs/day={DAYS[0]}").write_bytes(b"PAR1")


def test_a_day_that_is_not_whole_is_evaluated_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_logs(tmp_path, *DAYS[:2])
    conf = spec_of(tmp_path)
    assert exit_code(*many(conf, last=DAYS[1])) == 0
    damages = [without_a_file, without_a_table, of_another_version, of_a_session, unreadable_run]
    no_objects = ({"versions": "null"}, {"versions": '{"session": [1]}'}, {"spec": "null"}, {"spec": None})
    damages += [partial(rewritten, **changes) for changes in no_objects]
    for damage in damages:
        damage(tmp_path)
        capsys.readouterr()
        assert exit_code(*many(conf, last=DAYS[1])) == 0
        expected = {DAYS[0]: "evaluated", DAYS[1]: "there already"}
        assert words(capsys.readouterr().out) == expected, damage


def test_optionsthat_make_no_sense(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for options, sentence in (
        (["--date", DAYS[0], "--from", DAYS[0], "--to", DAYS[1]], "--date and --from do not go together"),
        (["--date", DAYS[0], "--to", DAYS[1]], "--date and --to do not go together"),
        (["--from", DAYS[0]], "--from needs --to"),
        (["--to", DAYS[0]], "--to needs --from"),
        (["--from", DAYS[1], "--to", DAYS[0]], f"--from {DAYS[1]} is after --to {DAYS[0]}"),
        (["--from", "2026-13-01", "--to", DAYS[0]], "--from 2026-13-01 is not a day"),
        (["--date", DAYS[0], "--again"], "--again is for many days"),
        (["--date", DAYS[0], "--allow-missing"], "--allow-missing is for many days"),
    ):
        assert exit_code("evaluate", "--conf", spec_of(tmp_path), *options) == 2
        assert sentence in capsys.readouterr().err, options
    assert not (tmp_path / "tables").exists()


def test_the_exit_code_is_that_of_the_worst_day() -> None:
    """A failed gate (3) is worse than an undecided one (5); None is a day that was not evaluated."""
    results = {code: SimpleNamespace(judgment=SimpleNamespace(exit_code=code)) for code in (0, 3, 5)}
    for codes, worst in (([], 0), ([0, 0], 0), ([0, 5, 0], 5), ([5, 3, 0], 3), ([3, 5], 3), ([None, 5], 5)):
        days = [BackfilledDay(DAYS[0], "evaluated", result=results.get(code)) for code in codes]
        assert worst_code(days) == worst, codes


def test_an_input_without_a_day_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_logs(tmp_path, DAYS[0])
    conf = spec_of(tmp_path, input__path=f"{tmp_path}/log/dt={DAYS[0]}")
    assert exit_code(*many(conf)) == 2
    assert "input has no mark of a day, as {date}" in capsys.readouterr().err
    assert not (tmp_path / "tables").exists()
