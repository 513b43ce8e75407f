"""The outcomes of scenarios as tables of Markdown: a line for each metric, a column for each scenario."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence

from tests.simulations.trials import FAR, Intervals, Outcome, Tests

NOTABLE = 0.05  # a larger share of trials without an interval is told


def markdown(outcomes: Sequence[Outcome]) -> str:
    return "\n\n".join(
        (
            f"**Coverage of intervals of 95 %**, in %\n\n{_grid(outcomes, lambda o: o.values, _coverage)}",
            f"**Median width**\n\n{_grid(outcomes, lambda o: o.values, _width)}",
            f"**Differences of two models: coverage**\n\n{_grid(outcomes, lambda o: o.differences, _coverage)}",
            f"**Relative differences: coverage**\n\n{_grid(outcomes, lambda o: o.relative, _coverage)}",
            f"**Equal models: p below 0.05, and below 0.001**, in %\n\n{_grid(outcomes, lambda o: o.tests, _rejected)}",
            f"**Equal models: runs in which Holm's method finds a difference**, in %\n\n{_families(outcomes)}",
        )
    )


def details(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """A line for each scenario and metric, with what tells why: for whoever works on the intervals."""
    yield "scenario | metric | coverage | truth below | truth above | stderr / scatter | bias / scatter | without"
    for outcome in outcomes:
        for kind, named in (
            ("", outcome.values),
            ("difference of ", outcome.differences),
            ("relative ", outcome.relative),
        ):
            for metric, at in named.items():
                yield f"{outcome.scenario.name} | {kind}{metric} | {_line(at)}"


def _line(at: Intervals) -> str:
    from numpy import mean, sqrt, square, std

    scatter = float(std(at.values)) if len(at.values) > 1 else math.nan
    ratio = float(sqrt(mean(square(at.stderrs)))) / scatter if at.stderrs and scatter else math.nan
    bias = float(mean(at.values)) / scatter if scatter else math.nan
    total = at.count or 1
    without = ", ".join(f"{why} {number / at.trials:.0%}" for why, number in at.without.items())
    shares = (f"{100 * at.coverage:.1f}", f"{at.below / total:.3f}", f"{at.above / total:.3f}")
    return " | ".join((*shares, f"{ratio:.2f}", f"{bias:+.2f}", without))


def _grid(outcomes: Sequence[Outcome], of: Callable[[Outcome], dict], cell: Callable) -> str:
    columns = [outcome for outcome in outcomes if of(outcome)]
    metrics = list(dict.fromkeys(metric for outcome in columns for metric in map(_plain, of(outcome))))
    lines = [["metric", *(outcome.scenario.name for outcome in columns)], ["---", *("---:" for _ in columns)]]
    for metric in metrics:
        named = [{_plain(name): value for name, value in of(outcome).items()} for outcome in columns]
        lines.append([f"`{metric}`", *(cell(each[metric]) if metric in each else "" for each in named)])
    return _table(lines)


def _plain(metric: str) -> str:
    return metric.partition("(threshold")[0]


def _coverage(at: Intervals) -> str:
    without = at.without.total() / at.trials
    if not at.count:
        return "none"
    return f"{100 * at.coverage:.0f}" if without < NOTABLE else f"{100 * at.coverage:.0f} ({100 * without:.0f} none)"


def _width(at: Intervals) -> str:
    return "" if math.isnan(at.width) else "one end" if math.isinf(at.width) else f"{at.width:.2g}"


def _rejected(tests: Tests) -> str:
    if not tests.p:
        return "none"
    share = tests.without / (tests.without + len(tests.p))
    text = f"{100 * tests.rejected(0.05):.1f}, {100 * tests.rejected(FAR):.2f}"
    return text if share < NOTABLE else f"{text} ({100 * share:.0f} none)"


def _families(outcomes: Iterable[Outcome]) -> str:
    lines = [["scenario", "any family", "each family"], ["---", "---:", "---"]]
    for outcome in outcomes:
        if outcome.tests:
            each = ", ".join(f"{name} {100 * n / outcome.runs:.1f}" for name, n in outcome.families.most_common())
            lines.append([outcome.scenario.name, f"{100 * outcome.runs_that_find / outcome.runs:.1f}", each])
    return _table(lines)


def _table(lines: Iterable[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
