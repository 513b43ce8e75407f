"""How often intervals hold the truth, and tests find what is not there: simulated through the whole engine.

``python -m tests.simulations`` prints all of it (docs/uncertainty.md). Here shares are held against what is promised,
widened by how far so many trials may be off by chance.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator
from functools import cache

import pytest
from scipy.stats import binom

from tests.extent import IS_LONG, examples
from tests.simulations.job import by_job
from tests.simulations.scenarios import SCENARIOS, Scenario, evaluated
from tests.simulations.trials import FAR, Intervals, Outcome, outcome
from tests.simulations.truth import drawn, name_of, truth_of

TRIALS = {
    "30 users": 240,
    "100 users": 300,
    "1,000 users": 300,
    "20,000 users": 200,
    "30 users, rare clicks": 300,
    "100 users, rare clicks": 180,
    "1,000 users, rare clicks": 300,
    "20,000 users, rare clicks": 200,
    "100 users, one with 20 % of rows": 180,
    "1,000 users, one with 20 % of rows": 200,
    "30 users, three scores": 180,
    "1,000 users, three scores": 200,
    "week of 30 users": 90,
    "week of 100 users": 200,
    "week of 1,000 users": 100,
    "30 users, 8 sessions each": 120,
    "200 users, 8 sessions each": 200,
    "slices of 5 to 300 users": 60,
    "60 users, nothing to find": 150,
    "1,000 users, nothing to find": 200,
}
SHORT = [
    "30 users",
    "100 users, rare clicks",
    "100 users, one with 20 % of rows",
    "30 users, three scores",
    "week of 30 users",
    "30 users, 8 sessions each",
    "slices of 5 to 300 users",
    "60 users, nothing to find",
]
COMMON, RARE = (0.93, 0.97), (0.92, 0.98)
BY_CHANCE = 1e-4  # how rarely a share that is just as promised is taken for one that is not
FEWEST = 20  # trials with an interval, of which a share is looked at
# Ranks are whole numbers, and tied values add to the probability: order statistics hold the truth at least so often.
AT_LEAST = ("median(", "p25(", "p90(")


@pytest.fixture(autouse=True)
def _quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR, "sparkrank")  # that groups are few


def limits(trials: int, least: float, most: float) -> tuple[float, float]:
    """Between which the share of ``trials`` is where the true share is from ``least`` to ``most``."""
    return float(binom.ppf(BY_CHANCE, trials, least)) / trials, float(binom.ppf(1 - BY_CHANCE, trials, most)) / trials


@cache
def simulated(name: str) -> Outcome:
    return outcome(SCENARIOS[name], examples(TRIALS[name]))


def chosen(*, sliced: bool = False) -> list[str]:
    return [name for name in (TRIALS if IS_LONG else SHORT) if bool(SCENARIOS[name].slice_sizes) == sliced]


def wrong(named: dict[str, Intervals], scenario: Scenario) -> Iterator[str]:
    for metric, intervals in named.items():
        least, most = RARE if scenario.population.clicks < 0.1 else COMMON
        low, high = limits(max(intervals.count, 1), least, 1.0 if metric.startswith(AT_LEAST) else most)
        if intervals.count >= FEWEST and not low <= intervals.coverage <= high:
            yield f"{metric}: {intervals.coverage:.3f} of {intervals.count}, not {low:.3f} to {high:.3f}"


@pytest.mark.same_without_loops
@pytest.mark.parametrize("name", chosen())
def test_intervals_hold_the_truth_as_often_as_they_say(name: str) -> None:
    at = simulated(name)
    assert not [*wrong(at.values, at.scenario), *wrong(at.differences, at.scenario), *wrong(at.relative, at.scenario)]


@pytest.mark.same_without_loops
@pytest.mark.parametrize("name", chosen())
def test_what_has_no_interval_says_why(name: str) -> None:
    at = simulated(name)
    reasons = {why for of in (at.values, at.differences) for each in of.values() for why in each.without}
    by_nature = {metric for metric, each in at.values.items() if "none" in each.without}
    assert reasons <= {"too few", "undefined", "none"}
    assert by_nature <= {"auc_up"}
    if not at.scenario.name.startswith("100 users, rare"):
        assert not [metric for metric, each in at.values.items() if metric != "auc_up" and each.count < FEWEST]


@pytest.mark.same_without_loops
@pytest.mark.parametrize("name", [*chosen(), *chosen(sliced=True)])
def test_equal_models_are_told_apart_as_rarely_as_is_said(name: str) -> None:
    """5 in 100 at most; fewer where values are few, as with hits of few users."""
    at = simulated(name)
    trials = at.runs * max(len(at.scenario.slice_sizes), 1)
    most = limits(trials, 0, 0.06)[1]
    too_often = {metric: each.rejected(0.05) for metric, each in at.tests.items() if each.rejected(0.05) > most}
    assert not too_often
    far, count = (
        sum(p < FAR for each in at.tests.values() for p in each.p),
        sum(len(each.p) for each in at.tests.values()),
    )
    # Metrics of one log are nearly one: so many times the variance.
    alike = len(at.tests) or 1
    assert far <= alike * limits(max(count // alike, 1), 0, 0.0015)[1] * (count // alike)
    assert at.runs_that_find <= limits(at.runs, 0, 0.06)[1] * at.runs


@pytest.mark.same_without_loops
def test_nothing_to_find_is_not_found() -> None:
    """The error of a model without error, and the order of scores without information, are not held for some."""
    at = simulated("60 users, nothing to find")
    for metric in ("ece of calibrated", "ks of blind"):
        assert at.values[metric].below <= (1 - limits(at.runs, 0.93, 1)[0]) * at.runs


@pytest.mark.same_without_loops
def test_the_job_gives_what_is_simulated(tmp_path: object) -> None:
    """`sparkrank evaluate` and `merge` give the very numbers of a trial of a day and of a week."""
    import numpy as np

    for name in ("30 users", "week of 30 users"):
        scenario = SCENARIOS[name]
        logs = scenario.logs(np.random.default_rng(5))
        for ours, stored in zip(
            evaluated(logs, scenario.metrics, scenario.arguments), by_job(logs, scenario, tmp_path), strict=True
        ):
            for mine, theirs in zip(ours, stored, strict=True):
                for column in mine.keys() - {"spec_hash", "run_id"}:
                    same = mine[column] == theirs[column] or (
                        mine[column] != mine[column] and theirs[column] != theirs[column]
                    )
                    assert same, (name, mine["metric"], column)


@pytest.mark.same_without_loops
def test_truth_that_is_stored_is_that_of_the_population() -> None:
    """Drawn anew with another seed, within what so many users may be off."""
    scenario = SCENARIOS["100 users"]
    anew = drawn(scenario.population, scenario.metrics[:-1], seed=99, users=examples(200_000), draws=1)
    for (model, metric), value in truth_of(scenario).items():
        if metric in anew.get(model, {}):
            assert math.isclose(anew[model][metric], value, abs_tol=0.01), (name_of(scenario.population), model, metric)
