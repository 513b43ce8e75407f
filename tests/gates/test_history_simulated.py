"""How often a history stops a night on which nothing has changed, and how often it finds what has.

Nights are judged one after the other, each by those before it, and cells that fail leave their own history, as in the
job. `python -m tests.gates.test_history_simulated` prints the table of docs/gates.md.
"""

from __future__ import annotations

import datetime as dt
import math
import sys
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from sparkrank.gates.facts import DayOutcome, Facts, IntervalEstimate, Standard
from sparkrank.gates.history import band_of
from sparkrank.gates.judge import Judge
from sparkrank.gates.rules import Cell, History, Rule
from tests.extent import IS_LONG, SPREAD

NIGHTS, CELLS = (120, 200) if IS_LONG else (45, 30)
TRIALS = 3_000 if IS_LONG else 600
MONDAY = dt.date(2026, 1, 5)
RULE = Rule("g", "history", "auc", ("auc",), ("m",), "m", (("c", "*"),), (("c",),))
WEEKEND = 5  # Saturday; Sunday is 6
Values = NDArray[np.float64]


def _on_weekends(noise: Values) -> Values:
    return (np.arange(len(noise)) % 7 >= WEEKEND)[:, None].astype(float)


def _remembering(noise: Values) -> Values:
    for night in range(1, len(noise)):
        noise[night] = 0.6 * noise[night - 1] + 0.8 * noise[night]
    return noise


# The values of cells by night, of normal ``noise`` or of a draw; nothing ever changes but by their scatter.
KINDS: dict[str, Callable[[Values, np.random.Generator], Values]] = {
    "normal": lambda noise, draw: noise,
    "weekends lower by 4": lambda noise, draw: noise - 4 * _on_weekends(noise),
    "weekends lower by 1": lambda noise, draw: noise - _on_weekends(noise),
    "0.6 of yesterday": lambda noise, draw: _remembering(noise),
    "t with 10 degrees": lambda noise, draw: draw.standard_t(10, noise.shape),
    "hits of 20 users": lambda noise, draw: draw.binomial(20, np.clip(draw.normal(0.5, 0.25, noise.shape), 0, 1)) / 20,
    "one of 300 users": lambda noise, draw: draw.binomial(300, 0.004, noise.shape) / 300,
}


def scatter(kind: str, nights: int, cells: int, draw: np.random.Generator) -> Values:
    return KINDS[kind](draw.normal(0, 1, (nights, cells)), draw)


def stopped(values: Values) -> tuple[int, float]:
    """On how many nights a cell fails, and the share of cells that are beyond their own band from two weeks on."""
    judge = Judge([RULE], History(), {"auc": True})
    cells = [Cell("auc", "m", "c", str(number)) for number in range(values.shape[1])]
    days: list[Facts] = []
    stops, beyond = 0, 0
    for night, of_night in enumerate(values.tolist()):
        day = str(MONDAY + dt.timedelta(night))
        estimates = (IntervalEstimate(value, None, None, None, "d") for value in of_night)
        facts = Facts(day, dict(zip(cells, estimates, strict=True)))
        verdicts = judge.verdicts(facts, day, Standard(days))
        failed = frozenset(each.key.cell for each in verdicts if each.verdict == "fail")
        days.insert(0, replace(facts, outcome=DayOutcome(failed)))
        stops += bool(failed)
        beyond += sum(each.verdict != "pass" for each in verdicts) * (night >= 14)
    return stops, beyond / max(1, values[14:].size)


@pytest.mark.parametrize("kind", KINDS)
def test_where_nothing_changes_few_nights_stop(kind: str) -> None:
    """A tenth of the nights at most, whatever scatters, and of each cell alone about as much as its width says."""
    stops, beyond = stopped(scatter(kind, NIGHTS, CELLS, np.random.default_rng(9)))
    assert stops <= NIGHTS / 10
    assert beyond < 0.02
    if kind == "normal":
        assert stops <= stats.binom.isf(1e-3, NIGHTS, 2 * stats.norm.sf(3))
        assert beyond < 2 * stats.norm.sf(3) * (1 + SPREAD)


def power(days: int, drop: float, *, weekends: float = 0.0, stderr: float | None = None, seed: int = 1) -> float:
    """How often a drop on a Wednesday after so many days is beyond the band."""
    draw = np.random.default_rng(seed)
    weekdays = [(2 - days + day) % 7 for day in range(days)]
    tail, found = stats.norm.sf(3), 0
    for values in draw.normal(0, 1, (TRIALS, days + 1)).tolist():
        before = [value - weekends * (weekday >= WEEKEND) for value, weekday in zip(values, weekdays, strict=False)]
        band = band_of(before, [stderr] * days, weekdays, 2)
        deviation, degrees = band.prediction(stderr)
        low = band.centre - stats.t.isf(tail, degrees) * deviation
        found += values[-1] - drop < (low if band.reach is None else min(low, band.reach[0]))
    return found / TRIALS


@pytest.mark.parametrize(
    ("days", "weekends", "least"), [(14, 0, 0.53), (28, 0, 0.68), (56, 0, 0.74), (28, 4, 0.52), (56, 4, 0.68)]
)
def test_a_drop_of_4_deviations(days: int, weekends: float, least: float) -> None:
    """With everything known it would be found in 84 %: 4 - 3 deviations from the end of the band."""
    share = power(days, 4, weekends=weekends)
    assert least < share < stats.norm.cdf(1) + 0.03
    expected = 1 - stats.nct.cdf(stats.t.isf(stats.norm.sf(3), days - 7), days - 7, 4 / math.sqrt(1 + 7 / days))
    if weekends:
        assert share == pytest.approx(expected, abs=0.02 * SPREAD)


@pytest.mark.parametrize("days", [7, 28])
def test_fewer_users_tonight_are_no_change(days: int) -> None:
    """A quarter of the usual ones, none of whom has come before: twice the usual error."""
    draw = np.random.default_rng(3)
    beyond = 0
    for values in draw.normal(0, 1, (TRIALS, days + 1)).tolist():
        band = band_of(values[:-1], [1.0] * days)
        deviation, degrees = band.prediction(2.0)
        beyond += abs(2 * values[-1] - band.centre) > stats.t.isf(stats.norm.sf(3), degrees) * deviation
    assert beyond <= stats.binom.isf(1e-3, TRIALS, 2 * 0.0027)


def table(seed: int = 9) -> str:
    """The table of docs/gates.md."""
    draw = np.random.default_rng(seed)
    rows = ["| scatter of a cell | nights of 120 that stop, 200 cells | cells beyond their own band |", "|---|---|---|"]
    for kind in KINDS:
        stops, beyond = stopped(scatter(kind, 120, 200, draw))
        rows.append(f"| {kind} | {stops} | {beyond:.2%} |")
    rows += ["", "| days | weekends | a drop of 4 is found | within two nights | of 6 |", "|---|---|---|---|---|"]
    for days in (7, 14, 28, 56):
        for weekends, about in ((0.0, "as other days"), (4.0, "lower by 4")):
            four, six = (power(days, drop, weekends=weekends) for drop in (4.0, 6.0))
            rows.append(f"| {days} | {about} | {four:.0%} | {1 - (1 - four) ** 2:.0%} | {six:.0%} |")
    return "\n".join(rows)


if __name__ == "__main__":
    sys.stdout.write(f"{table()}\n")
