"""Windows in which a model or a slice starts late, has a gap, or is nowhere, and days that come after the merge."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import pytest

from tests.support.commands import exit_code
from tests.support.stored_files import one_file
from tests.windows.week import (
    DAYS,
    VALUES,
    assert_same,
    evaluate,
    impressions_of,
    merging,
    refused,
    spec_of,
    together,
    window_table,
    write_log,
)

OURS, BOTH = {"production": "score"}, {"production": "score", "candidate": "other"}
WINDOW = f"{DAYS[0]}..{DAYS[2]}"


def days_of(folder: Path, by_day: list[dict[str, Any]], **changes: Any) -> list[pd.DataFrame]:
    """Three days, each evaluated with settings of its own."""
    found = []
    for day, settings in zip(DAYS, by_day, strict=False):
        found.append(impressions_of(day, 120))
        write_log(folder, found[-1], day)
        evaluate(spec_of(folder, **changes, **settings), day)
    return found


def words(folder: Path, *more: str, **changes: Any) -> list[str]:
    return merging(spec_of(folder, **changes), *more, last=DAYS[2])


def without_film(folder: Path, rows: pd.DataFrame, **asked: Any) -> pd.DataFrame:
    """The first day again, with a kind that no other day has in place of one that all have."""
    rows = rows.assign(kind=rows["kind"].replace({"film": "play"}))
    write_log(folder, rows, DAYS[0])
    evaluate(spec_of(folder, **asked), DAYS[0])
    return rows


def test_a_model_that_starts_late_is_merged_over_its_days(tmp_path: Path, capsys) -> None:
    """The bits of its days alone, and of the others all days, also by the values of a slice that it lacks."""
    sliced = {"slices": ["kind"]}
    days = days_of(tmp_path, [{"input__columns__score": score} for score in (OURS, BOTH, BOTH)], **sliced)
    days[0] = without_film(tmp_path, days[0], input__columns__score=OURS, **sliced)
    capsys.readouterr()
    for more in (["--allow-missing"], []):
        assert exit_code(*words(tmp_path, *more, input__columns__score=BOTH, **sliced)) == 0
        told = capsys.readouterr().out
        assert "\n  The model candidate is missing on 2026-11-13: its metrics are over 2 of 3 days\n" in told
    found = window_table(tmp_path, "metrics", WINDOW)
    for model, of_days, n_days in (("production", days, 3), ("candidate", days[1:], 2)):
        own = found[found["model"] == model]
        assert_same(own, together(of_days, score={model: BOTH[model]}, slices=["kind"]).table, VALUES)
        assert set(own["n_days"]) == {n_days}
        assert all(f"{n_days} days" in pooling for pooling in own["pooling"])
    assert "play" not in set(found.loc[found["model"] == "candidate", "slice_value"])
    quality = window_table(tmp_path, "quality", WINDOW).set_index(["check", "model"])["fraction"]
    # of 240 rows the candidate was given, not of 360
    scored = pd.concat(days[1:])["other"].notna().sum()
    assert quality["rows with a score", "candidate"] == scored / 240
    assert quality["rows with a score", "production"] == 1.0
    alone = together(days[1:], ["ap"], score={"candidate": "other"}).quality.to_pandas()
    for check in ("groups without a scored row", "groups of one class (label > 0)"):
        assert quality[check, "candidate"] == alone.set_index("check").loc[check, "fraction"]
    curves = window_table(tmp_path, "curves", WINDOW)
    assert set(curves.loc[curves["model"] == "candidate", "slice_value"]) == {"all", "book", "film", "game"}


@pytest.mark.parametrize(
    ("what", "there", "lacking", "those"),
    [
        ("model", [True, False, True], DAYS[1], "that day"),
        ("slice", [True, False, False], f"{DAYS[1]}..{DAYS[2]}", "those days"),
        pytest.param("model", [True, True, False], DAYS[2], "that day", marks=pytest.mark.long),
        pytest.param("slice", [False, True, False], f"{DAYS[0]}, {DAYS[2]}", "those days", marks=pytest.mark.long),
    ],
)
def test_a_gap_needs_to_be_allowed(
    tmp_path: Path, capsys, what: str, there: list[bool], lacking: str, those: str
) -> None:
    key, name, without, with_it = {
        "model": ("input__columns__score", "candidate", OURS, BOTH),
        "slice": ("slices", "kind", ["country"], ["country", "kind"]),
    }[what]
    days = days_of(tmp_path, [{key: with_it if has else without} for has in there])
    assert (
        f"sparkrank: the {what} {name} is missing on {lacking}: evaluate {those} again, merge with --allow-missing, or "
        f"leave {name} out of the {what}s\n"
    ) in refused(capsys, *words(tmp_path, **{key: with_it}))
    assert not (tmp_path / "tables/windows").exists()
    assert exit_code(*words(tmp_path, "--allow-missing", **{key: with_it})) == 0
    told = f"  The {what} {name} is missing on {lacking}: its metrics are over {sum(there)} of 3 days\n"
    assert told in capsys.readouterr().out
    found = window_table(tmp_path, "metrics", WINDOW)
    own = found[found["model" if what == "model" else "slice"] == name]
    assert set(own["n_days"]) == {sum(there)}
    assert set(found["n_days"]) == {3, sum(there)}
    of_days = [day for day, has in zip(days, there, strict=True) if has]
    expected = together(of_days, slices=["kind"] if what == "slice" else []).table.to_pandas()
    assert_same(own, expected[expected["model" if what == "model" else "slice"] == name], VALUES)
    assert exit_code(*words(tmp_path, **{key: without})) == 0


def test_a_late_model_with_which_others_are_compared(tmp_path: Path, capsys) -> None:
    """The metrics that compare with it are over its days too, of every model, also by a slice of other days."""
    compared = ["ap", "kendall_tau(ref=candidate)", "p90(spearman(ref=candidate))"]
    sliced = {"slices": ["kind"]}
    both = {"metrics": compared, "input__columns__score": BOTH}
    days = days_of(tmp_path, [{"metrics": ["ap"], "input__columns__score": OURS}, both, both], **sliced)
    days[0] = without_film(tmp_path, days[0], metrics=["ap"], input__columns__score=OURS, **sliced)
    capsys.readouterr()
    assert exit_code(*words(tmp_path, **both, **sliced)) == 0
    assert (
        "  The model candidate is missing on 2026-11-13: its metrics and kendall_tau(ref=candidate), "
        "spearman(ref=candidate) of all models are over 2 of 3 days\n"
    ) in capsys.readouterr().out
    found = window_table(tmp_path, "metrics", WINDOW)
    n_days = found[found["model"] == "production"].groupby("metric")["n_days"].agg(set)
    assert n_days.to_dict() == {compared[0]: {3}, compared[1]: {2}, compared[2]: {2}}
    own = found[(found["metric"] != "ap") & (found["slice_value"] != "play")]
    assert_same(own, together(days[1:], compared[1:], slices=["kind"]).table, VALUES)
    apart = found[(found["metric"] != "ap") & (found["slice_value"] == "play")]
    assert set(apart["model"]) == {"production"}
    assert set(apart["n_groups"]) == {0}
    assert apart["value"].isna().all()


def test_a_model_that_meets_the_one_it_is_compared_with_on_no_day(tmp_path: Path, capsys) -> None:
    compared = ["ap", "kendall_tau(ref=candidate)"]
    alone = {"metrics": compared, "input__columns__score": {"candidate": "other"}}
    days_of(tmp_path, [{"metrics": ["ap"], "input__columns__score": OURS}, alone, alone])
    assert (
        f"no day of {WINDOW} has both the model production and the model candidate, with which "
        f"kendall_tau(ref=candidate) compares"
    ) in refused(capsys, *words(tmp_path, "--allow-missing", metrics=compared, input__columns__score=BOTH))


def test_what_no_day_has_and_a_metric_that_a_day_lacks_are_refused(tmp_path: Path, capsys) -> None:
    days_of(tmp_path, [{"metrics": metrics} for metrics in (["ap"], ["ap", "rr"], ["ap", "rr"])])
    columns = {"group": "user_id", "label": "clicked", "score": {**OURS, "third": "other"}}
    for changes, sentence in (
        ({"input__columns": columns}, f"no day of {WINDOW} has the model third: evaluate the days again, or "),
        ({"slices": ["kind"]}, f"no day of {WINDOW} has the slice kind: "),
        (
            {"input__columns": {**columns, "score": {"third": "other"}}},
            f"{DAYS[0]} has none of the requested models (third): ",
        ),
        ({"metrics": ["ap", "rr"]}, f"{DAYS[0]} has no mean state of rr for the model production"),
    ):
        for more in ([], ["--allow-missing"]):
            assert sentence in refused(capsys, *words(tmp_path, *more, **{"metrics": ["ap"], **changes}))


def test_a_window_says_which_of_its_days_were_evaluated_after_the_merge(tmp_path: Path, capsys) -> None:
    """Its gate and its acceptance are refused and its report warns. An accepted day is still the one merged."""
    gates = [{"metric": "ap", "model": "production", "min": 2, "name": "floor"}]
    asked: dict[str, Any] = {"metrics": ["ap"], "gates": gates}
    conf = spec_of(tmp_path, **asked)
    window = ("--conf", conf, "--from", DAYS[0], "--to", DAYS[2])
    report = ("report", *window, "--out", f"{tmp_path}/report")

    def evaluate_day(day: str) -> None:
        write_log(tmp_path, impressions_of(day, 120), day)
        assert exit_code("evaluate", "--conf", conf, "--date", day) == 3

    def warned() -> list[bool]:
        pages = []
        for ending in ("md", "html", "json"):
            assert exit_code(*report[:-1], f"{report[-1]}.{ending}") == 0
            pages.append(sentence in (tmp_path / f"report.{ending}").read_text().replace("\\", ""))
        return pages

    evaluate_day(DAYS[0])
    evaluate_day(DAYS[1])
    assert exit_code("merge", *window, "--allow-missing") == 3
    merged = window_table(tmp_path, "runs", WINDOW)["day_runs"][0]
    stored = [pq.read_table(one_file(tmp_path / f"tables/runs/day={day}"), partitioning=None) for day in DAYS[:2]]
    assert [(run["day"], run["run_id"]) for run in merged] == [
        (day, runs["run_id"][0].as_py()) for day, runs in zip(DAYS, stored, strict=False)
    ]
    assert exit_code("accept", "--conf", conf, "--date", DAYS[0], "--reason", "known") == 0
    sentence = "evaluated after"
    assert (exit_code("gate", *window), warned()) == (3, [False] * 3)
    for day, days, was in ((DAYS[2], DAYS[2], "was"), (DAYS[1], f"{DAYS[1]}..{DAYS[2]}", "were")):
        evaluate_day(day)
        sentence = f"{days} {was} evaluated after {WINDOW} was merged: merge the window again"
        assert refused(capsys, "gate", *window) == f"sparkrank: {sentence}\n"
        assert refused(capsys, "accept", *window, "--reason", "known") == f"sparkrank: {sentence}\n"
        assert warned() == [True] * 3
    assert exit_code("merge", *window) == exit_code("gate", *window) == 3
    assert warned() == [False] * 3
    shutil.rmtree(tmp_path / f"tables/_runs/{(tmp_path / 'tables/_days' / DAYS[1]).readlink().name}")  # kept no longer
    assert exit_code("gate", *window) == 3


def test_a_comparison_of_a_window_reads_its_days_as_they_are_now(tmp_path: Path, capsys) -> None:
    """Whatever was merged before: as in an output that has had no other days."""
    window, compared = f"{DAYS[0]}..{DAYS[1]}", []
    for folder, sizes in ((tmp_path / "again", (120, 120)), (tmp_path / "once", (120, 60))):
        folder.mkdir()
        conf = spec_of(folder, metrics=["ap"])
        for day, size in zip(DAYS[:2], sizes, strict=True):
            write_log(folder, impressions_of(day, size), day)
            assert exit_code("evaluate", "--conf", conf, "--date", day) == 0
        if folder.name == "again":
            assert exit_code("merge", "--conf", conf, "--from", DAYS[0], "--to", DAYS[1]) == 0
            write_log(folder, impressions_of(DAYS[1], 60), DAYS[1])
            assert exit_code("evaluate", "--conf", conf, "--date", DAYS[1]) == 0
        capsys.readouterr()
        models = ("--baseline", "production", "--model", "candidate")
        sides = ("--left-date", window, "--right-date", window)
        assert exit_code("compare", "--conf", conf, *sides, *models, "--json") == 0
        found = json.loads(capsys.readouterr().out)["comparisons"]
        own = {"run_id", "spec_hash"}  # the folder of the rows is in the hash
        compared.append([{name: value for name, value in row.items() if name not in own} for row in found])
    assert compared[0] == compared[1]
