"""The one door through which these tests reach sparkrank: rows in, values of groups, means and days out.

Everything goes through `evaluate_bucket`, without Spark. The groups are dealt to two buckets and their partials
merged, so every comparison is one of merged states, as a job makes them.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa

from sparkrank.bucket import BucketResult, evaluate_bucket
from sparkrank.day import day_row
from sparkrank.impressions import ITEM, LABEL, WEIGHT, key_column, score_column
from sparkrank.metrics import Definitions, Metric, Plan
from sparkrank.metrics.declaration import DayMetric
from sparkrank.states import Partials
from sparkrank.states.means import Mean

MODEL = "model"
KEY = "group"
BUCKETS = 2


class Impression(NamedTuple):
    """One row. A null score: judged but not retrieved. A null label: not judged. Weights count in metrics of days."""

    group: Hashable
    item: Hashable
    score: float | None
    label: float | None
    weight: float = 1.0


class Counts(NamedTuple):
    """What the group table says of a group beside its metrics."""

    rows: int
    retrieved: int
    relevant: int


def join_truth(
    lists: Iterable[tuple[Hashable, Hashable, float | None]], truth: Mapping[tuple[Hashable, Hashable], float]
) -> list[Impression]:
    """Lists (group, item, score) and truth ((group, item) -> label) as one table of impressions.

    Truth that was not recommended gets a null score, a recommendation without truth a null label.
    """
    rows = [Impression(group, item, score, truth.get((group, item))) for group, item, score in lists]
    listed = {(row.group, row.item) for row in rows}
    return rows + [Impression(*key, None, label) for key, label in truth.items() if key not in listed]


@dataclass(frozen=True)
class Evaluation:
    """What sparkrank says of the rows, by the metric texts as they were asked for."""

    definitions: Definitions
    values: Mapping[str, Mapping[Hashable, float]]  # NaN where the metric is undefined
    means: Mapping[str, Mean]
    days: Mapping[str, float]
    percentiles: Mapping[str, float]
    counts: Mapping[Hashable, Counts]

    def counted(self, text: str) -> dict[Hashable, float]:
        """The value of each group as it counts in the mean: NaN where the definitions leave it out."""
        stands_for = self.definitions.counts_undefined_as
        undefined = math.nan if stands_for is None else stands_for
        return {group: undefined if math.isnan(value) else value for group, value in self.values[text].items()}


def evaluate(rows: Iterable[Impression], metrics: str | Sequence[str], **definitions: str) -> Evaluation:
    """Evaluate `rows` with `metrics` (texts) under `definitions` (`ties`, `undefined`)."""
    texts = [metrics] if isinstance(metrics, str) else list(metrics)
    asked = {text: Metric.parse(text) for text in texts}
    impressions = list(rows)
    weighted = any(row.weight != 1 for row in impressions)
    plan = Plan.of(list(asked.values()), [MODEL], [KEY], Definitions(**definitions), weighted=weighted)
    results = [evaluate_bucket(table, plan) for table in _deal(impressions)]
    partials = Partials.merged([result.partials for result in results])
    values, counts = _group_table(results, asked)
    means = {key[3]: mean for key, mean in partials.means.results().items()}
    return Evaluation(
        definitions=plan.definitions,
        values=values,
        means={text: means[str(metric)] for text, metric in asked.items() if str(metric) in means},
        percentiles={text: _percentile(metric, partials) for text, metric in asked.items() if _is_percentile(metric)},
        days={text: _day(metric, partials) for text, metric in asked.items() if _is_of_the_day(metric)},
        counts=counts,
    )


def _deal(rows: list[Impression]) -> list[pa.Table]:
    """The rows as the tables of whole groups that buckets take."""
    number = {group: index for index, group in enumerate(dict.fromkeys(row.group for row in rows))}
    key = pa.int64() if all(isinstance(group, int) for group in number) else pa.string()
    buckets = max(min(BUCKETS, len(number)), 1)
    return [_table([row for row in rows if number[row.group] % buckets == bucket], key) for bucket in range(buckets)]


def _table(rows: list[Impression], key: pa.DataType) -> pa.Table:
    return pa.table(
        {
            key_column(0): pa.array([row.group for row in rows], key),
            WEIGHT: pa.array([row.weight for row in rows], pa.float64()),
            LABEL: pa.array([row.label for row in rows], pa.float64()),
            score_column(0): pa.array([row.score for row in rows], pa.float64()),
            ITEM: pa.array([None if row.item is None else str(row.item) for row in rows], pa.string()),
        }
    )


def _group_table(
    results: list[BucketResult], asked: Mapping[str, Metric]
) -> tuple[dict[str, dict[Hashable, float]], dict[Hashable, Counts]]:
    table = pa.concat_tables([result.groups for result in results if result.groups is not None])
    groups = table[KEY].to_pylist()
    of_groups = {text: m for text, m in asked.items() if not _is_of_the_day(m) and not _is_percentile(m)}
    values = {
        text: dict(zip(groups, table[str(metric)].to_pylist(), strict=True)) for text, metric in of_groups.items()
    }
    numbers = (table[name].to_pylist() for name in ("n_rows", "n_retrieved", "n_relevant"))
    return values, dict(zip(groups, map(Counts, *numbers), strict=True))


def _is_of_the_day(metric: Metric) -> bool:
    return isinstance(metric.declaration, DayMetric)


def _is_percentile(metric: Metric) -> bool:
    return metric.percentile is not None


def _percentile(metric: Metric, partials: Partials) -> float:
    """A percentile of the values of groups, from their merged distribution."""
    value, bound = partials.distributions[MODEL, "all", "all", str(metric.of_groups)].quantile(metric.percentile / 100)
    assert bound == 0
    return value


def _day(metric: Metric, partials: Partials) -> float:
    """A metric of the whole day, from the merged states."""
    return day_row(partials, (MODEL, "all", "all"), metric).value.value
