"""How often intervals hold the truth, and tests find what is not there: simulated through the whole engine.

Shares are held against what is promised, widened by how far so many trials may be off by chance.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator

import pytest
from scipy.stats import binom

from tests.extent import IS_LONG, examples
from tests.simulations import checked_labels, logged_actions, shown_lists
from tests.simulations.scenarios import SCENARIOS
from tests.simulations.trials import FAR, Outcome, outcome
from tests.simulations.truth import drawn, name_of, truth_of

TRIALS = {
    "30 users": 60,
    "100 users": 300,
    "1,000 users": 300,
    "20,000 users": 200,
    "30 users, rare clicks": 300,
    "100 users, rare clicks": 72,
    "1,000 users, rare clicks": 300,
    "20,000 users, rare clicks": 200,
    "100 users, one with 20 % of rows": 75,
    "1,000 users, one with 20 % of rows": 200,
    "30 users, three scores": 75,
    "1,000 users, three scores": 200,
    "week of 30 users": 45,
    "week of 100 users": 200,
    "week of 1,000 users": 150,
    "30 users, 8 sessions each": 60,
    "200 users, 8 sessions each": 200,
    "slices of 5 to 300 users": 30,
    "60 users, nothing to find": 120,
    "1,000 users, nothing to find": 200,
}
# Clustered groups, and two models that do not differ.
SHORT = ("30 users, 8 sessions each", "60 users, nothing to find")
COMMON, RARE = (0.93, 0.97), (0.92, 0.98)
BY_CHANCE = 1e-4  # how rarely a share that is just as promised is taken for one that is not
FEWEST = 15  # trials with an interval, of which a share is looked at
# Ranks are whole numbers, and tied values add to the probability: order statistics hold the truth at least so often.
AT_LEAST = ("median(", "p25(", "p90(")
# Below twice their noise floor, these have one end, or two that allow for a bias.
NOTHING_THERE = {"ece", "ks", "ece of calibrated", "ks of blind"}
MOST_FAR = 0.0015


@pytest.fixture(autouse=True)
def _quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR, "sparkrank")  # that groups are few


def limits(trials: int, least: float, most: float) -> tuple[float, float]:
    """Between which the share of ``trials`` is where the true share is from ``least`` to ``most``."""
    return float(binom.ppf(BY_CHANCE, trials, least)) / trials, float(binom.ppf(1 - BY_CHANCE, trials, most)) / trials


def wrong_coverage(at: Outcome) -> Iterator[str]:
    least, most = RARE if at.scenario.population.clicks < 0.1 else COMMON
    for kind, named in (("value", at.values), ("difference", at.differences), ("relative", at.relative)):
        for metric, intervals in named.items():
            is_upper = metric in NOTHING_THERE or metric.startswith(AT_LEAST)
            low, high = limits(max(intervals.count, 1), least, 1.0 if is_upper else most)
            if intervals.count >= FEWEST and not low <= intervals.coverage <= high:
                share = f"{intervals.coverage:.3f} of {intervals.count}"
                yield f"the {kind} of {metric} is held in {share}, not in {low:.3f} to {high:.3f}"


def wrong_reasons(at: Outcome) -> Iterator[str]:
    """None is what a metric has that has no interval by nature."""
    for metric, intervals in at.values.items():
        if unknown := intervals.without.keys() - {"too few", "undefined", "none"}:
            yield f"{metric} has no interval because of {unknown}"
        if ("none" in intervals.without) != (metric == "auc_up"):
            yield f"{metric} has {'no interval' if metric != 'auc_up' else 'an interval'}"


def wrong_tests(at: Outcome) -> Iterator[str]:
    """Equal models are told apart in 5 of 100 at most, in fewer where values are few, as hits of few users are."""
    count = at.runs * max(len(at.scenario.slice_sizes), 1)
    for metric, tests in at.tests.items():
        if tests.p and tests.rejected(0.05) * len(tests.p) > limits(count, 0, 0.06)[1] * count:
            yield f"{metric} differs with p < 0.05 in {tests.rejected(0.05):.3f} of {len(tests.p)}"
    far = sum(p < FAR for tests in at.tests.values() for p in tests.p)
    # Metrics of one log are so much alike that they count as one.
    if far > len(at.tests) * limits(count, 0, MOST_FAR)[1] * count:
        yield f"p < 0.001 in {far} tests"
    if at.runs_that_find > limits(at.runs, 0, 0.06)[1] * at.runs:
        yield f"Holm's method finds something in {at.runs_that_find} of {at.runs} runs"


@pytest.mark.parametrize("name", TRIALS if IS_LONG else SHORT)
def test_intervals_and_tests_do_as_they_say(name: str) -> None:
    scenario = SCENARIOS[name]
    at = outcome(scenario, examples(TRIALS[name]))
    assert not [*wrong_coverage(at), *wrong_reasons(at), *wrong_tests(at)]


@pytest.mark.parametrize(
    "asked",
    [shown_lists.METRICS, pytest.param(shown_lists.OF_PAST, marks=pytest.mark.long)],
    ids=["items", "past"],
)
@pytest.mark.parametrize("days", [1, 7] if IS_LONG else [1])
def test_intervals_of_what_is_shown(days: int, asked: dict[str, str]) -> None:
    """Means of lists, exposures and disparities of countries; an exposure without a gap has an upper end alone."""
    for (slice_value, metric), found in shown_lists.intervals(300, days, 400 if IS_LONG else 20, asked=asked).items():
        is_upper = metric == shown_lists.NOTHING
        low, high = limits(found.count, COMMON[0], 1.0 if is_upper else COMMON[1])
        assert found.count == found.trials, (metric, slice_value, found.without)
        assert low <= found.coverage <= high, (metric, slice_value, found.coverage)


def test_intervals_of_what_propensities_correct() -> None:
    """The value of a policy that was not run, by users, and recall of all that is relevant, of which some was seen."""
    for metric, found in logged_actions.intervals(200, 400 if IS_LONG else 20).items():
        low, high = limits(found.count, *COMMON)
        assert found.count == found.trials, (metric, found.without)
        if metric == logged_actions.AS_SEEN:
            assert found.coverage == 0  # without propensities, recall is that of what was seen
        else:
            assert low <= found.coverage <= high, (metric, found.coverage)


def test_intervals_of_what_a_human_checks() -> None:
    """The mean by a label that is wrong, corrected by a fifth of the users; without them it is mostly off."""
    for metric, found in checked_labels.intervals(300, 0.2, 400 if IS_LONG else 40).items():
        low, high = limits(found.count, *COMMON)
        assert found.count == found.trials, (metric, found.without)
        if "checked_by" in metric:
            assert low <= found.coverage <= high, (metric, found.coverage)
        else:
            assert found.coverage < 0.5, (metric, found.coverage)


def test_truth_that_is_stored_is_that_of_the_population() -> None:
    """Drawn anew with another seed, within what so many users may be off."""
    scenario = SCENARIOS["100 users"]
    anew = drawn(scenario.population, scenario.metrics[:-1], seed=99, users=examples(200_000), draws=1)
    for (model, metric), value in truth_of(scenario).items():
        if metric in anew.get(model, {}):
            assert math.isclose(anew[model][metric], value, abs_tol=0.01), (name_of(scenario.population), model, metric)
