"""The nightly job through spark-submit: tables out, the same on a second run, and one sentence when it cannot."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sparkrank.cli import main
from tests.jobs.conftest import PROJECT, differing
from tests.support.commands import exit_code

pytestmark = pytest.mark.job

DAY = "2026-11-19"


def test_a_day_twice_and_in_every_lane(
    submit, submit_in_turn, spec, stored, log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Through spark-submit by the scan lane, twice, and by the frame lane, and in this process without Spark.

    The first is what a scheduler reads: the stdout of a quiet day without rows is a sentence, that of a day a document.
    """
    conf = spec()
    day = ("evaluate", "--conf", conf, "--date", DAY)
    theirs = {"spark.shuffle.checksum.algorithm": "CRC32", "spark.eventLog.enabled": "true"}
    theirs |= {"spark.eventLog.dir": str(tmp_path / "events"), "spark.eventLog.rolling.enabled": "false"}
    theirs |= {"spark.eventLog.compress": "false", "spark.master": "local[2]"}
    (tmp_path / "events").mkdir()
    (tmp_path / "two.py").write_text(TWO, encoding="utf-8")
    quiet = ("evaluate", "--conf", conf, "--date", "2026-01-01", "--quiet")
    words = (str(PROJECT / "jobs/evaluate.py"), *quiet, *day[1:], "--json")
    first = submit(tmp_path / "two.py", *words, spark=settings_of(theirs), apart=True)
    assert first.returncode == 0, first.stderr
    assert len(_without_stopped_workers(first.stderr).splitlines()) < 10, first.stderr
    sentence, _, told = first.stdout.partition("exit code 4\n")
    assert sentence == "sparkrank: the input has no rows\n"
    document = json.loads(told)
    assert (document["day"], document["lane"], document["exit_code"]) == (DAY, "scan", 0)
    assert {row["metric"] for row in document["metrics"]} >= {"ndcg@10", "auc"}
    own = {"spark.shuffle.compress": "false", "spark.python.unix.domain.socket.enabled": "true"}
    logs = list((tmp_path / "events").iterdir())
    assert len(logs) == 2  # a context of each command
    for events in logs:
        had = settings_logged(events)
        assert {name: had.get(name) for name in own | theirs} == own | theirs
    before = stored()
    in_frame = ("--set", "engine.lane=frame", "--set", f"output.path={tmp_path}/frame")
    (again, in_scan), (other, in_frame_lane) = submit_in_turn(day, [*day, *in_frame], stops=True)
    assert (again, other) == (0, 0), in_scan + in_frame_lane
    after = stored()
    assert differing(before, after) == []
    assert len(after["runs"]) == 1
    assert len([run for run in (tmp_path / "tables/_runs").iterdir() if run.is_dir()]) == 2

    rows = pd.read_parquet(log / f"dt={DAY}")
    metrics, groups, runs = after["metrics"], after["groups"], after["runs"].iloc[0]
    assert len(metrics) == 2 * 6
    assert len(groups) == 2 * rows["user_id"].nunique()
    assert (after["quality"].set_index("check").loc["rows read", "count"]) == len(rows)
    assert list(metrics["day"].astype(str).unique()) == [DAY]
    ap = metrics.set_index(["model", "metric"]).loc[("production", "ap")]
    in_groups = groups.loc[groups["model"] == "production", "ap"]
    assert ap["value"] == pytest.approx(in_groups.mean(), abs=1e-12)
    assert (ap["n_undefined"], ap["n_groups"], ap["n_rows"]) == (in_groups.isna().sum(), len(in_groups), len(rows))
    blocks = after["blocks"].query("model == 'production' and rule == 'digits=1'")
    assert (blocks["pos"].sum(), blocks["neg"].sum()) == (rows["clicked"].sum(), (rows["clicked"] == 0).sum())
    assert json.loads(runs["spec"])["definitions"]["ties"] is None
    assert set(json.loads(runs["stages"])) == {"open", "count", "evaluate", "check"}
    assert (runs["status"], runs["lane"], runs["rows"]) == ("done", "scan", len(rows))

    assert "\nLane: scan (the input is Parquet named by path)\n" in in_scan
    assert str(tmp_path / "tables/metrics" / f"day={DAY}") in in_scan
    assert "\r" not in in_scan  # no progress line where no terminal is

    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "pyspark", None)  # importing it fails
        local = [*day, "--set", "engine.lane=local"]
        main([*local, "--set", f"output.path={tmp_path}/local"])
        main([*local, "--set", "output.groups=false"])
    for lane in ("frame", "local"):
        assert stored(lane)["runs"]["lane"].tolist() == [lane]
        assert differing(stored(lane), after) == []
    assert not list((tmp_path / "tables/groups").iterdir())  # which the last run was not asked for
    assert (tmp_path / "tables/metrics" / f"day={DAY}").is_symlink()


# A command and then the job, in one JVM, whose start is most of a small job.
TWO = """
import runpy, sys
from sparkrank.cli import main
job, first, sys.argv[1:] = sys.argv[1], sys.argv[2:8], sys.argv[8:]
try:
    main(first)
except SystemExit as ended:
    print(f"exit code {ended.code}", flush=True)
runpy.run_path(job, run_name="__main__")
"""


def settings_of(values: dict[str, str]) -> tuple[str, ...]:
    return tuple(word for name, value in values.items() for word in ("--conf", f"{name}={value}"))


def settings_logged(log: Path) -> dict[str, str]:
    """The settings of the context that logs its events in ``log``."""
    events = map(json.loads, log.read_text().splitlines())
    return next(event["Spark Properties"] for event in events if event["Event"] == "SparkListenerEnvironmentUpdate")


UNUSABLE = {
    "2025-12-31": "there is no parquet input at",
    "2026-01-01": "the input has no rows",
    "2026-01-02": 'the label column "clicked" is not in the input',
    "2026-01-04": "0.1667% of the rows cannot be evaluated (1 NaN score): max_bad_fraction allows 0.0000%, and",
}


def test_what_is_wrong_with_a_day_is_told_and_bad_rows_within_the_limit_are_counted(
    submit_in_turn, spec, stored, tmp_path: Path
) -> None:
    conf = spec()
    refused = [
        ["evaluate", "--conf", conf, "--date", day, "--set", f"output.path={tmp_path}/refused"] for day in UNUSABLE
    ]
    within = ["evaluate", "--conf", conf, "--date", "2026-01-04", "--set", "quality.max_bad_fraction=0.01"]
    *found, (code, printed) = submit_in_turn(*refused, within)
    for sentence, (ended, printed_by_day) in zip(UNUSABLE.values(), found, strict=True):
        told = _without_stopped_workers(printed_by_day)
        assert ended == 4, told
        assert sentence in _last_of_few(told)
        assert "Traceback" not in told
    assert not (tmp_path / "refused").exists()
    assert code == 0, printed
    counted = stored()["quality"].set_index("check")["count"]
    assert (counted["rows read"], counted["rows evaluated"], counted["rejected: NaN score"]) == (600, 599, 1)


def _without_stopped_workers(printed: str) -> str:
    """``printed`` without what a worker says whom Spark stops while it sends; several may say it at once.

    Nothing is left out if a traceback has a line of other code than that which starts workers.
    """
    lines = printed.splitlines(keepends=True)
    if any(line.startswith("  File ") and "pyspark/daemon.py" not in line for line in lines):
        return printed
    own = ("Traceback (most recent call last):", "  ", "BrokenPipeError")
    return "".join(line for line in lines if not line.startswith(own))


def _last_of_few(printed: str, most: int = 10) -> str:
    """The one sentence: Spark says little before it (what starts the JVM, its version), and nothing after it."""
    lines = printed.splitlines()
    assert [line for line in lines if line.startswith("sparkrank: ")] == lines[-1:]
    assert len(lines) <= most, printed
    return lines[-1]


def test_a_worker_that_fails_is_told_last(submit_in_turn, spec, tmp_path: Path) -> None:
    """Below one trace of Spark's for each task that failed; both of two fail at once."""
    words = ("evaluate", "--conf", spec(engine__lane="frame"), "--date", DAY)
    ((code, printed),) = submit_in_turn(words, stops=True, PYSPARK_PYTHON="/bin/false")
    assert code == 1, printed
    told = "sparkrank: Spark's workers run /bin/false, which does not start as a worker: set PYSPARK_PYTHON="
    assert _last_of_few(printed, most=100).startswith(told)
    assert not (tmp_path / "tables").exists()


def test_a_day_of_bad_rows_alone_is_told_by_the_exit_code(spec, tmp_path: Path, capsys) -> None:
    """Also where the group table is written by those who solve buckets, which have no group then."""
    nothing = pa.nulls(2, pa.int64())
    columns = {"user_id": nothing, "item_id": nothing, "score": [0.5, 0.5], "other": [0.5, 0.5], "clicked": [0, 1]}
    pq.write_table(pa.table(columns), tmp_path / "bad.parquet")
    conf = spec(input__path=str(tmp_path / "bad.parquet"), engine__lane="local")
    for allowed, sentence in (
        (0, "100.0000% of the rows cannot be evaluated (2 null or NaN group key)"),
        (1, "no row is left to evaluate (2 null or NaN group key)"),
    ):
        words = ("evaluate", "--conf", conf, "--date", DAY, "--set", f"quality.max_bad_fraction={allowed}")
        assert exit_code(*words) == 4
        assert sentence in capsys.readouterr().err
        assert not (tmp_path / "tables" / "metrics").exists()


def test_a_spec_that_is_wrong_ends_before_spark_starts(submit, spec) -> None:
    words = ("--conf", spec(metrics=["ndgc@10"]), "--from", DAY, "--to", DAY, "--json")
    done = submit("merge.py", *words, apart=True)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) < 10  # of what starts the JVM, its version
    error = json.loads(done.stdout)["error"]
    assert (error["code"], error["exit_code"]) == ("metric", 2)
    assert 'did you mean "ndcg"?' in error["sentence"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--date", DAY, "--set", "input.pth=x"], 'unknown key "input.pth", did you mean "path"?'),
        (["--date", DAY, "--set", "metrics=[ndgc@10]"], 'metrics[0]: unknown metric "ndgc"'),
        (["--date", DAY, "--set", "input.columns.label=user_id"], 'column "user_id" is both group and label'),
        (["--dat", DAY], "No such option"),
        (["--date", "19.11.2026"], "is not a day"),
        ([], "no day is given"),
    ],
)
def test_a_wrong_request_is_exit_2_before_anything_starts(
    spec, capsys, monkeypatch: pytest.MonkeyPatch, arguments: list[str], sentence: str
) -> None:
    monkeypatch.setattr("sparkrank.run.session.spark_session", lambda name: pytest.fail("Spark started"))
    assert exit_code("evaluate", "--conf", spec(), *arguments) == 2
    assert sentence in _last_of_few(capsys.readouterr().err, most=2)
