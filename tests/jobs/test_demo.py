"""The demo and the README's block of commands through spark-submit: what the README shows is printed, and is true."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from tests.browser.conftest import Open, browser, opened
from tests.jobs.conftest import PROJECT, Submit
from tests.support.commands import exit_code

__all__ = ["browser", "opened"]  # fixtures

# The demo itself is a part of every run of CI, and its metrics are tested in tests/peers and tests/metrics.
pytestmark = [pytest.mark.job, pytest.mark.tools]

DAY = "2026-01-31"
SPEC = str(PROJECT / "conf" / "demo.yaml")
README = (PROJECT / "README.md").read_text(encoding="utf-8")
BEYOND_ACCURACY = ("shown(of=interactions.rows)@3", "shown(of=tier,is=tail)@3", "coverage(ties=item)@3")
# Scripts one after the other, each with a session of its own: in one JVM, whose start is most of a small job.
SCRIPTS = """
import runpy, sys

for script, *words in %r:
    print("now", script, flush=True)
    sys.argv = [script, *words]
    runpy.run_path(script, run_name="__main__")
"""


@pytest.fixture(scope="module")
def demo(
    tmp_path_factory: pytest.TempPathFactory, submit: Submit, spark_environment: dict[str, str]
) -> tuple[Path, str]:
    """The folder in which the demo and then the README's block on Spark have run, and what the evaluation printed."""
    # ALS nests deep where a JVM has not compiled its best code.
    jvm = f"{spark_environment['SPARK_SUBMIT_OPTS']} -Xss4m"
    folder = tmp_path_factory.mktemp("demo")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)  # the spec of the demo names folders below the one it is run in
        make = [f"{PROJECT}/examples/movielens.py", "--date", DAY, "--output", "demo/impressions"]
        lines = [line.split()[1:] for line in README.splitlines() if line.startswith("    spark-submit ")]
        jobs = [
            [word.replace("jobs/", f"{PROJECT}/jobs/").replace("conf/demo.yaml", SPEC) for word in line]
            for line in lines
        ]
        (folder / "scripts.py").write_text(SCRIPTS % [make, *jobs], encoding="utf-8")
        done = submit(str(folder / "scripts.py"), SPARK_SUBMIT_OPTS=jvm)
        assert done.returncode == 0, done.stdout
    _, evaluated, merged = done.stdout.split(f"now {PROJECT}/jobs/")
    assert (folder / f"demo/tables/windows/metrics/window={DAY}..{DAY}").is_dir(), merged
    return folder, evaluated


def test_its_report_opens_in_a_browser(demo: tuple[Path, str], opened: Open) -> None:
    """It asks for nothing, the console says nothing, and the verdicts and values are there."""
    (report,) = (demo[0] / "demo/tables/report").glob(f"day={DAY}/*.html")
    found = opened(report.read_text(encoding="utf-8"))
    assert (found.told, found.asked) == ([], [])
    text = found.page.inner_text("body")
    assert f"films - {DAY}" in text
    metrics = pd.read_parquet(demo[0] / "demo/tables/metrics")
    asked = metrics["metric"].isin(["ndcg@10", *BEYOND_ACCURACY])
    whole = metrics[(metrics["slice"] == "all") & asked]["value"]
    assert len(whole) == 2 * (1 + len(BEYOND_ACCURACY))
    for value in whole:
        assert f"{value:.4f}" in text
    for gate in pd.read_parquet(demo[0] / "demo/tables/gates")["gate"]:
        assert gate in text


def test_the_readme_shows_what_the_demo_prints(
    demo: tuple[Path, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its numbers for users with few ratings are those of scipy's paired t test of the group table."""
    monkeypatch.chdir(demo[0])
    assert exit_code("compare", "--conf", SPEC, "--date", DAY, "--metric", "ndcg@10") == 0
    printed = {line.strip() for line in (demo[1] + capsys.readouterr().out).splitlines()}
    answer = re.search(r"Their output includes\n\n((?:    .*\n|\n)+)", README)
    assert answer is not None
    shown = [line.strip() for line in answer[1].splitlines() if line.strip()]
    assert len(shown) == 8
    assert [line for line in shown if line not in printed] == []

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


def test_what_als_and_popularity_differ_in_beyond_accuracy(demo: tuple[Path, str]) -> None:
    """The README's numbers are those that pandas counts in the training ratings and the first three films."""
    rows = pd.read_parquet(demo[0] / "demo/impressions")
    rows = rows.sort_values("item_id", key=lambda items: items.astype(str), ascending=False)  # as ties=item has it
    ratings = pd.read_parquet(demo[0] / "demo/ratings")["item_id"].value_counts()
    ranked = ratings.iloc[np.lexsort([ratings.index.astype(str), -ratings])]
    tail = ranked.index[ranked.cumsum() - ranked >= 0.95 * ranked.sum()]
    values = {}
    for model in ("als", "popularity"):
        first = rows.sort_values(model, ascending=False, kind="stable").groupby("user_id").head(3)["item_id"]
        shown = ratings[first].mean(), first.isin(tail).mean(), first.nunique() / rows["item_id"].nunique()
        values |= {(model, metric): value for metric, value in zip(BEYOND_ACCURACY, shown, strict=True)}
    metrics = pd.read_parquet(demo[0] / "demo/tables/metrics")
    whole = metrics[metrics["slice"] == "all"].set_index(["model", "metric"])["value"]
    assert {key: whole[key] for key in values} == pytest.approx(values, abs=1e-12)
    (text,) = (line for line in README.splitlines() if line.startswith("They also differ beyond accuracy."))
    for (_, metric), value in values.items():
        text_of = f"{value:.1f}" if metric == BEYOND_ACCURACY[0] else f"{value:.1%}".replace("%", " %")
        assert metric in text
        assert text_of.replace("0.0 %", "none") in text
