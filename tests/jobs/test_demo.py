"""The demo through spark-submit: the README shows lines that it prints, and they are true."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest
from scipy import stats

from tests.jobs.conftest import PROJECT, Submit
from tests.unit.commands import exit_code

DAY = "2026-01-31"
# ALS nests deep where a JVM has not compiled its best code: see SPARK_SUBMIT_OPTS of all tests.
JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xss4m"


def test_the_readme_shows_what_the_demo_prints(
    tmp_path: Path, submit: Submit, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its numbers for users with few ratings are those of scipy's paired t test of the group table."""
    monkeypatch.chdir(tmp_path)  # the spec of the demo names folders below the one it is run in
    made = submit(
        f"{PROJECT}/examples/movielens.py", "--date", DAY, "--output", "demo/impressions", SPARK_SUBMIT_OPTS=JVM
    )
    assert made.returncode == 0, made.stdout
    spec = str(PROJECT / "conf" / "demo.yaml")
    evaluated = submit("evaluate.py", "--conf", spec, "--date", DAY)
    assert evaluated.returncode == 0, evaluated.stdout
    assert exit_code("compare", "--conf", spec, "--date", DAY, "--metric", "ndcg@10") == 0
    printed = {line.strip() for line in (evaluated.stdout + capsys.readouterr().out).splitlines()}
    page = (PROJECT / "README.md").read_text(encoding="utf-8")
    answer = re.search(r"Among their lines are\n\n((?:    .*\n|\n)+)", page[page.index("conf/demo.yaml") :])
    assert answer is not None
    shown = [line.strip() for line in answer[1].splitlines() if line.strip()]
    assert len(shown) == 8
    assert [line for line in shown if line not in printed] == []

    (report,) = Path("demo/tables/report").glob(f"day={DAY}/*.html")
    assert f"Day {DAY}" in report.read_text(encoding="utf-8")

    rows = pd.read_parquet("demo/impressions")
    few = rows.loc[rows["user_ratings"] == "few", "user_id"].unique()
    groups = pd.read_parquet("demo/tables/groups").set_index(["model", "user_id"])["ndcg@10"]
    als, popularity = (groups[model].loc[few] for model in ("als", "popularity"))
    found = stats.ttest_rel(als, popularity)
    interval = found.confidence_interval(0.95)
    (line,) = (line.split() for line in shown if line.startswith("user_ratings=few "))
    expected = [(als - popularity).mean(), interval.low, interval.high]
    assert [float(text) for text in line[1:4]] == pytest.approx(expected, abs=5.1e-6)
    assert line[6:10] == [str(int(count)) for count in ((als > popularity).sum(), 0, 0, len(few))]
    assert rows.groupby("user_ratings")["user_id"].nunique().to_dict() == {"few": 14, "many": 16}
