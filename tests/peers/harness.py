"""The one door through which these tests reach sparkrank: rows in, values of groups, means and days out.

Everything goes through `sparkrank.evaluate` in the local lane. The groups are dealt to two buckets and their partials
merged, so every comparison is one of merged states, as a job makes them.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import pyarrow as pa

import sparkrank as sr
from sparkrank.metrics import Definitions, Metric, find_preset
from sparkrank.states.means import Mean

MODEL = "model"
KEY, ITEM, SCORE, RANK, LABEL = "group", "item", "score", "rank", "label"
BUCKETS = 2


class Impression(NamedTuple):
    """One row. A null score (or rank, in its place): judged but not retrieved. A null label: not judged.

    Weights count in metrics of days.
    """

    group: Hashable
    item: Hashable
    score: float | None
    label: float | None
    rank: float | None = None
    weight: float = 1.0


class Listed(NamedTuple):
    """One row of a list, with a score or with a rank. Without item and either, it only names its group."""

    group: Hashable
    item: Hashable
    score: float | None
    rank: float | None = None


class Given(NamedTuple):
    """One row of a truth."""

    group: Hashable
    item: Hashable
    label: float | None


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

    def without(self, group: Hashable) -> Evaluation:
        """The same without a group that is in the lists and in the truth; means are of groups that weigh alike."""
        values = {text: {key: value for key, value in of.items() if key != group} for text, of in self.values.items()}
        left = replace(self, values=values, counts={key: of for key, of in self.counts.items() if key != group})
        means = {}
        for text, mean in self.means.items():
            counted = [value for value in left.counted(text).values() if not math.isnan(value)]
            value = math.fsum(counted) / len(counted) if counted else math.nan
            means[text] = replace(mean, value=value, weight=float(len(counted)))
        return replace(left, means=means)


def evaluate(
    rows: Iterable[Impression] | Iterable[Listed],
    metrics: str | Sequence[str],
    truth: Sequence[Given] | None = None,
    **settings: str,
) -> Evaluation:
    """Evaluate `rows`, beside `truth` if there is one, with `metrics` (texts).

    `settings` are definitions or a preset. Lists are ordered by rank where any row has one.
    """
    rows = list(rows)
    order = RANK if any(row.rank is not None for row in rows) else SCORE
    whole = all(isinstance(row.group, int) for row in (*rows, *(truth or ())))
    if truth is not None and not truth:  # which is refused where it is all that there is
        beside_it: Hashable = -1 if whole else "beside it"
        row = Listed(beside_it, ITEM, *((None, 1.0) if order == RANK else (1.0, None)))
        found = evaluate([*rows, row], metrics, [Given(beside_it, ITEM, 1.0)], **settings)
        return found.without(beside_it)
    beside: dict[str, Any] = {} if truth is None else {"truth": _table(truth, Given, whole)}
    table = _table(rows, Impression if truth is None else Listed, whole)
    if any(isinstance(row, Impression) and row.weight != 1 for row in rows):
        beside["weight"] = "weight"
    return _evaluate(table, metrics, {"label": LABEL, order: {MODEL: order}, **beside, **settings})


def _evaluate(rows: pa.Table, metrics: str | Sequence[str], settings: dict[str, Any]) -> Evaluation:
    texts = [metrics] if isinstance(metrics, str) else list(metrics)
    found = sr.evaluate(rows, texts, group=KEY, item=ITEM, buckets=BUCKETS, **settings)
    assert isinstance(found.groups, pa.Table)
    preset = find_preset(settings.get("preset"))
    canonical = {text: str(Metric.parse(text, preset)) for text in texts}
    groups = found.groups[KEY].to_pylist()
    numbers = (found.groups[name].to_pylist() for name in ("n_rows", "n_retrieved", "n_relevant"))
    of_groups = {text: metric for text, metric in canonical.items() if metric in found.groups.column_names}
    means = {key[3]: mean for key, mean in found.partials.means.results().items()}
    values = {row["metric"]: row["value"] for row in found.metrics.to_pylist()}
    percentiles = {str(metric) for metric in found.plan.metrics if metric.percentile is not None or metric.geometric}
    days = {str(metric) for metric, _ in found.plan.pooled_metrics}
    return Evaluation(
        definitions=found.plan.definitions,
        values={
            text: dict(zip(groups, found.groups[metric].to_pylist(), strict=True)) for text, metric in of_groups.items()
        },
        means={text: means[metric] for text, metric in of_groups.items()},
        percentiles={text: values[metric] for text, metric in canonical.items() if metric in percentiles},
        days={text: values[metric] for text, metric in canonical.items() if metric in days},
        counts=dict(zip(groups, map(Counts, *numbers), strict=True)),
    )


def _table(
    rows: Sequence[Impression] | Sequence[Listed] | Sequence[Given], kind: type[NamedTuple], whole: bool
) -> pa.Table:
    """The rows with a column for each field; group keys are numbers where ``whole`` says so, items are texts."""
    columns = {name: [getattr(row, name) for row in rows] for name in kind._fields}
    texts = {ITEM: [None if item is None else str(item) for item in columns[ITEM]]}
    types = {KEY: pa.int64() if whole else pa.string(), ITEM: pa.string()}
    return pa.table(
        {name: pa.array(texts.get(name, values), types.get(name, pa.float64())) for name, values in columns.items()}
    )
