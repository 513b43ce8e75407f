"""Many days in one command: in order, on from where it stopped, past days without input where that is asked for."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sparkrank.config import load_spec
from sparkrank.jobs.backfill import BackfilledDay, worst_code
from sparkrank.run.provenance import origin_of
from sparkrank.schemas.tables import RUNS
from tests.support.commands import exit_code
from tests.support.stored_files import one_file
from tests.windows.week import DAYS, assert_same, refused, spec_of, write_logs


def many(conf: str, *more: str, first: str = DAYS[0], last: str = DAYS[-1]) -> list[str]:
    return ["evaluate", "--conf", conf, "--from", first, "--to", last, *more]


def run_of(folder: Path, day: str) -> dict:
    return pq.read_table(one_file(folder / f"tables/runs/day={day}"), partitioning=None).to_pylist()[0]


def words_of(printed: str) -> dict[str, str]:
    """What the line of each day says first."""
    lines = (line.split("  ", 1) for line in printed.splitlines() if line[:2] == "20")
    return {day: told.partition(":")[0].partition(",")[0] for day, told in lines}


def test_days_are_evaluated_as_one_by_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_logs(tmp_path / "one", *DAYS)
    for name in ("one", "many"):
        (tmp_path / name).mkdir(exist_ok=True)
        conf = spec_of(tmp_path / name, input__path=f"{tmp_path}/one/log/dt={{date}}")
        for words in [many(conf)] if name == "many" else [["evaluate", "--conf", conf, "--date", day] for day in DAYS]:
            assert exit_code(*words) == 0
    assert words_of(capsys.readouterr().out) == dict.fromkeys(DAYS, "evaluated")
    for day in DAYS:
        for table in ("metrics", "groups", "states", "blocks", "quality"):
            folders = (tmp_path / name / f"tables/{table}/day={day}" for name in ("one", "many"))
            assert_same(*(pq.read_table(folder, partitioning=None).to_pandas() for folder in folders))


def test_a_failing_day_stops_it_and_the_same_command_resumes(tmp_path: Path, capsys) -> None:
    """--allow-missing passes over days without input, not over days whose input is wrong."""
    write_logs(tmp_path, *DAYS[:3], *DAYS[4:])
    conf = spec_of(tmp_path)
    assert exit_code(*many(conf)) == 4
    told = capsys.readouterr()
    assert words_of(told.out) == dict.fromkeys(DAYS[:3], "evaluated")
    assert f"Stopped at {DAYS[3]}: the days before it stay" in told.out
    assert told.err == f"sparkrank: there is no parquet input at {tmp_path}/log/dt={DAYS[3]}\n"
    assert sorted(folder.name for folder in (tmp_path / "tables/metrics").iterdir()) == [
        f"day={day}" for day in DAYS[:3]
    ]
    started = [run_of(tmp_path, day)["started_at"] for day in DAYS[:3]]

    write_logs(tmp_path, DAYS[3])
    pq.write_table(pa.table({"user_id": [1]}), tmp_path / f"log/dt={DAYS[3]}/0.parquet")
    assert "clicked" in refused(capsys, *many(conf, "--allow-missing"))
    write_logs(tmp_path, DAYS[3])
    assert exit_code(*many(conf)) == 0
    expected = {**dict.fromkeys(DAYS[:3], "there already"), **dict.fromkeys(DAYS[3:], "evaluated")}
    assert words_of(capsys.readouterr().out) == expected
    assert [run_of(tmp_path, day)["started_at"] for day in DAYS[:3]] == started
    assert exit_code(*many(conf, "--again")) == 0
    assert words_of(capsys.readouterr().out) == dict.fromkeys(DAYS, "evaluated")


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
    assert words_of(out) == {day: "no input" if day in missing else "evaluated" for day in DAYS}
    assert out.splitlines()[-1] == f"Without input: 3 days ({DAYS[1]}..{DAYS[2]}, {DAYS[5]})"
    sentence = f"no day of {DAYS[1]}..{DAYS[2]} has input"
    assert sentence in refused(capsys, *many(conf, "--allow-missing", first=DAYS[1], last=DAYS[2]))


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
        assert words_of(capsys.readouterr().out) == dict.fromkeys(DAYS[:2], word), changes


def rewritten(folder: Path, **changes: object) -> None:
    run = {**run_of(folder, DAYS[0]), **changes}
    path = one_file(folder / f"tables/runs/day={DAYS[0]}")
    pq.write_table(pa.Table.from_pylist([run], schema=RUNS.schema), path)


def of_a_session(folder: Path) -> None:
    """Read under a setting of Spark's, which the local lane does not read: the run is that of another question."""
    session = {"spark.sql.ansi.enabled": "false"}
    run_id = origin_of(load_spec(folder / "spec.yaml"), DAYS[0], session).run_id
    rewritten(folder, versions=json.dumps({"session": session}), run_id=run_id)


def part(folder: Path, table: str, day: str = DAYS[0]) -> Path:
    return one_file(folder / f"tables/{table}/day={day}")


DAMAGES: dict[str, Callable[[Path], object]] = {
    "the file of another day": lambda folder: shutil.copy(part(folder, "states", DAYS[1]), part(folder, "states")),
    "without a file": lambda folder: one_file(folder / f"tables/groups/day={DAYS[0]}").unlink(),
    "without a table": lambda folder: (folder / f"tables/blocks/day={DAYS[0]}").unlink(),
    "of another version": lambda folder: rewritten(folder, run_id=f"{DAYS[0]}-000000000000"),
    "of a session": of_a_session,
    "an unreadable run": lambda folder: one_file(folder / f"tables/runs/day={DAYS[0]}").write_bytes(b"PAR1"),
    **{str(each): partial(rewritten, **each) for each in ({"versions": '{"session": [1]}'}, {"spec": "null"})},
}


def test_a_day_that_is_not_whole_is_evaluated_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_logs(tmp_path, *DAYS[:2])
    conf = spec_of(tmp_path)
    assert exit_code(*many(conf, last=DAYS[1])) == 0
    for name, damage in DAMAGES.items():
        damage(tmp_path)
        capsys.readouterr()
        assert exit_code(*many(conf, last=DAYS[1])) == 0
        assert words_of(capsys.readouterr().out) == {DAYS[0]: "evaluated", DAYS[1]: "there already"}, name


def test_what_makes_no_sense_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for options, sentence in (
        (["--date", DAYS[0], "--from", DAYS[0], "--to", DAYS[1]], "--date and --from do not go together"),
        (["--date", DAYS[0], "--to", DAYS[1]], "--date and --to do not go together"),
        (["--from", DAYS[0]], "--from needs --to"),
        (["--to", DAYS[0]], "--to needs --from"),
        (["--from", DAYS[1], "--to", DAYS[0]], f"--from {DAYS[1]} is after --to {DAYS[0]}"),
        (["--from", "2026-13-01", "--to", DAYS[0]], "--from 2026-13-01 is not a day"),
        (["--date", DAYS[0], "--again"], "--again is for many days"),
        (["--date", DAYS[0], "--allow-missing"], "--allow-missing is for many days"),
        (["--from", DAYS[0], "--to", DAYS[1]], "input has no placeholder for a day, such as {date}"),
    ):
        assert exit_code("evaluate", "--conf", spec_of(tmp_path, input__path=f"{tmp_path}/log"), *options) == 2
        assert sentence in capsys.readouterr().err, options
    assert not (tmp_path / "tables").exists()


def test_the_exit_code_is_that_of_the_worst_day() -> None:
    """A failed gate (3) is worse than an undecided one (5); None is a day that was not evaluated."""
    results = {code: SimpleNamespace(judgment=SimpleNamespace(exit_code=code)) for code in (0, 3, 5)}
    for codes, worst in (([], 0), ([0, 0], 0), ([0, 5, 0], 5), ([5, 3, 0], 3), ([3, 5], 3), ([None, 5], 5)):
        days = [BackfilledDay(DAYS[0], "evaluated", result=results.get(code)) for code in codes]
        assert worst_code(days) == worst, codes


def test_a_day_that_a_gate_stops_stops_the_same_command_again_until_it_is_accepted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_logs(tmp_path, *DAYS[:2])
    gate = {"metric": "ndcg@5", "model": "production", "name": "floor"}
    undecided = {**gate, "not_worse_than": "history", "undecided": "fail", "name": "history"}
    for gates, code, words in (
        ([{**gate, "min": 0.0}], 0, ()),
        ([{**gate, "min": 0.0}, undecided], 5, ("undecided, which stops the day: history: ndcg@5, production: ",)),
        ([{**gate, "min": 2.0}, undecided], 3, ("fail: floor: ndcg@5, production: ", "undecided, which stops")),
    ):
        conf = spec_of(tmp_path, metrics=["ndcg@5"], gates=gates)
        for word in ("evaluated", "there already"):
            assert exit_code(*many(conf, last=DAYS[1])) == code
            told = capsys.readouterr().out
            assert words_of(told) == dict.fromkeys(DAYS[:2], word)
            assert all(told.count(sentence) == 2 for sentence in words)
    for day, left in ((DAYS[0], 3), (DAYS[1], 0)):
        assert exit_code("accept", "--conf", conf, "--date", day, "--reason", "known") == 0
        capsys.readouterr()
        assert exit_code(*many(conf, "--json", last=DAYS[1])) == left
        days = json.loads(capsys.readouterr().out)["days"]
        assert [of_day["exit_code"] for of_day in days] == [0, left]
        assert [of_day["run_id"] for of_day in days] == [run_of(tmp_path, own)["run_id"] for own in DAYS[:2]]
        assert [[check["accepted"] for check in of_day["gates"]] for of_day in days] == [
            ["known"] * 2,
            [None if left else "known"] * 2,
        ]
