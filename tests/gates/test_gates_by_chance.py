"""How often gates fail although nothing has changed: what a replay says is what a simulation finds."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sparkrank.gates.chance import records_of
from sparkrank.gates.facts import Facts, IntervalEstimate, Standard
from sparkrank.gates.judge import Judge
from sparkrank.gates.rules import Cell, History, Margin, Rule
from sparkrank.gates.verdicts import GateVerdict
from tests.extent import IS_LONG

CELL = Cell("auc", "candidate")
NIGHTS = 4_000 if IS_LONG else 1_000
Z = 1.959963984540054


def rule(**given: object) -> Rule:
    return Rule("gate", metric="auc", metrics=("auc",), models=("candidate",), model="candidate", **given)  # type: ignore[arg-type]


def measured(value: float, stderr: float | None) -> IntervalEstimate:
    """A value with its interval of 95 %."""
    half = None if stderr is None else Z * stderr
    ends = (None, None) if half is None else (value - half, value + half)
    return IntervalEstimate(value, *ends, stderr, "as it is")


def failed(nights: list[GateVerdict]) -> tuple[int, float]:
    """How many of the verdicts fail, and how many do by chance."""
    (record,) = records_of([(str(number), [judged]) for number, judged in enumerate(nights)])
    return len(record.stopped), record.by_chance


@pytest.mark.parametrize(("margin", "higher"), [(Margin(), True), (Margin(0.005), False), (Margin(0.01, True), True)])
def test_two_copies_of_a_model_fail_at_the_nominal_rate(margin: Margin, higher: bool) -> None:
    """Without a margin 2.5 % of A/A splits are wholly on the bad side of 0; with one fewer, by the normal tail."""
    draw, stderr = np.random.default_rng(5), 0.01
    judge = Judge([rule(kind="not_worse_than", against="production", margin=margin)], better={"auc": higher})
    found = []
    for difference in draw.normal(0, stderr, NIGHTS):
        values = {CELL: measured(0.5, stderr), CELL._replace(model="production"): measured(0.5, stderr)}
        facts = Facts("day", values, {(CELL, "production"): measured(float(difference), stderr)})
        found += judge.verdicts(facts, "day")
    stopped, by_chance = failed(found)
    if margin.relative:  # d + m · b, with var(b) = var(c) = var(d), so that cov(d, b) is half of it and negative
        stderr *= math.sqrt(1 - margin.amount + margin.amount**2)
    share = 0.5 * math.erfc((Z + margin.of(0.5) / stderr) / math.sqrt(2))
    assert by_chance == pytest.approx(NIGHTS * share)
    assert abs(stopped - by_chance) < 4 * math.sqrt(by_chance)


@pytest.mark.parametrize("sides", ["both", "worse"])
@pytest.mark.parametrize(("days", "scatter", "stderr"), [(7, 0.01, None), (28, 0.01, None), (28, 0.0, 0.01)])
def test_a_history_fails_as_its_width_says(days: int, scatter: float, stderr: float | None, sides: str) -> None:
    """However few the days are, and whether they scatter by themselves or by their samples: at 2, 2.28 % a side."""
    draw, nights = np.random.default_rng(7), NIGHTS
    judge = Judge([rule(kind="history")], History(days, width=2, sides=sides), {"auc": True})
    values = draw.normal(0.5, math.hypot(scatter, stderr or 0.0), (nights, days + 1))
    found = []
    for night in values:
        before = Standard([Facts("before", {CELL: measured(float(value), stderr)}) for value in night[1:]])
        found += judge.verdicts(Facts("day", {CELL: measured(float(night[0]), stderr)}), "day", before)
    stopped, by_chance = failed(found)
    expected = nights * math.erfc(math.sqrt(2)) / (1 if sides == "both" else 2)
    assert by_chance == pytest.approx(expected, rel=0.25)  # what has been is within the band, which then is wider
    assert by_chance <= expected * (1 + 1e-9)
    assert abs(stopped - by_chance) < 4 * math.sqrt(by_chance) + 0.12 * by_chance


def test_among_many_tests_a_gate_fails_as_often_as_its_family() -> None:
    """By Holm one of 50 cells fails where its p is below a fiftieth: 0.27 % of nights, as of a single cell."""
    cells = [CELL._replace(slice="c", slice_value=str(number)) for number in range(50)]
    draw = np.random.default_rng(8)
    many = Rule("gate", "history", "auc", ("auc",), ("candidate",), "candidate", (("c", "*"),), (("c",),))
    days = [Facts("before", {cell: measured(float(draw.normal()), 0.1) for cell in cells}) for _ in range(28)]
    today = Facts("day", {cell: measured(float(draw.normal()), 0.1) for cell in cells})
    (record,) = records_of([("day", Judge([many], better={"auc": True}).verdicts(today, "day", Standard(days)))])
    assert record.by_chance == pytest.approx(2 * 0.0013499, rel=0.01)


def test_a_verdict_without_a_standard_error_is_counted_as_unknown() -> None:
    judge = Judge([rule(kind="min", bound=0.6)], better={"auc": True})
    nights = [("a", judge.verdicts(Facts("a", {CELL: measured(0.5, None)}), "a")), ("b", judge.verdicts(None, "b"))]
    (record,) = records_of(nights)
    assert (record.nights, record.stopped, record.by_chance, record.unknown) == (2, ["b"], None, 2)
