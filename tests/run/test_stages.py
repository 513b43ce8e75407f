"""Stages are timed always, and a long one says on stderr, every few seconds, how far it is."""

from __future__ import annotations

import io
import time

import pyarrow as pa
import pytest

import sparkrank as sr
from sparkrank.engines.progress import Progress, watched
from sparkrank.run import stages
from sparkrank.run.stages import Stages, progress_text, seen_stages

LOG = pa.table({"user": [1, 1, 2] * 1000, "score": [3.0, 2.0, 1.0] * 1000, "click": [0, 1, 1] * 1000})


def test_a_stage_is_timed_even_when_it_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """Or stderr is closed, as by ``2>&-``: Python has none then."""
    monkeypatch.delenv(stages.PROGRESS)
    monkeypatch.setattr("sys.stderr", None)

    def fails() -> None:
        time.sleep(0.02)
        raise ValueError("no")

    for timed in (Stages(), seen_stages()):
        with pytest.raises(ValueError, match="no"), timed.stage("read"):
            fails()
        assert 0.02 <= timed.seconds["read"] < 5


def test_a_long_stage_writes_lines_and_a_short_one_none(monkeypatch: pytest.MonkeyPatch) -> None:
    assert 2 <= stages.SECONDS_BETWEEN_LINES <= 10
    output = io.StringIO()
    with Stages(output).stage("short"):
        pass
    assert not output.getvalue()
    monkeypatch.setattr(stages, "SECONDS_BETWEEN_LINES", 0.02)
    with Stages(output).stage("evaluate", 3_000):
        time.sleep(0.2)
    assert set(output.getvalue().splitlines()) == {"evaluate: 0 s"}
    with Stages().stage("evaluate"):
        time.sleep(0.05)  # nobody sees it


@pytest.mark.parametrize(("progress", "is_seen"), [(None, True), ("1", True), ("0", False)])
def test_every_door_writes_to_stderr_unless_it_is_turned_off(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], progress: str | None, is_seen: bool
) -> None:
    monkeypatch.setattr(stages, "SECONDS_BETWEEN_LINES", 0.001)
    monkeypatch.delenv(stages.PROGRESS)
    if progress is not None:
        monkeypatch.setenv(stages.PROGRESS, progress)
    with seen_stages().stage("evaluate"):
        time.sleep(0.05)
    assert ("evaluate: 0 s\n" in capsys.readouterr().err) == is_seen


def test_a_lane_counts_its_rows_where_somebody_watches_and_nowhere_else() -> None:
    progress = Progress(3000)
    token = watched.set(progress)
    try:
        seen = sr.evaluate(LOG, ["rr"], group="user", score="score", label="click")
        assert (progress.read, progress.solved) == (3000, 3000)
        sr.evaluate(LOG, ["auc"], score="score", label="click")
        assert (progress.read, progress.solved) == (6000, 6000)
    finally:
        watched.reset(token)
    assert sr.evaluate(LOG, ["rr"], group="user", score="score", label="click").metrics.equals(seen.metrics)
    assert (progress.read, progress.solved) == (6000, 6000)


def test_the_line_has_the_rows_that_a_lane_counts() -> None:
    progress = Progress(1000)
    assert progress_text("evaluate", 30.4, progress) == "evaluate: 30 s"  # before the first row nobody knows anything
    progress.add(read=800, solved=400)
    assert progress_text("evaluate", 30.4, progress) == "evaluate: 30 s, 800 of 1,000 rows read, 400 evaluated"
    unknown = Progress()
    unknown.add(read=8000)
    assert progress_text("evaluate", 3.0, unknown) == "evaluate: 3 s, 8,000 rows read, 0 evaluated"
