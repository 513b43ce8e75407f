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
from sparkrank.base.errors import InputError
from sparkrank.config import load_spec
from sparkrank.inputs.window import Window
from sparkrank.jobs import merge_days
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


def _lose(tables: Path, *days: str) -> None:
    for day in days:
        (tables / f"tables/_days/{day}").unlink()


def test_missing_days(tables: Path, capsys) -> None:
    cli.main(merging(spec_of(tables)))
    whole_week = window_table(tables, "runs")["run_id"].iloc[0]
    shutil.rmtree(tables / "tables/windows")
    _lose(tables, DAYS[1], DAYS[3], DAYS[4])
    assert exit_code(*merging(spec_of(tables))) == 4
    told = capsys.readouterr().err.splitlines()[-1]
    days = "2026-11-14, 2026-11-16..2026-11-17"
    assert told.startswith(f"sparkrank: there are no states of {days} under ")
    with pytest.raises(InputError, match="there are no states"):
        merge_days(load_spec(spec_of(tables)), Window.of(DAYS[0], DAYS[-1]), None, Stages())
    assert not (tables / "tables/windows").exists()

    cli.main(merging(spec_of(tables), "--allow-missing"))
    (run,) = window_table(tables, "runs").to_dict("records")
    assert run["run_id"] != whole_week
    assert list(run["days"]) == [DAYS[0], DAYS[2], *DAYS[5:]]
    assert list(run["days_missing"]) == [DAYS[1], DAYS[3], DAYS[4]]
    assert set(window_table(tables, "metrics")["n_days"]) == {4}
    assert "Missing: 2026-11-14, 2026-11-16..2026-11-17" in capsys.readouterr().out


def test_no_day_at_all_is_an_error_always(tables: Path, capsys) -> None:
    conf = spec_of(tables, output__path=str(tables / "elsewhere"))
    assert exit_code(*merging(conf, "--allow-missing")) == 4
    assert f"there are no states of {WINDOW} under {tables}/elsewhere: evaluate them first" in capsys.readouterr().err
    assert not (tables / "elsewhere").exists()


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
    from sparkrank.jobs import compare_job

    find = compare_job.find_days

    def replaced_meanwhile(*arguments):
        days = find(*arguments)
        evaluate(spec_of(tables, output__keep_runs=keep), DAYS[2])
        return days

    monkeypatch.setattr(compare_job, "find_days", replaced_meanwhile)
    if keep:
        cli.main(merging(spec_of(tables)))
    else:
        assert exit_code(*merging(spec_of(tables))) == 4
    told = "2026-11-15 was evaluated again while it was read: merge once more"
    assert (told in capsys.readouterr().err) != bool(keep)


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


@pytest.mark.parametrize(("compiled", "named"), [(True, "compiled"), (False, "numpy")])
def test_a_run_says_whether_it_had_the_compiled_loops(tmp_path: Path, monkeypatch, compiled: bool, named: str) -> None:
    """Where one of two machines is slow, its ``versions`` tell why."""
    monkeypatch.setattr(native, "COMPILED", compiled)
    now = dt.datetime(2026, 11, 20, tzinfo=dt.timezone.utc)
    table = runs_table(WINDOW_RUNS.schema, load_spec(spec_of(tmp_path)), Origin("hash", "run"), now, Stages(), None)
    assert json.loads(table["versions"][0].as_py())["loops"] == named
