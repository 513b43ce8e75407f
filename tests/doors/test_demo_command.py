"""`sparkrank demo`: a log, its spec and a report in a folder of their own, and commands that run as printed."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import yaml

from sparkrank.jobs import demo_log
from sparkrank.jobs.demo_log import write_log
from tests.support.commands import exit_code


@pytest.fixture(autouse=True)
def _without_java(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "")


def test_the_demo_evaluates_its_log_and_every_command_that_it_prints_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = "a demo: 1 # 'mine'"  # each of these signs means something in YAML or in a shell
    assert exit_code("demo", "--folder", folder, "--rows", "2e4") == 0
    printed = capsys.readouterr().out
    assert "Making 20,000 impressions of 1,000 users" in printed
    assert "Lane: local" in printed
    spec = yaml.safe_load(Path(folder, "demo.yaml").read_text(encoding="utf-8"))
    assert spec["engine"] == {"lane": "local"}
    looked_at = printed.partition("\nLook at\n")[2]
    (page,) = re.findall(r"(\S.*\.html)$", looked_at.replace("the report, for your browser", "").strip(), re.MULTILINE)
    assert Path(page.strip()).is_file()
    commands = re.findall(r"sparkrank (\w+ --conf .*)$", looked_at, re.MULTILINE)
    assert [command.split()[0] for command in commands] == ["gate", "compare", "movers", "explain"]
    for command in commands:
        assert exit_code(*shlex.split(command)) == 0, command
    capsys.readouterr()
    assert exit_code("demo", "--folder", folder) == 2
    assert "exists already: name another folder with --folder, or remove this one" in capsys.readouterr().err
    for rows in ("999", "2000.5", "many", "nan", "inf", "1e30"):
        assert exit_code("demo", "--folder", "other", "--rows", rows) == 2
        assert f"{rows} is not a whole number from 1,000 to 1,000,000,000" in capsys.readouterr().err
    for strange in ("glob[1]", "a*", "{date}", "new\nline", "~/x", "s3://bucket/x", "file:///x"):
        assert exit_code("demo", "--folder", strange) == 2
        assert "name a local folder" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == [folder]


@pytest.mark.parametrize("error", [RuntimeError("the disk is gone"), KeyboardInterrupt()])
def test_a_demo_that_ends_early_leaves_nothing_and_takes_an_empty_folder(
    error: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    def fails(*_: object, **__: object) -> None:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr("sparkrank.cli.evaluation_commands.evaluate_day", fails)
        assert exit_code("demo", "--rows", "1000") == 1
    assert list(tmp_path.iterdir()) == []
    Path("sparkrank-demo").mkdir()
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    assert exit_code("demo", "--rows", "1000") == 0


@pytest.mark.parametrize("named", ["JAVA_HOME", "PATH"])
def test_a_demo_leaves_the_lane_open_where_there_is_a_java(
    named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (java := tmp_path / "jdk" / "bin" / "java").parent.mkdir(parents=True)
    java.touch(0o755)
    monkeypatch.setenv(named, str(java.parent if named == "PATH" else java.parents[1]))
    monkeypatch.setattr("sparkrank.cli.demo.has_pyspark", lambda: True)
    lanes = []

    def looked_at(conf: str, **_: object) -> None:
        lanes.append(yaml.safe_load(Path(conf).read_text(encoding="utf-8"))["engine"]["lane"])

    monkeypatch.setattr("sparkrank.cli.demo.evaluate", looked_at)
    assert exit_code("demo", "--rows", "1000") == 0
    assert lanes == ["auto"]


def test_without_the_extra_report_the_demo_says_how_to_get_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sparkrank.cli.demo.lacking_extra", lambda: ["altair"])
    assert exit_code("demo", "--rows", "1000") == 0
    of_day = "--conf sparkrank-demo/demo.yaml --date 2026-01-31"
    assert f"pip install 'sparkrank[report]' && sparkrank report {of_day}\n" in capsys.readouterr().out
    assert not Path("sparkrank-demo/tables/report").exists()


def test_the_log_is_the_same_every_time_and_its_story_is_true(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The candidate's scores are nearer to the clicks of returning users, and as far from those of new ones."""
    monkeypatch.setattr(demo_log, "FILE_ROWS", 150_000)
    for name in ("a", "b"):
        write_log(tmp_path / name, 400_000)
    files = sorted(path.name for path in (tmp_path / "a").iterdir())
    assert files == ["part-00000.parquet", "part-00001.parquet", "part-00002.parquet"]
    assert all((tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes() for name in files)
    log = pq.read_table(tmp_path / "a").to_pandas()
    assert len(log) == 400_000
    assert log["user_id"].between(0, 19_999).all()
    assert log.groupby("user_id")[["user", "device"]].nunique().max().max() == 1
    of_user = log.groupby("user_id")[["user", "device"]].first().value_counts(normalize=True)
    expected = {("returning", "phone"): 0.47, ("returning", "desktop"): 0.47, ("new", "phone"): 0.03}
    assert all(abs(of_user[key] - share) < 0.01 for key, share in expected.items())
    for kind, is_better in (("returning", True), ("new", False)):
        rows = log[log["user"] == kind]
        clicked = rows["clicked"].to_numpy()
        lead = {name: np.corrcoef(rows[name], clicked)[0, 1] for name in ("production", "candidate")}
        assert (lead["candidate"] - lead["production"] > 0.03) == is_better, kind
