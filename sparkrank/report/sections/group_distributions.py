"""The report section with the distribution of each metric's values over groups, by model, as counts in bins."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparkrank.bucket.group_rows import MODEL
from sparkrank.comparison.group_pairs import is_text
from sparkrank.comparison.group_tables import GroupTable
from sparkrank.numeric.array_types import Floats, Ints
from sparkrank.report.data import GroupDistribution, MetricValue, ModelCounts, ReportData
from sparkrank.report.figures import Figure, Frame, Line, LineChart, charted, model_key, shown_name, steps
from sparkrank.report.report_tables import ReportTables, parsed, plain_texts, whole_day
from sparkrank.report.section import Made, ReportSection
from sparkrank.report.sections.score_histograms import edges_between

BINS = 20  # bins of a known range of values
MOST_METRICS = 24  # the most metrics shown, which are the first in the order of the table
MOST_VALUES = 400_000_000  # the most group-table values that a section reads: a larger table has fewer metrics shown
GROUPS_PART = ("groups", "Groups")
UNDEFINED = -1  # the bin number of groups without a value, which are in no bin
_COUNTED = pa.schema([("model", pa.string()), ("metric", pa.string()), ("bin", pa.int32()), ("groups", pa.int64())])
_Counts: TypeAlias = "Counter[tuple[str, str, int]]"


def binned(values: Floats, edges: Floats, groups: Ints | None = None) -> Ints:
    """Return the number of values in each bin, weighted by ``groups`` if given.

    The first and the last bin include values beyond the edges.
    """
    count = max(len(edges) - 1, 1)
    place = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, count - 1)
    return np.bincount(place, groups, minlength=count).astype(np.int64)


def most(wanted: int, values_of_each: int) -> int:
    """Return how many of ``wanted`` metrics to read, each with ``values_of_each`` values.

    Together they have at most :data:`MOST_VALUES` values, but at least one metric is read.
    """
    return max(min(wanted, MOST_VALUES // max(values_of_each, 1)), 1)


def _distributions(tables: ReportTables) -> Made:
    if tables.groups is not None:
        return _of_groups(tables.groups, tables.models), None
    return () if tables.distributions is None else _stored(tables.distributions, tables), None


def _of_groups(table: GroupTable, models: Sequence[str]) -> tuple[GroupDistribution, ...]:
    """Return distributions of the first :data:`MOST_METRICS` metrics, with fewer metrics for large tables."""
    rows = 1 if table.is_frame else table.count()
    metrics = table.metrics[: most(MOST_METRICS, rows)] if rows else []
    if not metrics:
        return ()
    known = {metric: _known_edges(metric) for metric in metrics}
    others = [metric for metric, edges in known.items() if edges is None]
    ranges = (_frame_ranges if table.is_frame else _ranges)(table, others) if others else {}
    edges = {metric: edges_between(*ranges[metric]) if own is None else own for metric, own in known.items()}
    counts: _Counts = Counter()
    for model, metric, place, groups in (_frame_counts if table.is_frame else _local_counts)(table, edges):
        counts[model, metric, place] += groups
    return tuple(_distribution(metric, own, models, counts, "groups") for metric, own in edges.items())


def _distribution(
    metric: str, edges: Floats, models: Sequence[str], counts: _Counts, source: Literal["groups", "distributions"]
) -> GroupDistribution:
    bins = range(max(len(edges) - 1, 1))
    by_model = (
        ModelCounts(model, tuple(counts[model, metric, place] for place in bins), counts[model, metric, UNDEFINED])
        for model in models
    )
    return GroupDistribution(metric, tuple(edges.tolist()), tuple(by_model), source)


def _local_counts(table: GroupTable, edges: Mapping[str, Floats]) -> Iterator[tuple[str, str, int, int]]:
    for batch in _batches(table, list(edges)):
        yield from _counted(batch.select([MODEL, *edges]), edges)


def _counted(batch: pa.RecordBatch, edges: Mapping[str, Floats]) -> Iterator[tuple[str, str, int, int]]:
    """Yield (model, metric, bin, number of groups) for the groups in ``batch``, whose first column is the model."""
    models = pc.unique(batch[0]).to_pylist()
    for model in models:
        own = batch if len(models) == 1 else batch.filter(is_text(batch[0], model))
        for place, (metric, bin_edges) in enumerate(edges.items(), start=1):
            values = own[place].cast(pa.float64()).to_numpy(zero_copy_only=False)
            there = values[~np.isnan(values)]
            counts = binned(there, bin_edges)
            yield from ((model, metric, int(number), int(counts[number])) for number in np.flatnonzero(counts))
            yield model, metric, UNDEFINED, len(values) - len(there)


def _batches(table: GroupTable, metrics: Sequence[str]) -> Iterator[pa.RecordBatch]:
    for batch in table.batches(metrics):
        for metric in metrics:
            table.validate_files(metric, batch[metric])
        yield batch


def _known_edges(text: str) -> Floats | None:
    """Return the bin edges for a metric whose range of values is known and finite; None for any other metric."""
    metric = parsed(text)
    if metric is None:
        return None
    low, high = metric.declaration.range_of(metric)
    known = math.isfinite(low) and math.isfinite(high)
    return low + (high - low) * (np.arange(BINS + 1) / BINS) if known else None


def _ranges(table: GroupTable, metrics: Sequence[str]) -> dict[str, tuple[float, float]]:
    """Return the smallest and largest value of each metric, or (inf, -inf) if the metric is undefined in all groups."""
    ranges = dict.fromkeys(metrics, (math.inf, -math.inf))
    for batch in _batches(table, metrics):
        for metric in metrics:
            values = batch[metric].cast(pa.float64()).to_numpy(zero_copy_only=False)
            low, high = ranges[metric]
            ranges[metric] = (float(np.nanmin(values, initial=low)), float(np.nanmax(values, initial=high)))
    return ranges


def _frame_ranges(table: GroupTable, metrics: Sequence[str]) -> dict[str, tuple[float, float]]:
    from pyspark.sql import functions as F

    from sparkrank.engines.spark.batches import named

    nothing = F.lit(None).cast("double")
    defined = [F.nanvl(named(metric).cast("double"), nothing) for metric in metrics]
    row = table.rows.select(*(end(value) for value in defined for end in (F.min, F.max))).collect()[0]
    ends = zip(metrics, row[::2], row[1::2], strict=True)
    return {metric: (math.inf, -math.inf) if low is None else (low, high) for metric, low, high in ends}


def _frame_counts(table: GroupTable, edges: Mapping[str, Floats]) -> Iterator[tuple[str, str, int, int]]:
    """Yield the numbers of groups of a Spark DataFrame by model, metric and bin.

    Workers count, and only counts are sent.
    """
    from pyspark.sql import functions as F

    from sparkrank.engines.spark.batches import named

    def count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            rows = [dict(zip(_COUNTED.names, row, strict=True)) for row in _counted(batch, edges)]
            yield pa.RecordBatch.from_pylist(rows, _COUNTED)

    columns = table.rows.select(named(MODEL), *map(named, edges))
    counted = columns.mapInArrow(count, "model string, metric string, bin int, groups long")
    sums = counted.groupBy("model", "metric", "bin").agg(F.sum("groups").alias("groups"))
    return (tuple(row) for row in sums.collect())


def _stored(table: pa.Table, tables: ReportTables) -> tuple[GroupDistribution, ...]:
    table = plain_texts(whole_day(table))
    undefined = _undefined(tables.values)
    distributions = []
    for metric in pc.unique(table["metric"]).to_pylist()[:MOST_METRICS]:
        rows = table.filter(pc.equal(table["metric"], metric))
        values = rows["value"].to_numpy()
        edges = _known_edges(metric)
        if edges is None:
            edges = edges_between(values.min(initial=math.inf), values.max(initial=-math.inf))
        counts: _Counts = Counter()
        for model in tables.models:
            of_model = rows.filter(pc.equal(rows["model"], model))
            own = binned(of_model["value"].to_numpy(), edges, of_model["groups"].to_numpy())
            counts.update({(model, metric, place): groups for place, groups in enumerate(own.tolist())})
            counts[model, metric, UNDEFINED] = undefined.get((metric, model), 0)
        distributions.append(_distribution(metric, edges, tables.models, counts, "distributions"))
    return tuple(distributions)


def _undefined(values: Iterable[MetricValue]) -> dict[tuple[str, str], int]:
    metrics = [(parsed(value.metric), value) for value in values]
    return {
        (str(metric.group_metric), value.model): value.n_undefined or 0
        for metric, value in metrics
        if metric is not None
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
    "There is no group table: ask for output.groups: true and a group key, or for percentiles such as median(ndcg@10).",
    "There is no group table: ask for group=KEY and group_table=True.",
    "A window has no group table: see the reports of its days. Percentiles such as median(ndcg@10) have a "
    "distribution in a window, too.",
    part=GROUPS_PART,
    figures=_figures,
)
