"""Test vectors of other libraries: inputs, definitions and expected numbers from their public tests.

A case is checked through its parameters alone (`vector_metrics`, `vector_rows`); `SCHEMA.md` beside the vectors says
what they mean. The folder is named by SPARKRANK_VECTORS, else ../shared/vectors beside the project.
"""

from __future__ import annotations

import functools
import json
import math
import os
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import NormalDist

from tests.peers.harness import Evaluation
from tests.peers.vector_metrics import NotCoveredError, Parameters, factor_of, metric_text, undefined_as
from tests.peers.vector_rows import Record, Tables, tables_of

VARIABLE = "SPARKRANK_VECTORS"
PROJECT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Question:
    """A case in sparkrank's words. The value is `factor` times the metric's."""

    tables: Tables
    metric: str
    undefined: str
    factor: float


@functools.cache
def cases() -> tuple[Record, ...]:
    """Every case of every file of the folder; none when there is no folder."""
    folder = Path(os.environ.get(VARIABLE) or PROJECT.parent / "shared" / "vectors")
    files = sorted(folder.glob("*.json"))
    return tuple(case for file in files for case in json.loads(file.read_text(encoding="utf-8"))["cases"])


def question(case: Record) -> Question:
    """The case in sparkrank's words. Raises `NotCoveredError` with the reason when these cannot say it."""
    metric, parameters = case["metric"], case["params"]
    text, undefined = metric_text(metric, parameters), undefined_as(metric, parameters)
    aggregate, weighted = parameters.get("aggregate", "mean"), ("weighted_by_count", "weighted_by_positives")
    covered = ("mean", "ci_half_width", "sum", "median", *(weighted if metric == "auc" else ()))
    if parameters.get("empty_list") == "one":
        covered = ("mean",)
    if "mean" in case["expected"] and aggregate not in covered:
        raise NotCoveredError(f"aggregate {aggregate}")
    return Question(tables_of(case), text, undefined, factor_of(metric, parameters))


def why_not(case: Record) -> str | None:
    """Why a case is left for later, or nothing when these metrics cover its definition."""
    try:
        question(case)
    except NotCoveredError as reason:
        return str(reason)
    return None


def differences(case: Record) -> list[str]:
    """Where sparkrank differs from what the case expects, beyond the case's own tolerance."""
    asked = question(case)
    texts = [asked.metric, *_medians(case, asked)]
    return _differences(case, asked, asked.tables.evaluate(texts, undefined=asked.undefined))


def differences_under(case: Record, preset: str, metric: str) -> list[str]:
    """The same with the bare text of the metric and the preset of the library in place of parameters and definitions.

    An order inside ties stays as the case gives it: items are named so that ties=item restores it.
    """
    given = question(case)
    asked = Question(Tables(given.tables.rows, given.tables.truth), metric, "", given.factor)
    answer = asked.tables.evaluate([metric, *_medians(case, asked)], preset=preset)
    return _differences(case, asked, answer)


def is_elsewhere() -> bool:
    """Whether the vectors are other ones than those that the counts of the tests speak of."""
    return bool(os.environ.get(VARIABLE))


def _differences(case: Record, asked: Question, answer: Evaluation) -> list[str]:
    return [
        f"{asked.metric} of {where}: expected {expected}, got {got!r}"
        for where, expected, got in _compared(case, asked, answer)
        if not _within(got, expected, **case["tolerance"])
    ]


def _medians(case: Record, asked: Question) -> list[str]:
    return [f"median({asked.metric})"] if case["params"].get("aggregate") == "median" else []


def _compared(case: Record, asked: Question, answer: Evaluation) -> Iterator[tuple[Hashable, float | str, float]]:
    """What is compared: (group or aggregate, expected, got)."""
    expected = case["expected"]
    if "per_group" in expected:
        counted = answer.counted(asked.metric) | dict.fromkeys(asked.tables.without_list, 1.0)
        for group, value in expected["per_group"]:
            yield f"group {group}", value, asked.factor * counted.get(group, math.inf)
    if "mean" in expected:
        aggregate = case["params"].get("aggregate", "mean")
        yield aggregate, expected["mean"], asked.factor * _aggregate(case["params"], asked, answer, aggregate)


def _aggregate(parameters: Parameters, asked: Question, answer: Evaluation, aggregate: str) -> float:
    if asked.metric in answer.days:
        return answer.days[asked.metric]
    if aggregate == "median":
        return answer.percentiles[f"median({asked.metric})"]
    mean = answer.means[asked.metric]
    if ones := len(asked.tables.without_list):
        whole = mean.weight + ones
        return ((mean.value * mean.weight if mean.weight else 0.0) + ones) / whole
    if mean.weight == 0:  # no group is in the mean: NaN here, and in the case what the parameters say
        assert math.isnan(mean.value)
        return 0.0 if parameters.get("aggregate_of_none") == "zero" else math.nan
    if aggregate == "ci_half_width":
        return NormalDist().inv_cdf((1 + parameters["alpha"]) / 2) * mean.stderr
    if "nan" in (parameters.get("empty_truth"), parameters.get("single_class")) and any(
        math.isnan(value) for value in answer.counted(asked.metric).values()
    ):
        return math.nan  # a plain mean over groups of which one is NaN
    return mean.value * mean.weight if aggregate == "sum" else mean.value


def _within(got: float, expected: float | str, abs: float, rel: float) -> bool:  # noqa: A002 - the schema's names
    if expected == "NaN":
        return math.isnan(got)
    limit = float(expected)
    return math.fabs(got - limit) <= abs + rel * math.fabs(limit)
