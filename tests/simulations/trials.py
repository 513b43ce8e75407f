"""Trials of a scenario, and what they say of each interval and of each test."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests.simulations.scenarios import BASELINE, EQUAL, WORSE, Scenario
from tests.simulations.truth import truth_of

FAR = 0.001
ROUNDING = 1e-9


@dataclass
class Intervals:
    """The intervals of one metric over all trials."""

    count: int = 0
    held: int = 0
    widths: list[float] = field(default_factory=list)
    without: Counter[str] = field(default_factory=Counter)

    def add(self, truth: float, value: float | None, low: float | None, high: float | None, why: str | None) -> None:
        if value is None or math.isnan(value):
            self.without["undefined"] += 1
        elif low is None and high is None:
            self.without[why or "none"] += 1
        else:
            low, high = (-math.inf if low is None else low), (math.inf if high is None else high)
            self.count += 1
            self.held += low - ROUNDING <= truth <= high + ROUNDING
            self.widths.append(high - low)

    @property
    def coverage(self) -> float:
        return self.held / self.count if self.count else math.nan

    @property
    def trials(self) -> int:
        return self.count + self.without.total()

    @property
    def width(self) -> float:
        return float(np.median(self.widths)) if self.widths else math.nan


@dataclass
class Tests:
    """The p-values of one metric under no difference."""

    p: list[float] = field(default_factory=list)

    def rejected(self, level: float) -> float:
        return float(np.mean(np.array(self.p) < level)) if self.p else math.nan


@dataclass
class Outcome:
    """What the trials of one scenario have given, by metric."""

    scenario: Scenario
    values: dict[str, Intervals] = field(default_factory=dict)
    differences: dict[str, Intervals] = field(default_factory=dict)
    relative: dict[str, Intervals] = field(default_factory=dict)
    tests: dict[str, Tests] = field(default_factory=dict)
    runs: int = 0
    runs_that_find: int = 0

    def add(self, metrics: Iterable[Mapping[str, Any]], comparisons: Iterable[Mapping[str, Any]]) -> None:
        truth = truth_of(self.scenario)
        self.runs += 1
        for row in metrics:
            true = truth.get((row["model"], row["metric"]))
            if row["model"] == EQUAL or true is None or (self.scenario.slice_sizes and row["slice"] == "all"):
                continue
            name = row["metric"] if row["model"] in {BASELINE, WORSE} else f"{row['metric']} of {row['model']}"
            if row["model"] != WORSE:
                intervals = self.values.setdefault(name, Intervals())
                intervals.add(true, row["value"], row["ci_low"], row["ci_high"], row["interval"])
        finds = False
        for row in comparisons:
            true = {name: truth.get((row[name], row["metric"])) for name in ("candidate", "baseline")}
            if row["candidate"] == EQUAL:
                if self.scenario.slice_sizes and row["slice"] == "all":
                    continue
                tests = self.tests.setdefault(row["metric"], Tests())
                if row["p"] is not None:
                    tests.p.append(row["p"])
                    finds |= row["p_adjusted"] < 0.05
            elif None not in true.values():
                difference = true["candidate"] - true["baseline"]
                self.differences.setdefault(row["metric"], Intervals()).add(
                    difference, row["difference"], row["ci_low"], row["ci_high"], row["interval"]
                )
                self.relative.setdefault(row["metric"], Intervals()).add(
                    difference / abs(true["baseline"]) if true["baseline"] else math.nan, row["relative"],
                    row["relative_low"], row["relative_high"], row["interval"],
                )  # fmt: skip
        self.runs_that_find += finds


def outcome(scenario: Scenario, trials: int, seed: int = 0, first: int = 0) -> Outcome:
    """``trials`` of ``scenario``; each has a seed of its own, so that the first hundred of any number are the same."""
    result = Outcome(scenario)
    for trial in range(first, first + trials):
        result.add(*scenario.tables(np.random.default_rng([seed, *scenario.name.encode(), trial])))
    return result
