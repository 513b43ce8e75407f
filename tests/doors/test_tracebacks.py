"""A user's error is its sentence: in notebooks alone, and in Python below the caller's line."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import sparkrank as sr
from sparkrank import functions
from sparkrank.ml import RankingMetricEvaluator

LOG = pa.table({"user": ["a", "a", "b"], "score": [0.9, 0.5, 0.7], "click": [0, 1, 1]})
ASKED: dict[str, Any] = {"score": "score", "label": "click"}
EV = sr.evaluate(LOG, ["rr"], group="user", **ASKED)
# Doors, within which much happens, and what raises near to its caller.
DOORS: dict[str, Callable[[], object]] = {
    "evaluate, a metric": lambda: sr.evaluate(LOG, ["ndgc@10"], group="user", **ASKED),
    "evaluate, a column": lambda: sr.evaluate(LOG, ["rr"], group="usr", **ASKED),
    "evaluate, a keyword": lambda: sr.evaluate(LOG, ["rr"], grup="user", **ASKED),
    "evaluate, a path": lambda: sr.evaluate("/nowhere", ["rr"], group="user", **ASKED),
    "explain": lambda: sr.explain(LOG, "rr", group={"user": "z"}, **ASKED),
    "compare_runs": lambda: sr.compare_runs("/nowhere", EV),
    "movers": lambda: sr.movers(EV, EV, "rr", right_model="z"),
    "decompose": lambda: sr.decompose(EV, EV, "country"),
}
NEAR: dict[str, Callable[[], object]] = {
    "value": lambda: EV["auc"],
    "compare": lambda: EV.compare("z"),
    "report": lambda: EV.report("x.y"),
    "write": lambda: EV.write("/nowhere", day="today"),
    "plot": lambda: EV.plot("rox"),
    "parse": lambda: sr.Metric.parse("ndgc"),
    "register": lambda: sr.register(5),  # type: ignore[type-var]
    "functions": lambda: functions.metric("ndgc", score="s", label="y"),
    "ml": lambda: RankingMetricEvaluator(metricName="ndgc"),
}


def _raised(call: Callable[[], object]) -> sr.SparkrankError:
    with pytest.raises(sr.SparkrankError) as told:
        call()
    return told.value


@pytest.mark.parametrize("name", [*DOORS, *NEAR])
def test_a_notebook_shows_the_sentence(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """IPython shows what the method returns, where an error has one, and else the whole."""
    error = _raised((DOORS | NEAR)[name])
    assert error._render_traceback_() == [f"{type(error).__name__}: {error}"]
    assert len(str(error).splitlines()) == 1
    monkeypatch.setenv("SPARKRANK_TRACEBACK", "1")
    assert not hasattr(error, "_render_traceback_")


@pytest.mark.parametrize("name", DOORS)
def test_python_shows_the_line_of_the_caller(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def inner() -> tuple[list[str], list[str]]:
        error = _raised(DOORS[name])
        frames = [frame.name for frame in traceback.extract_tb(error.__traceback__) if "sparkrank/" in frame.filename]
        return frames, [line for line in traceback.format_exception(error) if line.startswith("\n")]

    assert inner() == (["called"], [])  # no frame but one, and no "During handling of the above exception"
    monkeypatch.setenv("SPARKRANK_TRACEBACK", "1")
    assert len(inner()[0]) > 1
