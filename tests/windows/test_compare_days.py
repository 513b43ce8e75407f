"""``sparkrank compare --conf``: models of stored days and windows, from their states alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.support.commands import exit_code
from tests.uncertainty.test_parts import days_of, log
from tests.windows.week import DAYS, merging

METRICS = ["ndcg@5", "gauc", "auc", "logloss"]
ASKED: dict[str, Any] = {"metrics": METRICS, "compare": {"baseline": "a"}, "slices": ["country"]}


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> str:
    return days_of(tmp_path_factory.mktemp("compared"), [log(41), log(42)], **ASKED)


@pytest.fixture
def told(spec: str, capsys) -> Callable[..., str]:
    """What ``sparkrank compare`` prints."""

    def printed(*words: str) -> str:
        capsys.readouterr()
        assert exit_code("compare", "--conf", spec, *words) == 0
        return str(capsys.readouterr().out)

    return printed


@pytest.fixture
def compared(told: Callable[..., str]) -> Callable[..., dict[str, Any]]:
    return lambda *words: json.loads(told(*words, "--json"))


def stored(spec: str) -> pd.DataFrame:
    (file,) = (Path(spec).parent / f"tables/comparisons/day={DAYS[0]}").glob("*.parquet")
    return pd.read_parquet(file)


def test_a_day_is_what_its_run_has_written(spec: str, compared) -> None:
    answer = compared("--date", DAYS[0])
    assert (answer["window"], answer["missing"]) == (f"{DAYS[0]}..{DAYS[0]}", [])
    columns = ["candidate", "slice_value", "metric", "difference", "stderr", "p_adjusted", "wins", "n_groups"]
    rows = pd.DataFrame(answer["comparisons"])[columns]
    assert json.loads(rows.to_json()) == json.loads(stored(spec)[columns].astype(object).to_json())


def test_a_window_is_what_its_merge_has_written(spec: str, compared) -> None:
    assert exit_code(*merging(spec, last=DAYS[1])) == 0
    rows = compared("--from", DAYS[0], "--to", DAYS[1])["comparisons"]
    assert {row["interval"] for row in rows} == {"jackknife"}
    (file,) = (Path(spec).parent / "tables/windows/comparisons").glob("*/*.parquet")
    expected = pd.read_parquet(file)
    for name in ("difference", "stderr", "p", "p_adjusted"):
        assert [row[name] for row in rows] == expected[name].tolist()


def test_another_baseline_is_compared_by_parts(spec: str, compared) -> None:
    forth = compared("--date", DAYS[0], "--baseline", "b", "--metric", "NDCG@5")["comparisons"]
    back = stored(spec).query("metric == 'ndcg@5'")
    assert {(row["candidate"], row["interval"]) for row in forth} == {("a", "jackknife")}
    assert [row["difference"] for row in forth] == pytest.approx([-value for value in back["difference"]])


def test_corrections_and_families_are_those_asked_for(compared) -> None:
    words = ("--date", DAYS[0], "--correction", "none", "--family", "metric", "--model", "b")
    rows = compared(*words)["comparisons"]
    assert {row["correction"] for row in rows} == {"none"}
    assert {row["family"] for row in rows} == {f"metric {name}" for name in METRICS}
    assert all(row["p"] == row["p_adjusted"] for row in rows)


def test_the_text_has_the_whole_day_first_and_then_what_is_sure(spec: str, told) -> None:
    text = told("--date", DAYS[0])
    assert text.startswith(f"Models of {DAYS[0]}\n\nb against a\n\nmetric")
    sure = stored(spec).query("slice != 'all' and p_adjusted < 0.05")
    for value in sure["slice_value"].unique():
        assert f"b where country is {value}\n" in text
    assert f"{3 * len(METRICS) - len(sure)} comparisons of slices show no clear difference" in text


def test_of_a_metric_the_text_has_every_value_of_a_slice_sure_or_not(spec: str, told) -> None:
    head, *by_metric = told("--date", DAYS[0], "--metric", "AUC", "--metric", "gauc").split("b against a, ")
    assert head == f"Models of {DAYS[0]}\n\n"
    for metric, text in zip(("gauc", "auc"), by_metric, strict=True):
        title, _, names, _, *lines = text.rstrip().splitlines()
        assert (title, names.split()[:2], names.split()[-1]) == (metric, ["slice", "difference"], "detectable")
        expected = [
            [
                "all" if row["slice"] == "all" else f"{row['slice']}={row['slice_value']}",
                f"{row['difference']:+.5f}",
                f"{row['smallest_detectable']:.5f}",
            ]
            for row in stored(spec).query("metric == @metric").to_dict("records")
        ]
        assert len(expected) == 4
        assert [[*line.split()[:2], line.split()[-1]] for line in lines] == expected


def test_what_cannot_be_compared_is_told(spec: str, capsys) -> None:
    capsys.readouterr()
    for words, code, sentence in (
        (["--date", "2026-11-20"], 4, "there are no states of 2026-11-20 under "),
        (["--from", DAYS[0], "--to", DAYS[2]], 4, f"there are no states of {DAYS[2]} under "),
        (["--from", DAYS[0]], 2, "--from and --to go together"),
        (["--from", DAYS[0], "--to", DAYS[1], "--date", DAYS[0]], 2, "--from and --date do not go together"),
        (["--date", DAYS[0], "--lane", "local"], 2, "comparisons take no --lane"),
        (["--date", DAYS[0], "--other-definitions"], 2, "--conf alone and --other-definitions do not go together"),
        (["--date", DAYS[0], "--allow-missing"], 2, "--allow-missing is for a window: --from and --to"),
        (["--date", DAYS[0], "--decompose", "a", "--correction", "none"], 2, "--decompose and --correction do not"),
        (["--date", DAYS[0], "--baseline", "c"], 2, 'compare.baseline is "c" (models: a, b)'),
        (["--date", DAYS[0], "--model", "c"], 2, '--model: the spec has no model "c"'),
        (["--date", DAYS[0], "--metric", "ndcg@6"], 2, '--metric: the spec has no "ndcg@6", did you mean "ndcg@5"?'),
        (["--date", DAYS[0], "--set", "compare=null"], 2, "no baseline is named: name it with --baseline MODEL or"),
    ):
        assert exit_code("compare", "--conf", spec, *words) == code, words
        assert sentence in " ".join(capsys.readouterr().err.split())


def test_the_days_that_are_there_are_compared_where_asked(told) -> None:
    words = ("--from", DAYS[0], "--to", DAYS[2], "--allow-missing")
    assert json.loads(told(*words, "--json"))["missing"] == [DAYS[2]]
    assert f"no states of {DAYS[2]}" in told(*words)
