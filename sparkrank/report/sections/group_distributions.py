"""How the values of each metric are spread over groups, by model.

The group table is read a batch at a time, and each value becomes a count in a bin: no row becomes an object of Python.
Where there is no group table, as of a window, the table ``distributions`` has the values of metrics with percentiles.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from sparkrank.bucket.group_rows import MODEL
from sparkrank.comparison.group_tables import GroupTable
from sparkrank.numeric.array_types import Floats, Ints
from sparkrank.report.data import GroupDistribution, MetricValue, ModelCounts, ReportData
from sparkrank.report.figures import Figure, Frame, Line, LineChart, charted, model_key, shown_name, steps
from sparkrank.report.report_tables import ReportTables, parsed, plain_texts, whole_day
from sparkrank.report.section import Made, ReportSection
from sparkrank.report.sections.score_histograms import edges_between

BINS = 20  # of values in a range that is known
MOST_METRICS = 24  # in the order of the table
MOST_VALUES = 400_000_000  # of the group table that are read for a section: of a larger one fewer metrics are shown
GROUPS_PART = ("groups", "Groups")


@dataclass
class _BinnedMetric:
    """The bins of a metric, and the groups of each model in them."""

    edges: Floats
    counts: dict[str, Ints]
    undefined: dict[str, int]

    @classmethod
    def empty(cls, edges: Floats, models: Sequence[str]) -> _BinnedMetric:
        bins = max(len(edges) - 1, 1)
        return cls(edges, {model: np.zeros(bins, np.int64) for model in models}, dict.fromkeys(models, 0))

    def add(self, model: str, values: Floats) -> None:
        there = values[~np.isnan(values)]
        self.undefined[model] += len(values) - len(there)
        self.counts[model] += binned(there, self.edges)

    def distribution(self, metric: str, source: str) -> GroupDistribution:
        by_model = tuple(
            ModelCounts(model, tuple(counts.tolist()), self.undefined[model]) for model, counts in self.counts.items()
        )
        return GroupDistribution(metric, tuple(self.edges.tolist()), by_model, source)  # type: ignore[arg-type]


def binned(values: Floats, edges: Floats, groups: Ints | None = None) -> Ints:
    """How many of ``values`` (of ``groups`` each) are in each bin; those beyond the edges are in the bin at that
    end."""
    count = max(len(edges) - 1, 1)
    place = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, count - 1)
    return np.bincount(place, groups, minlength=count).astype(np.int64)


def most(wanted: int, values_of_each: int) -> int:
    """How many of ``wanted`` things are read, each of so many values: one at least."""
    return max(min(wanted, MOST_VALUES // max(values_of_each, 1)), 1)


def _distributions(tables: ReportTables) -> Made:
    if tables.groups is None:
        return () if tables.distributions is None else _stored(tables.distributions, tables), None
    if tables.groups.is_frame:
        return _of_frame(tables.groups, tables.models), None
    return _of_table(tables.groups, tables.models), None


def _of_table(table: GroupTable, models: Sequence[str]) -> tuple[GroupDistribution, ...]:
    """Of the first :data:`MOST_METRICS` metrics of the table, or of fewer where it is large."""
    rows = table.count()
    if not rows:
        return ()
    metrics = table.metrics[: most(MOST_METRICS, rows)]
    edges = {metric: known for metric in metrics if (known := _known_edges(metric)) is not None}
    others = [metric for metric in metrics if metric not in edges]
    if others:
        edges |= {metric: edges_between(*ends) for metric, ends in _ranges(table, others).items()}
    counts = {metric: _BinnedMetric.empty(edges[metric], models) for metric in metrics}
    for batch in _batches(table, metrics):
        for model, own in _by_model(batch, models):
            for metric in metrics:
                counts[metric].add(model, own[metric].cast(pa.float64()).to_numpy(zero_copy_only=False))
    return tuple(counts[metric].distribution(metric, "groups") for metric in metrics)


def _batches(table: GroupTable, columns: Sequence[str]) -> Iterable[pa.RecordBatch]:
    with table.reading():
        if not isinstance(table.rows, ds.Dataset):
            raise TypeError("a DataFrame is counted by Spark")
        for batch in table.rows.scanner(columns=[MODEL, *columns]).to_batches():
            for column in (MODEL, *columns):
                table.validate_files(column, batch[column])
            yield batch


def _by_model(batch: pa.RecordBatch, models: Sequence[str]) -> Iterable[tuple[str, pa.RecordBatch]]:
    """The rows of each of ``models`` in ``batch``."""
    names = batch[MODEL]
    there = set(pc.unique(names).to_pylist())
    for model in models:
        if there == {model}:
            yield model, batch
        elif model in there:
            yield model, batch.filter(pc.equal(names.cast(pa.string()), model))


def _known_edges(text: str) -> Floats | None:
    """The edges of the values that a metric can have; None where they have no bounds, or nobody knows."""
    metric = parsed(text)
    if metric is None:
        return None
    low, high = metric.declaration.range_of(metric)
    known = math.isfinite(low) and math.isfinite(high)
    return low + (high - low) * (np.arange(BINS + 1) / BINS) if known else None


def _ranges(table: GroupTable, metrics: Sequence[str]) -> dict[str, tuple[float, float]]:
    """The least and the greatest value of each of ``metrics``; infinite where none is defined."""
    ranges = dict.fromkeys(metrics, (math.inf, -math.inf))
    for batch in _batches(table, metrics):
        for metric in metrics:
            values = batch[metric].cast(pa.float64()).to_numpy(zero_copy_only=False)
            low, high = ranges[metric]
            ranges[metric] = (float(np.nanmin(values, initial=low)), float(np.nanmax(values, initial=high)))
    return ranges


def _of_frame(table: GroupTable, models: Sequence[str]) -> tuple[GroupDistribution, ...]:
    """The same of a Spark DataFrame: its workers count, and the counts alone come back."""
    from pyspark.sql import functions as F

    frame, metrics = table.rows, table.metrics[:MOST_METRICS]
    if isinstance(frame, ds.Dataset) or not metrics:
        return ()
    known = {metric: edges for metric in metrics if (edges := _known_edges(metric)) is not None}
    others = [metric for metric in metrics if metric not in known]
    if others:
        nothing = F.lit(None).cast("double")
        defined = [F.nanvl(frame[_quoted(metric)].cast("double"), nothing) for metric in others]
        row = frame.select(*(end(value) for value in defined for end in (F.min, F.max))).collect()[0]
        for place, metric in enumerate(others):
            low, high = row[2 * place], row[2 * place + 1]
            known[metric] = edges_between(math.inf, 0.0) if low is None else edges_between(low, high)
    in_order = [known[metric] for metric in metrics]
    values = [frame[_quoted(metric)].cast("double").alias(f"m{place}") for place, metric in enumerate(metrics)]

    def count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield _counted(batch, in_order)

    counted = frame.select(frame[MODEL], *values).mapInArrow(count, "model string, metric int, bin int, groups long")
    sums = counted.groupBy("model", "metric", "bin").agg(F.sum("groups").alias("groups")).collect()
    by_metric = [_BinnedMetric.empty(edges, models) for edges in in_order]
    for model, place, number, groups in sums:
        if number < 0:
            by_metric[place].undefined[model] += groups
        else:
            by_metric[place].counts[model][number] += groups
    return tuple(own.distribution(metric, "groups") for metric, own in zip(metrics, by_metric, strict=True))


def _quoted(name: str) -> str:
    """A column's name as Spark's ``frame[...]`` takes it literally."""
    return f"`{name.replace('`', '``')}`"


def _counted(batch: pa.RecordBatch, edges: Sequence[Floats]) -> pa.RecordBatch:
    """The groups of ``batch`` by model, place of the metric, and bin; those without a value have the bin -1."""
    rows: list[tuple[str, int, int, int]] = []
    for model in pc.unique(batch[0]).to_pylist():
        own = batch.filter(pc.equal(batch[0], model))
        for place, bin_edges in enumerate(edges):
            values = own[place + 1].to_numpy(zero_copy_only=False)
            there = values[~np.isnan(values)]
            counts = binned(there, bin_edges)
            rows += [(model, place, int(number), int(counts[number])) for number in np.flatnonzero(counts)]
            rows.append((model, place, -1, len(values) - len(there)))
    types = {"model": pa.string(), "metric": pa.int32(), "bin": pa.int32(), "groups": pa.int64()}
    columns = zip(*rows, strict=True) if rows else [()] * len(types)
    arrays = [pa.array(values, kind) for values, kind in zip(columns, types.values(), strict=True)]
    return pa.RecordBatch.from_arrays(arrays, list(types))


def _stored(table: pa.Table, tables: ReportTables) -> tuple[GroupDistribution, ...]:
    """The same from the table ``distributions``, of the metrics that have percentiles."""
    table = plain_texts(whole_day(table))
    undefined = _undefined(tables.values)
    distributions = []
    for metric in pc.unique(table["metric"]).to_pylist()[:MOST_METRICS]:
        rows = table.filter(pc.equal(table["metric"], metric))
        values = rows["value"].to_numpy()
        edges = _known_edges(metric)
        if edges is None:
            edges = edges_between(values.min(initial=math.inf), values.max(initial=-math.inf))
        own = _BinnedMetric.empty(edges, tables.models)
        for model in tables.models:
            of_model = rows.filter(pc.equal(rows["model"], model))
            own.counts[model] += binned(of_model["value"].to_numpy(), edges, of_model["groups"].to_numpy())
            own.undefined[model] = undefined.get((metric, model), 0)
        distributions.append(own.distribution(metric, "distributions"))
    return tuple(distributions)


def _undefined(values: Iterable[MetricValue]) -> dict[tuple[str, str], int]:
    """Groups where a metric of groups is undefined, by metric and model."""
    metrics = [(parsed(value.metric), value) for value in values]
    return {
        (str(metric.of_groups), value.model): value.n_undefined or 0 for metric, value in metrics if metric is not None
    }


def _figures(data: ReportData) -> Iterator[Figure]:
    for distribution in data.distributions:
        edges, name = distribution.edges, shown_name(distribution.metric)
        shown = charted([own.model for own in distribution.models], data.baseline)
        lines = [
            Line(model_key(data, own.model), steps(list(zip(edges, own.counts, strict=False)), edges[-1]))
            for own in distribution.models
            if own.model in shown
        ]
        chart = LineChart(lines, Frame(name, "groups", height=150, steps=True))
        yield Figure("distributions", name, "Groups by their value.", chart, distribution.metric)


GROUP_DISTRIBUTIONS = ReportSection(
    "distributions",
    "Distribution over groups",
    _distributions,
    "There is no group table: ask for output.groups: true and a group key, or for percentiles as median(ndcg@10).",
    "There is no group table: ask for group=KEY and group_table=True.",
    "A window has no group table: the reports of its days show it; percentiles as median(ndcg@10) have their "
    "distribution in a window, too.",
    part=GROUPS_PART,
    figures=_figures,
)
