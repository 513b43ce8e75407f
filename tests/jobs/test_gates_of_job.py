"""Gates through spark-submit: the exit code of the job and the line of each verdict, and what comes after."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

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
    conf = spec(slices=["device"], gates=[passing])
    confs = []
    for number, gates in enumerate(([passing], [passing, failing], [passing, undecided], [strict, passing])):
        confs.append(str(tmp_path / f"{number}.yaml"))
        text = Path(spec(slices=["device"], gates=gates)).read_text(encoding="utf-8")
        Path(confs[-1]).write_text(text, encoding="utf-8")
    done = submit_in_turn(*(["evaluate", "--conf", each, "--date", DAY] for each in (*confs, conf)))
    assert [code for code, _ in done] == [0, 3, 0, 5, 5]
    assert "  pass: ndcg@10 min 0: ndcg@10, candidate: " in done[0][1]
    assert "  fail: ndcg@10 of candidate min 1: ndcg@10, candidate: " in done[1][1]
    assert (
        "  undecided: auc where device=* not worse than history: auc, candidate, device=phone: its history "
        in done[2][1]
    )
    assert "  undecided, which stops the day: auc of production where device=* not worse than history: " in done[3][1]
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
