"""Logs of actions, and lists whose relevant rows were seen with a known chance, of which the truth is known."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

import sparkrank as sr
from tests.simulations.trials import Intervals

RUN, ASKED = np.array([0.4, 0.3, 0.2, 0.1]), np.array([0.1, 0.2, 0.3, 0.4])  # chances of four actions
EARNS = np.array([0.2, 0.4, 0.3, 0.6])  # the mean reward of each
SLATE = 3  # actions of a user, who likes all of them more, or less
VALUES = ("value", "value(by=snips)", "value(by=dr)", "value(clip=9,per=group)")
SEEN, AS_SEEN = "r(propensity=snips)@20", "r@20"
TRUE_VALUE = float(ASKED @ EARNS)
ITEMS, TRUE_USERS = 120, 20_000
ROLES: dict[str, Any] = {"group": "user", "score": "score", "label": "label", "propensity": "propensity"}


def actions(users: int, rng: np.random.Generator) -> pa.Table:
    action = rng.choice(4, (users, SLATE), p=RUN)
    reward = rng.random((users, SLATE)) < EARNS[action] + rng.uniform(-0.2, 0.2, (users, 1))
    estimate = EARNS * 0.8  # by a model of rewards that is wrong
    columns = {"score": ASKED[action], "label": reward, "propensity": RUN[action], "estimate": estimate[action]}
    columns["policy"] = np.full((users, SLATE), ASKED @ estimate)
    return table(users, columns)


def table(users: int, columns: dict[str, Any]) -> pa.Table:
    flat = {name: values.ravel().astype(float) for name, values in columns.items()}
    return pa.table({"user": np.arange(users).repeat(columns["score"].shape[1]), **flat})


def relevance(users: int, rng: np.random.Generator) -> tuple[Any, Any]:
    """Which of all items are relevant, half of them, and their scores."""
    relevant = rng.random((users, ITEMS)) < 0.5
    return relevant, rng.random((users, ITEMS)) + 0.3 * relevant


def seen_rows(users: int, rng: np.random.Generator) -> pa.Table:
    """Of what ranks high, more was seen, so that recall of what was seen is too high."""
    relevant, score = relevance(users, rng)
    chance = np.clip(0.25 + 0.5 * score + rng.uniform(-0.1, 0.1, score.shape), 0.05, 1)
    seen = relevant & (rng.random(score.shape) < chance)
    return table(users, {"score": score, "label": seen, "propensity": chance})


def true_recall() -> float:
    relevant, score = relevance(TRUE_USERS, np.random.default_rng(61))
    first = np.argpartition(-score, 20, axis=1)[:, :20]
    return float((np.take_along_axis(relevant, first, axis=1).sum(axis=1) / relevant.sum(axis=1)).mean())


def intervals(users: int, trials: int) -> dict[str, Intervals]:
    """Return how often the intervals of each metric hold the truth."""
    found: dict[str, Intervals] = {}
    recall = true_recall()
    for seed in range(trials):
        for row in _rows_of_trial(users, np.random.default_rng(seed)):
            truth = recall if row["metric"] in (SEEN, AS_SEEN) else TRUE_VALUE
            truth *= SLATE if "per=group" in row["metric"] else 1
            numbers = (row[name] for name in ("value", "ci_low", "ci_high", "interval"))
            found.setdefault(row["metric"], Intervals()).add(truth, *numbers)
    return found


def _rows_of_trial(users: int, rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    estimates = {"estimate": "estimate", "policy_estimate": "policy"}
    yield from sr.evaluate(actions(users, rng), VALUES, **ROLES, **estimates).metrics.to_pylist()
    yield from sr.evaluate(seen_rows(users, rng), [SEEN, AS_SEEN], **ROLES).metrics.to_pylist()
