"""Labels that a machine gives all rows, too generously, and a human the rows of some users drawn at random."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

import sparkrank as sr
from tests.simulations.trials import Intervals

ROWS, TRUE_USERS = 8, 200_000
OF_LISTS = ("p@3", "ndcg@3", "dcg")
ROLES: dict[str, Any] = {"group": "user", "score": "score", "label": {"machine": "machine", "human": "human"}}


def labelled(users: int, rng: np.random.Generator) -> tuple[Any, Any, Any]:
    """Scores, what a human says of each row, and what a machine says, which calls more of the first rows relevant."""
    score = np.sort(rng.random((users, ROWS)), axis=1)[:, ::-1]
    human = rng.random(score.shape) < 0.15 + 0.4 * score * rng.uniform(0.3, 1.7, (users, 1))
    wrong = rng.random(score.shape) < np.where(human, 0.1, 0.25 * score)
    return score, human, human ^ wrong


def rows_of(users: int, checked: float, rng: np.random.Generator) -> pa.Table:
    score, human, machine = (columns.ravel() for columns in labelled(users, rng))
    has_human = np.repeat(rng.random(users) < checked, ROWS)
    columns = {"user": np.arange(users).repeat(ROWS), "score": score, "machine": machine.astype(float)}
    return pa.table({**columns, "human": pa.array(human.astype(float), mask=~has_human)})


def texts(of: str) -> tuple[str, str]:
    """The metric ``of`` by the machine alone, and corrected by the human."""
    name, at, k = of.partition("@")
    return f"{name}{at}{k}", f"{name}(checked_by=human){at}{k}"


def true_values() -> dict[str, float]:
    """The means by the human over very many users; a list without anything relevant has 0."""
    score, human, _ = labelled(TRUE_USERS, np.random.default_rng(61))
    columns = {"user": np.arange(TRUE_USERS).repeat(ROWS), "score": score.ravel(), "human": human.ravel()}
    roles = {"group": "user", "score": "score", "label": "human", "undefined": "zero", "uncertainty": False}
    of = sr.evaluate(pa.table(columns), OF_LISTS, group_table=False, **roles)
    return {metric: of[metric] for metric in OF_LISTS}


def intervals(users: int, checked: float, trials: int) -> dict[str, Intervals]:
    """Return how often the intervals of each metric hold what the human would say of all users."""
    found: dict[str, Intervals] = {}
    truth = {text: value for of, value in true_values().items() for text in texts(of)}
    for seed in range(trials):
        of = sr.evaluate(rows_of(users, checked, np.random.default_rng(seed)), [*truth], **ROLES)
        for row in of.metrics.to_pylist():
            numbers = (row[name] for name in ("value", "ci_low", "ci_high", "interval"))
            found.setdefault(row["metric"], Intervals()).add(truth[row["metric"]], *numbers)
    return found
