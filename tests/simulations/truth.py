"""The true values: those of two million users, kept in ``truth.json``, and those that are known without a draw."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import numpy as np

import sparkrank as sr
from sparkrank.metrics.merged import Merged
from sparkrank.states import Partials
from sparkrank.tables.rows.results import metrics_table
from tests.simulations.populations import Population
from tests.simulations.scenarios import BASELINE, EQUAL, SCENARIOS, WORSE, Scenario

FILE = Path(__file__).with_name("truth.json")
USERS, DRAWS = 200_000, 10
# Scores without information order nothing, and probabilities that are right are off by nothing.
KNOWN = {("blind", "auc"): 0.5, ("blind", "gauc"): 0.5, ("blind", "ks"): 0.0, ("calibrated", "ece"): 0.0,
         ("calibrated", "copc"): 1.0}  # fmt: skip


def truth_of(scenario: Scenario) -> Mapping[tuple[str, str], float]:
    """The true value of each model and metric of ``scenario``, where it is known."""
    stored = _stored().get(name_of(scenario.population), {})
    values = {(model, metric): value for model, named in stored.items() for metric, value in named.items()}
    # With all data, the best order of score bins is that of the scores.
    values |= {(model, "auc_up"): value for (model, metric), value in values.items() if metric == "auc"}
    return values | {(EQUAL, metric): value for (model, metric), value in values.items() if model == BASELINE} | KNOWN


def name_of(population: Population) -> str:
    return ", ".join(f"{name}={value}" for name, value in vars(population).items() if value is not None)


@cache
def _stored() -> dict[str, dict[str, dict[str, float]]]:
    return json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}


def drawn(
    population: Population, metrics: list[str], seed: int, users: int = USERS, draws: int = DRAWS
) -> dict[str, dict[str, float]]:
    """The values of ``draws`` times ``users``, merged as days of one window."""
    models = (BASELINE, WORSE)
    days = [
        sr.evaluate(
            population.log(np.random.default_rng([seed, number]), users), metrics, group="user", label="y",
            score={model: model for model in models}, group_table=False, uncertainty=False,
        )
        for number in range(draws)
    ]  # fmt: skip
    table = metrics_table(Merged(Partials.merged(day.partials for day in days)), days[0].plan, clustered=True)
    values: dict[str, dict[str, float]] = {model: {} for model in models}
    for row in table.to_pylist():
        if math.isfinite(row["value"]):
            values[row["model"]][row["metric"]] = row["value"]
    return values


def written() -> None:
    """Draw the truth of every population anew: some minutes."""
    by_population: dict[Population, list[str]] = {}
    for scenario in SCENARIOS.values():
        asked = by_population.setdefault(scenario.population, [])
        asked += [metric for metric in scenario.metrics if metric not in asked and metric != "auc_up"]
    populations = enumerate(by_population.items())
    values = {name_of(population): drawn(population, metrics, seed) for seed, (population, metrics) in populations}
    FILE.write_text(json.dumps(values, indent=1) + "\n", encoding="utf-8")
