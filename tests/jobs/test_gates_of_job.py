"""Gates through spark-submit: exit codes and lines of verdicts, and the commands after them.

Which verdict a gate has is decided by functions of small tables: ``tests/gates/test_gates.py`` and
``tests/gates``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.jobs.conftest import DAY
from tests.support.commands import exit_code

pytestmark = pytest.mark.job


def test_verdicts_end_the_job(
    submit_in_turn: Callable[..., list[tuple[int, str]]], spec: Callable[..., str], tmp_path: Path
) -> None:
    """A failure goes before what is undecided. Asking again, and accepting, need no Spark."""
    undecided = {"metric": "auc", "slice": {"device": "*"}, "not_worse_than": "history"}
    noise = {"metric": "auc", "model": "candidate", "min": 0.5, "max": 0.5}  # what scores that know nothing have
    days = {
        "failing": [{"metric": "ndcg@10", "min": 0}, {"metric": "ndcg@10", "model": "candidate", "min": 1}, undecided],
        "stopped": [{**noise, "undecided": "fail"}],
    }
    confs = [
        str(Path(spec(slices=["device"], gates=gates)).rename(tmp_path / f"{name}.yaml"))
        for name, gates in days.items()
    ]
    done = submit_in_turn(*(["evaluate", "--conf", conf, "--date", DAY] for conf in confs))
    assert [code for code, _ in done] == [3, 5]
    assert "  pass: ndcg@10 min 0: gate 1 of 3 passes, in 2 of 2 checks\n" in done[0][1]
    assert "  fail: ndcg@10 of candidate min 1: ndcg@10, candidate: " in done[0][1]
    assert "  undecided: auc where device=* not worse than history: gate 3 of 3 is undecided, in " in done[0][1]
    assert "    undecided: auc, candidate, device=phone: its history " in done[0][1]
    for side in ("above", "below"):
        sentence = rf"^  undecided, which stops the day: auc .* could be {side} 0.5: the interval reaches .*\n"
        assert re.search(sentence, done[1][1], re.MULTILINE)
    verdicts = pq.read_table(tmp_path / f"tables/gates/day={DAY}", partitioning=None)["verdict"].to_pylist()
    assert verdicts == ["undecided"] * 2  # against either bound
    for words, code in (
        (["gate", "--conf", confs[0], "--date", DAY], 3),
        (["gate", "--conf", confs[0], "--date", "2026-11-18"], 3),
        (["accept", "--conf", confs[0], "--date", DAY, "--reason", "known"], 0),
        (["gate", "--conf", confs[0], "--date", DAY], 0),
    ):
        assert exit_code(*words) == code
