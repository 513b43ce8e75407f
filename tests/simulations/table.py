"""The outcomes of scenarios as tables of Markdown, and line by line."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from tests.simulations.trials import FAR, Intervals, Outcome

NOTABLE = 0.05  # a larger share of trials without an interval is told
NONE = "none"
COVERAGE = "Intervals of 95 % that hold the truth, in %; in brackets, trials without an interval:"
WIDTH = "Their median width:"
TESTS = """Differences to a worse model: lowest, median and highest coverage of metrics. An equal model: p below 0.05
(the same three) and 0.001, and runs in which Holm's method finds something. In %:"""


def markdown(outcomes: Sequence[Outcome]) -> str:
    """Coverage by metric, width by metric, and by scenario what tests and differences do."""
    alike = [outcome for outcome in outcomes if outcome.scenario.is_plain]
    tables = {
        COVERAGE: _by_metric([outcome for outcome in outcomes if outcome.values], _coverage),
        WIDTH: _by_metric(alike, _width),
        TESTS: _by_scenario(outcomes),
    }
    return "\n\n".join(f"{title}\n\n{table}" for title, table in tables.items())


def _by_metric(outcomes: Sequence[Outcome], cell: Callable[[Intervals], str]) -> str:
    metrics = list(dict.fromkeys(_plain(metric) for outcome in outcomes for metric in outcome.values))
    lines = [["", *(outcome.scenario.name for outcome in outcomes)], ["---", *("---:" for _ in outcomes)]]
    named = [{_plain(metric): intervals for metric, intervals in outcome.values.items()} for outcome in outcomes]
    lines += [[f"`{metric}`", *(cell(of[metric]) if metric in of else "" for of in named)] for metric in metrics]
    return _table(lines)


def _plain(metric: str) -> str:
    return metric.partition("(threshold")[0]


def _coverage(intervals: Intervals) -> str:
    without = intervals.without.total() / intervals.trials
    if not intervals.count:
        return NONE
    return f"{100 * intervals.coverage:.0f}" + (f" ({100 * without:.0f})" if without > NOTABLE else "")


def _width(intervals: Intervals) -> str:
    return NONE if math.isnan(intervals.width) else f"{intervals.width:.2g}"


def _by_scenario(outcomes: Iterable[Outcome]) -> str:
    lines = [["", "trials", "difference", "relative", "p < 0.05", "p < 0.001", "Holm"], ["---", *["---:"] * 6]]
    for outcome in outcomes:
        rejected = [tests.rejected(0.05) for tests in outcome.tests.values() if tests.p]
        p = [p for tests in outcome.tests.values() for p in tests.p]
        far, finds = 100 * float(np.mean(np.array(p) < FAR)) if p else math.nan, outcome.runs_that_find / outcome.runs
        tested = [_spread(rejected), f"{far:.2f}", f"{100 * finds:.1f}"] if p else ["", "", ""]
        ranges = [_spread(_shares(outcome.differences)), _spread(_shares(outcome.relative))]
        lines.append([outcome.scenario.name, str(outcome.runs), *ranges, *tested])
    return _table(lines)


def _shares(named: Mapping[str, Intervals]) -> list[float]:
    return [intervals.coverage for intervals in named.values() if intervals.count > NOTABLE * intervals.trials]


def _spread(shares: Sequence[float]) -> str:
    if not shares:
        return ""
    return ", ".join(f"{100 * of:.1f}" for of in (min(shares), float(np.median(shares)), max(shares)))


def _table(lines: Iterable[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
