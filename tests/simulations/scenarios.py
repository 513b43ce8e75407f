"""What is simulated: a population, how many of its users, over how many days, and what is asked of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

import sparkrank as sr
from sparkrank.metrics.merged import Merged
from sparkrank.states import Partials
from sparkrank.tables.rows.comparisons import comparisons_table
from sparkrank.tables.rows.results import metrics_table
from tests.simulations.populations import Population

GROUP_METRICS = (
    "hit@1", "hit@5", "p@5", "r@5", "ndcg@5", "ap", "rr", "group_auc",
    "ndcg(weight=rows)@5", "hit(weight=rows)@1", "gauc", "median(ndcg@5)", "p25(ap)", "p90(ndcg@5)",
)  # fmt: skip
POOLED_METRICS = (
    "auc", "pr_auc", "bep", "ks", "accuracy", "precision", "recall", "specificity", "f1",
    "logloss", "ne", "brier", "copc", "ece", "auc_up",
)  # fmt: skip
THRESHOLDED = {"accuracy", "precision", "recall", "specificity", "f1"}
SLICED_METRICS = ("hit@1", "p@5", "ndcg@5", "gauc", "auc", "pr_auc", "recall", "logloss", "median(ndcg@5)")
RETURNING = 0.5  # the share of users who come on a day of a window
BASELINE, EQUAL, WORSE = "a", "b", "c"


@dataclass(frozen=True)
class Scenario:
    """One line of the tables: ``users`` of a population on each of ``days``, evaluated as a user of sparkrank does."""

    name: str
    population: Population
    users: int
    days: int = 1
    sessions: int = 1
    slice_sizes: tuple[int, ...] = ()
    models: tuple[str, ...] = (BASELINE, EQUAL, WORSE)
    asked: tuple[str, ...] = GROUP_METRICS + POOLED_METRICS

    @cached_property
    def metrics(self) -> list[str]:
        """What is asked for, with a threshold near the share of clicks where clicks are rare."""
        threshold = 0.5 if self.population.clicks > 0.1 else 5 * self.population.clicks
        return [f"{name}(threshold={threshold:g})" if name in THRESHOLDED else name for name in self.asked]

    def logs(self, draw: np.random.Generator) -> list[pa.Table]:
        """A log for each day; on several, users with one liking come again and again."""
        if self.days == 1:
            log = self.population.log(draw, self.users, sessions=self.sessions)
            return [_with_slices(log, self.slice_sizes) if self.slice_sizes else log]
        liking = draw.normal(size=self.users)
        return [self._of_day(draw, liking) for _ in range(self.days)]

    def _of_day(self, draw: np.random.Generator, liking: np.ndarray) -> pa.Table:
        here = np.flatnonzero(draw.random(self.users) < RETURNING)
        log = self.population.log(draw, len(here), liking[here])
        return log.set_column(0, "user", pa.array(here[log["user"].to_numpy()]))

    @property
    def is_plain(self) -> bool:
        """Whether it has nothing special but its number of users."""
        return self.population == Population() and self.days == self.sessions == 1 and self.asked == Scenario.asked

    @property
    def arguments(self) -> dict[str, Any]:
        return {
            "group": "user" if self.sessions == 1 else "session",
            "label": "y",
            "score": {model: model for model in self.models},
            "compare": self.models[0] if len(self.models) > 1 else None,
            "slices": ["part_of_shop"] if self.slice_sizes else [],
            "group_table": False,
            **({} if self.sessions == 1 else {"cluster": "user"}),
        }

    def tables(self, draw: np.random.Generator) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """The rows of ``metrics`` and of ``comparisons`` of one trial."""
        return evaluated(self.logs(draw), self.metrics, self.arguments)


def evaluated(
    logs: Sequence[pa.Table], metrics: Sequence[str], arguments: dict[str, Any]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The rows of ``metrics`` and ``comparisons`` of a day, or of a window merged from the states of its days."""
    days = [sr.evaluate(log, list(metrics), **arguments) for log in logs]
    baseline = arguments["compare"]
    if len(days) == 1:
        return days[0].table.to_pylist(), days[0].compare(baseline).to_pylist() if baseline else []
    merged, plan = Merged(Partials.merged(day.partials for day in days)), days[0].plan
    assert plan.compare is not None
    return (
        metrics_table(merged, plan, clustered=True).to_pylist(),
        comparisons_table(merged, plan, plan.compare, clustered=True).to_pylist(),
    )


def _with_slices(log: pa.Table, sizes: Sequence[int]) -> pa.Table:
    names = np.repeat([f"{place:02d} of {size}" for place, size in enumerate(sizes)], sizes)
    return log.append_column("part_of_shop", pa.array(names[log["user"].to_numpy()]))


def _all() -> Iterator[Scenario]:
    common, rare = Population(), Population(clicks=0.004)
    for users in (30, 100, 1_000, 20_000):
        yield Scenario(f"{users:,} users", common, users)
    for users in (30, 100, 1_000, 20_000):
        yield Scenario(f"{users:,} users, rare clicks", rare, users)
    for users in (100, 1_000):
        yield Scenario(f"{users:,} users, one with 20 % of rows", Population(users_of_largest=users), users)
    for users in (30, 1_000):
        yield Scenario(f"{users:,} users, three scores", Population(levels=3), users)
    for users in (30, 100, 1_000):
        yield Scenario(f"week of {users:,} users", common, users, days=7)
    for users in (30, 200):
        yield Scenario(f"{users:,} users, 8 sessions each", common, users, sessions=8)
    sizes = tuple(np.geomspace(5, 300, 24).round().astype(int).tolist())
    sliced: dict[str, Any] = {"slice_sizes": sizes, "models": (BASELINE, EQUAL), "asked": SLICED_METRICS}
    yield Scenario("slices of 5 to 300 users", common, sum(sizes), **sliced)
    nothing: dict[str, Any] = {"models": ("calibrated", "blind"), "asked": ("ece", "ks", "auc", "copc", "gauc")}
    for users in (60, 1_000):
        yield Scenario(f"{users:,} users, nothing to find", common, users, **nothing)


SCENARIOS = {scenario.name: scenario for scenario in _all()}
