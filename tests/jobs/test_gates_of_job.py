"""Gates through spark-submit: the exit code of the job and the line of each verdict, and what comes after."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.unit.commands import exit_code

pytestmark = pytest.mark.job

DAY = "2026-11-19"


def test_verdicts_end_the_job(
    submit_in_turn: Callable[..., list[tuple[int, str]]], spec: Callable[..., str], tmp_path: Path
) -> None:
    """One gate of each verdict in turn; asking again, and accepting, need no Spark."""
    passing = {"metric": "ndcg@10", "min": 0}
    failing = {"metric": "ndcg@10", "model": "candidate", "min": 1}
    undecided = {"metric": "auc", "slice": {"device": "*"}, "not_worse_than": "history"}
    strict = {**undecided, "model": "production", "undecided": "fail"}
    below, above = {"metric": "ndcg@10", "max": 1}, {"metric": "ndcg@10", "model": "candidate", "max": 0}
    noise = {"metric": "auc", "model": "candidate", "min": 0.5, "max": 0.5}  # what scores that know nothing have
    conf = spec(slices=["device"], gates=[passing])
    confs = []
    asked = [[passing], [passing, failing], [passing, undecided]]
    asked += [[below], [below, above], [noise], [{**noise, "undecided": "fail"}], [strict, passing]]
    for number, gates in enumerate(asked):
        confs.append(str(tmp_path / f"{number}.yaml"))
        text = Path(spec(slices=["device"], gates=gates)).read_text(encoding="utf-8")
        Path(confs[-1]).write_text(text, encoding="utf-8")
    done = submit_in_turn(*(["evaluate", "--conf", each, "--date", DAY] for each in (*confs, conf)))
    assert [code for code, _ in done] == [0, 3, 0, 0, 3, 0, 5, 5, 5]
    assert "  pass: ndcg@10 min 0: ndcg@10, candidate: " in done[0][1]
    assert "  fail: ndcg@10 of candidate min 1: ndcg@10, candidate: " in done[1][1]
    assert (
        "  undecided: auc where device=* not worse than history: auc, candidate, device=phone: its history "
        in done[2][1]
    )
    assert "  undecided, which stops the day: auc of production where device=* not worse than history: " in done[7][1]
    assert "  pass: ndcg@10 max 1: ndcg@10, production: " in done[3][1]
    assert " is not above 1\n" in done[3][1]
    assert "  fail: ndcg@10 of candidate max 0: ndcg@10, candidate: " in done[4][1]
    assert " is above 0\n" in done[4][1]
    for side in ("above", "below"):
        told = f" could be {side} 0.5: the interval reaches .*\n"
        assert re.search(f"^  undecided: auc .*: auc, candidate: .*{told}", done[5][1], re.MULTILINE)
        assert re.search(f"^  undecided, which stops the day: auc .*{told}", done[6][1], re.MULTILINE)
    gates = pq.read_table(tmp_path / f"tables/gates/day={DAY}", partitioning=None)
    assert sorted(gates["verdict"].to_pylist()) == ["pass", "pass", "undecided", "undecided"]

    for words, code in (
        (["gate", "--conf", confs[1], "--date", DAY], 3),
        (["gate", "--conf", confs[1], "--date", "2026-11-18"], 3),
        (["accept", "--conf", confs[1], "--date", DAY, "--reason", "known"], 0),
        (["gate", "--conf", confs[1], "--date", DAY], 0),
    ):
        assert exit_code(*words) == code


def test_models_are_held_against_the_baseline(
    submit_in_turn: Callable[..., list[tuple[int, str]]], spec: Callable[..., str], tmp_path: Path
) -> None:
    """A model that knows the clicks passes against any, any fails against it, and two of noise are undecided."""
    scores = {"production": "score", "candidate": "other", "perfect": "clicked"}
    gate = {"metric": "auc", "not_worse_than": "baseline"}
    asked = [
        ("production", [{**gate, "model": "perfect"}]),
        ("perfect", [{**gate, "model": "production", "by": "5%"}]),
        ("production", [{**gate, "model": "candidate", "undecided": "fail"}]),
        ("production", [{**gate, "model": "perfect", "slice": {"device": "tablet"}}]),
    ]
    confs = []
    for number, (baseline, gates) in enumerate(asked):
        written = spec(
            input__columns__score=scores,
            slices=["device"],
            compare={"baseline": baseline},
            gates=gates,
            metrics=["auc"],
        )
        confs.append(str(Path(written).rename(tmp_path / f"{number}.yaml")))
    done = submit_in_turn(*(["evaluate", "--conf", each, "--date", DAY] for each in confs))
    assert [code for code, _ in done] == [0, 3, 5, 3]
    assert "  pass: auc of perfect not worse than baseline: auc, perfect: " in done[0][1]
    assert "perfect against production\n\nmetric" in done[0][1]
    assert "  fail: auc of production not worse than baseline by 5%: auc, production: " in done[1][1]
    assert "  undecided, which stops the day: auc of candidate not worse than baseline: auc, candidate: " in done[2][1]
    assert "  fail: auc of perfect where device=tablet not worse than baseline: auc, perfect" in done[3][1]
    comparisons = pq.read_table(tmp_path / f"tables/comparisons/day={DAY}", partitioning=None)
    assert set(comparisons["interval"].to_pylist()) == {"jackknife"}


# Days of a log of its own: as many as make a history, one as they are, two on which the scores know nothing, and one
# without rows.
*EARLIER, USUAL, BROKEN, STILL_BROKEN, EMPTY = (str(dt.date(2026, 11, 9) + dt.timedelta(day)) for day in range(11))


@pytest.fixture
def nights(tmp_path: Path) -> str:
    """The path of the log, with a mark for the day: scores of clicked rows lie two deviations above those of others."""
    for seed, day in enumerate((*EARLIER, USUAL, BROKEN, STILL_BROKEN, EMPTY)):
        draw, rows = np.random.default_rng(seed), 0 if day == EMPTY else 600
        clicked = draw.random(rows) < 0.3
        apart = 0.0 if day in (BROKEN, STILL_BROKEN) else 2.0
        scores = {name: apart * clicked + draw.normal(size=rows) for name in ("score", "other")}
        table = {"user_id": draw.integers(0, 40, rows), "item_id": draw.integers(0, 90, rows), **scores}
        (tmp_path / f"nights/dt={day}").mkdir(parents=True)
        pq.write_table(pa.table({**table, "clicked": clicked.astype(np.int8)}), tmp_path / f"nights/dt={day}/0.parquet")
    return f"{tmp_path}/nights/dt={{date}}"


def test_a_day_out_of_its_history_and_what_has_vanished_never_pass(
    submit_in_turn: Callable[..., list[tuple[int, str]]], spec: Callable[..., str], nights: str, tmp_path: Path
) -> None:
    """The earlier days are evaluated without Spark."""
    of_spec = {"input__path": nights, "metrics": ["auc", "ndcg@10"]}
    history = {"gates": [{"metric": "auc", "not_worse_than": "history"}], "history": {"days": 9, "least_days": 5}}

    def conf(name: str, **changes: object) -> str:
        return str(Path(spec(**{**of_spec, **changes})).rename(tmp_path / f"{name}.yaml"))

    local, spark = conf("local", engine__lane="local", **history), conf("spark", **history)
    only_one = conf("model", input__columns__score={"production": "score"}, gates=[{"metric": "auc", "min": 0}])
    only_auc = conf("metric", metrics=["auc"], gates=[{"metric": "*", "model": "production", "min": 0}])
    assert exit_code("evaluate", "--conf", local, "--from", EARLIER[0], "--to", EARLIER[-1]) == 0

    done = submit_in_turn(
        ["evaluate", "--conf", spark, "--date", USUAL],
        ["evaluate", "--conf", spark, "--date", BROKEN],
        ["evaluate", "--conf", spark, "--date", STILL_BROKEN],
        ["evaluate", "--conf", only_one, "--date", STILL_BROKEN],
        ["evaluate", "--conf", only_auc, "--date", STILL_BROKEN],
        ["evaluate", "--conf", spark, "--date", EMPTY],
        ["gate", "--conf", spark, "--date", EMPTY],
    )
    assert [code for code, _ in done] == [0, 3, 3, 3, 3, 4, 3]
    usual, broken, still_broken, no_model, no_metric, _, no_tables = (text for _, text in done)
    for model in ("production", "candidate"):
        of = f"auc not worse than history: auc, {model}: "
        within = f"  pass: {of}.* is within the band of the 7 days before, "
        assert re.search(f"^{within}", usual, re.MULTILINE)
        for text in (broken, still_broken):  # the day that failed does not become the standard
            beyond = f"  fail: {of}.* is below the band of the 8 days before, "
            assert re.search(f"^{beyond}", text, re.MULTILINE)
    had = f"is not in the tables of {STILL_BROKEN}, and the last accepted one, {USUAL}, had it: what has vanished never"
    assert f"  fail: auc min 0: auc, candidate: the model candidate {had} passes\n" in no_model
    assert f"  fail: * of production min 0: ndcg@10, production: the metric ndcg@10 {had} passes\n" in no_metric
    assert f"{EMPTY} has no tables, and what has no data never passes\n" in no_tables
