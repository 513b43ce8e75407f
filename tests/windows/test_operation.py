"""Windows as they are run: again, with days that lack, with days replaced meanwhile, with words that are wrong."""

from __future__ import annotations

import datetime as dt
import json
import shutil
from pathlib import Path

import pandas as pd
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from sparkrank import cli, native
from sparkrank.config import load_spec
from sparkrank.jobs import compare_job
from sparkrank.run.provenance import runs_table
from sparkrank.run.stages import Stages
from sparkrank.schemas.tables import WINDOW_RUNS
from sparkrank.tables.rows.results import Origin
from tests.support.stored_files import one_file
from tests.windows.week import (
    DAYS,
    WINDOW,
    assert_same,
    evaluate,
    exit_code,
    impressions_of,
    merging,
    refused,
    spec_of,
    window_table,
    write_log,
)


def test_a_window_again_leaves_the_same_bits_and_the_days_alone(tables: Path) -> None:
    def days_of(table: str) -> pd.DataFrame:
        return ds.dataset(tables / f"tables/{table}", partitioning="hive").to_table().to_pandas()

    before = {name: days_of(name) for name in ("metrics", "quality", "runs", "states", "blocks")}
    cli.main(merging(spec_of(tables)))
    first = {name: window_table(tables, name) for name in ("metrics", "quality", "blocks")}
    cli.main(merging(spec_of(tables)))
    cli.main(merging(spec_of(tables), last=DAYS[2]))
    for name, frame in first.items():
        assert_same(window_table(tables, name), frame)
    for name, frame in before.items():
        assert_same(days_of(name), frame)
    windows = ds.dataset(tables / "tables/windows/metrics", partitioning="hive").to_table()
    assert set(windows["window"].to_pylist()) == {WINDOW, f"{DAYS[0]}..{DAYS[2]}"}


def test_missing_days(tables: Path, capsys) -> None:
    cli.main(merging(spec_of(tables)))
    whole_week = window_table(tables, "runs")["run_id"].iloc[0]
    shutil.rmtree(tables / "tables/windows")
    missing = [DAYS[1], DAYS[3], DAYS[4]]
    for day in missing:
        (tables / f"tables/_days/{day}").unlink()
    sentence = "sparkrank: there are no states of 2026-11-14, 2026-11-16..2026-11-17 under "
    assert refused(capsys, *merging(spec_of(tables))).startswith(sentence)
    assert not (tables / "tables/windows").exists()

    cli.main(merging(spec_of(tables), "--allow-missing"))
    (run,) = window_table(tables, "runs").to_dict("records")
    assert run["run_id"] != whole_week
    assert (list(run["days"]), list(run["days_missing"])) == ([DAYS[0], DAYS[2], *DAYS[5:]], missing)
    assert set(window_table(tables, "metrics")["n_days"]) == {4}
    assert "Missing: 2026-11-14, 2026-11-16..2026-11-17" in capsys.readouterr().out


def test_no_day_at_all_is_an_error_always(tmp_path: Path, capsys) -> None:
    conf = spec_of(tmp_path, output__path=str(tmp_path / "elsewhere"))
    sentence = f"there are no states of {WINDOW} under {tmp_path}/elsewhere: evaluate them first"
    assert sentence in refused(capsys, *merging(conf, "--allow-missing"))
    assert not (tmp_path / "elsewhere").exists()


def test_a_wrong_window_is_exit_2(week, capsys) -> None:
    for arguments, sentence in (
        (["--from", "2026-11-19", "--to", "2026-11-13"], "--from 2026-11-19 is after --to 2026-11-13"),
        (["--from", "13.11.2026", "--to", "2026-11-13"], "--from 13.11.2026 is not a day of the form YYYY-MM-DD"),
        (["--from", "2026-11-13", "--to", "2026-11-31"], "--to 2026-11-31 is not a day of the form YYYY-MM-DD"),
        (["--from", "2026-11-13"], "Missing option '--to'"),
        (["--from", "0026-11-13", "--to", "2026-11-13"], "is a window of 730486 days: at most 36525 are allowed"),
    ):
        assert exit_code("merge", "--conf", spec_of(week[0]), *arguments) == 2
        assert sentence in capsys.readouterr().err, arguments


@pytest.mark.parametrize("keep", [0, 1])
def test_a_day_replaced_meanwhile_is_the_old_one_or_named(
    tables: Path, capsys, monkeypatch: pytest.MonkeyPatch, keep: int
) -> None:
    """Its old run is still there for who has found it, unless none is kept."""
    find = compare_job.find_days

    def replaced_meanwhile(*arguments):
        days = find(*arguments)
        evaluate(spec_of(tables, output__keep_runs=keep), DAYS[2])
        return days

    monkeypatch.setattr(compare_job, "find_days", replaced_meanwhile)
    code, error = exit_code(*merging(spec_of(tables))), capsys.readouterr().err
    sentence = "2026-11-15 was evaluated again while it was read: merge once more"
    assert (code, sentence in error) == ((0, False) if keep else (4, True))


def test_an_output_of_each_day(tables: Path) -> None:
    """{date} in output.path: every day has its own place, and so has the window."""
    conf = spec_of(tables, output__path=f"{tables}/by/{{date}}")
    for day in DAYS[:2]:
        evaluate(conf, day)
    cli.main(merging(conf, last=DAYS[1]))
    window = f"{DAYS[0]}..{DAYS[1]}"
    path = one_file(tables / f"by/{window}/windows/metrics/window={window}")
    assert set(pq.read_table(path, partitioning=None)["n_days"].to_pylist()) == {2}


def test_the_run_of_a_day_says_what_was_read_and_how(tmp_path: Path) -> None:
    write_log(tmp_path, impressions_of(DAYS[0], 150), DAYS[0])
    evaluate(spec_of(tmp_path, engine__buckets=3), DAYS[0])
    (run,) = pq.read_table(tmp_path / f"tables/runs/day={DAYS[0]}", partitioning=None).to_pylist()
    assert (run["status"], run["lane"], run["lane_reason"]) == ("done", "local", "there is no Spark session")
    assert (run["input"], run["rows"], run["buckets"]) == (f"{tmp_path}/log/dt={DAYS[0]}", 150, 3)


def test_a_run_says_whether_it_had_the_compiled_loops(tmp_path: Path, monkeypatch) -> None:
    """Where one of two machines is slow, its ``versions`` tell why."""
    now = dt.datetime(2026, 11, 20, tzinfo=dt.timezone.utc)
    for compiled, named in ((True, "compiled"), (False, "numpy")):
        monkeypatch.setattr(native, "COMPILED", compiled)
        table = runs_table(WINDOW_RUNS.schema, load_spec(spec_of(tmp_path)), Origin("hash", "run"), now, Stages(), None)
        assert json.loads(table["versions"][0].as_py())["loops"] == named
